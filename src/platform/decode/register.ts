import type { RawValue } from "../../greenhouse/ports.js";
import { isFields, scalarOf } from "./wire.js";
import { roleReader, type RoleTable } from "./roles.js";
import type { OperationShape } from "../settings.js";

export type RegisterRole = "address" | "value" | "device";

const registerRoles: RoleTable<RegisterRole> = {
  address: ["address", "addr", "registerAddress", "addressCode", "paramAddress"],
  value: ["value", "val", "currentValue", "setValue", "paramValue", "v", "data"],
  device: ["deviceCode"],
};

export const registerReader = ({ code, value }: OperationShape) =>
  roleReader(registerRoles, { address: code, value });

const placeholders = new Set(["", "-", "--", "null", "undefined", "NaN"]);

const plainRegister = roleReader(registerRoles, {});

/** A register's value, plain or as `{value}`; null where there is none. Blanks around a text are no part of it. */
export function registerValue(given: unknown, roles = plainRegister): RawValue | null {
  const scalar = scalarOf(isFields(given) ? roles(given).value : given);
  if (typeof scalar !== "string") return scalar;
  const text = scalar.trim();
  return placeholders.has(text) ? null : text;
}
