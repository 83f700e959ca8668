import { type ActuatorKind, positionerKinds } from "./actuator-kinds.js";

/*
 * The platform has three code systems. Two of them are called `deviceTypeId` although their values differ, so each is
 * a type of its own here and the compiler refuses to mix them. No derivation between them exists.
 */
declare const system: unique symbol;

/** System 1, a string: the type of a device in lists and historical data (`C001`). */
export type DeviceType = string & { readonly [system]: 1 };
/** System 2, a number: a group of control parameters, read as a batch with `GET /api/set-value/flush`. */
export type ParameterGroup = number & { readonly [system]: 2 };
/** System 3, a number: what a running status of `GET /api/device_status` is about. */
export type StatusNumber = number & { readonly [system]: 3 };

export const deviceType = (code: string): DeviceType => code as DeviceType;
export const parameterGroup = (id: number): ParameterGroup => id as ParameterGroup;
export const statusNumber = (value: number): StatusNumber => value as StatusNumber;

/** Types seen in one account; others exist. */
export const deviceTypes: ReadonlyMap<DeviceType, string> = new Map(
  [
    ["C001", "sunlight greenhouse controller"],
    ["C003", "fertilizer machine"],
    ["W001", "data collector"],
    ["V003", "pest monitoring"],
    ["V008", "national-standard video device"],
    ["V009", "cloud-linked video device"],
  ].map(([code, meaning]) => [deviceType(code ?? ""), meaning ?? ""] as const),
);

const irrigationPlans = Array.from({ length: 12 }, (_, n) => [190 + n, `irrigation plan ${n + 1}`] as const);

export const parameterGroups: ReadonlyMap<ParameterGroup, string> = new Map(
  [
    [2, "left skylight"] as const,
    [3, "inner shade curtain"] as const,
    [4, "right skylight"] as const,
    [7, "side ventilation window"] as const,
    [10, "fan and wet curtain"] as const,
    [11, "circulation fan"] as const,
    [12, "supplemental light"] as const,
    [41, "inner shade curtain"] as const,
    [146, "outer shade curtain"] as const,
    [157, "inner thermal curtain"] as const,
    ...irrigationPlans,
    [203, "formulas 1 to 3"] as const,
    [204, "formulas 4 to 6"] as const,
    [205, "formulas 7 to 9"] as const,
    [206, "formulas 10 to 12"] as const,
    [207, "platform report"] as const,
    [211, "sensor channel"] as const,
    [212, "machine parameters"] as const,
    [213, "sensor synthesis"] as const,
    [219, "waste-liquid recovery mode"] as const,
  ].map(([id, meaning]) => [parameterGroup(id), meaning]),
);

/** Numbers observed; others occur. */
export const statusNumbers: ReadonlyMap<StatusNumber, string> = new Map([
  [statusNumber(16), "first-stage fan"],
  [statusNumber(17), "second-stage fan"],
  [statusNumber(18), "third-stage fan"],
  [statusNumber(19), "wet curtain"],
  [statusNumber(37), "outdoor roof spray"],
  [statusNumber(49), "irrigation-plan watering"],
]);

/** Cameras and weather stations have no addresses, so nothing there takes commands. */
export const takesCommands = (type: DeviceType | null): boolean => !/^[VW]/.test(type ?? "");

/** Cameras and picture uploaders. */
export const isCamera = (type: DeviceType | null): boolean => type?.startsWith("V") ?? false;

/** Of those the pest monitor, which counts what it catches, may have readings. */
export const mayHaveReadings = (type: DeviceType | null): boolean => !isCamera(type) || type === "V003";

/** What the addresses of a control-parameter type (system 2) are in a configuration. */
export type TypeRow = ActuatorRow | ParameterRow;

interface Words {
  /** The id made of it: `left_skylight`. */
  readonly word: string;
  readonly en: string;
  readonly zh: string;
}

export interface ActuatorRow extends Words {
  readonly role: "actuator";
  readonly kind: ActuatorKind;
  /** What the interface does not say about this type and is assumed. */
  readonly assumption?: string;
}

export interface ParameterRow extends Words {
  readonly role: "parameter";
}

const moved = (kind: ActuatorKind, word: string, en: string, zh: string): ActuatorRow => ({
  role: "actuator",
  kind,
  word,
  en,
  zh,
});

const likePositioner = (row: ActuatorRow): ActuatorRow => ({
  ...row,
  assumption: "assumed to take the values of a positioner",
});

const mirrored = (word: string, en: string, zh: string): ParameterRow => ({
  role: "parameter",
  word,
  en,
  zh,
});

