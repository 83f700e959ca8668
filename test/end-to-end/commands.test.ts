import { afterAll, beforeAll, describe, vi } from "vitest";
import { commandsEnd, housesForOutcomes } from "./rules/command-outcomes.js";
import { followsPushes, housesForPushes } from "./rules/pushed-news.js";
import { brokers } from "./support/brokers.js";
import { type CommandRig, createCommandRig } from "./support/command-rig.js";

/*
 * Every way a command can end, as anybody at the broker sees it: the built program against the simulated platform over
 * real HTTP, whose faults provoke each outcome. What reached the platform is read from its own log of POSTs.
 * dialects-commands.test.ts keeps the same rules for platforms that write everything another way.
 */

vi.setConfig({ maxConcurrency: 60 });

describe.concurrent.each(brokers)("a command over $name ends", { timeout: 120_000 }, (broker) => {
  let rig: CommandRig;
  beforeAll(async () => {
    rig = await createCommandRig(broker, { houses: housesForOutcomes + housesForPushes });
  }, 90_000);
  afterAll(() => (rig as CommandRig | undefined)?.stage.clear());

  commandsEnd(() => rig);
  followsPushes(() => rig);
});
