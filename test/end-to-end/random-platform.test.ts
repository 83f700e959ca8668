import { describe, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { actuatorKeys } from "../../src/simulator/printable-configuration.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { settingsFor } from "../support/reading-settings.js";
import { whileRuns } from "./support/program.js";
import { type DrawnPlatform, drawnPlatform, type Task } from "./support/random-platform.js";
import {
  canaries,
  type Configuration,
  configurationFor,
  mosquittoSection,
  type Stage,
} from "./support/stage.js";
import { staged } from "./support/staged.js";
import { fields, until } from "./support/watch.js";

/*
 * A platform that nobody has thought of, each run another one: the built program with the settings that docs/platform.md names for what
 * was drawn moves every kind of actuator, and the platform's own log of POSTs and the real things behind it are the judge. The seed
 * stands in the name of the test; `SEED=…` plays it again.
 */

const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const drawn = drawnPlatform(seed);
const { dialect, readings, tasks } = drawn;

/** Fast enough that whatever moves is there while its command is confirmed, and a plan lasts 20 s. */
const speed = 60;
const patientMs = 30_000;

/** One greenhouse for each command, so that none waits for another; every eighth controller from the second on is none. */
const greenhouses = Array.from({ length: 2 * tasks.length }, (_, n) => n + 1)
  .filter((n) => n % 8 !== 2)
  .map((n) => `GH-${String(n).padStart(4, "0")}`);
const places = tasks.map((task, n) => ({ task, code: greenhouses[n] ?? "" }));
const moved = greenhouses[tasks.length] ?? "";
const controllers = Number(moved.slice(3));

const own: Readonly<Record<string, Configuration>> = {
  motor: { open: "00000001", close: "00000010" },
  custom: { low: "0110", high: "1001" },
};

function actuatorOf({ row }: Pick<Task, "row">): Configuration {
  const { kind, address, position_address: position } = actuatorKeys(row);
  return {
    ...{ kind, address, settle: "200ms", confirm_within: "18s" },
    ...(position === null ? {} : { position_address: position }),
    ...(own[kind] === undefined ? {} : { values: own[kind] }),
    ...(row.travelMs >= 60_000 ? { travel_time: "3s" } : {}),
    ...(row.group === null ? {} : { type_id: row.group }),
  };
}

function configurationOf(url: string, broker: Configuration): Configuration {
  const { kinds = {}, running_status = {}, commands = {}, platform = {} } = settingsFor(readings);
  const base = configurationFor(url, broker, {
    ...{ kinds, running_status, mirror: "listed" },
    commands: { min_interval: "0s", max_age: "5m", ...commands },
    polling: {
      controllers: "10s",
      sensors: "15s",
      running_status: "15s",
      actuators: "10s",
      stale_after: "2m",
    },
    controllers: Object.fromEntries([
      ...places.map(({ task, code }) => [code, { actuators: { it: actuatorOf(task) } }]),
      [moved, { actuators: { it: { kind: "co2_supply", address: "310" } }, averages: true, stream: true }],
      ["WS-0001", {}],
    ]),
  });
  const { business_url, realtime_url } = base["platform"] as Configuration;
  const body = { account: "grower", password: canaries.password };
  return {
    ...base,
    platform: { business_url, realtime_url, requests_per_minute: 0, sign_in: { body }, ...platform },
  };
}

async function installed(stage: Stage, { dialect: spoken }: DrawnPlatform) {
  const auth = { tokens: "known", checkRealtime: true } as const;
  const simulator = stage.keep(
    await startSimulator({ controllers, speed, dialect: spoken, readings, seed, auth }, systemClock),
  );
  const broker = await stage.mosquitto({ extra: ["max_queued_messages 0"] });
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const configuration = configurationOf(simulator.businessUrl, mosquittoSection(broker.url));
  const bridge = await stage.bridge(configuration, { logLevel: "warn" });
  await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", patientMs));
  const topic = (code: string) => `greenhouse/${code.toLowerCase()}`;
  const allowed = () =>
    places.every(({ code }) => watch.latest(`${topic(code)}/actuator/it/allowed`) !== null);
  await watch.untilTrue(allowed, "every actuator is there", patientMs);
  /** The result of a command. */
  const command = async ({ task, code }: (typeof places)[number]) => {
    const at = `${topic(code)}/actuator/it`;
    await watch.publish(`${at}/set`, JSON.stringify({ command: task.command, force: true }));
    await watch.untilTrue(
      () => (watch.latest(`${at}/result`) ?? "") !== "",
      `${code} ${task.command} ends`,
      60_000,
    );
    return fields(watch.latest(`${at}/result`));
  };
  return { simulator, watch, topic, command };
}

const scene = staged((stage) => {
  console.log(
    `a random platform: SEED=${seed}, readings ${readings.join(" ")}, dialect ${JSON.stringify(dialect)}`,
  );
  return installed(stage, drawn);
});

const patience = { timeout: patientMs, interval: 100 };

describe(`a platform drawn from the seed ${seed}`, () => {
  it.concurrent(
    "carries out every command of every kind of actuator exactly once, and its result says what was shown",
    async ({ expect }) => {
      const { simulator, command } = scene();
      const ends = await Promise.all(
        places.map(async (place) => {
          const { outcome, message } = await command(place);
          const { task, code } = place;
          const posts = simulator.control.posts().filter((post) => post.code === code);
          return {
            what: `${task.row.kind} ${task.row.address} ${task.command}`,
            ...{ outcome, sent: posts.map(({ value }) => value), effects: posts.map(({ effect }) => effect) },
            ...(outcome === task.outcome ? {} : { message }),
          };
        }),
      );
      const wanted = tasks.map(({ row, command: word, sent, outcome }) => ({
        what: `${row.kind} ${row.address} ${word}`,
        ...{ outcome, sent, effects: sent.map(() => "taken") },
      }));
      expect(ends).toEqual(wanted);
      for (const { task, code } of places)
        if (task.levels !== null)
          await expect
            .poll(() => simulator.control.trueState(code, task.row.address).levels, patience)
            .toEqual(task.levels);
    },
    80_000,
  );

  it.concurrent(
    "is mirrored: readings, running statuses, the weather station, and what was moved at the wall",
    async ({ expect }) => {
      const { simulator, watch, topic } = scene();
      // Where a read is only ordered, nothing but a push tells of it, and what is pushed before the channel was asked for is lost.
      await expect.poll(() => watch.latest(`${topic(moved)}/actuator/it/state`), patience).toBe("off");
      await expect.poll(() => simulator.pushConnections(), patience).toBeGreaterThanOrEqual(2);
      simulator.control.moveByHand(moved, "310", "1010");
      await expect.poll(() => watch.latest(`${topic(moved)}/actuator/it/state`), patience).toBe("on");
      const good = (code: string) =>
        [...watch.current(new RegExp(`^${topic(code)}/sensor/[^/]+/quality$`)).values()].filter(
          (quality) => quality === "good",
        ).length;
      for (const code of [moved, "WS-0001"]) await expect.poll(() => good(code), patience).toBeGreaterThan(8);
      const averages = () => watch.current(new RegExp(`^${topic(moved)}/sensor/[^/]*avg[^/]*$`)).size;
      await expect.poll(averages, patience).toBeGreaterThan(0);
      const statuses = watch.current(new RegExp(`^${topic(moved)}/status/[^/]+$`));
      expect(statuses.size).toBeGreaterThan(5);
      expect([...statuses.values()].filter((state) => state !== "on" && state !== "off")).toEqual([]);
    },
    80_000,
  );
});
