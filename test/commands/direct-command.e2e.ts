import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { commandDirectly } from "../../src/cli/direct-command.js";
import { journalDirectory } from "../../src/journal/open.js";
import { systemClock } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/runtime/random.js";
import { silentLog } from "../support/builders.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";

it("a command without a bridge whose outcome the journal cannot take ends with an error, and tells no outcome", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "direct-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const simulator = await platform();
  const configuration = await configurationOf(
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150", settle: 0s } } } }',
    simulator,
  );
  const around = {
    configuration: { ...configuration, data_dir: dataDir },
    ...{ clock: systemClock, random: seededRandom(1), log: silentLog },
    ...{ setLogLevel: () => undefined, version: "test" },
  };
  const request = {
    controllerId: "gh-0001",
    target: "actuator",
    targetId: "fan",
    by: null,
    via: null,
  } as const;
  const result = commandDirectly(around, { ...request, payload: new TextEncoder().encode("on") }, (phase) => {
    if (phase !== "confirming") return;
    rmSync(journalDirectory(dataDir), { recursive: true });
    writeFileSync(journalDirectory(dataDir), "");
  });
  await expect(result).rejects.toThrow("its outcome is not told before the journal has it");
  expect(simulator.control.posts()).toHaveLength(1);
}, 30_000);
