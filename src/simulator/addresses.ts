import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";
import type { Names } from "./account.js";
import { fanValues, isWindow } from "./control-values.js";
import { type Readings, rowsIn } from "./readings.js";
import { byKey } from "../runtime/objects.js";

const plans = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const;

/** The twelve irrigation plans of a machine. */
export const planRoles = plans.map((n) => `plan_${n}` as const);

const stages = ["fan_1", "fan_2", "fan_3", "wet_curtain"] as const;

/** Every physical device that can move. Curtains and windows: 1 is open (a curtain drawn aside); the rest: 1 is on. */
export const roles = [
  ...(["left_skylight", "right_skylight", "side_vent", "inner_shade", "outer_shade"] as const),
  ...(["thermal_curtain", "louvre", "circulation_fan", "grow_light", "co2_supply", "heating"] as const),
  ...(["mist_cooling", "vent_motor", "special"] as const),
  ...stages,
  ...planRoles,
] as const;

export type Role = (typeof roles)[number];

/** How far each device has moved, 0 to 1. */
export type Levels = Record<Role, number>;

/** Every device at its zero end. */
export const restingLevels = (): Levels => byKey(roles, () => 0);

/**
 * What an address is. Beside the kinds of actuators, `mode` and `position` are the halves of a device whose
 * specified-position mode has its own address; `parameter` takes any number, `reading` takes nothing.
 */
export type RowKind = ActuatorKind | "mode" | "position" | "parameter" | "reading";

export interface AddressRow {
  readonly address: string;
  readonly names: Names;
  /** Control-parameter type id (system 2); null where the interface names none, as for motors. */
  readonly group: number | null;
  readonly kind: RowKind;
  readonly initial: string;
  /** The address's key in a printed configuration; null if it is no actuator. */
  readonly id: string | null;
  /** Travel time from one end to the other. */
  readonly travelMs: number;
  readonly roles: readonly Role[];
  /** The value, beside the documented ones, that leaves the device to the local controller. */
  readonly automatic?: string;
  /** For a `mode`, the address of its degree; for a `position`, that of its mode. */
  readonly otherHalf?: string;
}

export type AddressTable = ReadonlyMap<string, AddressRow>;

/** `id` also names the device behind the address, unless `others` are given. */
function row(
  address: string,
  [zh, en]: readonly [string, string],
  group: number | null,
  kind: RowKind,
  initial: string,
  id: string | null = null,
  travelS = 0,
  others: readonly Role[] = [],
): AddressRow {
  const behind = others.length > 0 ? others : roles.filter((role) => role === id);
  return { address, names: { zh, en }, group, kind, initial, id, travelMs: travelS * 1000, roles: behind };
}

/** Splits a device into a mode and a degree with addresses of their own; the mode's address takes no degree. */
function inHalves(whole: AddressRow, position: string): readonly AddressRow[] {
  const names = { zh: `${whole.names.zh}开度`, en: `${whole.names.en} position` };
  const degree = whole.initial === "10010" ? "100" : "0";
  return [
    { ...whole, kind: "mode", otherHalf: position },
    {
      ...whole,
      ...{ address: position, names, kind: "position", initial: degree, id: null },
      otherHalf: whole.address,
    },
  ];
}

const plan = (n: (typeof plans)[number], initial: string): AddressRow => {
  const names = [`灌溉方案${n}`, `Irrigation plan ${n}`] as const;
  return row(String(209 + n), names, 189 + n, "irrigation", initial, `valve_${n}`, 3, [`plan_${n}`]);
};

const calibration = (n: number, initial: string): AddressRow =>
  row(`70${n}`, [`通道${n}校准`, `Channel ${n} calibration`], 211, "reading", initial);

/** The one device whose mode and position have separate addresses on every platform. */
export const louvre = { mode: "108", position: "109" } as const;

