import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import mqtt from "mqtt";
import { chromium } from "playwright-core";
import { freePort, startNodeRed, until } from "./red.mjs";

/* The flow of deploy/node-red in a real Node-RED: first the bridge is played at Mosquitto, then it is the demo. */

const main = join(resolve(process.env.DIST), "main.js");
const done = [];
const endings = [];
const step = (what) => {
  done.push(what);
  console.log(`  ${what}`);
};

function startProcess(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const state = { log: "", listeners: new Set() };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      state.log += chunk;
      for (const listener of [...state.listeners]) listener();
    });
  child.on("error", (error) => {
    state.log += error.message;
  });
  endings.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  });
  return {
    child,
    printed: (pattern) =>
      until(`${program} prints ${pattern}`, () => pattern.exec(state.log) ?? undefined, state.listeners),
  };
}

async function mosquitto(folder, port) {
  await writeFile(
    join(folder, "mosquitto.conf"),
    `user root\nlistener ${port} 127.0.0.1\nallow_anonymous true\nlog_type all\n`,
  );
  const broker = startProcess("/usr/sbin/mosquitto", ["-c", join(folder, "mosquitto.conf")], folder);
  await broker.printed(/ running/);
  return broker;
}

/** A bridge played at Mosquitto: says what it is told to say, and collects the commands it gets. */
async function playedBridge(port) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5 });
  endings.push(() => client.endAsync(true));
  await client.subscribeAsync(
    ["greenhouse/+/actuator/+/set", "greenhouse/scene/+/set", "greenhouse/bridge/request/+", "weather/wind"],
    { qos: 1 },
  );
  const winds = [];
  const commands = [];
  const requests = [];
  const listeners = new Set();
  client.on("message", (topic, payload, { retain }) => {
    const list = topic.endsWith("/set") ? commands : requests;
    if (topic === "weather/wind") winds.push([payload.toString(), retain]);
    else list.push({ topic, retain, ...JSON.parse(payload.toString()) });
    for (const listener of [...listeners]) listener();
  });
  return {
    commands,
    requests,
    command: (at) => until(`command ${at}`, () => commands[at], listeners),
    request: (at) => until(`request ${at}`, () => requests[at], listeners),
    wind: (at) => until(`wind ${at}`, () => winds[at], listeners),
    station: (wind, retain = false) => client.publishAsync("station/wind", wind, { qos: 1, retain }),
    responds: (name, response) =>
      client.publishAsync(`greenhouse/bridge/response/${name}`, JSON.stringify(response), { qos: 1 }),
    shows: (topic, payload) => client.publishAsync(`greenhouse/${topic}`, payload, { qos: 1, retain: true }),
    answers: (id, result) =>
      client.publishAsync(
        "greenhouse/gh-0001/result",
        JSON.stringify({ id, controller: "gh-0001", actuator: "left_skylight", ...result }),
        { qos: 1 },
      ),
  };
}

const air = "gh-0001/airtemp";
const airOf = async (red, test, mark) =>
  (await red.see("reading", (msg) => msg.topic === air && test(msg), mark)).payload;

async function readings(red, bridge) {
  await bridge.shows("bridge/state", "online");
  await bridge.shows("gh-0001/sensor/airtemp", "21.5");
  await bridge.shows("gh-0001/sensor/airtemp/quality", "good");
  assert.equal(await airOf(red, (msg) => msg.valid), 21.5);
  step("a good reading of an online bridge is shown as a number");
  for (const [topic, bad, good] of [
    ["gh-0001/sensor/airtemp/quality", "stale", "good"],
    ["gh-0001/sensor/airtemp/quality", "bad", "good"],
    ["gh-0001/sensor/airtemp/quality", "uncertain", "good"],
    ["bridge/state", "offline", "online"],
  ]) {
    const mark = red.shown.length;
    await bridge.shows(topic, bad);
    assert.equal(await airOf(red, (msg) => !msg.valid, mark), null);
    const later = red.shown.length;
    await bridge.shows(topic, good);
    assert.equal(await airOf(red, (msg) => msg.valid, later), 21.5);
    step(`no reading is shown while ${topic} is ${bad}; it comes back with ${good}`);
  }
}

