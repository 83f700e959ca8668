import anyAscii from "any-ascii";
import type { PlatformClient } from "../../src/platform/client.js";
import { createMirror, type Mirror } from "../../src/sync/mirror.js";
import { silentLog } from "../support/builders.js";
import type { Bridge } from "./bridge.js";
import { simulatedClient } from "./client.js";
import { observed } from "./observed-platform.js";
import type { World } from "./world.js";

/** The reading half with the simulated client; commands see the observed one. */
export function simulatedMirror(
  world: World,
  bridge: Bridge,
): { readonly mirror: Mirror; readonly platform: PlatformClient } {
  const { configuration } = world.scenario;
  const { clock } = bridge;
  const client = simulatedClient({
    settings: configuration.platform,
    clock,
    chance: world.bridgeChance,
    files: world.files,
    onLink: (link) => mirror.watch.learnt(link.host, link),
  });
  const mirror: Mirror = createMirror({
    ...{ configuration, platform: client, clock, log: silentLog, transliterate: anyAscii },
    random: world.bridgeChance.random,
    onPlatformState: (state) => {
      world.journalist.note("platform", { state });
      bridge.platformState(state);
    },
    onEvent: () => undefined,
    onAdded: () => undefined,
    onTried: () => undefined,
  });
  mirror.store.onChange((earlier, later) => world.checks.mirrorChanged(bridge, earlier, later));
  return { mirror, platform: observed(world, bridge, client) };
}
