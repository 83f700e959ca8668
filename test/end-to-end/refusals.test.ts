import { afterAll, beforeAll, describe, vi } from "vitest";
import { commandsAreRefused, housesForRefusals } from "./rules/command-refusals.js";
import { brokers } from "./support/brokers.js";
import { type CommandRig, createCommandRig } from "./support/command-rig.js";

/*
 * Every reason for which a command is refused while the bridge runs, with its sentence, and no POST for any of them; and
 * what else the broker shows of a command: answers to a response topic, journal requests, the state once more.
 */

vi.setConfig({ maxConcurrency: 60 });

describe.concurrent.each(brokers)("a command over $name is refused", { timeout: 120_000 }, (broker) => {
  let rig: CommandRig;
  beforeAll(async () => {
    rig = await createCommandRig(broker, { houses: housesForRefusals });
  }, 90_000);
  afterAll(() => (rig as CommandRig | undefined)?.stage.clear());

  commandsAreRefused(() => rig, broker);
});