const plans = Array.from(
  { length: 12 },
  (_, n) =>
    [
      190 + n,
      moved("irrigation", `irrigation_plan_${n + 1}`, `Irrigation plan ${n + 1}`, `灌溉方案${n + 1}`),
    ] as const,
);

/**
 * Every type of the interface's table. The table tells what a type is called; its kind follows from the control values
 * given for such devices. Types without control values are parameters.
 */
export const typeRows: ReadonlyMap<ParameterGroup, TypeRow> = new Map(
  [
    [2, moved("skylight", "left_skylight", "Left skylight", "左天窗")] as const,
    [3, moved("shade_curtain", "inner_shade", "Inner shade curtain", "内遮阳")] as const,
    [4, moved("skylight", "right_skylight", "Right skylight", "右天窗")] as const,
    [7, likePositioner(moved("side_vent", "side_vent", "Side vent", "侧通风窗"))] as const,
    [10, moved("fan_wet_curtain", "fan_wet_curtain", "Fan and wet curtain", "风机湿帘")] as const,
    [11, moved("circulation_fan", "circulation_fan", "Circulation fan", "循环风机")] as const,
    [12, moved("light", "supplemental_light", "Supplemental light", "补光灯")] as const,
    [41, moved("shade_curtain", "inner_shade_41", "Inner shade curtain, type 41", "内遮阳41")] as const,
    [146, moved("shade_curtain", "outer_shade", "Outer shade curtain", "外遮阳")] as const,
    [
      157,
      likePositioner(moved("thermal_curtain", "thermal_curtain", "Inner thermal curtain", "内保温")),
    ] as const,
    ...plans,
    [203, mirrored("formulas_1_3", "Formulas 1 to 3", "配方1-3")] as const,
    [204, mirrored("formulas_4_6", "Formulas 4 to 6", "配方4-6")] as const,
    [205, mirrored("formulas_7_9", "Formulas 7 to 9", "配方7-9")] as const,
    [206, mirrored("formulas_10_12", "Formulas 10 to 12", "配方10-12")] as const,
    [207, mirrored("platform_report", "Platform report", "平台报表")] as const,
    [211, mirrored("sensor_channel", "Sensor channel", "传感器通道")] as const,
    [212, mirrored("machine_parameter", "Machine parameter", "机器参数")] as const,
    [213, mirrored("sensor_synthesis", "Sensor synthesis", "传感器综合")] as const,
    [219, mirrored("waste_liquid_recovery", "Waste-liquid recovery mode", "废液回收模式")] as const,
  ].map(([id, row]) => [parameterGroup(id), row]),
);

/** The types a scan asks for unless told otherwise: all of the table. */
export const scannedTypes: readonly ParameterGroup[] = [...parameterGroups.keys()];

/** `type 2 (left skylight)`; the number alone where the table does not hold it. */
export function typeName(group: ParameterGroup): string {
  const meaning = parameterGroups.get(group);
  return meaning === undefined ? `type ${group}` : `type ${group} (${meaning})`;
}

export interface TypedActuator {
  readonly kind: ActuatorKind;
  /** Control-parameter type, where the configuration gives one. */
  readonly group?: ParameterGroup | undefined;
  /** The configuration says that it is meant. */
  readonly acceptType?: boolean;
}

const isPositioner = (kind: ActuatorKind): boolean => positionerKinds.some((one) => one === kind);

/**
 * Why an actuator cannot be what the configuration says, or null. The interface's table of control-parameter types decides; the general
 * kinds contradict another family only, and what the configuration gives its own values contradicts nothing.
 */
export function contradiction(
  { kind, group, acceptType }: TypedActuator,
  device: DeviceType | null,
): string | null {
  if (acceptType === true) return null;
  if (!takesCommands(device)) {
    const meaning = device === null ? undefined : deviceTypes.get(device);
    const type = meaning === undefined ? device : `${device ?? ""} (${meaning})`;
    return `the platform lists its controller as ${type ?? "something else"}, which has no actuators`;
  }
  const row = group === undefined ? undefined : typeRows.get(group);
  if (group === undefined || row === undefined || kind === "custom" || kind === "motor") return null;
  if (row.role === "parameter")
    return isGeneral(kind) ? null : `type_id says ${typeName(group)}, which is no actuator at all`;
  if (isGeneral(kind) ? isPositioner(kind) === isPositioner(row.kind) : kind === row.kind) return null;
  return `type_id says ${typeName(group)}, which is the kind ${row.kind}, not ${kind}`;
}

const isGeneral = (kind: ActuatorKind): boolean => kind === "positioner" || kind === "machine";

/** What to do about it. */
export const contradictionRemedy =
  "correct kind or type_id, or say accept_type: true where it is meant; until then its commands are refused";