async function commandsAndResults(red, bridge) {
  await red.press();
  const first = await bridge.command(0);
  assert.equal(first.topic, "greenhouse/gh-0001/actuator/left_skylight/set");
  assert.deepEqual(
    [first.command, first.by, first.max_age, first.retain, typeof first.at, typeof first.id],
    [45, "node-red", "30s", false, "string", "string"],
  );
  await bridge.answers("of-somebody-else", { outcome: "confirmed" });
  await bridge.answers(first.id, { outcome: "confirmed", read_back: "45" });
  const confirmed = await red.see("done", () => true);
  assert.equal(confirmed.payload.id, first.id);
  step("a command goes out with an id, and is done by the result with that id and by no other");

  await bridge.answers(first.id, { outcome: "confirmed", repeated: true });
  await red.press({ payload: "open" });
  const second = await bridge.command(1);
  assert.notEqual(second.id, first.id);
  assert.equal(second.command, "open");
  await bridge.answers(second.id, { outcome: "unconfirmed", message: "not shown" });
  const failed = await red.see("not done", () => true);
  assert.deepEqual([failed.outcome, failed.payload.id], ["unconfirmed", second.id]);
  assert.equal(red.shown.filter(({ from }) => from === "done").length, 1);
  step("any other outcome comes out as not done, and a repeated result is told once");

  await red.press({ payload: "close", wait: 1 });
  const third = await bridge.command(2);
  const silent = await red.see("no answer", (msg) => msg.outcome === "no answer");
  assert.equal(silent.payload.id, third.id);
  await red.press({ payload: "auto" });
  await bridge.answers(third.id, { outcome: "confirmed" });
  await bridge.answers((await bridge.command(3)).id, { outcome: "already" });
  await red.see("done", (msg) => msg.outcome === "already");
  assert.equal(red.shown.filter(({ from }) => from === "done").length, 2);
  assert.equal(bridge.commands.length, 4);
  step("a command without a result is told after its time, and is not sent again");
}

/** Whoever answers first: each answer goes to its own asker. */
async function twoAtOnce(red, bridge) {
  const sent = bridge.commands.length;
  const mark = red.shown.length;
  await red.press({ payload: "45" });
  await red.press({ payload: "close", actuator: "right_skylight" });
  const [one, other] = [await bridge.command(sent), await bridge.command(sent + 1)];
  assert.notEqual(one.id, other.id);
  await bridge.answers(other.id, {
    actuator: "right_skylight",
    outcome: "unconfirmed",
    message: "not shown",
  });
  await bridge.answers(one.id, { outcome: "confirmed", read_back: "45" });
  const failed = await red.see("not done", () => true, mark);
  const done = await red.see("done", () => true, mark);
  assert.deepEqual([failed.topic, failed.payload.id], ["gh-0001/right_skylight", other.id]);
  assert.deepEqual([done.topic, done.payload.id], ["gh-0001/left_skylight", one.id]);
  step("of two commands at once each gets the result with its own id, in whichever order they come");

  const asked = bridge.requests.length;
  await red.press({}, "g2m-lock");
  await red.press({}, "g2m-unlock");
  const [lock, unlock] = [await bridge.request(asked), await bridge.request(asked + 1)];
  const before = red.shown.length;
  await bridge.responds("unlock", { status: "error", transaction: unlock.transaction, error: "not locked" });
  await bridge.responds("lock", { status: "ok", transaction: lock.transaction, data: { by: "node-red" } });
  const refused = await red.see("not asked", () => true, before);
  const locked = await red.see("asked", () => true, before);
  assert.deepEqual([refused.topic, refused.payload], ["unlock", "not locked"]);
  assert.deepEqual([locked.topic, locked.payload], ["lock", { by: "node-red" }]);
  step("of two requests at once each gets its own answer");
}

const roof = "gh-0001/left_skylight";

