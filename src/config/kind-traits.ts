import { actuatorKinds, kindRows, type ActuatorKind } from "../greenhouse/actuator-kinds.js";

export const takesDegrees = (kind: ActuatorKind): boolean => kindRows[kind].positionMode !== null;

/** Its words come from `values` of the configuration. */
export const takesValues = (kind: ActuatorKind): boolean => kindRows[kind].configured;

export const actuatorKindOf = (text: unknown): ActuatorKind | null =>
  actuatorKinds.find((kind) => kind === text) ?? null;
