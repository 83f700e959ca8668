// The bridge's own modules, from a message on a topic to the command's result, on a clock without cost. `deciding`
// stops before the POST (a dry run), `sending` continues until the value is confirmed.
// Arguments: JSON {modules, files, controllers, actuatorsEach, decisions, rounds, memoryCommands}. Prints "result
// {JSON}".
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { codeOf } from "./account.mjs";
import { spread } from "./figures.mjs";

const settings = JSON.parse(process.argv[2]);
const actuators = settings.controllers * settings.actuatorsEach;
const controllerOf = (n) => codeOf(n % settings.controllers);
const placeOf = (n) => Math.floor((n % actuators) / settings.controllers);
const module = (path) => import(pathToFileURL(`${settings.modules}/${path}`).href);
const { Commander } = await module("commands/commander.js");
const { mirrorSettings } = await module("sync/settings.js");
const { loadConfiguration } = await module("config/load.js");
const { GreenhouseStore } = await module("sync/store.js");
const { incomingCommand } = await module("commands/service.js");
const { incomingOn, topicsUnder } = await module("mqtt/topics.js");

/** Slow enough for the 60 commands a minute that each actuator accepts. */
const stepMs = 200;
/** One in ten is refused, and one in ten is JSON. */
const payloadOf = (n, word) =>
  n % 20 === 7
    ? "wide open"
    : n % 20 === 13
      ? "45.5"
      : n % 10 === 3
        ? `{"command":"${word}","by":"bench"}`
        : word;
const isRefused = (n) => n % 20 === 7 || n % 20 === 13;
const wordOf = (n) => (Math.floor(n / actuators) % 2 === 0 ? "on" : "off");

const log = Object.fromEntries(
  ["trace", "debug", "info", "warn", "error", "fatal"].map((level) => [level, () => undefined]),
);

const online = { state: "online", version: null, description: null, lastOnlineAt: null };

/** Registers and journal that keep only the present state. */
function memoryWorld() {
  const values = new Map();
  const world = {
    ...{ posts: 0, records: 0, monotonicMs: 0, outcomes: new Map(), ended: 0 },
    platform: {
      connection: () => Promise.resolve(online),
      value: (code, address) => Promise.resolve(values.get(`${code} ${address}`) ?? "1001"),
      write: (code, address, value, signal, manner) => {
        if (manner?.mayPost() === false) return Promise.reject(new Error("a POST was withheld"));
        values.set(`${code} ${address}`, value);
        world.posts += 1;
        return Promise.resolve({ requestId: "r", code: "200" });
      },
      renewCredential: () => Promise.resolve(false),
      clockSkewMs: () => 0,
    },
    journal: {
      append: (record) => {
        JSON.stringify(record);
        return Promise.resolve((world.records += 1));
      },
      isOpen: () => true,
      isChecked: () => false,
      state: () => ({ available: true, reason: null }),
    },
    clock: {
      now: () => 1_800_000_000_000 + world.monotonicMs,
      monotonic: () => world.monotonicMs,
      wait: (ms) => {
        world.monotonicMs += ms;
        return Promise.resolve();
      },
      // Nothing takes time here, so that timers with a delay are never due.
      after: (ms, call) => {
        let isOn = ms <= 0;
        if (isOn) queueMicrotask(() => isOn && call());
        return () => {
          isOn = false;
        };
      },
      soon: (call) => queueMicrotask(call),
    },
    ends: (outcome) => {
      world.ended += 1;
      world.outcomes.set(outcome, (world.outcomes.get(outcome) ?? 0) + 1);
    },
  };
  return world;
}

