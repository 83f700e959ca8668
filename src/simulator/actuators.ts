import { type ActuatorKind, kindRows } from "../greenhouse/actuator-kinds.js";
import type { AddressRow, RowKind, Target } from "./address-table.js";

/** Why a device does nothing with a value it was sent. */
export type Ignored =
  "ignored_no_position_mode" | "ignored_before_on" | "ignored_unknown_value" | "ignored_read_only";

/** What the device remembers that decides whether a value counts. */
export interface DeviceMemory {
  readonly read: (address: string) => string;
  /** The light was switched on with `1010` as this device demands. */
  readonly lit: boolean;
}

interface Behaviour {
  readonly judge: (value: string, row: AddressRow, memory: DeviceMemory) => Ignored | null;
  /** One target for each role of the row. */
  readonly targets: (value: string) => readonly Target[];
}

const degree = /^(?:\d{1,2}|100)$/;

/** A register of a positioner holds an opening degree rather than a mode. */
export const isDegree = (value: string): boolean => degree.test(value);

const known = (isKnown: boolean): Ignored | null => (isKnown ? null : "ignored_unknown_value");

const inPositionMode = (register: string): boolean => register === "10100" || isDegree(register);

/** Takes the values of a table and nothing else. */
const table = (targets: Readonly<Record<string, Target>>): Behaviour => ({
  judge: (value) => known(Object.hasOwn(targets, value)),
  targets: (value) => [targets[value] ?? "hold"],
});

const mode = table({ "10010": 1, "10001": 0, "11000": "auto", "10100": "hold" });

/** A degree counts only while its mode address is in position mode. */
const position: Behaviour = {
  judge: (value, row, memory) => {
    if (!isDegree(value)) return "ignored_unknown_value";
    return inPositionMode(memory.read(row.modeAddress ?? row.address)) ? null : "ignored_no_position_mode";
  },
  targets: (value) => [isDegree(value) ? Number(value) / 100 : "hold"],
};

const positioner: Behaviour = {
  judge: (value, row, memory) => (isDegree(value) ? position : mode).judge(value, row, memory),
  targets: (value) => (isDegree(value) ? position : mode).targets(value),
};

const switched = { "1010": 1, "1001": 0, "1100": "auto" } as const;
const machine = table(switched);

const light: Behaviour = {
  judge: (value, row, memory) =>
    machine.judge(value, row, memory) ?? (value === "1010" || memory.lit ? null : "ignored_before_on"),
  targets: machine.targets,
};

/** The value of an irrigation plan that waters all plans in turn. */
export const rotation = kindRows.irrigation.values.rotation ?? "11111111";

const stages = new Set<string>(Object.values(kindRows.fan_wet_curtain.values));

const fanWetCurtain: Behaviour = {
  judge: (value) => known(stages.has(value)),
  targets: (value) => [0, 1, 2, 3].map((stage) => (value[stage] === "1" ? 1 : 0)),
};

const parameter: Behaviour = {
  judge: (value) => known(/^-?\d{1,6}$/.test(value)),
  targets: () => [],
};

const reading: Behaviour = { judge: () => "ignored_read_only", targets: () => [] };

/** Those that are neither positioners nor plain machines. */
const special: Partial<Record<RowKind, Behaviour>> = {
  mode,
  position,
  fan_wet_curtain: fanWetCurtain,
  irrigation: table({ ...switched, [rotation]: 1 }),
  light,
  motor: table({ "00000001": 1, "00000010": 0, "00000100": "hold" }),
  custom: table({ "0110": 0.5, "1001": 1 }),
  parameter,
  reading,
};

/** Whether mode and degree share one address of this kind. */
export const takesDegrees = (kind: RowKind): boolean =>
  Object.hasOwn(kindRows, kind) && kindRows[kind as ActuatorKind].positionMode !== null;

const behaviourOf = ({ kind }: AddressRow): Behaviour =>
  special[kind] ?? (takesDegrees(kind) ? positioner : machine);

/** What the device does with a value sent to this address: null when it takes it, else why not. */
export function judgeValue(row: AddressRow, value: string, memory: DeviceMemory): Ignored | null {
  return behaviourOf(row).judge(value, row, memory);
}

/** Where a register value sends the devices behind it, one target for each role of the row. */
export const targetsOf = (row: AddressRow, value: string): readonly Target[] =>
  behaviourOf(row).targets(value);

/** Values of one address for which the local controller decides. */
export const isAutomatic = (row: AddressRow, value: string): boolean =>
  targetsOf(row, value).includes("auto");
