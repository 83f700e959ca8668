import { stateAddresses } from "../greenhouse/actuator-fold.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import type { HeldRegister } from "./push-judgement.js";

/** What the mirror holds of one address, and how it is read best. */
export interface Followed extends HeldRegister {
  /** One read of the group reads it together with its neighbours. */
  readonly group: ParameterGroup | null;
}

/** Null for an address that nothing of the controller follows. */
export function followedAddress(controller: Controller, address: string): Followed | null {
  for (const { settings, registers, postedAt } of controller.actuators.values()) {
    if (!stateAddresses(settings).includes(address)) continue;
    return { register: registers[address] ?? null, postedAt, group: settings.group ?? null };
  }
  for (const { settings, register, postedAt } of controller.parameters.values())
    if (settings.address === address)
      return { register, postedAt: postedAt ?? null, group: settings.group ?? null };
  const raw = controller.addresses.get(address);
  return raw === undefined ? null : { ...raw, group: null };
}
