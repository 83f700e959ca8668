import { byCode, msg, row as plain, type Text } from "../language/text.js";
import { type ActuatorKind, takesDegrees } from "./actuator-kinds.js";

/*
 * The platform has three code systems. Two of them are called `deviceTypeId` although their values differ, so each is a
 * type of its own here and the compiler refuses to mix them. None can be derived from another.
 */
declare const system: unique symbol;

/** System 1, a string: the type of a device in lists and historical data (`C001`). */
export type DeviceType = string & { readonly [system]: 1 };
/** System 2, a number: a group of control parameters, read as a batch with `GET /api/set-value/flush`. */
export type ParameterGroup = number & { readonly [system]: 2 };
/** System 3, a number: the subject of a running status in `GET /api/device_status`. */
export type StatusNumber = number & { readonly [system]: 3 };

export const deviceType = (code: string): DeviceType => code as DeviceType;
export const parameterGroup = (id: number): ParameterGroup => id as ParameterGroup;
export const statusNumber = (value: number): StatusNumber => value as StatusNumber;

/** Types seen in one account; others exist. */
export const deviceTypes: ReadonlyMap<DeviceType, Text> = new Map([
  [deviceType("C001"), msg`sunlight greenhouse controller`],
  [deviceType("C003"), msg`fertilizer machine`],
  [deviceType("W001"), msg`data collector`],
  [deviceType("V003"), msg`pest monitoring`],
  [deviceType("V008"), msg`national-standard video device`],
  [deviceType("V009"), msg`cloud-linked video device`],
]);

/** Observed numbers; others occur. */
export const statusNumbers: ReadonlyMap<StatusNumber, string> = new Map([
  [statusNumber(16), "first-stage fan"],
  [statusNumber(17), "second-stage fan"],
  [statusNumber(18), "third-stage fan"],
  [statusNumber(19), "wet curtain"],
  [statusNumber(37), "outdoor roof spray"],
  [statusNumber(49), "irrigation-plan watering"],
]);

/** The statuses of each kind, where the interface's two tables name the same thing. */
export const statusesOfKind: ReadonlyMap<ActuatorKind, readonly StatusNumber[]> = new Map([
  ["fan_wet_curtain", [16, 17, 18, 19].map(statusNumber)],
]);

/** By the interface, cameras and the weather station have no addresses, so they accept no commands. */
const passive: ReadonlySet<DeviceType> = new Set(["V003", "V008", "V009", "W001"].map(deviceType));

/** Whether a device may accept commands; for an unknown code only its answers decide. */
export const takesCommands = (type: DeviceType | null): boolean => type === null || !passive.has(type);

/** Whether a code means a camera or picture uploader; an unknown code may turn out to be something else. */
export const isCamera = (type: DeviceType | null): boolean => type?.startsWith("V") ?? false;

/** Weather stations and cameras, which a list may show online although they have no MQTT client. */
export const isWithoutClient = (type: DeviceType | null): boolean => /^[VW]/.test(type ?? "");

export const isWeatherStation = (type: DeviceType | null): boolean => type?.startsWith("W") ?? false;

/** Cameras, weather stations and fertilizer machines, which are no greenhouses. */
export const isDevice = (type: DeviceType | null): boolean => /^(?:[VW]|C003$)/.test(type ?? "");

/** Whether a device may have readings. Of the known cameras only the pest monitor does, which counts its catch. */
export const mayHaveReadings = (type: DeviceType | null): boolean =>
  !isCamera(type) || type === "V003" || !isKnownType(type);

const isKnownType = (type: DeviceType | null): boolean => type !== null && deviceTypes.has(type);

/** After how many empty answers in a row readings are asked for only once an hour; null for never. */
export function emptyAnswersUntilRare(type: DeviceType | null): number | null {
  if (!isCamera(type)) return null;
  return isKnownType(type) ? 3 : 1;
}

interface Words {
  /** The interface's name for it. */
  readonly meaning: string;
  /** The id made of it, such as `left_skylight`. */
  readonly word: string;
  readonly en: string;
  readonly zh: string;
}

export interface ActuatorRow extends Words {
  readonly role: "actuator";
  readonly kind: ActuatorKind;
  /** What is assumed about this type, as the interface does not say it. */
  readonly assumption?: Text;
}

export interface ParameterRow extends Words {
  readonly role: "parameter";
}

/** What the addresses of a control-parameter type (system 2) become in a configuration. */
export type TypeRow = ActuatorRow | ParameterRow;

type Entry = readonly [ParameterGroup, TypeRow];

/** Kinds for which the interface gives no control values. */
const assumed: ReadonlySet<ActuatorKind> = new Set(["side_vent", "thermal_curtain"]);
const assumption = msg`assumed to take the values of a positioner`;

