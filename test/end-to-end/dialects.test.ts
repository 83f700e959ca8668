import { describe, vi } from "vitest";
import { rulesOfCommands, rulesOfTheMirror } from "./rules/all.js";
import { brokerFor } from "./support/brokers.js";
import { dialectsUnderTest, spokenBy } from "./support/spoken.js";

/*
 * The rules of mirror.test.ts and commands.test.ts once more, for every way in which the simulated platform fills in what
 * its interface document leaves open: signed in, and told nothing else. Only `odd`, which has names nobody would guess, is
 * told what `doctor` would say.
 */

// All at once would be a storm of its own.
vi.setConfig({ maxConcurrency: 200 });

describe.concurrent.each(dialectsUnderTest)("a platform that speaks %s", { timeout: 150_000 }, (profile) => {
  describe("is mirrored", () => rulesOfTheMirror(brokerFor(profile), spokenBy(profile)));
  describe("takes commands", () => rulesOfCommands(brokerFor(profile), spokenBy(profile)));
});
