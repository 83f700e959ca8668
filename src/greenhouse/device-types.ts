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
