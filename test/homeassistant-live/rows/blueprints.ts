import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fields, until, untilNew } from "../../end-to-end/support/watch.js";
import type { Rows } from "../support/rows.js";
import { actuators, house, parameters, sensors, type World } from "../support/world.js";
import { idsOf } from "./outcomes.js";

/*
 * Each blueprint of docs/recipes.md, copied and filled in as its form would be, starts by its own trigger; what the bridge says
 * of its command is the result. Waiting times are seconds in the place of minutes, all else is as it is delivered.
 */

const folder = resolve("deploy/home-assistant/blueprints/automation/greenhouse2mqtt");

const sooner: readonly (readonly [from: string, to: string])[] = [
  ["for: { minutes: 5 }", "for: { seconds: 1 }"],
  ["for: { minutes: 15 }", "for: { seconds: 1 }"],
  ["minutes: /10", "seconds: /4"],
  ["minutes: /30", "seconds: /4"],
  ["seconds: /30", "seconds: /2"],
  ["timedelta(minutes=3)", "timedelta(seconds=8)"],
];

interface Use {
  readonly blueprint: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Tells that the time patterns of the blueprints have passed once more. */
const tick = {
  alias: "Tick",
  triggers: [{ trigger: "time_pattern", seconds: "/4" }],
  actions: [{ action: "mqtt.publish", data: { topic: "test/tick", payload: "tick" } }],
};

const patientMs = 90_000;

const stationConfig = "homeassistant/sensor/station/wind/config";
const stationWind = JSON.stringify({
  ...{ name: "Wind", unique_id: "station_wind", default_entity_id: "sensor.station_wind" },
  ...{ state_topic: "station/wind", device_class: "wind_speed", unit_of_measurement: "m/s" },
  device: { identifiers: ["station"], name: "Station" },
});

/** A house with a scene, a bed and a heater, and a window that the station's wind closes. */
const configuration = {
  weather: {
    wind: { topic: "weather/wind", field: "speed", stale_after: "1h" },
    station: { topic: "weather/station", unit: "m/s", stale_after: "6s" },
  },
  scenes: {
    night: { name: "Night", commands: { "GH-0001/inner_shade": "close", "GH-0001/grow_light": "off" } },
  },
  controllers: {
    [house]: {
      ...{ sensors, parameters },
      actuators: {
        ...actuators,
        left_skylight: {
          ...(actuators["left_skylight"] as object),
          limits: {
            guards: {
              station: {
                ...{ sensor: "weather/station", above: 12, clear_at: 9, clear_after: "1s" },
                ...{ allow: ["close", "stop", "0..10"], then: "close" },
              },
            },
          },
        },
      },
    },
  },
};

const clock = (date: Date): string => date.toISOString().slice(11, 19);

/** From one moment to another, as the form of the blueprint writes it. */
function offsetBetween(from: Date, to: Date): string {
  const seconds = Math.round((to.getTime() - from.getTime()) / 1000);
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) =>
    String(Math.trunc(Math.abs(part))).padStart(2, "0"),
  );
  return `${seconds < 0 ? "-" : ""}${parts.join(":")}`;
}

