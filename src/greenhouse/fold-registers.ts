import { decodeValue, type KindRow, kindRows, sameValue, textOf } from "./actuator-kinds.js";
import { ownerOf } from "./command/words.js";
import type { Actuator, Controller, Parameter, RawAddress, Register } from "./model.js";
import type { ActuatorSettings } from "./settings.js";

/**
 * A read from the platform's memory that agrees with what the device itself gave leaves the device's word standing: a later
 * one that differs may still be older than it and has to be asked again.
 */
const upheld = (held: Register | null | undefined, register: Register): Register =>
  held?.fresh === true && !register.fresh && sameValue(textOf(held.raw), textOf(register.raw))
    ? { ...register, fresh: true }
    : register;

export const unreadActuator = (settings: ActuatorSettings): Actuator => ({
  settings,
  registers: {},
  postedAt: null,
  between: null,
  state: null,
  position: null,
  value: null,
  readAt: null,
  source: null,
  quality: "stale",
});

/** Where an actuator is on the platform. */
type Placed = Pick<ActuatorSettings, "kind" | "address" | "modeAddress" | "positionAddress">;

export const modeAddress = (settings: Placed): string => settings.modeAddress ?? settings.address;
export const positionAddress = (settings: Placed): string => settings.positionAddress ?? settings.address;

/** Mode and position have an address each, so that a number at the mode address is no degree. */
export const isApart = (settings: Placed): boolean => modeAddress(settings) !== positionAddress(settings);

/** The addresses whose values make up the actuator's state. */
export function stateAddresses(settings: Placed): readonly string[] {
  const row: KindRow = kindRows[settings.kind];
  if (row.positionMode === null) return [settings.address];
  return isApart(settings) ? [modeAddress(settings), positionAddress(settings)] : [modeAddress(settings)];
}

/** Folds one read register in. A read that began before the one already held changes nothing. */
export function foldRegister(actuator: Actuator, address: string, register: Register): Actuator {
  if (!stateAddresses(actuator.settings).includes(address)) return actuator;
  const held = actuator.registers[address];
  if (held !== undefined && register.startedAt < held.startedAt) return actuator;
  if (actuator.postedAt !== null && register.startedAt < actuator.postedAt) return actuator;
  const registers = { ...actuator.registers, [address]: upheld(held, register) };
  const read = shown(actuator.settings, registers);
  const isMode = isModeAlone(read);
  const now = withLastDegree(read, actuator.lastDegree);
  // The last step's own address may still show the mode for a moment, which says nothing about where it goes.
  const isBetween = actuator.between !== null && (actuator.between.until !== address || isMode);
  const { state, position, between } = isBetween ? actuator : { ...now, between: null };
  const { readAt, source } = register;
  const lastDegree = isMode ? actuator.lastDegree : null;
  return { ...actuator, lastDegree, registers, state, position, between, value: now.value, readAt, source };
}

const isModeAlone = ({ state, position }: Pick<Shown, "state" | "position">): boolean =>
  state === "position" && position === null;

/** Where the address shows no degree, the one confirmed last stands for it. */
const withLastDegree = (now: Shown, lastDegree: number | null | undefined): Shown =>
  isModeAlone(now) && lastDegree !== null && lastDegree !== undefined
    ? { ...now, position: lastDegree }
    : now;

/** No further step comes: what the registers hold is the state again. */
export function foldStepsEnded(actuator: Actuator, degree: number | null = null): Actuator {
  const { settings, registers } = actuator;
  const isHeld = degree !== null && settings.positionReads === "mode";
  if (actuator.between === null && !isHeld) return actuator;
  const now = shown(settings, registers);
  const lastDegree = isHeld && isModeAlone(now) ? degree : actuator.lastDegree;
  return { ...actuator, between: null, lastDegree, ...withLastDegree(now, lastDegree) };
}

type Shown = Pick<Actuator, "state" | "position" | "value">;

function shown(settings: ActuatorSettings, registers: Readonly<Record<string, Register>>): Shown {
  const mode = registers[modeAddress(settings)];
  const degree = registers[positionAddress(settings)];
  if (mode === undefined)
    return { state: null, position: null, value: degree === undefined ? null : textOf(degree.raw) };
  const decoded = decodeValue(settings, mode.raw);
  if (!isApart(settings)) return decoded;
  if (decoded.state === "position" && decoded.position !== null)
    return { state: "unknown", position: null, value: decoded.value };
  if (decoded.state !== "position" || degree === undefined) return { ...decoded, position: null };
  const position = decodeValue(settings, degree.raw);
  return position.position === null ? decoded : position;
}

/** Folds one read address in; a parameter that is a number is scaled, anything else is shown as it is. */
export function foldParameter(parameter: Parameter, address: string, register: Register): Parameter {
  const { settings, register: held } = parameter;
  if (settings.address !== address || (held !== null && register.startedAt < held.startedAt))
    return parameter;
  if (register.startedAt < (parameter.postedAt ?? -Infinity)) return parameter;
  const text = textOf(register.raw);
  const number = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : null;
  const value = number === null ? text : scaledParameter(number, settings.scale, settings.decimals);
  return { ...parameter, register: upheld(held, register), value };
}

function scaledParameter(number: number, scale: number, decimals: number | undefined): number {
  const exact = scale === 1 ? number : Number((number * scale).toPrecision(12));
  return decimals === undefined ? exact : Number(exact.toFixed(decimals));
}

type Addresses = Controller["addresses"];

/**
 * Folds one read address in that no actuator or parameter owns. Only what a command has read back is kept, and from
 * then on followed; all other addresses of a group are left out.
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