async function bridgeSide(mode) {
  const world = memoryWorld();
  const loaded = await loadConfiguration(settings.files[mode], { env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
  const { configuration } = loaded;
  const store = new GreenhouseStore(mirrorSettings(configuration), world.clock, (text) => text);
  store.setReachable(true);
  for (let n = 0; n < settings.controllers; n += 1) store.admit(codeOf(n));
  const output = {
    phase: () => undefined,
    event: () => undefined,
    showAgain: () => undefined,
    result: (result) => world.ends(JSON.parse(JSON.stringify(result)).outcome),
  };
  const commander = new Commander({
    ...{ ...world, store, output, log, newId: randomUUID },
    rules: () => configuration.commands,
    clockSkewMs: () => 0,
    otherBridge: () => false,
  });
  const topics = topicsUnder("greenhouse");
  const rules = { topics, responseTopics: [] };
  const take = (n, payload) => {
    const topic = `greenhouse/${controllerOf(n).toLowerCase()}/actuator/a${placeOf(n)}/set`;
    const message = { topic, payload, retain: false, qos: 1, properties: {} };
    commander.submit(incomingCommand(message, incomingOn(topics, topic), null, rules));
  };
  return { world, take };
}

/** The same calls with nothing between them. */
function bareSide(mode) {
  const world = memoryWorld();
  const { platform, journal } = world;
  const run = async (n, payload) => {
    const text = payload.toString();
    const word = text.startsWith("{") ? JSON.parse(text).command : text;
    const value = { on: "1010", off: "1001" }[word];
    if (value === undefined) return world.ends("refused");
    const [code, address] = [controllerOf(n), String(101 + placeOf(n))];
    const recorded = journal.append({ address, value, at: new Date(world.clock.now()).toISOString() });
    await platform.connection();
    let readBack = await platform.value(code, address);
    await recorded;
    if (mode === "sending") {
      await platform.write(code, address, value);
      readBack = await platform.value(code, address);
    }
    await journal.append({ address, readBack });
    const outcome = mode === "sending" ? "confirmed" : readBack === value ? "already" : "dry_run";
    world.ends(JSON.parse(JSON.stringify({ outcome, address, value, readBack })).outcome);
  };
  return { world, take: (n, payload) => void run(n, payload) };
}

/** Runs one command for each actuator at a time, each to its end. */
async function run({ world, take }, from, count) {
  for (let n = from; n < from + count;) {
    const end = Math.min(from + count, n + actuators);
    const expected = world.ended + end - n;
    for (; n < end; n += 1) {
      world.monotonicMs += stepMs;
      take(n, Buffer.from(payloadOf(n, wordOf(n))));
    }
    for (let turns = 0; world.ended < expected; turns += 1) {
      if (turns > 10_000) throw new Error(`commands without an end: ${expected - world.ended}`);
      await nextTurn();
    }
  }
}

/** In a dry run every other command asks for the present value and ends `already`. */
function mustBeRight({ world }, count, mode) {
  let refusals = 0;
  for (let n = 0; n < count; n += 1) refusals += isRefused(n) ? 1 : 0;
  const { outcomes, posts } = world;
  const of = (...words) => words.reduce((sum, word) => sum + (outcomes.get(word) ?? 0), 0);
  const decided = mode === "sending" ? of("confirmed") : of("dry_run", "already");
  const isRight = of("refused") === refusals && decided === count - refusals;
  if (isRight && posts === (mode === "sending" ? decided : 0)) return;
  throw new Error(`${count} commands ended as ${JSON.stringify([...outcomes])} with ${posts} POSTs`);
}

async function measureSpeed(mode, { decisions, rounds }) {
  const rates = { bridge: [], bare: [] };
  for (let round = -1; round < rounds; round += 1) {
    for (const [who, side] of [
      ["bridge", await bridgeSide(mode)],
      ["bare", bareSide(mode)],
    ]) {
      const began = performance.now();
      await run(side, 0, decisions);
      if (round >= 0) rates[who].push(decisions / ((performance.now() - began) / 1000));
      mustBeRight(side, decisions, mode);
    }
  }
  return { bridge: spread(rates.bridge), bare: spread(rates.bare) };
}

function heapMiB() {
  for (let n = 0; n < 3; n += 1) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

async function measureHeap(side, count) {
  const early = Math.floor(count / 5 / actuators) * actuators;
  await run(side, 0, early);
  const before = heapMiB();
  await run(side, early, count - early);
  mustBeRight(side, count, "sending");
  return heapMiB() - before;
}

const { rounds, memoryCommands } = settings;
const speed =
  rounds > 0
    ? { deciding: await measureSpeed("deciding", settings), sending: await measureSpeed("sending", settings) }
    : {};
const growth =
  memoryCommands > 0
    ? {
        growth: {
          bridge: await measureHeap(await bridgeSide("sending"), memoryCommands),
          bare: await measureHeap(bareSide("sending"), memoryCommands),
        },
      }
    : {};
process.stdout.write(`result ${JSON.stringify({ ...speed, ...growth })}\n`);
setInterval(() => undefined, 60_000);