const sunlightGreenhouse: readonly AddressRow[] = [
  row("101", ["左天窗", "Left skylight"], 2, "skylight", "10001", "left_skylight", 90),
  row("102", ["内遮阳", "Inner shade"], 3, "shade_curtain", "10010", "inner_shade", 120),
  row("103", ["右天窗", "Right skylight"], 4, "skylight", "10001", "right_skylight", 90),
  row("104", ["侧通风窗", "Side vent"], 7, "side_vent", "11000", "side_vent", 90),
  row("106", ["外遮阳", "Outer shade"], 146, "shade_curtain", "10010", "outer_shade", 120),
  row("107", ["内保温", "Thermal curtain"], 157, "thermal_curtain", "11000", "thermal_curtain", 120),
  ...inHalves(row(louvre.mode, ["百叶窗", "Louvre"], null, "mode", "10001", "louvre", 60), louvre.position),
  row("140", ["风机湿帘", "Fans and wet curtain"], 10, "fan_wet_curtain", "00000", "roof_fans", 8, stages),
  row("150", ["循环风机", "Circulation fan"], 11, "circulation_fan", "1100", "circulation_fan", 3),
  plan(1, "1001"),
  plan(2, "1100"),
  row("220", ["补光灯", "Grow light"], 12, "light", "1001", "grow_light", 3),
  row("300", ["卷膜电机", "Film roller"], null, "motor", "00000100", "vent_motor", 75),
  row("310", ["CO2补气", "CO2 supply"], null, "co2_supply", "1001", "co2_supply", 3),
  row("320", ["热风炉", "Hot-air stove"], null, "heating_blower", "1100", "heating", 3),
  row("330", ["微雾降温", "Mist cooling"], null, "mist_cooling", "1001", "mist_cooling", 3),
  row("400", ["备用输出", "Spare output"], null, "custom", "1001", "special", 3),
  row("501", ["EC目标值", "EC target"], 212, "parameter", "180"),
  row("502", ["目标温度", "Target temperature"], 212, "parameter", "250"),
  row("503", ["开窗温差", "Venting difference"], 212, "parameter", "020"),
  calibration(1, "0"),
  calibration(2, "-3"),
  row("711", ["综合温度", "Combined temperature"], 213, "reading", "1"),
];

const formula = (n: (typeof plans)[number]): AddressRow => {
  const group = 203 + Math.floor((n - 1) / 3);
  return row(String(500 + n), [`配方${n}`, `Formula ${n}`], group, "parameter", String(110 + 10 * n));
};

const fertilizerMachine: readonly AddressRow[] = [
  ...plans.map((n) => plan(n, "1001")),
  ...plans.map(formula),
  row("521", ["平台报表", "Platform report"], 207, "reading", "0"),
  row("601", ["EC上限", "High EC limit"], 212, "parameter", "300"),
  row("602", ["pH下限", "Low pH limit"], 212, "parameter", "55"),
  calibration(1, "0"),
  row("801", ["废液回收模式", "Waste-liquid recovery"], 219, "parameter", "1"),
];

/** What a type may contain beside its actuators: limits, times, counters; some look like degrees. */
const beside = ["45", "0", "100", "-3", "7", "180", "250", "1", "60", "00020", "99", "3600"];

/** Adds a dozen addresses to each type, around those of its actuators. */
function crowd(rows: readonly AddressRow[]): readonly AddressRow[] {
  const groups = new Set(rows.flatMap(({ group }) => group ?? []));
  const more = [...groups].flatMap((group) =>
    beside.map((value, n) => {
      const names = [`类型${group}参数${n + 1}`, `Parameter ${n + 1} of type ${group}`] as const;
      return row(String(900_000 + group * 100 + n), names, group, "reading", value);
    }),
  );
  const [before = [], after = []] = [0, 1].map((side) => more.filter((_, n) => n % 2 === side));
  return [...before, ...rows, ...after];
}

const tableOf = (rows: readonly AddressRow[]): AddressTable =>
  new Map(rows.map((entry) => [entry.address, entry]));

const none: AddressTable = new Map();

const rowsOf = new Map([
  ["C001", sunlightGreenhouse],
  ["C003", fertilizerMachine],
]);

/** How addresses may differ. */
export interface AddressManners {
  /** What a type contains: the addresses of its actuators, or many others around them. */
  readonly inType: "own" | "many";
  readonly readings: Readings;
}

const usual: AddressManners = { inType: "own", readings: new Set() };

