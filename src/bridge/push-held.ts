import { stateAddresses } from "../greenhouse/actuator-fold.js";
import type { Controller } from "../greenhouse/model.js";
import type { HeldRegister } from "./push-judgement.js";

/** What the mirror holds of one address; null for an address that nothing of the controller follows. */
export function followedAddress(controller: Controller, address: string): HeldRegister | null {
  for (const { settings, registers, postedAt } of controller.actuators.values())
    if (stateAddresses(settings).includes(address)) return { register: registers[address] ?? null, postedAt };
  for (const { settings, register, postedAt } of controller.parameters.values())
    if (settings.address === address) return { register, postedAt: postedAt ?? null };
  return controller.addresses.get(address) ?? null;
}
