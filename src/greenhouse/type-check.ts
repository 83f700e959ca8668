import { positionerKinds, type ActuatorKind } from "./actuator-kinds.js";
import { deviceTypes, takesCommands, type DeviceType, type ParameterGroup } from "./device-types.js";
import { typeName, typeRows } from "./type-rows.js";

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
