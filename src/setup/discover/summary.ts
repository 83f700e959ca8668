import { isCamera } from "../../greenhouse/device-types.js";
import { findingsOf } from "./findings.js";
import { commentText } from "./safe-text.js";
import type { DeviceSurvey, Survey } from "./survey.js";

/** What a scan found, in sentences for the person who started it. */
export function summaryOf({ devices, stations }: Survey): readonly string[] {
  const cameras = devices.filter(({ device }) => isCamera(device.type));
  const findings = devices.map(findingsOf);
  const sum = (count: (index: number) => number) => devices.reduce((total, _, at) => total + count(at), 0);
  const actuators = sum((at) => findings[at]?.actuators.length ?? 0);
  const parameters = sum((at) => findings[at]?.parameters.length ?? 0);
  const doubtful = sum((at) => findings[at]?.doubtful.length ?? 0);
  return [
    `found ${counted(devices.length, "device")} (${counted(cameras.length, "camera")}) in ${counted(stations.length, "station")}: ` +
      `${counted(actuators, "actuator")}, ${counted(parameters, "parameter")}, ` +
      `${counted(doubtful, "address", "addresses")} of unknown meaning`,
    ...incomplete(
      "not connected",
      devices.filter(({ isOffline }) => isOffline),
    ),
    ...incomplete(
      "not every question answered",
      devices.filter(({ unanswered }) => unanswered.length > 0),
    ),
  ];
}

/** `1 device`, `2 devices`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

const mostNamed = 10;

function incomplete(what: string, devices: readonly DeviceSurvey[]): readonly string[] {
  if (devices.length === 0) return [];
  const named = devices.slice(0, mostNamed).map(({ device }) => commentText(device.code));
  const more = devices.length > mostNamed ? ` and ${devices.length - mostNamed} more` : "";
  return [`${what}: ${named.join(", ")}${more}; run discover again later, it asks only for what is missing`];
}
