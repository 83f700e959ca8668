import { controllerTopicId } from "../../config/controller-topic-id.js";
import { deviceType, isCamera, type ParameterGroup } from "../../greenhouse/device-types.js";
import { isDeviceCode } from "../../platform/request-path.js";
import type { Ask, ListedDevice } from "./survey.js";

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

/** Requests for the account's lists: controllers, two device lists, stations. */
export const listRequests = 4;

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