async function limits(red, bridge) {
  const because = {
    rule: "wind",
    input: "weather/wind",
    value: 14.2,
    limit: 12,
    quality: "good",
    until: null,
  };
  const allowed = { words: ["close"], degrees: { min: 0, max: 10 }, because: [because] };
  await bridge.shows("gh-0001/actuator/left_skylight/allowed", JSON.stringify(allowed));
  const { payload } = await red.see("allowed", (msg) => msg.topic === roof && msg.payload !== null);
  assert.deepEqual(payload, {
    ...{ words: ["close"], degrees: { min: 0, max: 10 }, locked: false },
    why: "wind: weather/wind is 14.2, the limit 12",
  });
  step("what may be commanded is shown with the reason why no more");

  await red.press({}, "g2m-lock");
  const { transaction, topic, ...lock } = await bridge.request(0);
  assert.equal(topic, "greenhouse/bridge/request/lock");
  const asked = { controller: "gh-0001", actuator: "left_skylight", by: "node-red", until: "3h" };
  assert.deepEqual(lock, { retain: false, ...asked, reason: "work at the window" });
  await bridge.responds("lock", { status: "ok", transaction: "of-somebody-else", data: {} });
  await bridge.responds("lock", { status: "ok", transaction, data: { by: "node-red" } });
  assert.deepEqual((await red.see("asked", () => true)).payload, { by: "node-red" });
  await red.press({}, "g2m-unlock");
  const second = await bridge.request(1);
  await bridge.responds("unlock", {
    status: "error",
    transaction: second.transaction,
    error: "locked by anna",
  });
  assert.equal((await red.see("not asked", () => true)).payload, "locked by anna");
  assert.equal(red.shown.filter(({ from }) => from === "asked").length, 1);
  step("a lock is asked for, and answered by the response to it and by no other");

  const mark = red.shown.length;
  await bridge.shows("bridge/state", "offline");
  await red.see("allowed", (msg) => msg.topic === roof && msg.payload === null, mark);
  await red.press({}, "g2m-lock");
  const away = await red.see("not asked", () => true, mark);
  assert.equal(away.payload, "not sent: the bridge is not online");
  await bridge.shows("bridge/state", "online");
  await red.see("allowed", (msg) => msg.topic === roof && msg.payload !== null, mark);
  step("while the bridge is offline nothing is known to be allowed, and nothing is asked");
}

async function limitsOfDemo(red) {
  await red.press({ until: "1m" }, "g2m-lock");
  await red.see("asked", (msg) => msg.payload.actuators?.includes("left_skylight"));
  const locked = await red.see("allowed", (msg) => msg.topic === roof && msg.payload?.locked === true);
  assert.match(locked.payload.why, /^locked by node-red until /);
  const before = red.shown.length;
  await red.press({ payload: "20" });
  const refused = await red.see("not done", () => true, before);
  assert.deepEqual([refused.payload.reason, refused.payload.interlock.rule], ["interlock", "lock"]);
  await red.press({}, "g2m-unlock");
  await red.see("allowed", (msg) => msg.topic === roof && msg.payload?.locked === false, before);
  step("a locked window refuses with the lock as reason, and takes commands again when it is unlocked");
  const alarms = await red.see("alarms", () => true);
  assert.equal(typeof alarms.payload.count, "number");
  step(`all alarms in one: ${alarms.payload.count}`);
}

async function withPlayedBridge(folder) {
  const port = await freePort();
  const broker = await mosquitto(folder, port);
  const bridge = await playedBridge(port);
  const red = await startNodeRed({ brokerPort: port });
  endings.push(red.stop);
  console.log(`Node-RED ${red.version}, the bridge played at Mosquitto:`);
  await red.press();
  await red.see("no answer", (msg) => msg.outcome === "not sent");
  assert.deepEqual(bridge.commands, []);
  step("no command leaves before the bridge is known to be online");
  await readings(red, bridge);
  await commandsAndResults(red, bridge);
  await limits(red, bridge);
  await twoAtOnce(red, bridge);
  const mark = red.shown.length;
  broker.child.kill("SIGKILL");
  assert.equal(await airOf(red, (msg) => !msg.valid, mark), null);
  const before = red.shown.length;
  await red.press();
  await red.see("no answer", (msg) => msg.outcome === "not sent", before);
  step("without a link to the broker no reading is shown and no command leaves");
  await red.stop();
}

