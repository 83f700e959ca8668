import { writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { longestMs, type Mode, planOf, table } from "./plan.js";
import { printed, type Report, reportOf } from "./report.js";
import { runLane } from "./run-lane.js";

/*
 * The fault campaign runs the built program as a process, with real sockets through a chaos proxy and real brokers. All
 * worlds run side by side; the recorded history is what is asserted. Rows about disks mount a small tmpfs, so they need
 * root.
 *
 * CAMPAIGN=reduced makes every fault once, held shorter, shared out over the lanes; full, the default, makes every
 * fault in every lane that can have it. CAMPAIGN_ONLY and CAMPAIGN_LANES are regular expressions on names of rows and
 * lanes. CAMPAIGN_WORLDS is the number of worlds per lane side by side (2). CAMPAIGN_REPORT names a file for all
 * outcomes and breaches. CAMPAIGN_SEED sets the seed of random choices, which differs each time by default.
 * CAMPAIGN_LOGS names a folder for the logs of each bridge. GREENHOUSE2MQTT_DIST names another program than
 * dist/main.js.
 */

const seed = Number(process.env["CAMPAIGN_SEED"] ?? Date.now() % 1_000_000);
const mode: Mode = process.env["CAMPAIGN"] === "reduced" ? "reduced" : "full";
const plan = planOf({
  mode,
  rows: new RegExp(process.env["CAMPAIGN_ONLY"] ?? ""),
  lanes: new RegExp(process.env["CAMPAIGN_LANES"] ?? ""),
  worldsPerLane: Number(process.env["CAMPAIGN_WORLDS"] ?? 2),
});
const rows = table.filter((row) => plan.some((world) => world.rows.some((planned) => planned.row === row)));

const say = (line: string) => {
  process.stdout.write(`${line}\n`);
};

let report: Report;

beforeAll(async () => {
  const start = Date.now();
  const runsOf = plan.reduce((count, world) => count + world.rows.length, 0);
  const minutes = Math.ceil((longestMs(plan) + 30_000) / 60_000);
  say(
    `fault campaign, ${mode}: ${rows.length} of ${table.length} faults, ${runsOf} times, ${plan.length} worlds, seed ${seed}, about ${minutes} min`,
  );
  // Starts are spread, as ten programs starting at once would delay each other.
  const ends = await Promise.allSettled(
    plan.map(async ({ lane, rows: own }, place) => {
      await new Promise((resolve) => setTimeout(resolve, place * 700));
      return runLane(lane, own, seed, say);
    }),
  );
  const failed = ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []));
  // Thrown after all have ended, so that none leaves its processes behind.
  if (failed.length > 0) throw new Error(failed.join("\n"));
  const runs = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  const startedAt = new Date(start).toISOString();
  const tookS = Math.round((Date.now() - start) / 1_000);
  report = reportOf(runs, { startedAt, mode, tookS });
  printed(report);
  const path = process.env["CAMPAIGN_REPORT"];
  if (path !== undefined) await writeFile(path, `${JSON.stringify(report, null, 1)}\n`);
  await tellFigures("campaign", mode === "reduced", report.totals);
}, 3_600_000);

describe("every fault ends as its row says, and is over within its time", () =>
  it.each(rows)("$name: $expected", ({ name }) =>
    expect(report.rows.find(({ fault }) => fault === name)?.problems).toEqual([]),
  ));

describe("on the recorded history", () => {
  const breaches = (invariant: string) =>
    report.lanes.flatMap(({ lane, breaches: found }) =>
      found.filter((one) => one.invariant === invariant).map(({ text }) => `${lane}: ${text}`),
    );

  it("no command is lost: each one taken has exactly one outcome, published", () =>
    expect(breaches("lost command")).toEqual([]));

  it("no state is wrong: every value was shown by the platform before, in its order", () =>
    expect(breaches("wrong state")).toEqual([]));

  it("no control value is sent without its record, after its time or more often than allowed", () =>
    expect(breaches("POST")).toEqual([]));

  it("retained topics equal the platform within 120 s of the last fault, nothing leaks, nothing ends by itself", () =>
    expect(report.lanes.flatMap(({ lane, problems }) => problems.map((one) => `${lane}: ${one}`))).toEqual(
      [],
    ));

  it("the load was there: commands were confirmed in every world", () => {
    for (const { lane, commands } of report.lanes)
      expect(commands.outcomes["confirmed"], lane).toBeGreaterThan(0);
  });
});
