// (r) Limits on every reading: the processor time that judging them adds to a sweep, and the time of a stop while all
// readings cross at once.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { codeOf, messagesPerController, sensors, valueAt } from "./account.mjs";
import { figure, percentile, spread } from "./figures.mjs";
import { motor, motors, reachable, stops } from "./flood.mjs";
import { newFile, stop } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import {
  modules,
  allSensors,
  bases,
  startBridge,
  startBroker,
  startPlatform,
  startSettledBridge,
} from "./setup.mjs";
import { Sweeper } from "./sweep.mjs";
import { Counter } from "./wire.mjs";

/** Settings by kind, with all four limits; outdoors a limit has to be named explicitly. */
const limitsOf = ({ from, step }, low) => ({
  ...{
    low_low: from - 2 * step - 1,
    low,
    high: from + 200 * step,
    high_high: from + 300 * step,
    delay: "0s",
  },
});
const calm = (sensor) => limitsOf(sensor, sensor.from - sensor.step);
const cold = (sensor) => limitsOf(sensor, sensor.from + sensor.step / 2);
const outdoors = sensors.find(({ factor }) => factor === "outtemp");
const byKind = (limits) =>
  Object.fromEntries(sensors.filter((one) => one !== outdoors).map((one) => [one.kind, limits(one)]));
const houses = (count, alarm) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [codeOf(n), { sensors: { out: { from: "outtemp", ...alarm } } }]),
  );

async function side(controllers, hasBands) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const limits = hasBands ? { alarms: byKind(calm) } : {};
  const of = houses(controllers, hasBands ? { alarm: calm(outdoors) } : {});
  const child = await startSettledBridge(platform, broker, controllers, {
    resting: true,
    controllers: of,
    ...limits,
  });
  const counter = await Counter.open(broker.port, allSensors(bases.bridge));
  const sweeper = await Sweeper.open(broker);
  return {
    sweep: () => sweeper.sweep("bridge", child, counter, controllers * messagesPerController),
    end: async () => {
      counter.close();
      sweeper.close();
      await Promise.all([stop(child), platform.stop(), broker.stop()]);
    },
  };
}

async function measureJudgedSweep({ controllers, warmUp, rounds, say }) {
  const [judged, plain] = [await side(controllers, true), await side(controllers, false)];
  const [ours, theirs] = [[], []];
  for (let round = -warmUp; round < rounds; round += 1) {
    const pair = [await judged.sweep(), await plain.sweep()];
    if (round < 0) continue;
    ours.push(pair[0].cpu);
    theirs.push(pair[1].cpu);
    say(
      `sweep ${round + 1}/${rounds}: ${pair.map(({ cpu }) => `${cpu.toFixed(2)} s`).join(", without limits ")}`,
    );
  }
  await Promise.all([judged.end(), plain.end()]);
  // The least values, as other load on the computer only adds to them.
  const [withLimits, without] = [ours, theirs].map((all) => spread(all).least);
  const judging = await costOfJudging(controllers);
  say(`judging alone: ${(judging * 1e3).toFixed(1)} ms`);
  return [
    // For information, as two processes differ by more than the cost of judging.
    figure("r", `sweep of ${controllers} with 12 limits each, CPU`, "s", withLimits, {
      ...{ bare: without, ratio: withLimits / without, range: spread(ours) },
    }),
    figure("r", `judging the ${controllers * sensors.length} readings of it, CPU`, "s", judging, {
      ...{ bare: without, ratio: judging / without, target: { of: "ratio", atMost: 0.02 } },
    }),
  ];
}

const judgedSweeps = 40;

/**
 * Processor seconds that the module takes to judge a sweep in which every value moves and none crosses; the least of
 * many.
 */