export function blueprints(world: () => World, rows: Rows): void {
  describe("with the blueprints", () => {
    const known = { ids: new Map<string, string>() as ReadonlyMap<string, string> };
    const id = (suggested: string) => known.ids.get(suggested) ?? suggested;
    const told = (name: string, figure: string) => rows.tell(`blueprint: ${name}`, figure);
    const reading = (sensor: string, value: number) =>
      world().platform.tell("set_sensor", { controller: house, sensor, value });
    /** A new entity listens some seconds after it is there. */
    const tellWind = async (speed: number) => {
      const { ha, watch } = world();
      const station = setInterval(() => void watch.publish("station/wind", String(speed)), 500);
      // Home Assistant shows what the station says in m/s as km/h.
      const isShown = () => Math.abs(Number(ha.state("sensor.station_wind")?.state) - speed * 3.6) < 0.1;
      await ha.until(`a wind of ${speed} m/s`, isShown).finally(() => clearInterval(station));
    };

    /** Puts an automation of the blueprint in the place of the one before; none without. */
    const use = async (...all: readonly Use[]): Promise<void> => {
      const one = world();
      const automation = all.map(({ blueprint, input }) => ({
        ...{ id: `blueprint_${blueprint}`, alias: `Blueprint ${blueprint}` },
        use_blueprint: { path: `greenhouse2mqtt/${blueprint}.yaml`, input },
      }));
      const text = JSON.stringify({ automation: [...automation, { id: "tick", ...tick }] });
      await writeFile(join(one.folder, "packages/blueprints.yaml"), text);
      await one.ha.call("call_service", { domain: "automation", service: "reload" });
    };
    /** The first result of an actuator from this sender after a mark. */
    const result = async (mark: number, actuator: string, by: RegExp) => {
      const topic = `greenhouse/gh-0001/actuator/${actuator}/result`;
      const isOne = (text: string) => by.test(String(fields(text)["by"]));
      return fields((await untilNew(world().watch, mark, topic, isOne, patientMs)).payload);
    };
    const resultsOf = (actuator: string, mark: number) =>
      world()
        .watch.seen.slice(mark)
        .filter(({ topic }) => topic === `greenhouse/gh-0001/actuator/${actuator}/result`);
    const ticks = async (count: number) => {
      const { watch } = world();
      const mark = watch.mark();
      const passed = () => watch.seen.slice(mark).filter(({ topic }) => topic === "test/tick").length;
      await watch.untilTrue(() => passed() >= count, `${count} ticks`, patientMs);
    };
    const untilThermometer = () =>
      world().ha.until("the thermometer", () =>
        Number.isFinite(Number(world().ha.state(id("sensor.gh_0001_airtemp"))?.state)),
      );
    const leaseMinutes = (actuator: string) => {
      const lease = fields(world().watch.latest(`greenhouse/gh-0001/actuator/${actuator}/lease`));
      return (Date.parse(String(lease["until"])) - Date.now()) / 60_000;
    };

    beforeAll(async () => {
      const one = world();
      await one.endBridge();
      await one.startBridge(configuration);
      await one.watch.publish(stationConfig, stationWind, { retain: true });
      await one.ha.until("the station", () => one.ha.state("sensor.station_wind") !== undefined);
      known.ids = (await idsOf(one)).entities;
      for (const name of readdirSync(folder)) {
        const path = join(one.folder, "blueprints/automation/greenhouse2mqtt", name);
        await mkdir(dirname(path), { recursive: true });
        const text = readFileSync(join(folder, name), "utf8");
        await writeFile(
          path,
          sooner.reduce((made, [from, to]) => made.replaceAll(from, to), text),
        );
      }
    });

    afterAll(async () => {
      const one = world();
      await use();
      await one.watch.publish(stationConfig, "", { retain: true });
      for (const sensor of ["空气温度", "土壤湿度"])
        await one.platform.tell("clear_sensor", { controller: house, sensor });
      await one.endBridge();
      await one.startBridge();
    });

    it("each waiting time that is shortened here stands in one of them", () => {
      const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
      expect(sooner.filter(([from]) => !texts.some((text) => text.includes(from)))).toEqual([]);
    });

    it("waters at its time, for its minutes, and the bridge ends it while Home Assistant is gone", async () => {
      const one = world();
      const mark = one.watch.mark();
      const at = clock(new Date(Date.now() + 8_000));
      await use({
        blueprint: "water_by_schedule",
        input: { at, minutes: 1, controller: "gh-0001", actuator: "valve_1" },
      });
      expect(await result(mark, "valve_1", /^schedule$/)).toMatchObject({
        ...{ outcome: "confirmed", command: "on" },
      });
      expect(await one.platform.register(house, "210")).toBe("1010");
      expect(leaseMinutes("valve_1")).toBeGreaterThan(0.5);
      await one.endHomeAssistant();
      expect(await result(mark, "valve_1", /^lease /)).toMatchObject({
        outcome: "confirmed",
        command: "off",
      });
      await one.startHomeAssistant();
      await untilThermometer();
      told("water by schedule", "on at its time, off after its minute without Home Assistant");
    });

    it("activates its scene when the sun has set, with one result that names every member", async () => {
      const one = world();
      await one.platform.tell("move_by_hand", { controller: house, address: "102", value: "10010" });
      const mark = one.watch.mark();
      await one.ha.until("the sun", () => one.ha.state("sun.sun") !== undefined);
      const sunset = new Date(String(one.ha.state("sun.sun")?.attributes["next_setting"]));
      const offset = offsetBetween(sunset, new Date(Date.now() + 8_000));
      await use({ blueprint: "night_scene", input: { event: "sunset", offset, scene: "night" } });
      const topic = "greenhouse/scene/night/result";
      const { payload } = await untilNew(one.watch, mark, topic, () => true, patientMs);
      expect(fields(payload)).toMatchObject({ outcome: "confirmed", by: "schedule" });
      expect(await one.platform.register(house, "102")).toBe("10001");
      told("night scene", "closed at sunset");
    });

    it("heats while it is too cold, half an hour at a time, and renews nothing for a thermometer that is silent", async () => {
      const one = world();
      const mark = one.watch.mark();
      await use({
        blueprint: "frost",
        input: {
          ...{ sensor: id("sensor.gh_0001_airtemp"), below: 4 },
          ...{ controller: "gh-0001", actuator: "heating" },
        },
      });
      await reading("空气温度", 2);
      expect(await result(mark, "heating", /^frost$/)).toMatchObject({ command: "on", outcome: "confirmed" });
      expect(leaseMinutes("heating")).toBeGreaterThan(29);
      const lease = one.watch.latest("greenhouse/gh-0001/actuator/heating/lease");
      await until(
        one.watch,
        "greenhouse/gh-0001/actuator/heating/lease",
        (text) => text !== lease,
        patientMs,
      );
      expect(leaseMinutes("heating")).toBeGreaterThan(29);
      await one.platform.tell("freeze_sensors", { controller: house });
      await one.ha.until(
        "the thermometer is silent",
        () => one.ha.state(id("sensor.gh_0001_airtemp"))?.state === "unavailable",
      );
      // One that was on its way.
      await ticks(1);
      const silent = one.watch.mark();
      await ticks(3);
      expect(resultsOf("heating", silent)).toEqual([]);
      await one.platform.tell("unfreeze_sensors", { controller: house });
      await reading("空气温度", 15);
      await untilThermometer();
      told("frost", "on for 30 min, renewed while cold, not while silent");
    });

    it("waters a dry bed once, and not outside of its hours", async () => {
      const one = world();
      const dry = (from: string, to: string): Use => ({
        blueprint: "dry_bed",
        input: {
          ...{ sensor: id("sensor.gh_0001_soilhumi"), below: 25, minutes: 10, wait: 3, from, to },
          ...{ controller: "gh-0001", actuator: "valve_2" },
        },
      });
      const mark = one.watch.mark();
      await reading("土壤湿度", 10);
      await one.ha.until(
        "the bed is dry",
        () => Number(one.ha.state(id("sensor.gh_0001_soilhumi"))?.state) < 25,
      );
      const [before, after] = [-7_200_000, -3_600_000].map((ms) => clock(new Date(Date.now() + ms)));
      await use(dry(before ?? "", after ?? ""));
      await ticks(3);
      expect(resultsOf("valve_2", mark)).toEqual([]);
      await use(dry("00:00:00", "23:59:59"));
      expect(await result(mark, "valve_2", /^dry bed$/)).toMatchObject({
        command: "on",
        outcome: "confirmed",
      });
      expect(leaseMinutes("valve_2")).toBeGreaterThan(9);
      await ticks(3);
      expect(resultsOf("valve_2", mark).length).toBe(1);
      told("dry bed", "once, in its hours alone");
    });

    it("a wind of one's own station closes the window by its guard, and a silent station keeps it closed", async () => {
      const one = world();
      const skylight = "greenhouse/gh-0001/actuator/left_skylight";
      const because = () => JSON.stringify(fields(one.watch.latest(`${skylight}/allowed`))["because"]);
      const input = { sensor: "sensor.station_wind", topic: "weather/station" };
      await use({ blueprint: "station_wind", input });
      await tellWind(3);
      await one.watch.untilTrue(() => because() === "[]", "the guard lets go", patientMs);
      await one.platform.tell("move_by_hand", { controller: house, address: "101", value: "10010" });
      await until(one.watch, `${skylight}/state`, "open", patientMs);
      // A wind that stays the same is told on, or the bridge would take it for silent.
      const same = one.watch.mark();
      const repeated = () =>
        one.watch.seen.slice(same).filter(({ topic }) => topic === "weather/station").length;
      await tellWind(3);
      await one.watch.untilTrue(() => repeated() > 2, "it is told on", patientMs);
      expect(Number(one.watch.latest("weather/station"))).toBeCloseTo(3, 1);
      const mark = one.watch.mark();
      await tellWind(15);
      expect(await result(mark, "left_skylight", /^rule station$/)).toMatchObject({
        ...{ command: "close", outcome: "confirmed" },
      });
      await one.ha.act("cover.open_cover", id("cover.gh_0001_left_skylight"));
      expect(await result(mark, "left_skylight", /^home-assistant$|^null$/)).toMatchObject({
        ...{ outcome: "refused", reason: "interlock" },
      });
      await tellWind(3);
      await one.watch.untilTrue(() => because() === "[]", "the guard lets go again", patientMs);
      await one.watch.untilTrue(
        () => because().includes('"quality":"stale"'),
        "the station is silent",
        patientMs,
      );
      told("wind of a station", "closed, open refused, let go, silent holds");
    });
  });
}
