import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Breach, collect } from "./history.js";
import { type CommandVerdict, judgeCommands } from "./judge/commands.js";
import { differences, judgeStates } from "./judge/states.js";
import { comesTrue, resultsOf, type Row } from "./row.js";
import { type RowRun, runRow, stillMissing } from "./run-row.js";
import { createWorld, type Lane, type World } from "./support/world.js";

export interface LaneRun {
  readonly lane: string;
  readonly rows: readonly RowRun[];
  readonly commands: CommandVerdict;
  readonly breaches: readonly Breach[];
  /** Problems of the whole lane: end state, exit, surprises, leaks. */
  readonly problems: readonly string[];
  /** From the last fault's end until retained topics equal the platform; null if they never did. */
  readonly settledMs: number | null;
  readonly figures: Readonly<Record<string, number>>;
}

const settleWithinMs = 120_000;
const startWithinMs = 90_000;

/** Runs one installation through all its faults, then without load, and judges what was recorded. */
export async function runLane(
  lane: Lane,
  rows: readonly { readonly row: Row; readonly holdMs: number }[],
  seed: number,
  say: (line: string) => void,
): Promise<LaneRun> {
  const world = await createWorld(lane, seed);
  try {
    await firstWorking(world);
    const runs: RowRun[] = [];
    for (const { row, holdMs } of rows) {
      const run = await runRow(row, world, holdMs);
      runs.push(run);
      say(
        `${lane.name}: ${row.name}: ${run.recoveryMs ?? "not"} ms${run.problems.map((one) => `\n    ${one}`).join("")}`,
      );
    }
    return await judged(world, runs);
  } finally {
    await keepLogs(world);
    await world.clear();
  }
}

/** Writes the logs of each lane's bridge to the folder CAMPAIGN_LOGS. */
async function keepLogs({ lane, bridge }: World): Promise<void> {
  const folder = process.env["CAMPAIGN_LOGS"];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  const lives = bridge.lives.map(({ stderr }, life) => `== life ${life + 1}\n${stderr}`);
  await writeFile(join(folder, `${lane.name}.log`), lives.join("\n"));
}

async function firstWorking(world: World): Promise<void> {
  const since = Date.now();
  const missing = () => stillMissing(world, since);
  if (!(await comesTrue(() => missing().length === 0, startWithinMs, 100)))
    throw new Error(
      `${world.lane.name} never worked: ${missing().join(", ")}\n${world.bridge.program.stderr.slice(-3_000)}`,
    );
  // Commands of the first seconds may have found no bridge.
  world.gaps.push({ from: 0, to: Date.now(), died: false });
}

async function judged(world: World, runs: readonly RowRun[]): Promise<LaneRun> {
  const problems: string[] = [];
  await world.load.stop();
  const lastEnd = Math.max(0, ...runs.map(({ endedAt }) => endedAt));
  const settledMs = await settled(world, lastEnd, problems);
  await answered(world);
  const { code } = await world.bridge.stop();
  if (code !== 0) problems.push(`the bridge ended with ${code ?? "a signal"} at SIGTERM`);
  const history = await collect(world);
  const commands = judgeCommands(history);
  const breaches = [...commands.breaches, ...judgeStates(history)];
  problems.push(...world.bridge.surprises);
  problems.push(...(await world.stage.leaks()).map((text) => `a planted secret surfaced: ${text}`));
  const figures = {
    messages: history.messages.length,
    posts: history.posts.length,
    journalRecords: history.journal.length,
    lives: world.bridge.lives.length,
  };
  return { lane: world.lane.name, rows: runs, commands, breaches, problems, settledMs, figures };
}

/** Waits for the end state, as commands sent before the load stopped still move registers for a while. */
async function settled(world: World, lastEnd: number, problems: string[]): Promise<number | null> {
  const leftMs = lastEnd + settleWithinMs - Date.now();
  if (await comesTrue(async () => (await differences(world)).length === 0, leftMs, 200))
    return Date.now() - lastEnd;
  problems.push(...(await differences(world)));
  return null;
}

/** Waits for the commands of the last seconds; the judge reports commands that never end. */
async function answered({ watch, load }: World): Promise<void> {
  const isOver = () => {
    const told = new Set(resultsOf(watch.seen.slice(-10_000)).map(({ id }) => id));
    return load.sent.slice(-30).every(({ id, acknowledged }) => !acknowledged || told.has(id));
  };
  await comesTrue(isOver, 60_000, 250);
}
