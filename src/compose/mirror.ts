import anyAscii from "any-ascii";
import { RequestBudget } from "../bridge/budget.js";
import { type AccountNews, Inventory } from "../bridge/inventory.js";
import type { PollIntervals } from "../bridge/poll-jobs.js";
import { Poller } from "../bridge/poller.js";
import { PlatformWatch } from "../bridge/platform-watch.js";
import { GreenhouseStore } from "../bridge/store.js";
import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { Freshness } from "../greenhouse/freshness.js";
import { takesCommands } from "../greenhouse/device-types.js";
import { contradiction, contradictionRemedy } from "../greenhouse/type-check.js";
import type { PlatformState } from "../greenhouse/model.js";
import type { PlatformReader } from "../greenhouse/ports.js";
import type { PlatformClient } from "../platform/client.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { mirrorSettings } from "./mirror-settings.js";
import { openPlatform } from "./open-platform.js";

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
  const platform = openPlatform(around, (link) => {
    watch.learnt(link.host, link);
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
