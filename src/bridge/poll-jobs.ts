import { stateAddresses } from "../greenhouse/actuator-fold.js";
import { hasOwnClient } from "../greenhouse/connection-fold.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformHost } from "../greenhouse/platform-error.js";

/** One thing to ask the platform again and again. */
export type PollJob =
  | { readonly kind: "controllers" }
  | { readonly kind: "devices"; readonly dataType: "TEXT" | "STREAM" }
  | { readonly kind: "sensors" | "running_status" | "connection"; readonly code: string }
  | { readonly kind: "registers"; readonly code: string; readonly read: RegisterRead };

/** One request for registers: a single address, or a whole parameter group at once. */
export type RegisterRead =
  | { readonly type: "address"; readonly address: string }
  | { readonly type: "group"; readonly group: ParameterGroup };

export interface PollIntervals {
  readonly controllersMs: number;
  readonly sensorsMs: number;
  readonly runningStatusMs: number;
  readonly actuatorsMs: number;
}

export function jobName(job: PollJob): string {
  switch (job.kind) {
    case "controllers":
      return job.kind;
    case "devices":
      return `devices ${job.dataType}`;
    case "sensors":
    case "running_status":
    case "connection":
      return `${job.kind} ${job.code}`;
    case "registers":
      return `registers ${job.code} ${readName(job.read)}`;
  }
}

const readName = (read: RegisterRead) => (read.type === "group" ? `group ${read.group}` : read.address);

export const jobHost = (job: PollJob): PlatformHost =>
  job.kind === "controllers" || job.kind === "devices" ? "business" : "realtime";

/** Lists of devices hardly ever change; their online flags come with the controllers' list. */
const devicesPerControllers = 12;
/** A controller that is offline has nothing new to say. */
const offlineSlowdown = 5;

export function jobIntervalMs(
  job: PollJob,
  intervals: PollIntervals,
  controller: Controller | undefined,
): number {
  const slower = controller?.availability === "offline" ? offlineSlowdown : 1;
  switch (job.kind) {
    case "controllers":
      return intervals.controllersMs;
    case "devices":
      return intervals.controllersMs * devicesPerControllers;
    case "sensors":
      return intervals.sensorsMs * slower;
    case "running_status":
      return intervals.runningStatusMs * slower;
    case "registers":
      return intervals.actuatorsMs * slower;
    // Lists tell about all others; these are asked once, and whenever a list is doubted.
    case "connection":
      return controller !== undefined && hasOwnClient(controller) ? intervals.controllersMs : Infinity;
  }
}

/** The order of a first round: what others depend on and what people look at comes first. */
export function jobRank(job: PollJob): number {
  const ranks = {
    controllers: 0,
    devices: 1,
    sensors: 2,
    registers: 3,
    running_status: 4,
    connection: 5,
  } satisfies Record<PollJob["kind"], number>;
  return ranks[job.kind];
}

/** The fewest requests that read every register of the controller: one per group, one per address without a group. */
export function registerReads(controller: Controller): readonly RegisterRead[] {
  const groups = new Set<ParameterGroup>();
  const addresses = new Set<string>();
  for (const { settings } of controller.actuators.values()) {
    if (settings.group !== undefined) groups.add(settings.group);
    else for (const address of stateAddresses(settings)) addresses.add(address);
  }
  for (const { settings } of controller.parameters.values()) {
    if (settings.group !== undefined) groups.add(settings.group);
    else addresses.add(settings.address);
  }
  for (const address of controller.addresses.keys()) addresses.add(address);
  return [
    ...[...groups].map((group): RegisterRead => ({ type: "group", group })),
    ...[...addresses].map((address): RegisterRead => ({ type: "address", address })),
  ];
}

export function jobsOf(controller: Controller, hasReadings: boolean): readonly PollJob[] {
  const { code } = controller.info;
  const registers = registerReads(controller).map((read): PollJob => ({ kind: "registers", code, read }));
  const readings: readonly PollJob[] = [
    { kind: "sensors", code },
    { kind: "running_status", code },
  ];
  return [...(hasReadings ? readings : []), ...registers, { kind: "connection", code }];
}
