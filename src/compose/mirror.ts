import anyAscii from "any-ascii";
import type { Configuration } from "../config/schema.js";
import {
  contradiction,
  contradictionRemedy,
  parameterGroup,
  statusNumber,
  takesCommands,
} from "../greenhouse/device-types.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Freshness } from "../greenhouse/freshness.js";
import type { PlatformState } from "../greenhouse/model.js";
import type { PlatformReader } from "../greenhouse/ports.js";
import type {
  ActuatorSettings,
  ControllerSettings,
  MirrorSettings,
  ParameterSettings,
  SensorSettings,
} from "../greenhouse/settings.js";
import type { PlatformClient } from "../platform/client.js";
import { PlatformWatch } from "../sync/hosts.js";
import { type AccountNews, Inventory } from "../sync/inventory.js";
import type { PollIntervals } from "../sync/poll-plan.js";
import { Poller } from "../sync/poller.js";
import { PushChannels } from "../sync/push-channels.js";
import { type PushBell, PushMirror } from "../sync/push-mirror.js";
import { PushReads, PushRecovery } from "../sync/push-reads.js";
import { RequestBudget } from "../sync/schedule.js";
import { GreenhouseStore } from "../sync/store.js";
import type { BridgeSurroundings } from "./surroundings.js";
import { createPlatform } from "../platform/client.js";
import { platformSettings } from "../platform/settings.js";

type ControllerSection = Configuration["controllers"][string];
type ActuatorSection = ControllerSection["actuators"][string];
type SensorSection = ControllerSection["sensors"][string];
type ParameterSection = ControllerSection["parameters"][string];

const dayMs = 86_400_000;

/** The configuration in the core's words. */
export function mirrorSettings(configuration: Configuration): MirrorSettings {
  const controllers = Object.entries(configuration.controllers).map(
    ([code, section]) => [code, controllerSettings(code, section, configuration)] as const,
  );
  return {
    mirror: configuration.mirror,
    controllers: new Map(controllers),
    staleAfterMs: configuration.polling.stale_after,
    removeAfterMs: dayMs,
  };
}

function controllerSettings(
  code: string,
  section: ControllerSection,
  configuration: Configuration,
): ControllerSettings {
  return {
    code,
    id: section.id,
    name: section.name,
    area: section.area,
    ignore: section.ignore,
    stream: section.stream,
    sensors: Object.entries(section.sensors).map(([id, sensor]) => sensorSettings(id, sensor)),
    actuators: Object.entries(section.actuators).map(([id, actuator]) =>
      actuatorSettings(id, actuator, configuration.commands.min_interval),
    ),
    parameters: Object.entries(section.parameters).map(([id, parameter]) => parameterSettings(id, parameter)),
  };
}

function sensorSettings(id: string, section: SensorSection): SensorSettings {
  const {
    from,
    name,
    kind,
    unit,
    scale,
    offset,
    decimals,
    min,
    max,
    ignore,
    stale_after: staleAfterMs,
  } = section;
  return { id, from, name, kind, unit, scale, offset, decimals, min, max, staleAfterMs, ignore };
}

function actuatorSettings(id: string, section: ActuatorSection, minIntervalMs: number): ActuatorSettings {
  return {
    id,
    name: section.name,
    kind: section.kind,
    address: section.address,
    modeAddress: section.mode_address,
    positionAddress: section.position_address,
    stop: section.stop,
    values: section.values,
    leadIn: section.lead_in,
    settleMs: section.settle,
    travelMs: section.travel_time,
    confirmWithinMs: section.confirm_within,
    minIntervalMs: section.min_interval ?? minIntervalMs,
    tolerance: section.tolerance,
    group: section.type_id === undefined ? undefined : parameterGroup(section.type_id),
    acceptType: section.accept_type,
    running: section.running === undefined ? undefined : statusNumber(section.running),
    readOnly: section.read_only,
    homeAssistant: section.homeassistant,
  };
}

function parameterSettings(id: string, section: ParameterSection): ParameterSettings {
  const { name, address, unit, scale, decimals, writable, type_id } = section;
  return {
    id,
    name,
    address,
    unit,
    scale,
    decimals,
    writable,
    group: type_id === undefined ? undefined : parameterGroup(type_id),
  };
}

/** The reading half: what asks the platform and holds what it showed. */
export interface Mirror {
  readonly store: GreenhouseStore;
  readonly platform: PlatformClient;
  readonly inventory: Inventory;
  readonly poller: Poller;
  readonly watch: PlatformWatch;
  readonly budget: RequestBudget;
  readonly intervals: PollIntervals;
}

export interface MirrorListeners {
  readonly onPlatformState: (state: PlatformState) => void;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly onInventory: (news: AccountNews) => void;
  /** What polling reads through, so that its reads can be counted. */
  readonly watchReads: (reader: PlatformReader) => PlatformReader;
}

export const pollIntervals = ({ polling }: Configuration): PollIntervals => ({
  controllersMs: polling.controllers,
  sensorsMs: polling.sensors,
  runningStatusMs: polling.running_status,
  actuatorsMs: polling.actuators,
});

