import anyAscii from "any-ascii";
import type { DeviceRecord, PlatformHost, SensorItem } from "../../src/greenhouse/ports.js";
import type { ControllerSettings, MirrorSettings } from "../../src/greenhouse/settings.js";
import type { Logger } from "../../src/runtime/log.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { Inventory, type InventoryNews } from "../../src/sync/inventory.js";
import { guardInputs, type PollIntervals } from "../../src/sync/poll-plan.js";
import { PollTroubles } from "../../src/sync/poll-troubles.js";
import { Poller } from "../../src/sync/poller.js";
import { RequestBudget } from "../../src/runtime/schedule.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { record, silentLog } from "./builders.js";
import { CountingPlatform } from "./counting-platform.js";
import { VirtualClock } from "./virtual-clock.js";

export const hour = 3_600_000;

export const mirrorSettings = (
  controllers: readonly ControllerSettings[] = [],
  over: Partial<MirrorSettings> = {},
): MirrorSettings => ({
  mirror: "all",
  controllers: new Map(controllers.map((one) => [one.code, one])),
  staleAfterMs: 900_000,
  ...over,
});

export const devices = (count: number, over: Partial<DeviceRecord> = {}): DeviceRecord[] =>
  Array.from({ length: count }, (_, n) => record({ code: `GH-${n}`, name: `House ${n}`, ...over }));

export interface PolledOptions {
  readonly settings?: MirrorSettings;
  readonly intervals?: Partial<PollIntervals>;
  readonly concurrency?: number;
  readonly perMinute?: number;
  readonly seed?: number;
  readonly log?: Logger;
  readonly items?: (code: string, clock: VirtualClock) => readonly SensorItem[];
}

/** The reading half on a virtual clock, connected as in the product. */
export function polledMirror(options: PolledOptions = {}) {
  const { concurrency = 4, perMinute = 0, seed = 1 } = options;
  const clock = new VirtualClock();
  const settings = options.settings ?? mirrorSettings();
  const store = new GreenhouseStore(settings, clock, anyAscii);
  const platform = new CountingPlatform(clock, (code) => options.items?.(code, clock) ?? []);
  const news: InventoryNews[] = [];
  const inventory = new Inventory(store, () => 3 * intervals.controllers * poller.stretch);
  inventory.onNews((one) => {
    if (one.type === "added" || one.type === "absent") poller.follow(one.code);
    if (one.type === "removed") poller.forget(one.code);
    if (one.type === "doubted") poller.readSoon({ kind: "connection", code: one.code }, 0, null);
    if (one.type === "settled") poller.spareConnection(one.code);
    news.push(one);
  });
  const unlisted: string[] = [];
  const apart: string[] = [];
  const stretches: number[] = [];
  const tried: string[] = [];
  const intervals = {
    controllers: 300_000,
    sensors: 60_000,
    running_status: 300_000,
    actuators: 120_000,
    ...options.intervals,
  };
  const away = new Set<PlatformHost>();
  const troubles = new PollTroubles(
    options.log ?? silentLog,
    () => clock.monotonic(),
    (host) => away.has(host),
  );
  const poller: Poller = new Poller(
    {
      intervals,
      concurrency,
      requestsPerMinute: perMinute,
      random: seededRandom(seed),
      guardInputs: guardInputs(settings.controllers.values()),
      onStretch: (factor) => stretches.push(factor),
      onUnlisted: (code, group, addresses) => unlisted.push(`${code} ${group} ${addresses.join()}`),
      onApart: ({ code, address, group, value }) =>
        apart.push(`${code} ${address}: ${String(group)}, ${String(value)}`),
    },
    { platform, store, inventory, clock },
    new RequestBudget(perMinute),
    troubles,
  );
  const hostReachable = (host: PlatformHost, isReachable: boolean) => {
    if (isReachable) away.delete(host);
    else away.add(host);
    poller.hostReachable(host, isReachable);
  };
  poller.onTried((code) => tried.push(code));
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const abort = new AbortController();
  return {
    clock,
    store,
    platform,
    inventory,
    poller,
    hostReachable,
    news,
    stretches,
    tried,
    apart,
    unlisted,
    intervals,
    abort,
  };
}
