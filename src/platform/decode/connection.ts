import type { ClientStatus } from "../../greenhouse/ports.js";
import type { OperationShape } from "../settings.js";
import type { Decoding } from "./decoding.js";
import { readFlag } from "./devices.js";
import { roleReader, type RoleTable } from "./roles.js";
import { at, isFields, own, textOf } from "./wire.js";

const factRoles: RoleTable<"version" | "description" | "lastOnline"> = {
  version: ["version"],
  description: ["description"],
  lastOnline: ["latestOnlineDatetime", "latestOnlineDateTime", "latestOnlineTime", "lastOnlineTime"],
};

/**
 * The single-device status: `data.status` 1 or 0, as number, text or Boolean. `message` is an Object with the code
 * CLIENTID_NOT_FOUND for a device that is offline or does not exist. What cannot be read, or contradicts itself, is unknown.
 */
export const connectionReader = (shape: OperationShape) => {
  const roles = roleReader(factRoles, {});
  return (answer: unknown, decoding: Decoding): ClientStatus => {
    const data = isFields(answer) ? own(answer, "data") : undefined;
    const facts = isFields(data) ? roles(data) : {};
    return {
      state: stateOf(answer, shape, decoding),
      version: textOf(facts.version),
      description: textOf(facts.description),
      lastOnlineAt: decoding.readTime(facts.lastOnline, decoding.receivedAt),
    };
  };
};

function stateOf(answer: unknown, shape: OperationShape, { report }: Decoding): ClientStatus["state"] {
  const found =
    shape.value === undefined
      ? (at(answer, "data.status") ?? at(answer, "data.online") ?? at(answer, "status"))
      : at(answer, shape.value);
  const flag = readFlag(found);
  const isNotFound = at(answer, "message.code") === "CLIENTID_NOT_FOUND";
  if (flag === true && !isNotFound) return "online";
  if (flag === false) return "offline";
  if (isNotFound && found === undefined) return "offline";
  report(
    "a connection status that is neither 0 nor 1",
    isFields(answer) ? (own(answer, "data") ?? answer) : answer,
  );
  return "unknown";
}
