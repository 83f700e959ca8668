import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { commandDirectly } from "../../src/cli/direct-command.js";
import { Journal } from "../../src/journal/journal.js";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { newestRecords, readHistory } from "../../src/journal/reader.js";
import { type Clock, nextTurn, systemClock, waitingBy } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { silentLog } from "../support/builders.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";

/** A fan of a simulated platform, a data directory, and no bridge. */
async function scene({
  actuator = 'fan: { kind: circulation_fan, address: "150", settle: 0s }',
  clock = systemClock,
} = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "direct-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const simulator = await platform();
  const configuration = await configurationOf(
    `controllers: { GH-0001: { actuators: { ${actuator} } } }`,
    simulator,
  );
  const context = {
    configuration: { ...configuration, data_dir: dataDir },
    ...{ clock, random: seededRandom(1), log: silentLog },
    ...{ setLogLevel: () => undefined, version: "test" },
  };
  const switched = (onPhase: Parameters<typeof commandDirectly>[2]) =>
    commandDirectly(
      context,
      {
        ...{ controllerId: "gh-0001", target: "actuator", targetId: "fan", by: null, via: null },
        payload: new TextEncoder().encode("on"),
      },
      onPhase,
    );
  return { dataDir, simulator, switched };
}

it("a command without a bridge whose outcome the journal cannot take ends with an error, and tells no outcome", async () => {
  const { dataDir, simulator, switched } = await scene();
  const result = switched((phase) => {
    if (phase !== "confirming") return;
    rmSync(journalDirectory(dataDir), { recursive: true });
    writeFileSync(journalDirectory(dataDir), "");
  });
  await expect(result).rejects.toThrow("its outcome is not told before the journal has it");
  expect(simulator.control.posts()).toHaveLength(1);
}, 30_000);

it("a lock is kept without a bridge too: the command is refused, and nothing is sent", async () => {
  const { dataDir, simulator, switched } = await scene();
  const opened = await openJournal({ dataDir, clock: systemClock, log: silentLog });
  const lock = { by: "anna", via: null, reason: null, since: systemClock.now(), until: null };
  const kept = { guards: {}, starts: [], moved_until: null, direction: null, lock, lease: null, hold: null };
  const about = { controller: "GH-0001", actuator: "fan", target: "actuator" } as const;
  const record = { type: "lane", ...about, memory: { limits: kept } } as const;
  await opened.journal.append(record, { durable: true });
  await opened.close();
  expect(await switched(() => undefined)).toMatchObject({
    ...{ outcome: "refused", reason: "interlock", interlock: { rule: "lock", value: "anna" } },
  });
  expect(simulator.control.posts()).toHaveLength(0);
}, 30_000);

it("of a command without a bridge nothing goes on once its outcome is told", async () => {
  const open = new Set<object>();
  const after: Clock["after"] = (ms, call) => {
    const timer = {};
    open.add(timer);
    const takeBack = systemClock.after(ms, () => {
      open.delete(timer);
      call();
    });
    return () => {
      open.delete(timer);
      takeBack();
    };
  };
  const clock: Clock = { ...systemClock, after, wait: waitingBy(after) };
  const roof = 'fan: { kind: motor, address: "300", values: { on: "00000001" }, settle: 0s }';
  const { switched } = await scene({ actuator: roof, clock });
  expect(await switched(() => undefined)).toMatchObject({ outcome: "confirmed" });
  await nextTurn();
  expect(open.size).toBe(0);
}, 30_000);

it("what an earlier run left open there gives way to it, and neither is told as the other", async () => {
  const { dataDir, simulator, switched } = await scene();
  const opened = await openJournal({ dataDir, clock: systemClock, log: silentLog });
  const received_at = new Date(systemClock.now()).toISOString();
  const step = { purpose: "value", address: "150", value: "1001" } as const;
  const about = { controller: "GH-0001", actuator: "fan", target: "actuator", id: "left" } as const;
  const report = { ...step, attempts: 1, code: "200", read_back: null };
  const sent = { id: "left", steps: [report], is_accepted: true, request_id: null, sent_at: received_at };
  const sender = { by: null, via: null, payload_hash: "h", received_at, max_age_ms: 60_000 };
  await opened.journal.append(
    { type: "command_taken", ...about, command: "off", value: "1001", steps: [step], ...sender },
    { durable: true },
  );
  await opened.journal.append(
    { type: "phase", ...about, phase: "sending", memory: { sent: [sent], unread: true } },
    { durable: true },
  );
  await opened.close();
  const result = await switched(() => undefined);
  expect(result).toMatchObject({ outcome: "confirmed", command: "on" });
  expect(simulator.control.posts()).toHaveLength(1);
  const { open } = await readHistory(journalDirectory(dataDir));
  expect(open).toEqual([]);
  const results = await newestRecords(journalDirectory(dataDir), { types: new Set(["result"]), limit: 9 });
  expect(results.map((one) => (one.type === "result" ? [one.result.id, one.result.outcome] : []))).toEqual([
    ["left", expect.stringMatching(/^(superseded|unconfirmed)$/)],
    [result.id, "confirmed"],
  ]);
}, 30_000);

it("what a power cut met while it was checked may have been sent: an equal command is not already there", async () => {
  const { dataDir, simulator, switched } = await scene();
  await switched(() => undefined);
  const journal = await Journal.open(journalDirectory(dataDir), {
    clock: systemClock,
    log: silentLog,
    kernel: "before the power cut",
  });
  const received_at = new Date(systemClock.now()).toISOString();
  const step = { purpose: "value", address: "150", value: "1001" } as const;
  const about = { controller: "GH-0001", actuator: "fan", target: "actuator", id: "cut" } as const;
  const sender = { by: null, via: null, payload_hash: "h", received_at, max_age_ms: 60_000 };
  await journal.append(
    { type: "command_taken", ...about, command: "off", value: "1001", steps: [step], ...sender },
    { durable: true },
  );
  await journal.append({ type: "phase", ...about, phase: "checking" }, { durable: true });
  await journal.close();
  expect(await switched(() => undefined)).toMatchObject({ outcome: "confirmed", command: "on" });
  expect(simulator.control.posts()).toHaveLength(2);
}, 30_000);

it("a command without a bridge raises no alarm, whatever its guards do not see and the platform does not answer", async () => {
  const guard = "{ sensor: airtemp, above: 90, clear_at: 80, allow: [off] }";
  const fan = `fan: { kind: circulation_fan, address: "150", limits: { guards: { heat: ${guard} } } }`;
  const { dataDir, simulator, switched } = await scene({ actuator: fan });
  expect(await switched(() => undefined)).toMatchObject({ outcome: "refused", reason: "interlock" });
  await simulator.close();
  await switched(() => undefined);
  const kept = await newestRecords(journalDirectory(dataDir), { types: new Set(["alarm_kept"]), limit: 9 });
  const starts = await newestRecords(journalDirectory(dataDir), { types: new Set(["start"]), limit: 9 });
  expect({ kept, starts }).toEqual({ kept: [], starts: [] });
}, 30_000);
