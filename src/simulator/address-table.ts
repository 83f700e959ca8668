import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";

const plans = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const;

/** The twelve irrigation plans of a machine. */
export const planRoles = plans.map((n) => `plan_${n}` as const);

/** Every physical device that can move. Curtains and windows: 1 is open (a curtain drawn aside); the rest: 1 is on. */
export const roles = [
  "left_skylight",
  "right_skylight",
  "side_vent",
  "inner_shade",
  "outer_shade",
  "thermal_curtain",
  "louvre",
  "fan_1",
  "fan_2",
  "fan_3",
  "wet_curtain",
  "circulation",
  "light",
  "co2",
  "heating",
  "mist",
  "vent_motor",
  "special",
  ...planRoles,
] as const;

export type Role = (typeof roles)[number];

/** How far each device is, 0 to 1. */
export type Levels = Record<Role, number>;

/** Every device at its zero end. */
export const restingLevels = (): Levels => Object.fromEntries(roles.map((role) => [role, 0])) as Levels;

/** Where a value sends a device; `hold` stops it where it is, `auto` leaves it to the local controller. */
export type Target = number | "hold" | "auto";

/**
 * What an address is. Besides the kinds of actuators: `mode` and `position` are the two halves of a device whose
 * specified-position mode has an address of its own, `parameter` takes any number, `reading` takes nothing.
 */
export type RowKind = ActuatorKind | "mode" | "position" | "parameter" | "reading";

export interface AddressRow {
  readonly address: string;
  readonly name: string;
  /** Control-parameter type id (system 2); null where the interface names no group, such as motors. */
  readonly group: number | null;
  readonly kind: RowKind;
  /** The key this address gets in a printed configuration; null where it is no actuator. */
  readonly id: string | null;
  readonly roles: readonly Role[];
  /** From one end to the other. */
  readonly travelMs: number;
  readonly initial: string;
  /** The address whose `10100` makes a `position` address listen. */
  readonly modeAddress?: string | undefined;
}

export type AddressTable = ReadonlyMap<string, AddressRow>;

type Own = readonly [id: string | null, roles: readonly Role[], travelS: number];
const nothing: Own = [null, [], 0];

/** `id`, the devices behind it and how long one travels are given together, for what has a device. */
const row = (
  address: string,
  name: string,
  group: number | null,
  kind: RowKind,
  initial: string,
  [id, roles, travelS]: Own = nothing,
  modeAddress?: string,
): AddressRow => ({ address, name, group, kind, id, roles, travelMs: travelS * 1000, initial, modeAddress });

const plan = (n: (typeof plans)[number], initial: string): AddressRow =>
  row(String(209 + n), `灌溉方案${n}`, 189 + n, "irrigation", initial, [`valve_${n}`, [`plan_${n}`], 3]);

const sunlightGreenhouse: readonly AddressRow[] = [
  row("101", "左天窗", 2, "skylight", "10001", ["left_skylight", ["left_skylight"], 90]),
  row("102", "内遮阳", 3, "shade_curtain", "10010", ["inner_shade", ["inner_shade"], 120]),
  row("103", "右天窗", 4, "skylight", "10001", ["right_skylight", ["right_skylight"], 90]),
  row("104", "侧通风窗", 7, "side_vent", "11000", ["side_vent", ["side_vent"], 90]),
  row("106", "外遮阳", 146, "shade_curtain", "10010", ["outer_shade", ["outer_shade"], 120]),
  row("107", "内保温", 157, "thermal_curtain", "11000", ["thermal_curtain", ["thermal_curtain"], 120]),
  row("108", "百叶窗", null, "mode", "10001", ["louvre", ["louvre"], 60]),
  row("109", "百叶窗开度", null, "position", "0", [null, ["louvre"], 60], "108"),
  row("140", "风机湿帘", 10, "fan_wet_curtain", "00000", [
    "roof_fans",
    ["fan_1", "fan_2", "fan_3", "wet_curtain"],
    8,
  ]),
  row("150", "循环风机", 11, "circulation_fan", "1100", ["circulation_fan", ["circulation"], 3]),
  plan(1, "1001"),
  plan(2, "1100"),
  row("220", "补光灯", 12, "light", "1001", ["grow_light", ["light"], 3]),
  row("300", "卷膜电机", null, "motor", "00000100", ["vent_motor", ["vent_motor"], 75]),
  row("310", "CO2补气", null, "co2_supply", "1001", ["co2_supply", ["co2"], 3]),
  row("320", "热风炉", null, "heating_blower", "1100", ["heating", ["heating"], 3]),
  row("330", "微雾降温", null, "mist_cooling", "1001", ["mist_cooling", ["mist"], 3]),
  row("400", "备用输出", null, "custom", "1001", ["special", ["special"], 3]),
  row("501", "EC目标值", 212, "parameter", "180"),
  row("502", "目标温度", 212, "parameter", "250"),
  row("503", "开窗温差", 212, "parameter", "020"),
  row("701", "通道1校准", 211, "reading", "0"),
  row("702", "通道2校准", 211, "reading", "-3"),
  row("711", "综合温度", 213, "reading", "1"),
];

const fertilizerMachine: readonly AddressRow[] = [
  ...plans.map((n) => plan(n, "1001")),
  ...plans.map((n) =>
    row(String(500 + n), `配方${n}`, 203 + Math.floor((n - 1) / 3), "parameter", String(110 + 10 * n)),
  ),
  row("521", "平台报表", 207, "reading", "0"),
  row("601", "EC上限", 212, "parameter", "300"),
  row("602", "pH下限", 212, "parameter", "55"),
  row("701", "通道1校准", 211, "reading", "0"),
  row("801", "废液回收模式", 219, "parameter", "1"),
];

const tableOf = (rows: readonly AddressRow[]): AddressTable =>
  new Map(rows.map((entry) => [entry.address, entry]));

const tables = new Map<string, AddressTable>([
  ["C001", tableOf(sunlightGreenhouse)],
  ["C003", tableOf(fertilizerMachine)],
]);

/** What a type may hold beside its actuators: limits, times, counters, some of which look like degrees. */
const beside = ["45", "0", "100", "-3", "7", "180", "250", "1", "60", "00020", "99", "3600"];

/** The same table with a dozen more addresses in each type, around those of its actuators. */
function crowded(table: AddressTable): AddressTable {
  const groups = new Set([...table.values()].flatMap(({ group }) => group ?? []));
  const more = [...groups].flatMap((group) =>
    beside.map((value, n) =>
      row(String(900_000 + group * 100 + n), `类型${group}参数${n + 1}`, group, "reading", value),
    ),
  );
  const [before, after] = [0, 1].map((side) => more.filter((_, n) => n % 2 === side));
  return tableOf([...(before ?? []), ...table.values(), ...(after ?? [])]);
}

const crowdedTables = new Map([...tables].map(([type, table]) => [type, crowded(table)]));

const none: AddressTable = new Map();

/** The addresses of a device type (system 1); empty for cameras and weather stations. */
export const addressTable = (type: string, inType: "own" | "many" = "own"): AddressTable =>
  (inType === "many" ? crowdedTables : tables).get(type) ?? none;