/**
 * The addresses of each device type (system 1); empty for cameras and weather stations. All controllers of an account
 * share them.
 */
export function addressTables(manners: Partial<AddressManners> = {}): (type: string) => AddressTable {
  const { inType, readings } = { ...usual, ...manners };
  const tables = new Map(
    [...rowsOf].map(([type, plain]) => {
      const rows = rowsIn(readings, plain, inHalves);
      return [type, tableOf(inType === "many" ? crowd(rows) : rows)] as const;
    }),
  );
  return (type) => tables.get(type) ?? none;
}

export const addressTable = (type: string, manners: Partial<AddressManners> = {}): AddressTable =>
  addressTables(manners)(type);

/* How a device reacts to values that reach its addresses. */

/** Where a value moves a device; `hold` stops it, `auto` leaves it to the local controller. */
export type Target = number | "hold" | "auto";

/** Whether mode and degree share one address of this kind. */
export const takesDegrees = (kind: RowKind): boolean => isWindow(kind);

const degree = /^(?:\d{1,2}|100)$/;

/** Whether a positioner's register holds an opening degree rather than a mode. */
export const isDegree = (value: string): boolean => degree.test(value);

type Values = Readonly<Record<string, readonly Target[]>>;

const modes: Values = { "10010": [1], "10001": [0], "11000": ["auto"], "10100": ["hold"] };
const switched: Values = { "1010": [1], "1001": [0], "1100": ["auto"] };

/** Value of an irrigation plan that waters all plans in turn. */
export const rotation = "11111111";

/** Values other than those of windows and plain machines. */
const ownValues: Partial<Record<RowKind, Values>> = {
  mode: modes,
  irrigation: { ...switched, [rotation]: [1] },
  fan_wet_curtain: Object.fromEntries(
    Object.keys(fanValues).map((value) => [value, stages.map((_, n) => Number(value[n]))]),
  ),
  motor: { "00000001": [1], "00000010": [0], "00000100": ["hold"] },
  custom: { "0110": [0.5], "1001": [1] },
};

/** Where a value moves the devices behind an address, one target for each; null for an unknown value. */
function meaningOf({ kind, automatic }: AddressRow, value: string): readonly Target[] | null {
  if (value === automatic) return stages.map(() => "auto");
  if (kind === "parameter") return /^-?\d{1,6}$/.test(value) ? [] : null;
  if ((kind === "position" || takesDegrees(kind)) && isDegree(value)) return [Number(value) / 100];
  if (kind === "position" || kind === "reading") return null;
  const values = ownValues[kind] ?? (takesDegrees(kind) ? modes : switched);
  return Object.hasOwn(values, value) ? (values[value] ?? null) : null;
}

/** Where a register's value moves the devices behind it; an unknown value holds them. */
export const targetsOf = (row: AddressRow, value: string): readonly Target[] =>
  meaningOf(row, value) ?? row.roles.map(() => "hold");

/** Whether the local controller decides while a register holds this value. */
export const isAutomatic = (row: AddressRow, value: string): boolean =>
  targetsOf(row, value).includes("auto");

/** Why a device does nothing with a value. */
export type Ignored =
  "ignored_no_position_mode" | "ignored_before_on" | "ignored_unknown_value" | "ignored_read_only";

/** The state of a device that decides whether a value counts. */
export interface DeviceMemory {
  readonly read: (address: string) => string | null;
  /** The light was switched on with `1010`, which this device requires. */
  readonly isLit: boolean;
}

/** Why the device ignores a value sent to this address; null if it takes it. */
export function judgeValue(row: AddressRow, value: string, { read, isLit }: DeviceMemory): Ignored | null {
  const { address, kind, otherHalf = address } = row;
  if (kind === "reading") return "ignored_read_only";
  if (meaningOf(row, value) === null) return "ignored_unknown_value";
  if (kind === "light") return value === "1010" || isLit ? null : "ignored_before_on";
  const takesThis = isDegree(value) && (kind === "position" || takesDegrees(kind));
  const mode = takesThis ? (read(kind === "position" ? otherHalf : address) ?? "") : "10100";
  return mode === "10100" || isDegree(mode) ? null : "ignored_no_position_mode";
}
