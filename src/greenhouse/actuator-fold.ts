import { kindRows, type KindRow } from "./actuator-kinds.js";
import { decodeValue, textOf } from "./actuator-values.js";
import type { Actuator, Register } from "./model.js";
import { upheld } from "./register-fold.js";
import type { ActuatorSettings } from "./settings.js";

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

export const modeAddress = (settings: ActuatorSettings): string => settings.modeAddress ?? settings.address;
export const positionAddress = (settings: ActuatorSettings): string =>
  settings.positionAddress ?? settings.address;

/** Mode and position have an address each, so that a number at the mode address is no degree. */
export const isApart = (settings: ActuatorSettings): boolean =>
  modeAddress(settings) !== positionAddress(settings);

/** The addresses whose values make up the actuator's state. */
export function stateAddresses(settings: ActuatorSettings): readonly string[] {
  const row: KindRow = kindRows[settings.kind];
  if (row.positionMode === null) return [settings.address];
  return [...new Set([modeAddress(settings), positionAddress(settings)])];
}

/** Folds one read register in. A read that began before the one already held changes nothing. */
export function foldRegister(actuator: Actuator, address: string, register: Register): Actuator {
  if (!stateAddresses(actuator.settings).includes(address)) return actuator;
  const held = actuator.registers[address];
  if (held !== undefined && register.startedAt < held.startedAt) return actuator;
  if (actuator.postedAt !== null && register.startedAt < actuator.postedAt) return actuator;
  const registers = { ...actuator.registers, [address]: upheld(held, register) };
  const now = shown(actuator.settings, registers);
  const isBetween = actuator.between !== null && actuator.between.until !== address;
  return {
    ...actuator,
    registers,
    ...(isBetween ? { value: now.value } : { ...now, between: null }),
    readAt: register.readAt,
    source: register.source,
  };
}

/** No further step comes: what the registers hold is the state again. */
export function foldStepsEnded(actuator: Actuator): Actuator {
  if (actuator.between === null) return actuator;
  return { ...actuator, between: null, ...shown(actuator.settings, actuator.registers) };
}

type Shown = Pick<Actuator, "state" | "position" | "value">;

function shown(settings: ActuatorSettings, registers: Readonly<Record<string, Register>>): Shown {
  const mode = registers[modeAddress(settings)];
  const degree = registers[positionAddress(settings)];
  if (mode === undefined)
    return { state: null, position: null, value: degree === undefined ? null : textOf(degree.raw) };
  const decoded = decodeValue(settings, mode.raw);
  if (!isApart(settings)) return decoded;
  if (decoded.position !== null) return { state: "unknown", position: null, value: decoded.value };
  if (decoded.state !== "position" || degree === undefined) return decoded;
  const position = decodeValue(settings, degree.raw);
  return position.position === null ? decoded : position;
}
