import { expect } from "vitest";
import { type ReadingName, readingNames } from "../../src/simulator/readings.js";
import { isNeverShown, targetOf } from "../judge/values.js";
import { Chance } from "../simulation/scenario.js";
import { compatible, settingsFor } from "../support/reading-settings.js";
import { brokers } from "./support/brokers.js";
import { devicesIn } from "./support/devices.js";
import { houseOf } from "./support/house.js";
import { installation } from "./support/installation.js";
import { brokenRules } from "./support/recording.js";
import { type Configuration, configurationFor } from "./support/stage.js";
import { it } from "./support/staged.js";
import { fields } from "./support/watch.js";

/*
 * Whatever of the interface's words a platform takes otherwise: with the settings that the documentation names, each command ends as it
 * should, the device holds what was asked, and nobody is said to have moved anything. What is expected is told by the reading, by the
 * simulated device itself and by the judge of all commands. `READINGS_SEED=n` draws others.
 */

const seed = Number(process.env["READINGS_SEED"] ?? 3);
const [broker] = brokers;

/** Beyond these a command takes seconds: `random-platform.test.ts` has them all. */
const drawable = readingNames.slice(0, readingNames.indexOf("degrees_apart") + 1);

function drawn(nth: number): readonly ReadingName[] {
  const chance = new Chance(seed, `readings ${nth}`);
  return compatible(drawable.filter(() => chance.hits(0.5)));
}

const code = "GH-0001";
const quick = { settle: "0s", confirm_within: "5s" };
const usual = {
  roof: { kind: "skylight", address: "101", type_id: 2, travel_time: "1s", ...quick },
  fans: { kind: "fan_wet_curtain", address: "140", ...quick },
  fan: { kind: "circulation_fan", address: "150", ...quick },
  valve: { kind: "irrigation", address: "210", ...quick },
};

/** Where a degree has an address of its own the configuration says so. */
const actuatorsFor = (readings: readonly ReadingName[]) =>
  readings.includes("degrees_apart")
    ? { ...usual, roof: { ...usual.roof, position_address: "1101" } }
    : usual;

const sectionOf = (readings: readonly ReadingName[]): Configuration => {
  const { kinds = {}, running_status = {} } = settingsFor(readings);
  return { kinds, running_status };
};

const commands: readonly (readonly [actuator: string, command: string])[] = [
  ["roof", "open"],
  ["roof", "45"],
  ["roof", "close"],
  ["roof", "auto"],
  ["fan", "on"],
  ["fan", "auto"],
  ["valve", "on"],
  ["fans", "all_on"],
  ["fans", "auto"],
];

const positions: readonly ReadingName[] = ["actual_positions", "group_of_settings", "status_words"];
const apart: readonly ReadingName[] = ["degrees_apart", "combined_bits"];

it.for([[drawn(0)], [drawn(1)], [positions], [apart]] as const)(
  "a platform with %j is commanded and shown as it is",
  { timeout: 150_000 },
  async ([readings], { stage }) => {
    const platform = await stage.platform({ controllers: 3, readings, speed: 100 });
    const actuators = actuatorsFor(readings);
    const there = await installation(stage, broker);
    const configuration = configurationFor(platform.url, there.section, {
      mirror: "listed",
      homeassistant: { enabled: false },
      commands: { min_interval: "0s" },
      controllers: { [code]: { actuators } },
      ...sectionOf(readings),
    });
    await there.start(configuration);
    const { watch } = there;
    const house = houseOf(code, { platform, watch });
    await watch.untilTrue(() => house.latest("fans", "state") !== "", "it is read");
    const own = new Set(readings);
    // A fan and wet curtain has no word that leads back to automatic, unless its platform has one.
    const fanAutomatic = { values: { auto: "11111" } };
    const kinds = own.has("fan_automatic") ? { fans: { ...actuators.fans, ...fanAutomatic } } : {};
    const judged = { ...configuration, controllers: { [code]: { actuators: { ...actuators, ...kinds } } } };
    for (const [actuator, command] of commands) {
      if (command === "auto" && actuator === "fans" && !own.has("fan_automatic")) continue;
      const device = devicesIn(judged)(code, actuator);
      if (device === null) throw new Error(`there is no ${actuator}`);
      const result = await house.command(actuator, { command, id: `${actuator} ${command}` });
      const expected = isNeverShown(own, device, command) ? ["unconfirmed"] : ["confirmed", "already"];
      expect(expected, `${actuator} ${command}: ${JSON.stringify(result)}`).toContain(result["outcome"]);
      const { address, value } = targetOf(device, command);
      expect(await house.register(address)).toBe(value);
    }
    const statuses = watch.seen
      .filter(({ topic }) => /\/status\/[^/]+$/.test(topic))
      .map((one) => one.payload);
    expect(statuses.length).toBeGreaterThan(0);
    expect(statuses.filter((state) => !["on", "off", "stale"].includes(state))).toEqual([]);
    const events = watch.seen
      .filter(({ topic }) => topic === "greenhouse/bridge/event")
      .map(({ payload }) => fields(payload)["type"]);
    expect(events).not.toContain("changed_elsewhere");
    const rig = { stage, platform, watch, configuration: judged };
    expect(await brokenRules(rig, { readings: own, showsTravel: own.has("actual_positions") })).toEqual([]);
  },
);
