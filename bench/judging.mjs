// (j) The cost of judging a command by the limits of its actuator: when it is taken, when it starts and before its
// POST.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { codeOf } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { newFile } from "./processes.mjs";
import { modules } from "./setup.mjs";

const module = (path) => import(pathToFileURL(`${modules}/${path}`).href);

const weather = { wind: { topic: "weather/wind" }, rain: { topic: "weather/rain" } };
const guards = {
  wind: { sensor: "weather/wind", above: 12, clear_at: 9, allow: ["close"], then: "close" },
  rain: { sensor: "weather/rain", is: "on", allow: ["close", "0..20"] },
  twin: { actuator: "a1", moving: true, allow: ["close"] },
};
const skylight = (address) => ({ kind: "skylight", address });
const limits = { rest: "1s", reversal: "2s", starts_per_hour: 30, at_most: "1h", guards };

function configurationFile() {
  const file = newFile("config.yaml");
  const actuators = { a0: { ...skylight("101"), limits }, a1: skylight("102") };
  const platform = { business_url: "http://127.0.0.1:9", realtime_url: "http://127.0.0.1:9", token: "bench" };
  const controllers = { [codeOf(0)]: { actuators } };
  writeFileSync(file, JSON.stringify({ platform, weather, data_dir: newFile("data"), controllers }));
  return file;
}

/** A book with the actuator, and everything its limits refer to. */
async function judgeOf(clock) {
  const { mirrorSettings } = await module("sync/settings.js");
  const { loadConfiguration } = await module("config/load.js");
  const { GreenhouseStore } = await module("sync/store.js");
  const { LimitEngine } = await module("limits/engine.js");
  const { emptyBook } = await module("commands/book.js");
  const { step } = await module("commands/step.js");
  const judge = await module("commands/lane-limits.js");
  const { at } = await module("runtime/table.js");
  const loaded = await loadConfiguration(configurationFile(), { env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
  const { configuration } = loaded;
  const store = new GreenhouseStore(mirrorSettings(configuration), clock, (text) => text);
  store.setReachable(true);
  store.admit(codeOf(0));
  const values = new Map([
    ["101", "10001"],
    ["102", "10001"],
  ]);
  const read = { startedAt: clock.monotonic(), readAt: clock.now(), fresh: true, source: "poll" };
  store.dispatch(codeOf(0), { type: "registers_read", values, ...read });
  const now = () => ({
    ...{ at: clock.now(), mono: clock.monotonic(), awakeSince: -Infinity, skewMs: 0, mayRulesSend: true },
    rules: { read_only: false, readOnlyForRules: false, dry_run: false },
    controller: (idOrCode) => store.find(idOrCode),
  });
  let book = emptyBook;
  const ports = {
    ...{ clock, store, configuration, run: "r", book: () => lanes, onEvent: () => undefined },
    journal: { append: () => Promise.resolve(1) },
    readOnly: () => ({ commands: false, rules: false }),
  };
  const engine = new LimitEngine(ports, { set: () => undefined });
  const { settings: limits } = engine;
  const lanes = {
    ...{ laneRecord: () => ({}), limited: [] },
    limitsOf: (key) => at(book.lanes, key)?.limits ?? null,
    context: (code) => judge.contextIn({ book, limits, now: now() }, code),
    feedSoon: (input) => {
      ({ book } = step(book, input, now(), limits));
    },
  };
  const key = `${codeOf(0)} actuator a0`;
  // It has moved ten times within the hour, and its rest time is over.
  const atFirst = limits.limitsAtFirst.get(key);
  const starts = Array.from({ length: 10 }, () => ({ at: clock.monotonic() }));
  const moved = { ...atFirst, moves: { starts, endsAt: clock.monotonic(), direction: "up" } };
  const about = { code: codeOf(0), target: "actuator", targetId: "a0" };
  const left = { unread: false, problem: null, awaited: null, secondLook: null, interrupted: [] };
  const lane = { about, ...left, limits: { now: moved, onDisk: moved } };
  ({ book } = step(book, { type: "restored", key, lane }, now(), limits));
  for (const [topic, text] of Object.entries({ "weather/wind": "3", "weather/rain": "off" }))
    engine.onWeather(topic, Buffer.from(text));
  clock.ahead += 600_000;
  for (const [topic, text] of Object.entries({ "weather/wind": "3", "weather/rain": "off" }))
    engine.onWeather(topic, Buffer.from(text));
  const turn = () => ({
    ...{ book: { ...book }, key, lane: { ...at(book.lanes, key) }, effects: [], now: now(), limits },
    ...{ touched: new Set(), onDisk: new Map(), wakeAt: Infinity, answer: null },
  });
  return { judge, turn, settings: moved.settings };
}

const commandOf = (n, clock, settings) => ({
  ...{ id: `c${n}`, code: codeOf(0), target: "actuator", targetId: "a0", settings, by: null, via: null },
  wanted:
    n % 2 === 0 ? { type: "word", word: "open", value: "10010" } : { type: "position", degree: n % 100 },
  ...{ force: false, dryRun: false, term: null, rule: null },
  ...{ receivedMono: clock.monotonic(), deadlineMono: Infinity },
});

export async function measureJudging({ judged, rounds, say }) {
  const clock = {
    ahead: 0,
    now: () => Date.now() + clock.ahead,
    monotonic: () => performance.now() + clock.ahead,
    wait: () => new Promise(() => undefined),
    after: () => () => undefined,
    soon: () => undefined,
  };
  const { judge, turn: turnOf, settings } = await judgeOf(clock);
  const commands = Array.from({ length: 100 }, (_, n) => commandOf(n, clock, settings));
  const us = [];
  for (let round = 0; round <= rounds; round += 1) {
    // Processor time, so that other programs are not measured.
    const before = process.cpuUsage();
    for (let n = 0; n < judged; n += 1) {
      const command = commands[n % commands.length];
      const turn = turnOf();
      const taken = judge.takeWithLimits(turn, command, { forMs: null, holdMs: null });
      const verdicts = ["turn", "post"].map((before) => judge.limitsVerdict(turn, command, before));
      if (!("term" in taken) || verdicts.some(({ type }) => type !== "go"))
        throw new Error(`a command that nothing forbids was kept back: ${JSON.stringify([taken, verdicts])}`);
    }
    const { user, system } = process.cpuUsage(before);
    // The first round warms up.
    if (round > 0) us.push((user + system) / judged);
  }
  const { median } = spread(us);
  say(`judging: ${median.toFixed(2)} us a command`);
  const options = { range: spread(us), target: { of: "value", atMost: 10 } };
  return [figure("j", "a command judged three times, three guards and pauses", "us", median, options)];
}
