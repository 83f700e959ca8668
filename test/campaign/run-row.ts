import { readFile } from "node:fs/promises";
import { textOf } from "./history.js";
import { comesTrue, type Notes, resultsOf, type Row, wait, within } from "./row.js";
import { counters } from "./support/house.js";
import type { World } from "./support/world.js";

/** One fault as it went in one lane. */
export interface RowRun {
  readonly name: string;
  readonly lane: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** From the fault's end; null if it did not recover in time. */
  readonly recoveryMs: number | null;
  readonly limitMs: number;
  /** The number of commands sent from its beginning until everything worked again. */
  readonly commands: number;
  readonly problems: readonly string[];
}

const restMs = 1_500;
const patienceMs = 60_000;
const longestStepMs = 180_000;

/** Makes a fault, ends it, waits until everything works again, and checks what the row expects. */
export async function runRow(row: Row, world: World, holdMs: number): Promise<RowRun> {
  const { name, limitMs } = row;
  const notes: Notes = {};
  const problems: string[] = [];
  const startedAt = Date.now();
  const tryTo = async (step: () => Promise<void> | void) => {
    const late = wait(longestStepMs).then(() => `not done within ${longestStepMs / 1_000} s`);
    const made = (async () => step())().then(() => null, String);
    const problem = await Promise.race([made, late]);
    if (problem !== null) problems.push(`the fault could not be made: ${problem}`);
  };
  await tryTo(() => row.begin(world, notes, holdMs));
  await wait(Math.max(0, holdMs - (Date.now() - startedAt)));
  notes["rssMb"] = await memoryOf(world);
  await tryTo(() => row.end?.(world, notes));
  const endedAt = Date.now();
  const isWorking = async () =>
    ((await row.isOver?.(world, notes)) ?? true) && stillMissing(world, endedAt).length === 0;
  const isBack = await comesTrue(isWorking, limitMs + patienceMs);
  const recoveryMs = isBack ? Date.now() - endedAt : null;
  if (recoveryMs === null) problems.push(`not working again: ${stillMissing(world, endedAt).join(", ")}`);
  else if (recoveryMs > limitMs) problems.push(`working again after ${recoveryMs} ms, ${limitMs} ms allowed`);
  await wait(restMs);
  const recoveredAt = Date.now();
  const during = within({ from: startedAt, to: recoveredAt });
  const [messages, sent] = [world.watch.seen.filter(during), world.load.sent.filter(during)];
  const seen = { startedAt, endedAt, recoveredAt, notes, messages, sent };
  problems.push(...(row.checks ?? []).flatMap((check) => check(seen, world)));
  if (row.hits === "delivery" || row.hits === "process")
    world.gaps.push({ from: startedAt, to: recoveredAt, died: row.hits === "process" });
  if (row.unwritable) world.unwritable.push({ from: startedAt, to: endedAt });
  const { lane } = world;
  return { name, lane: lane.name, startedAt, endedAt, limitMs, recoveryMs, commands: sent.length, problems };
}

/** What has not worked since an instant; empty if everything has. */
export function stillMissing({ watch, load }: World, since: number): readonly string[] {
  const missing: string[] = [];
  const latest = (topic: string) => watch.latest(topic) ?? "nothing";
  if (!watch.isConnected) missing.push("the broker");
  for (const topic of ["greenhouse/bridge/state", "greenhouse/bridge/platform"])
    if (latest(topic) !== "online") missing.push(`${topic} is ${latest(topic)}`);
  const fresh = new Set(load.sent.filter(({ at }) => at >= since).map(({ id }) => id));
  const news = watch.seen.slice(-20_000).filter(({ at, retain }) => at >= since && !retain);
  const isDone = resultsOf(news).some(({ id, outcome }) => outcome === "confirmed" && fresh.has(textOf(id)));
  if (!isDone) missing.push("a command sent since is not confirmed");
  for (const { topic } of counters) {
    const first = load.shown.find((shown) => shown.topic === topic && shown.from >= since)?.value ?? Infinity;
    if (!news.some((one) => one.topic === topic && Number(one.payload) >= first))
      missing.push(`${topic} shows no reading made since`);
    else if (latest(`${topic}/quality`) !== "good") missing.push(`${topic} is ${latest(`${topic}/quality`)}`);
  }
  return missing;
}

/** Resident memory of the bridge, MB; 0 if unknown. */
async function memoryOf({ bridge }: World): Promise<number> {
  const text = await readFile(`/proc/${bridge.program.pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1_024);
}