async function withDemo(folder) {
  const demo = startProcess(
    process.execPath,
    [main, "demo", "--speed", "10", "--controllers", "2", "--log-level", "error"],
    folder,
  );
  const [, port] = await demo.printed(/mqtt:\/\/127\.0\.0\.1:(\d+)/);
  const red = await startNodeRed({ brokerPort: Number(port) });
  endings.push(red.stop);
  console.log(`Node-RED ${red.version} with the demo:`);
  const { payload } = await red.see("reading", (msg) => msg.topic === "gh-0001/airtemp" && msg.valid);
  assert.equal(typeof payload, "number");
  step(`a reading of the simulated greenhouse is shown: ${payload} °C`);
  await red.press();
  const confirmed = await red.see("done", () => true, 0, 120_000);
  assert.deepEqual(
    [confirmed.outcome, confirmed.payload.read_back, confirmed.payload.by],
    ["confirmed", "45", "node-red"],
  );
  step(`the window is moved to 45 %: confirmed after ${confirmed.payload.duration_ms} ms`);
  await red.press({ payload: "150" });
  const refused = await red.see("not done", () => true);
  assert.deepEqual([refused.outcome, refused.payload.reason], ["refused", "out_of_range"]);
  step("a degree out of range comes out as not done: refused, out_of_range");
  await limitsOfDemo(red);
  const mark = red.shown.length;
  demo.child.kill("SIGTERM");
  const gone = await red.see("reading", (msg) => msg.topic === "gh-0001/airtemp" && !msg.valid, mark);
  assert.equal(gone.payload, null);
  step("no reading is shown when the bridge has ended");
  await red.stop();
}

/** The functions of the dashboard are those of the flow. */
async function sameFunctions() {
  const functionsOf = async (file) => {
    const text = await readFile(new URL(`../../deploy/node-red/${file}`, import.meta.url), "utf8");
    return new Map(JSON.parse(text).map(({ name, func }) => [name, func]));
  };
  const [flow, dashboard] = [await functionsOf("flow.json"), await functionsOf("dashboard.json")];
  for (const name of ["valid readings", "send and wait", "why not"])
    assert.equal(dashboard.get(name), flow.get(name), `${name} is the same in both`);
}