const moved = (id: number, kind: ActuatorKind, word: string, en: string, zh: string, meaning = en): Entry => [
  parameterGroup(id),
  {
    role: "actuator",
    kind,
    word,
    en,
    zh,
    meaning: meaning.toLowerCase(),
    ...(assumed.has(kind) ? { assumption } : {}),
  },
];

const mirrored = (id: number, word: string, en: string, zh: string, meaning = en): Entry => [
  parameterGroup(id),
  { role: "parameter", word, en, zh, meaning: meaning.toLowerCase() },
];

/**
 * Every type of the interface's table, which gives names only; the kind follows from the control values of such
 * devices. Types without control values are parameters.
 */
export const typeRows: ReadonlyMap<ParameterGroup, TypeRow> = new Map([
  moved(2, "skylight", "left_skylight", "Left skylight", "左天窗"),
  moved(3, "shade_curtain", "inner_shade", "Inner shade curtain", "内遮阳"),
  moved(4, "skylight", "right_skylight", "Right skylight", "右天窗"),
  moved(7, "side_vent", "side_vent", "Side vent", "侧通风窗", "side ventilation window"),
  moved(10, "fan_wet_curtain", "fan_wet_curtain", "Fan and wet curtain", "风机湿帘"),
  moved(11, "circulation_fan", "circulation_fan", "Circulation fan", "循环风机"),
  moved(12, "light", "supplemental_light", "Supplemental light", "补光灯"),
  moved(
    41,
    "shade_curtain",
    "inner_shade_41",
    "Inner shade curtain, type 41",
    "内遮阳41",
    "inner shade curtain",
  ),
  moved(146, "shade_curtain", "outer_shade", "Outer shade curtain", "外遮阳"),
  moved(157, "thermal_curtain", "thermal_curtain", "Inner thermal curtain", "内保温"),
  ...Array.from({ length: 12 }, (_, n) => {
    const plan = n + 1;
    return moved(
      190 + n,
      "irrigation",
      `irrigation_plan_${plan}`,
      `Irrigation plan ${plan}`,
      `灌溉方案${plan}`,
    );
  }),
  mirrored(203, "formulas_1_3", "Formulas 1 to 3", "配方1-3"),
  mirrored(204, "formulas_4_6", "Formulas 4 to 6", "配方4-6"),
  mirrored(205, "formulas_7_9", "Formulas 7 to 9", "配方7-9"),
  mirrored(206, "formulas_10_12", "Formulas 10 to 12", "配方10-12"),
  mirrored(207, "platform_report", "Platform report", "平台报表"),
  mirrored(211, "sensor_channel", "Sensor channel", "传感器通道"),
  mirrored(212, "machine_parameter", "Machine parameter", "机器参数", "machine parameters"),
  mirrored(213, "sensor_synthesis", "Sensor synthesis", "传感器综合"),
  mirrored(219, "waste_liquid_recovery", "Waste-liquid recovery mode", "废液回收模式"),
]);

/** The types that a scan asks for by default: the whole table. */
export const scannedTypes: readonly ParameterGroup[] = [...typeRows.keys()];

/** Such as `type 2 (left skylight)`; only the number for an unknown type. */
export function typeName(group: ParameterGroup): Text {
  const row = typeRows.get(group);
  if (row === undefined) return msg`type ${group}`;
  const { meaning, zh } = row;
  return msg`type ${group} (${byCode("name", meaning, { en: meaning, zh })})`;
}

/**
 * Why an actuator cannot be of the configured kind; null where it can. The interface's table of control-parameter types
 * decides. General kinds contradict only another family; kinds with configured values contradict nothing.
 */
export function contradiction(
  {
    kind,
    group,
    acceptType,
  }: {
    readonly kind: ActuatorKind;
    readonly group?: ParameterGroup | undefined;
    readonly acceptType?: boolean;
  },
  device: DeviceType | null,
): Text | null {
  if (acceptType === true) return null;
  if (!takesCommands(device)) {
    const meaning = device === null ? undefined : deviceTypes.get(device);
    const type = meaning === undefined ? device : plain`${device ?? ""} (${meaning})`;
    return msg`the platform lists its controller as ${type ?? msg`something else`}, which has no actuators`;
  }
  const row = group === undefined ? undefined : typeRows.get(group);
  if (group === undefined || row === undefined || kind === "custom" || kind === "motor") return null;
  if (row.role === "parameter")
    return isGeneral(kind) ? null : msg`type_id says ${typeName(group)}, which is no actuator at all`;
  if (isGeneral(kind) ? takesDegrees(kind) === takesDegrees(row.kind) : kind === row.kind) return null;
  return msg`type_id says ${typeName(group)}, which is the kind ${row.kind}, not ${kind}`;
}

const isGeneral = (kind: ActuatorKind): boolean => kind === "positioner" || kind === "machine";

export const contradictionRemedy = msg`correct kind or type_id, or say accept_type: true where it is meant; until then its commands are refused`;
