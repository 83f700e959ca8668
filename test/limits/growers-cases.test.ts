import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loaded, platform } from "../config/loading.js";
import type { CommandBench } from "../support/command-bench.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { bench, lockOf } from "./bench.js";

/* The examples of docs/limits.md as they stand there: each passes `check`, and does what the page says of it. */

const page = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8");

/** The one example of a section. */
function exampleOf(title: string): string {
  const [, section = ""] = page.split(`## ${title}\n`);
  const [, example] = /```yaml\n([\s\S]*?)```/.exec(section.split("\n## ")[0] ?? "") ?? [];
  if (example === undefined) throw new Error(`docs/limits.md has no example under "${title}"`);
  return example;
}

/** A greenhouse with the example's configuration, everything shut, switched off and read once. */
async function greenhouse(title: string) {
  const { configuration, warnings } = await loaded(`${platform}${exampleOf(title)}`);
  const own = mirrorSettings(configuration).controllers.get("GH-0001");
  const actuators = own?.actuators ?? [];
  const shut = ({ kind }: (typeof actuators)[number]) => (kind === "skylight" ? "10001" : "1001");
  const registers = Object.fromEntries(actuators.map((one) => [one.address, shut(one)]));
  const one = await bench({ weather: configuration.weather, actuators, registers });
  return { one, warnings: warnings.map(({ message }) => message) };
}

const measure = (one: CommandBench, name: string, payload: string) =>
  one.engine.onWeather(`weather/${name}`, new TextEncoder().encode(payload));

const wind = (one: CommandBench, speed: number) => measure(one, "wind", JSON.stringify({ speed }));

/** Wind and rain again and again, as a station tells them, for so many minutes. */
async function weather(one: CommandBench, speed: number, rain: string, minutes: number) {
  for (let told = 0; told < minutes * 2; told++) {
    wind(one, speed);
    measure(one, "rain", rain);
    await one.clock.advance(30_000);
  }
}

/** What comes of a command within a minute; null while it has not ended. */
async function command(one: CommandBench, targetId: string, payload: string) {
  const before = one.results.length;
  one.send(payload, { targetId });
  await one.clock.advance(30_000);
  const result = one.results.slice(before).find(({ by }) => !by?.startsWith("rule "));
  return result === undefined ? null : (result.interlock?.rule ?? result.outcome);
}

const allowed = (one: CommandBench, id: string) => {
  const { words, degrees } = one.store.get("GH-0001")?.actuators.get(id)?.restrictions?.allowed ?? {};
  return [words, degrees && [degrees.min, degrees.max]];
};

describe("storm and rain on a skylight", () => {
  const title = "Guards: storm and rain";

  it("a gust closes it, rain leaves 20, both leave what both allow, and ten calm minutes give it back", async () => {
    const { one, warnings } = await greenhouse(title);
    expect(warnings).toEqual([]);
    await weather(one, 3, "off", 11);
    expect(allowed(one, "left_skylight")).toEqual([
      ["open", "close", "auto"],
      [0, 100],
    ]);
    expect(await command(one, "left_skylight", "60")).toBe("confirmed");
    await weather(one, 14, "off", 4);
    expect(one.values().at(-1)).toBe("101=10001");
    expect(one.results.at(-1)).toMatchObject({ by: "rule wind", outcome: "confirmed" });
    expect(await command(one, "left_skylight", "open")).toBe("wind");
    await weather(one, 14, "on", 1);
    expect(allowed(one, "left_skylight")).toEqual([["close"], [0, 10]]);
    await weather(one, 10, "on", 20);
    expect(allowed(one, "left_skylight")).toEqual([["close"], [0, 10]]);
    await weather(one, 8, "on", 11);
    expect(allowed(one, "left_skylight")).toEqual([["close"], [0, 20]]);
    expect(await command(one, "left_skylight", "21")).toBe("rain");
    expect(one.values().filter((value) => value === "101=10001")).toHaveLength(1);
  });

  it("a station that dies is no calm weather, and closes nothing", async () => {
    const { one } = await greenhouse(title);
    await weather(one, 3, "off", 11);
    await one.clock.advance(120_000);
    expect(allowed(one, "left_skylight")).toEqual([["close"], [0, 10]]);
    expect(one.values()).toEqual([]);
    expect(one.alarms.has("guard_blind")).toBe(true);
  });

  it("a lock for night work keeps back what the storm would send, with an alarm, until it ends", async () => {
    const { one } = await greenhouse(title);
    await weather(one, 3, "off", 11);
    expect(await command(one, "left_skylight", "60")).toBe("confirmed");
    await one.clock.advance(200_000);
    await one.engine.change("GH-0001", ["left_skylight"], { lock: lockOf(one) });
    await weather(one, 14, "off", 2);
    expect(await command(one, "left_skylight", "close")).toBe("lock");
    expect(one.values()).not.toContain("101=10001");
    expect(one.alarms.has("guard_unmet")).toBe(true);
    await one.engine.change("GH-0001", ["left_skylight"], { lock: null });
    await weather(one, 14, "off", 1);
    expect(one.values().at(-1)).toBe("101=10001");
  });
});

it("of two windows that must not move together, commanded at once, one is refused until the other has travelled", async () => {
  const { one, warnings } = await greenhouse("Two windows that must not move together");
  expect(warnings).toEqual([]);
  one.send("open", { targetId: "left_skylight" });
  expect(await command(one, "right_skylight", "open")).toBe("twin");
  await one.clock.advance(120_000);
  expect(await command(one, "right_skylight", "open")).toBe("confirmed");
  expect(one.values()).toEqual(["101=10010", "102=10010"]);
});

it("heater and vents exclude each other, also when both are commanded at once", async () => {
  const { one, warnings } = await greenhouse("Heater and vents that exclude each other");
  expect(warnings).toEqual([
    expect.stringContaining("may be 2m old"),
    expect.stringContaining("may be 2m old"),
  ]);
  one.send("on", { targetId: "heater" });
  expect(await command(one, "left_skylight", "50")).toBe("heater");
  expect(one.values()).toEqual(["320=1010"]);
  expect(await command(one, "left_skylight", "20")).toBe("confirmed");
  expect(await command(one, "heater", "off")).toBe("confirmed");
  expect(await command(one, "left_skylight", "50")).toBe("confirmed");
  expect(await command(one, "heater", "on")).toBe("vents");
  expect(await command(one, "left_skylight", "auto")).toBe("confirmed");
  expect(await command(one, "heater", "on")).toBe("vents");
});

it("irrigation ends by itself: after its usual time, after one that is named, and never after more than at_most", async () => {
  const { one, warnings } = await greenhouse("Irrigation that ends by itself");
  expect(warnings).toEqual([]);
  expect(await command(one, "valve_1", "on")).toBe("confirmed");
  await one.clock.advance(14 * 60_000);
  expect(one.values()).toEqual(["210=1010"]);
  await one.clock.advance(60_000);
  expect(one.values()).toEqual(["210=1010", "210=1001"]);
  expect(await command(one, "valve_1", '{"command":"on","for":"30m"}')).toBe("confirmed");
  await one.clock.advance(28 * 60_000);
  expect(one.values()).toHaveLength(3);
  await one.clock.advance(2 * 60_000);
  expect(one.values().at(-1)).toBe("210=1001");
  expect(await command(one, "valve_1", '{"command":"on","for":"46m"}')).toBe("refused");
});