/** The dashboard in a real browser, with the bridge played at Mosquitto. */
async function withDashboard(folder) {
  await sameFunctions();
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    console.log("  dashboard: NOT RUN: there is no Chromium");
    return;
  }
  const port = await freePort();
  await mosquitto(folder, port);
  const bridge = await playedBridge(port);
  const red = await startNodeRed({ brokerPort: port, file: "dashboard.json" });
  endings.push(red.stop);
  console.log(`Node-RED ${red.version} with the dashboard:`);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  endings.push(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${red.url}/dashboard/greenhouse`);
  const shows = (text) => page.getByText(text, { exact: true }).first().waitFor({ timeout: 30_000 });
  await bridge.shows("bridge/state", "online");
  await bridge.shows("gh-0001/sensor/airtemp", "21.5");
  await bridge.shows("gh-0001/sensor/airtemp/quality", "good");
  await shows("21.5 °C");
  await bridge.shows("gh-0001/sensor/airtemp/quality", "stale");
  await shows("--");
  step("the dashboard shows a reading while it is valid, and -- when it is not");
  const json = (fields) => bridge.shows("gh-0001/actuator/left_skylight/json", JSON.stringify(fields));
  await json({ state: "closed", position: null, quality: "good" });
  await shows("closed");
  await page.getByRole("button", { name: "Open" }).click();
  const command = await bridge.command(0);
  assert.deepEqual([command.command, command.by], ["open", "node-red"]);
  await bridge.answers(command.id, { command: "open", outcome: "confirmed", message: null });
  await shows("open confirmed");
  await shows("closed");
  step("a button sends a command and shows its result; the state stays the platform's");
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  await browser.close();
  await red.stop();
}

/** Minutes of the recipes become seconds, the bed is watered at night too, and nothing comes by itself. */
const quick = [
  ["since < 5 * 60000", "since < 1000"],
  ["sent < 10 * 60000", "sent < 60000"],
  ["since < 15 * 60000", "since < 1000"],
  ["sent < 180 * 60000", "sent < 60000"],
  ["[25, 7, 16]", "[25, 0, 24]"],
  ['"repeat": "60"', '"repeat": ""'],
  ['"once": true', '"once": false'],
];
const edited = (text) =>
  quick.reduce((before, [from, to]) => {
    assert.ok(before.includes(from), `the recipes have ${from}`);
    return before.replaceAll(from, to);
  }, text);

const sent = ({ topic, retain, command, by, for: lasting, at }) => {
  assert.deepEqual([retain, Number.isNaN(Date.parse(at))], [false, false]);
  return [topic, command, lasting, by];
};
const setOf = (target) => `greenhouse/${target}/set`;
const valve = setOf("gh-0001/actuator/valve_1");

async function schedules(red, bridge) {
  await red.press({}, "g2m-recipes-water");
  assert.deepEqual(sent(await bridge.command(0)), [valve, "on", "20m", "schedule"]);
  const night = (time) => red.press({ payload: Date.parse(time) }, "g2m-recipes-night");
  await night("2026-06-21T20:00:00Z");
  await night("2026-06-21T20:10:00Z");
  await night("2026-06-21T20:11:00Z");
  const scene = [setOf("scene/night"), "activate", undefined, "schedule"];
  assert.deepEqual(sent(await bridge.command(1)), scene);
  await night("2026-06-22T20:10:00Z");
  assert.deepEqual(sent(await bridge.command(2)), scene);
  step("the schedules send water with its end, and the scene of the night once after each sunset");
}

/** What a recipe sends when readings stay low, by good ones alone and not with each. */
async function byReading(red, bridge, { sensor, low, expected, said }) {
  const reads = (quality) =>
    bridge.shows(`gh-0001/sensor/${sensor}/json`, JSON.stringify({ value: low, quality }));
  const before = bridge.commands.length;
  await reads("good");
  await reads("stale");
  const began = performance.now();
  while (bridge.commands.length === before) {
    await reads("good");
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(performance.now() - began < 20_000, `nothing is sent for ${sensor}`);
  }
  assert.ok(performance.now() - began >= 1_000, "only after it was low for so long");
  assert.deepEqual(sent(bridge.commands[before]), expected);
  await reads("good");
  await red.press({}, "g2m-recipes-water");
  assert.deepEqual(sent(await bridge.command(before + 1)), [valve, "on", "20m", "schedule"]);
  step(`${said} after good readings for long enough, and not with each reading`);
}

async function stationWind(bridge) {
  await bridge.station("36", true);
  await bridge.station("unknown");
  await bridge.station("");
  await bridge.station("18");
  assert.deepEqual(
    [await bridge.wind(0), await bridge.wind(1)],
    [
      ["10.00", false],
      ["5.00", false],
    ],
  );
  step("the wind of a station comes as m/s, without what the broker kept of it and what is no number");
}

/** The recipes, with the bridge played at Mosquitto. */
async function withRecipes(folder) {
  const port = await freePort();
  await mosquitto(folder, port);
  const bridge = await playedBridge(port);
  await bridge.station("72", true);
  const red = await startNodeRed({ brokerPort: port, file: "recipes.json", edit: edited });
  endings.push(red.stop);
  console.log(`Node-RED ${red.version} with the recipes:`);
  await schedules(red, bridge);
  const heating = setOf("gh-0001/actuator/heating");
  await byReading(red, bridge, {
    ...{ sensor: "airtemp", low: 2, expected: [heating, "on", "30m", "frost"] },
    said: "frost is heated against for half an hour",
  });
  await byReading(red, bridge, {
    ...{ sensor: "soilhumi", low: 20, expected: [valve, "on", "10m", "dry bed"] },
    said: "a dry bed is watered for ten minutes",
  });
  await stationWind(bridge);
  await red.stop();
}

const folder = await mkdtemp(join(tmpdir(), "node-red-check-"));
try {
  await withPlayedBridge(folder);
  await withRecipes(folder);
  await withDashboard(folder);
  await withDemo(folder);
  console.log(`node-red: ${done.length} checks passed`);
} finally {
  for (const end of endings.splice(0).reverse()) await end().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
}
