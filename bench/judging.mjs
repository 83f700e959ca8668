// (j) What it costs to judge a command by the limits of its actuator: at taking, at starting and before its POST.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { codeOf } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { newFile } from "./processes.mjs";
import { modules } from "./surroundings.mjs";

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

async function engineOf(clock) {
  const { mirrorSettings } = await module("sync/settings.js");
  const { loadConfiguration } = await module("config/load.js");
  const { GreenhouseStore } = await module("sync/store.js");
  const { LimitEngine } = await module("limits/engine.js");
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
  const engine = new LimitEngine({
    ...{ clock, store, weather: configuration.weather, staleAfterMs: 900_000, newId: () => "r" },
    journal: { append: () => Promise.resolve(1) },
    ...{ isReadOnly: () => false, onEvent: () => undefined, alarm: () => undefined },
    ...{ submit: () => undefined, recheck: () => undefined },
  });
  const { settings } = store.get(codeOf(0)).actuators.get("a0");
  // It has moved ten times within the hour, and rests no more.
  for (let n = 0; n < 10; n += 1) {
    const moved = commandOf(n, clock, settings);
    engine.posted(moved);
    engine.ended(moved, { id: moved.id, outcome: "confirmed", reason: null, message: null });
  }
  clock.ahead += 600_000;
  for (const [topic, text] of Object.entries({ "weather/wind": "3", "weather/rain": "off" }))
    engine.measured(topic, Buffer.from(text));
  return { engine, settings };
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
  };
  const { engine, settings } = await engineOf(clock);
  const commands = Array.from({ length: 100 }, (_, n) => commandOf(n, clock, settings));
  const us = [];
  for (let round = 0; round <= rounds; round += 1) {
    // The processor's time: other programs are not to be measured with it.
    const before = process.cpuUsage();
    for (let n = 0; n < judged; n += 1) {
      const command = commands[n % commands.length];
      const taken = engine.take(command, { forMs: null, holdMs: null });
      const verdicts = [engine.mayStart(command), engine.mayPost(command, false)];
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
