import { describe, vi } from "vitest";
import { rulesOfCommands } from "./rules/all.js";
import { brokers } from "./support/brokers.js";

/*
 * Every way a command can end, as anybody at the broker sees it: the built program against the simulated platform over
 * real HTTP, whose faults provoke each outcome. What reached the platform is read from its own log of POSTs.
 */

vi.setConfig({ maxConcurrency: 60 });

describe.concurrent.each(brokers)("a command over $name", { timeout: 120_000 }, (broker) =>
  rulesOfCommands(broker),
);