export function createMirror(around: BridgeSurroundings, listeners: MirrorListeners): Mirror {
  const { configuration, clock, random, log } = around;
  const settings = mirrorSettings(configuration);
  const intervals = pollIntervals(configuration);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  const budget = new RequestBudget(configuration.platform.requests_per_minute);
  const watch: PlatformWatch = new PlatformWatch({
    clock,
    log,
    onState: (state) => {
      store.setReachable(state !== "unreachable");
      listeners.onPlatformState(state);
    },
    onHost: (host, reachable) => {
      poller.hostReachable(host, reachable);
    },
    onEvent: listeners.onEvent,
  });
  const platform = createPlatform(platformSettings(configuration.platform), {
    ...{ clock, random, log, dataDir: configuration.data_dir },
    onLink: (link) => {
      watch.learnt(link.host, link);
    },
  });
  const inventory = new Inventory(store, settings.removeAfterMs, (news) => {
    if (news.type === "added") poller.follow(news.code);
    if (news.type === "removed") poller.forget(news.code);
    if (news.type === "doubted") poller.askConnection(news.code);
    else listeners.onInventory(news);
  });
  const onStretch = stretchListener(configuration, { store, watch, log, intervals });
  const { concurrency, requests_per_minute: requestsPerMinute } = configuration.platform;
  const ports = { platform: listeners.watchReads(platform), store, inventory, clock, budget, random, log };
  const poller = new Poller({ intervals, concurrency, requestsPerMinute, onStretch }, ports);
  followRawAddresses(store, poller);
  warnOfTypes(store, log);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  return { store, platform, inventory, poller, watch, budget, intervals };
}

/** Says once what the platform's type of a device contradicts; what type_id contradicts, `check` and the start say from the configuration. */
function warnOfTypes(store: GreenhouseStore, log: BridgeSurroundings["log"]): void {
  store.onChange((before, after) => {
    const type = after?.info.type ?? null;
    if (after === undefined || type === null || before?.info.type === type || takesCommands(type)) return;
    for (const { settings } of after.actuators.values()) {
      const why = contradiction(settings, type);
      if (why === null) continue;
      const about = { controller: after.info.code, actuator: settings.id };
      log.warn(about, `actuator ${settings.id} cannot be commanded: ${why}; ${contradictionRemedy}`);
    }
  });
}

/** A raw address that a command read back is read from then on. */
function followRawAddresses(store: GreenhouseStore, poller: Poller): void {
  store.onChange((before, after) => {
    if (after && (before?.addresses.size ?? 0) < after.addresses.size) poller.follow(after.info.code);
  });
}

/** A reading may be three effective intervals old where the budget stretches them. */
const intervalsUntilStale = 3;

function limitsFor(staleAfterMs: number, intervals: PollIntervals, factor: number): Freshness {
  const floor = (intervalMs: number) => intervalMs * factor * intervalsUntilStale;
  const floorWhenStretched = (intervalMs: number) => (factor > 1 ? floor(intervalMs) : 0);
  return {
    staleAfterMs,
    sensorFloorMs: floorWhenStretched(intervals.sensorsMs),
    registerFloorMs: floorWhenStretched(intervals.actuatorsMs),
    // They change rarely and are asked for rarely; nobody chose how long they last.
    statusFloorMs: floor(intervals.runningStatusMs),
  };
}

function stretchListener(
  configuration: Configuration,
  {
    store,
    watch,
    log,
    intervals,
  }: Pick<Mirror, "store" | "watch" | "intervals"> & Pick<BridgeSurroundings, "log">,
): (factor: number) => void {
  const staleAfterMs = configuration.polling.stale_after;
  store.setLimits(limitsFor(staleAfterMs, intervals, 1));
  return (factor) => {
    const stretched = factor > 1;
    store.setLimits(limitsFor(staleAfterMs, intervals, factor));
    watch.stretched(stretched);
    if (stretched) {
      log.warn(
        { sensors_every_s: Math.round((intervals.sensorsMs * factor) / 1000) },
        `the account needs ${factor.toFixed(1)} times the requests that platform.requests_per_minute allows; all intervals are stretched`,
      );
    } else log.info("the request budget is enough again; intervals are as configured");
  };
}

/** What listens to the platform beside polling, until the signal aborts. */
export interface PushPart {
  run(signal: AbortSignal): Promise<void>;
}

const off: PushPart = { run: () => Promise.resolve() };

/** `bell` is the one that the commands listen to. */
export function createPush(
  { configuration, clock, log }: Pick<BridgeSurroundings, "configuration" | "clock" | "log">,
  { platform, store, budget, poller }: Pick<Mirror, "platform" | "store" | "budget" | "poller">,
  bell: PushBell,
): PushPart {
  if (!configuration.platform.push.enabled) return off;
  const share = new RequestBudget(Math.ceil(configuration.platform.requests_per_minute / 4));
  const reads = new PushReads({ clock, budgets: [budget, share], log });
  const skewMs = () => platform.clockSkewMs();
  const mirror = new PushMirror({ store, platform, bell, reads, clock, skewMs });
  bell.onUnread((code, address, raw) => {
    mirror.unread(code, address, raw);
  });
  const recovery = new PushRecovery(clock, () => poller.refresh());
  return new PushChannels({ platform, store, mirror, reads, recovery, clock, log });
}
