import { noLimits } from "../../src/limits/restored-limits.js";
import { type Environment, type Input, laneKey, type Restored } from "../../src/commands/book.js";
import type { Target } from "../../src/commands/command.js";
import type { CommandProblem } from "../../src/greenhouse/model.js";
import { newController } from "../../src/greenhouse/reduce.js";
import type { ClientStatus, DeviceRecord, SensorItem } from "../../src/greenhouse/ports.js";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { ActuatorSettings, ControllerSettings, SensorSettings } from "../../src/greenhouse/settings.js";
import { pino } from "pino";

export const silentLog = pino({ level: "silent" });

export const limits = { staleAfterMs: 900_000, sensorFloorMs: 0, registerFloorMs: 0, statusFloorMs: 0 };

export const actuator = (over: Partial<ActuatorSettings> = {}): ActuatorSettings => ({
  id: "roof",
  kind: "skylight",
  address: "101",
  values: {},
  leadIn: "never",
  settleMs: 2_000,
  travelMs: 120_000,
  confirmWithinMs: 150_000,
  minIntervalMs: 2_000,
  tolerance: 0,
  readOnly: false,
  homeAssistant: { enabled: true },
  ...over,
});

export const sensorSettings = (over: Partial<SensorSettings> = {}): SensorSettings => ({
  id: "air",
  from: "空气温度",
  ignore: false,
  ...over,
});

export const controllerSettings = (over: Partial<ControllerSettings> = {}): ControllerSettings => ({
  code: "GH-0001",
  ignore: false,
  sensors: [],
  actuators: [],
  parameters: [],
  ...over,
});

export const item = (over: Partial<SensorItem> = {}): SensorItem => ({
  name: "空气温度",
  factor: null,
  channel: null,
  value: 21.5,
  raw: 21.5,
  unit: "℃",
  measuredAt: null,
  ...over,
});

export const record = (over: Partial<DeviceRecord> = {}): DeviceRecord => ({
  code: "GH-0001",
  name: "East house",
  type: deviceType("C001"),
  typeName: "sunlight greenhouse controller",
  stationId: "7",
  stationName: "North farm",
  brand: null,
  hls: null,
  version: "3",
  online: true,
  extra: {},
  ...over,
});

/** The single-device status of a device in this state. */
export const clientStatus = (
  state: ClientStatus["state"],
  over: Partial<ClientStatus> = {},
): ClientStatus => ({ state, version: null, description: null, lastOnlineAt: null, ...over });

export const controller = (settings: ControllerSettings | null = null) =>
  newController("GH-0001", "gh-0001", settings, true);

/** A problem of `roof`, whose command the platform never showed. */
export const roofProblem: CommandProblem = {
  ...{ actuator: "roof", command: "open", outcome: "unconfirmed", reason: null, message: "Look." },
  at: 0,
};

/** For parts that report pushed values to commands, when nothing is read back. */
export const nobodyWaits = {
  readsBack: () => false,
  readBackNow: () => false,
  onPushed: () => undefined,
};

/** A lane as an earlier run left it; empty unless given. */
export const restored = (about: Target, left: Partial<Restored> = {}): Input => ({
  type: "restored",
  key: laneKey(about),
  lane: {
    about,
    unread: false,
    problem: null,
    awaited: null,
    secondLook: null,
    interrupted: [],
    limits: noLimits,
    ...left,
  },
});

/** An environment without limits and prohibitions, by monotonic and epoch ms. */
export const environmentAt = (mono: number, at = mono): Environment => ({
  ...{ at, mono, awakeSince: -Infinity, skewMs: 0, mayRulesSend: false },
  rules: { read_only: false, readOnlyForRules: false, dry_run: false },
  controller: () => undefined,
});
