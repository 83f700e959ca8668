import type { ActuatorKind } from "./actuator-kinds.js";
import { parameterGroup, parameterGroups, type ParameterGroup } from "./device-types.js";

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
