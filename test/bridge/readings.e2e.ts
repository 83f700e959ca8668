import { expect, it } from "vitest";
import { type ReadingName, readingNames } from "../../src/simulator/readings.js";
import { until } from "../mqtt-connection/support.js";
import { settingLines } from "../simulation/readings.js";
import { Chance } from "../simulation/scenario.js";
import { audience, bridge, platform } from "./support/bridge.js";

/*
 * Whatever of the interface's words a platform takes otherwise: with the settings that the documentation names, each command ends as it
 * should, the device holds what was asked, and nobody is said to have moved anything. What is expected is told by the reading and by
 * the simulated device itself. `READINGS_SEED=n` draws others.
 */

const seed = Number(process.env["READINGS_SEED"] ?? 3);

function drawn(nth: number): readonly ReadingName[] {
  const chance = new Chance(seed, `readings ${nth}`);
  const some = readingNames.filter(() => chance.hits(0.5));
  return some.includes("actual_positions") ? some.filter((name) => name !== "mode_stays") : some;
}

const code = "GH-0001";

const text = (url: string, readings: readonly ReadingName[]) => `
mqtt: { url: "${url}" }
http: false
homeassistant: { enabled: false }
commands: { min_interval: 0s }
polling: { actuators: 1s, running_status: 1s }
${settingLines(new Set(readings)).join("\n")}
controllers:
  ${code}:
    actuators:
      roof: { kind: skylight, address: 101, type_id: 2, settle: 0s, travel_time: 1s, confirm_within: 5s }
      fans: { kind: fan_wet_curtain, address: 140, settle: 0s, confirm_within: 5s }
      fan: { kind: circulation_fan, address: 150, settle: 0s, confirm_within: 5s }
      valve: { kind: irrigation, address: 210, settle: 0s, confirm_within: 5s }
`;

/** Address, command, and what the device is to hold then. */
const commands: readonly (readonly [actuator: string, address: string, command: string, held: string])[] = [
  ["roof", "101", "open", "10010"],
  ["roof", "101", "45", "45"],
  ["roof", "101", "close", "10001"],
  ["roof", "101", "auto", "11000"],
  ["fan", "150", "on", "1010"],
  ["fan", "150", "auto", "1100"],
  ["valve", "210", "on", "1010"],
  ["fans", "140", "all_on", "11110"],
  ["fans", "140", "auto", "11111"],
];

const positions: readonly ReadingName[] = ["actual_positions", "group_of_settings", "status_words"];

it.each([[drawn(0)], [drawn(1)], [positions]] as const)(
  "a platform with %j is commanded and shown as it is",
  { timeout: 120_000 },
  async (readings) => {
    const { url, say, json, texts, seen } = await audience();
    const simulator = await platform({ readings, speed: 100 });
    await bridge(text(url, readings), simulator);
    await until(() => texts("greenhouse/bridge/state").includes("online"), "the bridge is there");
    await until(() => texts("greenhouse/gh-0001/actuator/fans/state").length > 0, "it is read");
    for (const [actuator, address, command, held] of commands) {
      if (command === "auto" && actuator === "fans" && !readings.includes("fan_automatic")) continue;
      const topic = `greenhouse/gh-0001/actuator/${actuator}`;
      const before = json(`${topic}/result`).length;
      await say(`${topic}/set`, command);
      await until(() => json(`${topic}/result`).length > before, `${actuator} ${command} ends`);
      const result = json(`${topic}/result`).at(-1);
      // Nothing that is read tells of a window that it is left to itself where only its position is shown.
      const isNeverShown = readings.includes("actual_positions") && actuator === "roof" && command === "auto";
      const expected = isNeverShown ? ["unconfirmed"] : ["confirmed", "already"];
      expect(expected, `${actuator} ${command}: ${JSON.stringify(result)}`).toContain(result?.["outcome"]);
      expect(simulator.control.trueState(code, address).value).toBe(held);
    }
    const statuses = seen.filter(({ topic }) => /\/status\/[^/]+$/.test(topic)).map((one) => one.text);
    expect(statuses.length).toBeGreaterThan(0);
    expect(statuses.filter((state) => !["on", "off", "stale"].includes(state))).toEqual([]);
    const told = json("greenhouse/bridge/event").map(({ type }) => type);
    expect(told).not.toContain("changed_elsewhere");
  },
);
