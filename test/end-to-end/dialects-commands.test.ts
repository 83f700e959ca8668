import { afterAll, beforeAll, describe, vi } from "vitest";
import { commandsEnd, housesForOutcomes } from "./rules/command-outcomes.js";
import { commandsAreRefused, housesForRefusals } from "./rules/command-refusals.js";
import { followsPushes, housesForPushes } from "./rules/pushed-news.js";
import { brokerFor } from "./support/brokers.js";
import { type CommandRig, createCommandRig } from "./support/command-rig.js";
import { dialectsUnderTest, spokenBy } from "./support/spoken.js";

/*
 * The rules of commands.test.ts and refusals.test.ts once more, for every way in which the simulated platform fills in
 * what its interface document leaves open. See dialects-mirror.test.ts.
 */

// All at once would be a storm of its own.
vi.setConfig({ maxConcurrency: 200 });

const houses = housesForOutcomes + housesForRefusals + housesForPushes;

describe.concurrent.each(dialectsUnderTest)(
  "a command to a platform that speaks %s",
  { timeout: 150_000 },
  (profile) => {
    const broker = brokerFor(profile);
    let rig: CommandRig;
    beforeAll(async () => {
      rig = await createCommandRig(broker, { houses, dialect: spokenBy(profile) });
    }, 150_000);
    afterAll(() => (rig as CommandRig | undefined)?.stage.clear());

    commandsEnd(() => rig);
    commandsAreRefused(() => rig, broker);
    followsPushes(() => rig);
  },
);
