import { writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { leftOut, notRun, planOf } from "./plan.js";
import { type Report, reportOf, tableOf } from "./report.js";
import { runLane } from "./run-lane.js";

/*
 * The fault campaign: the built program as a process, real sockets through a chaos proxy, real brokers. All lanes run
 * side by side; what is asserted is the recorded history. CAMPAIGN_REDUCED=1 runs a part of it, CAMPAIGN_ONLY=<pattern>
 * the rows whose names match, CAMPAIGN_REPORT=<file> keeps the figures as JSON.
 */

const reduced = process.env["CAMPAIGN_REDUCED"] === "1";
const only = process.env["CAMPAIGN_ONLY"];
const plan = planOf(reduced, only === undefined ? undefined : new RegExp(only));
const rows = [...new Set(plan.flatMap((lane) => lane.rows.map(({ row }) => row)))];

const say = (line: string) => {
  process.stdout.write(`${line}\n`);
};

let report: Report;

beforeAll(async () => {
  const start = Date.now();
  if (reduced) say(`reduced run, without: ${leftOut().join(", ")}`);
  const runs = await Promise.all(plan.map(({ lane, rows }) => runLane(lane, rows, say)));
  const startedAt = new Date(start).toISOString();
  const tookS = Math.round((Date.now() - start) / 1_000);
  report = reportOf(runs, { startedAt, reduced, tookS, notRun });
  say(tableOf(report));
  const path = process.env["CAMPAIGN_REPORT"];
  if (path !== undefined) await writeFile(path, `${JSON.stringify(report, null, 1)}\n`);
}, 3_600_000);

describe("every fault ends as its row says, and is over within its time", () => {
  it.each(rows)("$requirement: $name", ({ name }) => {
    expect(report.rows.find(({ fault }) => fault === name)?.problems).toEqual([]);
  });
});

describe("on the recorded history", () => {
  const breaches = (invariant: string) =>
    report.lanes.flatMap(({ lane, breaches: found }) =>
      found.filter((one) => one.invariant === invariant).map(({ text }) => `${lane}: ${text}`),
    );

  it("no command is lost: each one taken has exactly one outcome, published", () => {
    expect(breaches("lost command")).toEqual([]);
  });

  it("no state is wrong: every value was shown by the platform before, in its order", () => {
    expect(breaches("wrong state")).toEqual([]);
  });

  it("no control value is sent without its record, after its time or more often than allowed", () => {
    expect(breaches("POST")).toEqual([]);
  });

  it("retained topics equal the platform within 120 s of the last fault, nothing leaks, nothing ends by itself", () => {
    expect(report.lanes.flatMap(({ lane, problems }) => problems.map((one) => `${lane}: ${one}`))).toEqual(
      [],
    );
  });

  it("the load was there: commands were confirmed in every lane", () => {
    for (const { lane, commands } of report.lanes)
      expect(commands.outcomes["confirmed"], lane).toBeGreaterThan(3);
  });
});
