import type { DeviceType, ParameterGroup } from "../../greenhouse/device-types.js";
import type { RawValue, RunningStatusItem, SensorItem } from "../../greenhouse/ports.js";

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
