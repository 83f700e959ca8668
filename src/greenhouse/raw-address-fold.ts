import { ownerOf } from "./command/targets.js";
import type { Controller, RawAddress, Register } from "./model.js";
import { upheld } from "./register-fold.js";

type Addresses = Controller["addresses"];

/**
 * Folds one read address in that no actuator or parameter owns. Only what a command has read back is kept, and from
 * then on followed; all other addresses of a group are nobody's business.
 */
export function foldRawAddress(
  addresses: Addresses,
  controller: Controller,
  address: string,
  register: Register,
): Addresses {
  const held = addresses.get(address);
  if (held === undefined) {
    if (register.source !== "read_back" || ownerOf(controller, address) !== null) return addresses;
    return withAddress(addresses, address, { register, postedAt: null });
  }
  const since = Math.max(held.register?.startedAt ?? -Infinity, held.postedAt ?? -Infinity);
  if (register.startedAt < since) return addresses;
  return withAddress(addresses, address, { ...held, register: upheld(held.register, register) });
}

export const postedRawAddress = (addresses: Addresses, address: string, at: number): Addresses =>
  withAddress(addresses, address, { register: addresses.get(address)?.register ?? null, postedAt: at });

const withAddress = (addresses: Addresses, address: string, raw: RawAddress): Addresses =>
  new Map([...addresses, [address, raw]]);
