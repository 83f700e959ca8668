import { fieldsOf, textOf } from "./history.js";
import type { Notes, Row, Seen } from "./row.js";
import { counters } from "./support/house.js";
import type { World } from "./support/world.js";

/** One fault as it went in one lane. */
export interface RowRun {
  readonly name: string;
  readonly lane: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly recoveredAt: number;
  /** From the fault's end; null when it never came back in time. */
  readonly recoveryMs: number | null;
  readonly limitMs: number;
  /** Sent from its beginning until everything worked again. */
  readonly commands: number;
  readonly notes: Notes;
  readonly problems: readonly string[];
}

const restMs = 1_500;
const patienceMs = 60_000;
const longestStepMs = 180_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Makes a fault, ends it, waits until everything works again, and looks whether it went as the row says. */
export async function runRow(row: Row, world: World, holdMs: number): Promise<RowRun> {
  const notes: Notes = {};
  const problems: string[] = [];
  const startedAt = Date.now();
  if (row.quiet) world.load.pause();
  const tryTo = async (step: Row["begin"] | undefined) => {
    try {
      const late = wait(longestStepMs).then(() => {
        throw new Error(`not done within ${longestStepMs / 1_000} s`);
      });
      late.catch(() => undefined);
      await Promise.race([step?.(world, notes, holdMs), late]);
    } catch (error) {
      problems.push(`the fault could not be made: ${String(error)}`);
    }
  };
  await tryTo(row.begin.bind(row));
  await wait(Math.max(0, holdMs - (Date.now() - startedAt)));
  notes["rssMb"] = await memoryOf(world);
  await tryTo(row.end?.bind(row));
  world.load.resume();
  const endedAt = Date.now();
  const isWorking = async () =>
    ((await row.isOver?.(world, notes)) ?? true) && stillMissing(world, endedAt).length === 0;
  const recoveredAt = await recovered(isWorking, endedAt, row.limitMs + patienceMs);
  const recoveryMs = recoveredAt === null ? null : recoveredAt - endedAt;
  if (recoveryMs === null) problems.push(`not working again: ${stillMissing(world, endedAt).join(", ")}`);
  else if (recoveryMs > row.limitMs)
    problems.push(`working again after ${recoveryMs} ms, ${row.limitMs} ms allowed`);
  await wait(restMs);
  const seen = seenBy(world, { startedAt, endedAt, recoveredAt: Date.now(), notes });
  problems.push(...(row.check?.(seen, world) ?? []));
  if (row.hits === "delivery" || row.hits === "process")
    world.gaps.push({ from: startedAt, to: seen.recoveredAt, died: row.hits === "process" });
  if (row.unwritable) world.unwritable.push({ from: startedAt, to: endedAt });
  const { name, limitMs } = row;
  return {
    ...{ name, lane: world.lane.name, startedAt, endedAt, limitMs, notes, problems },
    recoveredAt: seen.recoveredAt,
    recoveryMs,
    commands: seen.sent.length,
  };
}

function seenBy({ recorder, load }: World, times: Omit<Seen, "messages" | "sent">): Seen {
  const isIn = ({ at }: { readonly at: number }) => at >= times.startedAt && at <= times.recoveredAt;
  return { ...times, messages: recorder.messages.filter(isIn), sent: load.sent.filter(isIn) };
}

async function recovered(
  isWorking: () => Promise<boolean>,
  since: number,
  withinMs: number,
): Promise<number | null> {
  while (Date.now() - since < withinMs) {
    if (await isWorking()) return Date.now();
    await wait(50);
  }
  return null;
}

/** What does not work (again) since an instant; empty when all of it does. */
export function stillMissing({ recorder, load }: World, since: number): readonly string[] {
  const missing: string[] = [];
  const latest = (topic: string) => recorder.latest(topic) ?? "nothing";
  if (!recorder.isConnected) missing.push("the broker");
  for (const topic of ["greenhouse/bridge/state", "greenhouse/bridge/platform"])
    if (latest(topic) !== "online") missing.push(`${topic} is ${latest(topic)}`);
  const fresh = new Set(load.sent.filter(({ at }) => at >= since).map(({ id }) => id));
  const news = recorder.messages.slice(-20_000).filter(({ at, retain }) => at >= since && !retain);
  const isDone = news.some(({ topic, payload }) => {
    if (topic !== "greenhouse/gh-0001/result") return false;
    const { id, outcome } = fieldsOf(payload);
    return outcome === "confirmed" && fresh.has(textOf(id));
  });
  if (!isDone) missing.push("a command sent since is not confirmed");
  for (const { topic } of counters) {
    const first = load.shown.find((shown) => shown.topic === topic && shown.from >= since)?.value ?? Infinity;
    if (!news.some((one) => one.topic === topic && Number(one.payload) >= first))
      missing.push(`${topic} shows no reading made since`);
    else if (latest(`${topic}/quality`) !== "good") missing.push(`${topic} is ${latest(`${topic}/quality`)}`);
  }
  return missing;
}

/** Resident memory of the bridge now, MB; 0 while it cannot be told. */
async function memoryOf({ bridge }: World): Promise<number> {
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(`/proc/${bridge.program.pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1_024);
}