async function costOfJudging(count) {
  const module = (path) => import(pathToFileURL(`${modules}/${path}`).href);
  const { ReadingAlarms } = await module("limits/readings/watch.js");
  const { GreenhouseStore } = await module("sync/store.js");
  const turns = [];
  const clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    soon: (turn) => turns.push(turn),
    after: () => () => undefined,
  };
  const codes = Array.from({ length: count }, (_, n) => codeOf(n));
  const { mirrorSettings } = await module("sync/settings.js");
  const { loadConfiguration } = await module("config/load.js");
  const file = newFile("config.yaml");
  const url = "http://127.0.0.1:9";
  const controllers = houses(count, { alarm: calm(outdoors) });
  const platform = { business_url: url, realtime_url: url, token: "bench" };
  writeFileSync(
    file,
    JSON.stringify({ platform, data_dir: newFile("data"), alarms: byKind(calm), controllers }),
  );
  const loaded = await loadConfiguration(file, { env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
  const store = new GreenhouseStore(mirrorSettings(loaded.configuration), clock, (text) => text);
  let changes = 0;
  const alarms = { list: [], setAll: (all) => (changes += [...all].length) };
  const readingsKept = { read: () => Promise.resolve(null), write: () => Promise.resolve() };
  const readings = new ReadingAlarms(alarms, { clock, store, readingsKept, log: console });
  void readings.run(new AbortController().signal);
  await new Promise((resolve) => setImmediate(resolve));
  store.setReachable(true);
  for (const code of codes) store.admit(code);
  const costs = [];
  const sweep = (valueOf) => {
    const measuredAt = Date.now();
    for (const code of codes) {
      const items = sensors.map((one, n) => {
        const { name, factor, unit } = one;
        const value = valueOf(one);
        return { name, factor, unit, channel: String(n + 1), raw: String(value), value, measuredAt };
      });
      store.dispatch(code, { type: "sensors_read", items, receivedAt: measuredAt, source: "poll" });
    }
    const before = process.cpuUsage();
    while (turns.length > 0) turns.shift()();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  for (let round = 0; round < judgedSweeps; round += 1)
    costs.push(sweep((one) => Number(valueAt(one, 1 + (round % 90)))));
  if (changes > 0) throw new Error(`${changes} alarms of values that are within their limits`);
  sweep(({ from, step }) => from - 1.5 * step);
  if (changes !== count * sensors.length) throw new Error(`${changes} alarms of values that are beyond them`);
  return spread(costs.slice(5)).least;
}

/** An account whose readings cross their limits when `turn` is called; the first readings are on the broker. */
async function crossing(controllers, options = {}) {
  const codes = Array.from({ length: controllers }, (_, n) => codeOf(n));
  const [broker, platform] = [await startBroker({ usual: true }), await startRegisterPlatform(...codes)];
  platform.hasSensors = true;
  const all = houses(controllers, { alarm: cold(outdoors) });
  all[codes[0]].actuators = Object.fromEntries(motors.map((id) => [id, motor(id.slice(1))]));
  const child = startBridge(platform, broker, {
    ...{ resting: true, controllers: all, alarms: byKind(cold) },
    ...options,
  });
  const sender = await reachable(broker.port);
  const readings = await Counter.open(broker.port, [`${bases.bridge}/+/sensor/+/json`]);
  await readings.until(controllers * sensors.length, 15_000);
  const alarms = await Counter.open(broker.port, [`${bases.bridge}/alarm/+`]);
  return {
    ...{ platform, broker, child, sender, readings, alarms },
    refresh: () => sender.publish(`${bases.bridge}/bridge/request/refresh`, "{}"),
    end: async () => {
      for (const one of [sender, readings, alarms]) one.close();
      await stop(child);
      await broker.stop();
      platform.stop();
    },
  };
}

const what = (controllers, text) => `${controllers * sensors.length} readings cross at once, ${text}`;

/** Measures repeated stops while every reading crosses its limit within one sweep. */
async function measureCrossing({ controllers, stops: count, say }) {
  const { platform, broker, child, sender, alarms, refresh, end } = await crossing(controllers);
  const events = await Counter.open(broker.port, [`${bases.bridge}/bridge/event`]);
  const told = { alarm: 0, flood: 0 };
  events.onMessage = (_, payload) => {
    const { type } = JSON.parse(payload);
    if (type in told) told[type] += 1;
  };
  const before = await stops({ platform, child, sender }, count);
  platform.isCold = true;
  refresh();
  const meanwhile = await stops({ platform, child, sender }, count);
  await alarms.quiet(5_000);
  say(
    `${alarms.messages} alarms, told ${told.alarm} and ${told.flood} flood; stop p99 ${percentile(meanwhile, 0.99).toFixed(1)} ms`,
  );
  events.close();
  await end();
  return [
    figure("r", what(controllers, "stop publish to POST p99"), "ms", percentile(meanwhile, 0.99), {
      bare: percentile(before, 0.99),
      target: { of: "value", atMost: 250 },
      range: spread(meanwhile),
    }),
    figure("r", what(controllers, "alarms"), "alarms", alarms.messages),
    figure("r", what(controllers, "told before the flood"), "events", told.alarm, {
      target: { of: "value", atMost: 10 },
    }),
    figure("r", what(controllers, "floods"), "events", told.flood, { target: { of: "value", atMost: 1 } }),
  ];
}

/**
 * Measures the longest uninterrupted work of the bridge, for which a stop may have to wait: with all readings crossing,
 * and with none.
 */
async function measureRounds({ controllers, say }) {
  const file = newFile("rounds");
  const flags = ["--import", new URL("./rounds-hook.mjs", import.meta.url).href];
  const { platform, child, readings, alarms, refresh, end } = await crossing(controllers, {
    ...{ flags, env: { BENCH_ROUNDS: file } },
  });
  const longest = async () => {
    rmSync(file, { force: true });
    child.kill("SIGUSR2");
    while (!existsSync(file) || readFileSync(file, "utf8") === "") await wait(5);
    return Number(readFileSync(file, "utf8"));
  };
  const sweep = async () => {
    await longest();
    refresh();
    await readings.quiet(5_000);
    await alarms.quiet(5_000);
    return longest();
  };
  const calm = [await sweep(), await sweep()];
  if (alarms.messages > 0) throw new Error(`${alarms.messages} alarms of values within their limits`);
  platform.isCold = true;
  const crossed = await sweep();
  if (alarms.messages < controllers * sensors.length) throw new Error(`only ${alarms.messages} alarms`);
  await end();
  say(
    `longest round ${crossed.toFixed(1)} ms of processor time, ${calm.at(-1).toFixed(1)} ms where none crosses`,
  );
  return [
    figure("r", what(controllers, "longest stretch of work, CPU"), "ms", crossed, {
      ...{ bare: calm.at(-1), ratio: crossed / calm.at(-1), target: { of: "value", atMost: 20 } },
    }),
  ];
}

/** The baseline is the same bridge without limits, the same stops before, and a sweep in which nothing crosses. */
export async function measureBands(counts) {
  return [
    ...(await measureJudgedSweep(counts)),
    ...(await measureRounds(counts)),
    ...(await measureCrossing(counts)),
  ];
}
