import * as pageAddress from "../../src/http/page-address.js";
import { describe, expect, it } from "vitest";
import {
  demoView,
  type DemoView,
  noteLine,
  readingOf,
  readingsTable,
  resultLine,
  toldLine,
} from "../../src/cli/demo-view.js";
import { inChinese } from "../support/chinese.js";
import { Speech } from "../../src/terminal/speech.js";
import { firstCommands, greeting } from "../../src/cli/demo.js";

const speech = new Speech();
const { tell } = speech;
const plain: DemoView = { out: () => undefined, isColoured: false, tell };
const coloured: DemoView = { ...plain, isColoured: true };
const around = {
  env: {},
  out: () => undefined,
  err: { write: () => true },
  stop: AbortSignal.abort(),
  speech,
};
const result = {
  controller: "gh-0001",
  actuator: "roof",
  command: "45",
  ...{ reason: null, message: null },
  duration_ms: 4_083,
  read_back: "45",
  finished_at: "2026-11-22T20:00:00.000Z",
} as const;

describe("what the demo shows", () => {
  it("tells a story in lines that look other than those of the bridge, also without colours", () => {
    expect(toldLine("A calm morning.", plain)).toBe("\n» A calm morning.\n");
    expect(resultLine({ ...result, outcome: "confirmed" }, plain)).toMatch(/^\d\d:\d\d:\d\d /);
  });

  it("says how to watch, and once the bridge is there how to send a command, on the port it listens on", () => {
    const text = greeting({ page: 8100, broker: 1884 }, "http://127.0.0.1:1", "greenhouse", {
      ...{ host: "127.0.0.1", password: "demo", env: {}, tell, pageAddress },
    });
    expect(text).toContain("mqtt://127.0.0.1:1884\n");
    expect(text).not.toContain("mosquitto_pub");
    expect(firstCommands({ broker: { port: 1884 }, mqtt: { base_topic: "greenhouse" } }, tell)).toContain(
      "mosquitto_pub -h 127.0.0.1 -p 1884 -q 1 -t greenhouse/gh-0001/actuator/left_skylight/set -m 45",
    );
  });

  it("names the page as other computers reach it, and over SSH the way to one that they do not", () => {
    const at = (host: string, env = {}) =>
      greeting({ page: 8100, broker: 1 }, "x", "greenhouse", {
        host,
        password: "demo",
        env,
        tell,
        pageAddress,
      });
    const ssh = { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.7 22", USER: "pi" };
    expect(at("192.0.2.9", ssh)).toMatch(/^Page: http:\/\/192\.0\.2\.9:8100\/ .*\nSimulated/);
    expect(at("127.0.0.1", ssh)).toMatch(
      /^Page: http:\/\/127\.0\.0\.1:8100\/ .*\n.*ssh -L 8100:127\.0\.0\.1:8100 pi@192\.0\.2\.7 /,
    );
  });

  it("has colours on a terminal only, and not where they are turned off", () => {
    expect(demoView({ ...around, isTerminal: true }).isColoured).toBe(true);
    expect(demoView({ ...around, isTerminal: false }).isColoured).toBe(false);
    expect(demoView({ ...around, env: { NO_COLOR: "1" }, isTerminal: true }).isColoured).toBe(false);
  });

  it("a result is one line with outcome, reason, read-back and sentence", () => {
    const line = resultLine({ ...result, outcome: "confirmed" }, plain);
    expect(line).toMatch(/ gh-0001\/roof 45 → confirmed after 4\.1 s, the platform shows 45\n$/);
    const refused = { ...result, command: null, outcome: "refused", reason: "bad_payload" } as const;
    expect(resultLine({ ...refused, read_back: null, message: "It is empty." }, coloured)).toContain(
      "gh-0001/roof → \u001b[31mrefused\u001b[0m (bad_payload) after 4.1 s: It is empty.",
    );
  });

  it("an alarm, a lock, a lease and what is allowed are a line when they say something else than before", () => {
    const at = (leaf: string) => `greenhouse/gh-0001/actuator/roof/${leaf}`;
    const note = (topic: string, document: object | null, before: object | null = null) =>
      noteLine(topic, document && { ...document }, before && { ...before }, plain)?.slice(9) ?? null;
    const wind = { rule: "wind", value: 14, quality: "good" };
    const narrow = { words: ["close"], degrees: { min: 0, max: 10 }, because: [wind] };
    const alarm = { state: "active", message: "It is blind.", remedy: "Mend it.", by: null };
    expect(note("greenhouse/alarm/guard_blind.gh-0001.roof", alarm)).toBe(
      "guard_blind.gh-0001.roof alarm: active: It is blind. Mend it.\n",
    );
    expect(note(at("lock"), { by: "ben", reason: "glass" })).toBe("gh-0001/roof lock: ben (glass)\n");
    expect(note(at("lock"), null, { by: "ben" })).toBe("gh-0001/roof lock: nobody\n");
    expect(note(at("lease"), null)).toBe(null);
    expect(note(at("allowed"), narrow)).toBe("gh-0001/roof allowed: only close, 0 to 10, because of wind\n");
    expect(note(at("allowed"), { ...narrow, because: [{ ...wind, value: 15 }] }, narrow)).toBe(null);
    expect(note(at("allowed"), { ...narrow, because: [{ ...wind, quality: "stale" }] }, narrow)).toContain(
      "wind (blind)",
    );
    expect(note(at("allowed"), { words: ["open", "close"], because: [] }, narrow)).toContain("everything");
  });

  it("an alarm on a reading has name and value in Chinese too, and is told anew where it became worse", () => {
    const chinese: DemoView = { ...plain, tell: inChinese };
    const house = { name: "空气温度", value: 4.6, unit: "°C" };
    const about = { controller: "gh-0001", sensor: "airtemp", state: "active", type: "reading_low" };
    const now = { ...about, message: "Air temperature is 4.6 °C, below 5 °C.", remedy: "Go." };
    const before = { ...now, message: "Air temperature is 5.6 °C, below 6 °C." };
    const reading = readingOf(now, new Map([["gh-0001/airtemp", house]]));
    const topic = "greenhouse/alarm/reading_low.gh-0001.airtemp";
    expect(noteLine(topic, now, before, chinese, reading)).toContain("空气温度 4.6 °C，低于限值。");
    expect(noteLine(topic, now, now, chinese, reading)).toBeNull();
    expect(noteLine(topic, now, null, plain, reading)).toContain("is 4.6 °C, below 5 °C. Go.");
    expect(readingOf({ ...about, sensor: "par" }, new Map([["gh-0001/airtemp", house]]))).toBeNull();
  });

  it("readings stand in columns with unit and quality", () => {
    const readings = new Map([
      ["airtemp", { value: 17.3, unit: "°C", quality: "good" }],
      ["ph", { value: 7, unit: null, quality: "stale" }],
    ]);
    expect(readingsTable(readings, plain)).toContain("  airtemp  17.3 °C  good\n  ph       7        stale\n");
    expect(readingsTable(readings, coloured)).toContain("\u001b[33mstale\u001b[0m");
  });
});
