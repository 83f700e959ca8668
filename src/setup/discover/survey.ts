import { controllerTopicId } from "../../config/schema.js";
import { type DeviceType, deviceType, isCamera, type ParameterGroup } from "../../greenhouse/device-types.js";
import type { RawValue, RunningStatusItem, SensorItem } from "../../greenhouse/ports.js";
import { isDeviceCode } from "../../platform/operations.js";

/** A device as the account's lists show it. */
export interface ListedDevice {
  readonly code: string;
  readonly name: string | null;
  readonly type: DeviceType | null;
  readonly typeName: string | null;
  readonly stationName: string | null;
  /** Null where no list says it. */
  readonly online: boolean | null;
  /** The list of all controllers holds it, not only a list of devices. */
  readonly isController: boolean;
}

export interface ListedStation {
  readonly id: string;
  readonly name: string | null;
}

export interface AccountLists {
  /** Epoch ms. */
  readonly takenAt: number;
  readonly stations: readonly ListedStation[];
  /** In the order of their codes. */
  readonly devices: readonly ListedDevice[];
}

/** One request about a device: its readings, its running statuses, or the addresses of one type. */
export type Ask = "sensors" | "statuses" | ParameterGroup;

export type Answer =
  | { readonly type: "sensors"; readonly items: readonly SensorItem[] }
  | { readonly type: "statuses"; readonly items: readonly RunningStatusItem[] }
  | { readonly type: "values"; readonly values: ReadonlyMap<string, RawValue> }
  /** The platform answered with another code than success; asking again would bring the same. */
  | { readonly type: "refused"; readonly why: string };

/** What a scan learnt about one device. */
export interface DeviceSurvey {
  readonly device: ListedDevice;
  readonly answers: ReadonlyMap<Ask, Answer>;
  /** Asked for without a usable answer, and why. */
  readonly unanswered: readonly { readonly ask: Ask; readonly why: string }[];
  /** Its addresses were not asked for, because it is not connected. */
  readonly isOffline: boolean;
}

export interface Survey {
  readonly stations: readonly ListedStation[];
  readonly devices: readonly DeviceSurvey[];
}

export const isComplete = (survey: Survey): boolean =>
  survey.devices.every(({ unanswered, isOffline }) => unanswered.length === 0 && !isOffline);

/** What the user chose. */
export interface Selection {
  /** Device codes or topic ids; empty for the whole account. */
  readonly controllers: readonly string[];
  readonly types: readonly ParameterGroup[];
}

export interface PlannedDevice {
  readonly device: ListedDevice;
  readonly asks: readonly Ask[];
}

const weatherStation = deviceType("W001");

/**
 * Whom to ask for what, with the fewest requests: one for the readings, one for the running statuses, and one for each
 * type, which brings all its addresses. Cameras have nothing to ask for; weather stations and devices that are no
 * controllers are asked for addresses only when they are chosen by name.
 */
export function planScan(
  devices: readonly ListedDevice[],
  { controllers, types }: Selection,
  isLeftOut: (code: string) => boolean,
): readonly PlannedDevice[] {
  const chosen = controllers.length > 0;
  const wanted = chosen
    ? devices.filter((device) => controllers.some((name) => isCalled(device, name)))
    : devices.filter(({ code }) => !isLeftOut(code));
  return wanted.map((device) => {
    const { code, type, isController } = device;
    if (isCamera(type) || !isUsableCode(code)) return { device, asks: [] };
    const hasAddresses = chosen || (isController && type !== weatherStation);
    return { device, asks: ["sensors", "statuses", ...(hasAddresses ? types : [])] };
  });
}

/** Whether a code may stand in a request and be a key of the configuration. */
export const isUsableCode = (code: string): boolean => isDeviceCode(code) && code !== "__proto__";

/** Chosen names that no device of the account has. */
export function unknownNames(
  devices: readonly ListedDevice[],
  { controllers }: Selection,
): readonly string[] {
  return controllers.filter((name) => !devices.some((device) => isCalled(device, name)));
}

const isCalled = ({ code }: ListedDevice, name: string): boolean =>
  code === name || controllerTopicId(code) === name;
