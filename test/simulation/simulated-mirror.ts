import anyAscii from "any-ascii";
import { type Mirror, mirrorSettings, pollIntervals } from "../../src/compose/mirror.js";
import { platformSettings } from "../../src/platform/settings.js";
import { PlatformWatch } from "../../src/sync/hosts.js";
import { Inventory } from "../../src/sync/inventory.js";
import { Poller } from "../../src/sync/poller.js";
import { RequestBudget } from "../../src/sync/schedule.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { silentLog } from "../support/builders.js";
import type { Bridge } from "./bridge.js";
import { simulatedClient } from "./client.js";
import { ObservedPlatform } from "./observed-platform.js";
import type { World } from "./world.js";

/** The reading half, joined as `createMirror` joins it, with the simulated client; commands see the observed one. */
export function simulatedMirror(world: World, bridge: Bridge): Mirror {
  const { configuration } = world.scenario;
  const { clock } = bridge;
  const { random } = world.bridgeChance;
  const settings = mirrorSettings(configuration);
  const intervals = pollIntervals(configuration);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  const budget = new RequestBudget(configuration.platform.requests_per_minute);
  const watch: PlatformWatch = new PlatformWatch({
    clock,
    log: silentLog,
    onState: (state) => {
      store.setReachable(state !== "unreachable");
      world.journalist.note("platform", { state });
    },
    onHost: (host, reachable) => {
      poller.hostReachable(host, reachable);
    },
    onEvent: () => undefined,
  });
  const platform = simulatedClient({
    settings: platformSettings(configuration.platform),
    clock,
    chance: world.bridgeChance,
    files: world.files,
    onLink: (link) => {
      watch.learnt(link.host, link);
    },
  });
  const inventory = new Inventory(store, settings.removeAfterMs, (news) => {
    if (news.type === "added") poller.follow(news.code);
    if (news.type === "removed") poller.forget(news.code);
  });
  const { concurrency, requests_per_minute: requestsPerMinute } = configuration.platform;
  const poller = new Poller(
    { intervals, concurrency, requestsPerMinute, onStretch: () => undefined },
    { platform, store, inventory, clock, budget, random, log: silentLog },
  );
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  store.onChange((earlier, later) => {
    world.checks.mirrorChanged(bridge, earlier, later);
  });
  const seen = new ObservedPlatform(world, bridge, platform).seen();
  return { store, platform: seen, inventory, poller, watch, budget, intervals };
}
