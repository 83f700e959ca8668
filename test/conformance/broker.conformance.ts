import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EmbeddedBroker } from "../../src/broker/broker.js";
import { tellFigures } from "../proof/figures.js";
import { benchFor, type Check, startConformanceBroker } from "./bench.js";
import { bytes } from "./bytes.js";
import * as connecting from "./connecting.js";
import * as framing from "./framing.js";
import * as publishing from "./publishing.js";
import * as sessions from "./sessions.js";
import * as subscribing from "./subscribing.js";
import * as version5 from "./version-5.js";

/* Each row of statements.md in each version it has a number in, by raw packets, side by side on one broker. */

const subjects: readonly Readonly<Record<string, Check>>[] = [
  bytes,
  connecting,
  framing,
  publishing,
  sessions,
  subscribing,
  version5,
];
const checks = new Map(subjects.flatMap((subject) => Object.entries(subject)));

const rows = readFileSync(join(import.meta.dirname, "statements.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, in311 = "", in5 = "", rule = "", test = "", gap = ""]) => ({ in311, in5, rule, test, gap }));

const brokers: EmbeddedBroker[] = [];
beforeAll(async () => {
  brokers.push(await startConformanceBroker());
});
afterAll(() => brokers[0]?.close());

describe.concurrent.each([
  { version: 4, name: "MQTT 3.1.1", key: "in311" },
  { version: 5, name: "MQTT 5", key: "in5" },
] as const)("$name", ({ version, key }) => {
  for (const { [key]: number, rule, test, gap } of rows) {
    const check = checks.get(test);
    if (number === "" || check === undefined) continue;
    const title = `[MQTT-${number}] ${rule}${gap === "" ? "" : `; known gap: ${gap}`}`;
    it(title, async ({ onTestFinished }) => {
      const [broker] = brokers;
      if (broker === undefined) throw new Error("there is no broker");
      await check(benchFor(version, broker, onTestFinished));
    });
  }
});

describe("the table of statements", () => {
  it("names every test of this folder, and no other", () => {
    expect([...new Set(rows.map(({ test }) => test))].sort()).toEqual([...checks.keys()].sort());
    expect(checks.size).toBe(subjects.flatMap((subject) => Object.keys(subject)).length);
  });

  it("has the greater part of both specifications", async () => {
    const count = (key: "in311" | "in5", some = rows) =>
      new Set(some.map(({ [key]: number }) => number).filter((number) => number !== "")).size;
    const gaps = rows.filter(({ gap }) => gap !== "");
    await tellFigures("conformance", false, {
      "statements of MQTT 3.1.1": count("in311"),
      "with a known gap, of 3.1.1": count("in311", gaps),
      "statements of MQTT 5": count("in5"),
      "with a known gap, of 5": count("in5", gaps),
    });
    expect(count("in311")).toBeGreaterThanOrEqual(100);
    expect(count("in5")).toBeGreaterThanOrEqual(100);
  });
});
