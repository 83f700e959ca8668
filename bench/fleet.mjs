// node bench/fleet.mjs [accounts ...]   (default: 50 200)
// A fleet of accounts with 5 controllers of 12 sensors each, polled once a minute, announced to Home Assistant, with
// the platform's push channels open: time until all are read, memory, processor, and the same after a restart of the
// broker, which keeps what is retained. One more account has a platform that takes commands: from a set to its POST
// there, compared with a bridge of one account alone.
// BENCH_HOMEASSISTANT=off: no announcements. BENCH_PUSH=off: no channels. BENCH_LOGIN=one: all accounts share one
// login, and so one list of all controllers, of which each mirrors its own. BENCH_PAGE=off: no page.
// BENCH_PROFILE=folder: processor profiles. BENCH_SECONDS: how long the processor is measured at rest. Exits with 1 if
// a figure of 200 or 1,000 accounts is worse than its bar.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  cpuSeconds,
  memoryAfterGc,
  mustLive,
  nodeFlagsForMemory,
  residentMb,
  start,
  stop,
  stopAll,
  workFolder,
} from "./processes.mjs";
import { codeOf } from "./account.mjs";
import { code, commandedControllers, startBridgeSide, timeSets, weather } from "./commands.mjs";
import { percentile } from "./figures.mjs";
import { overBars } from "./fleet-bars.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { dist, freePort, startBroker, startPlatform } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const controllers = 5;
const secondsOfCpu = Number(process.env.BENCH_SECONDS ?? 60);
/** After its first poll a sensor is due between half an interval and one and a half. */
const settleMs = Number(process.env.BENCH_SETTLE_SECONDS ?? 90) * 1_000;
const longestMs = Number(process.env.BENCH_LONGEST_SECONDS ?? 300) * 1_000;
const isAnnounced = process.env.BENCH_HOMEASSISTANT !== "off";
const hasPush = process.env.BENCH_PUSH !== "off";
const hasOneLogin = process.env.BENCH_LOGIN === "one";
const program = `${dist}/main.js`;
const commandedCode = "GH-COMMANDED";

/** With one login for all, each account names its own controllers. */
function accountOf(at) {
  const platform = { token: hasOneLogin ? "token-0" : `token-${at}`, requests_per_minute: 0 };
  if (!hasOneLogin) return { platform };
  const own = Array.from({ length: controllers }, (_, n) => [codeOf(at * controllers + n), {}]);
  return { platform, mirror: "listed", controllers: Object.fromEntries(own) };
}

function writeFleet(folder, count, { platform, taking, broker, pagePort }) {
  mkdirSync(join(folder, "accounts"), { recursive: true });
  const defaults = {
    platform: { business_url: platform.url, realtime_url: platform.url, push: { enabled: hasPush } },
    mqtt: { url: `mqtt://127.0.0.1:${broker.port}` },
    homeassistant: { enabled: isAnnounced },
  };
  const fleet = {
    defaults,
    platform: { requests_per_minute: 0 },
    ...(pagePort && { http: { port: pagePort } }),
  };
  writeFileSync(join(folder, "fleet.yaml"), JSON.stringify(fleet), { mode: 0o600 });
  for (let at = 0; at < count; at += 1)
    writeFileSync(join(folder, "accounts", `site-${at}.yaml`), JSON.stringify(accountOf(at)), {
      mode: 0o600,
    });
  const never = "24h";
  const commanded = {
    platform: { business_url: taking.url, realtime_url: taking.url, token: "bench", requests_per_minute: 0 },
    polling: { controllers: never, sensors: never, running_status: never, actuators: never },
    controllers: { [commandedCode]: commandedControllers()[code] },
    weather,
  };
  writeFileSync(join(folder, "accounts", "commanded.yaml"), JSON.stringify(commanded), { mode: 0o600 });
}

/** How many accounts run with all their controllers. */
function online(folder) {
  try {
    const { accounts } = JSON.parse(readFileSync(join(folder, "data", "fleet-status.json"), "utf8"));
    return Object.values(accounts).filter(
      (one) => one.platform === "online" && one.broker === "online" && one.online > 0,
    ).length;
  } catch {
    return 0;
  }
}

/** Messages received by the links of all accounts, and the number of lost links; null without a page. */
async function linksOf(pagePort) {
  if (pagePort === undefined) return null;
  const page = await (await fetch(`http://127.0.0.1:${pagePort}/metrics`)).text();
  const sum = (name) => {
    const samples = page.matchAll(new RegExp(`^greenhouse2mqtt_${name}\\{[^}]*\\} (\\S+)$`, "gm"));
    return [...samples].reduce((all, [, value]) => all + Number(value), 0);
  };
  return { received: sum("messages_received_total"), lost: sum("broker_disconnects_total") };
}

/** Seconds until each controller has published a good reading and all accounts are online, with processor seconds. */
async function untilAllRead(fleet, { folder, count, broker, began }) {
  const before = fleet.cpuAtBegin ?? 0;
  const read = new Set();
  const readings = await Counter.open(broker.port, ["greenhouse/+/+/sensor/co2/json"]);
  readings.onMessage = (topic, payload) => {
    if (payload.includes('"good"')) read.add(topic);
  };
  const isDone = () => read.size >= count * controllers && online(folder) > count;
  while (!isDone() && performance.now() - began < longestMs) {
    mustLive(fleet);
    await wait(250);
  }
  readings.close();
  const seconds = isDone() ? (performance.now() - began) / 1_000 : null;
  return { seconds, read: read.size, online: online(folder), cpu: cpuSeconds(fleet) - before };
}

async function cpuPercent(fleet) {
  const before = cpuSeconds(fleet);
  await wait(secondsOfCpu * 1_000);
  return ((cpuSeconds(fleet) - before) / secondsOfCpu) * 100;
}

async function measureSets(fleet, taking, broker) {
  const sender = await Counter.open(broker.port, ["none"]);
  sender.publish("weather/wind", "3", 1);
  const alone = await startBridgeSide(broker, sender, false);
  const base = `greenhouse/commanded`;
  const sets = await timeSets(
    { fleet: { child: fleet, platform: taking, sender, base, code: commandedCode }, alone },
    240,
  );
  await stop(alone.child);
  alone.platform.stop();
  sender.close();
  const ms = (of, share) => percentile(sets[of], share);
  return {
    set_ms_p50: ms("fleet", 0.5),
    set_ms_p99: ms("fleet", 0.99),
    set_alone_ms_p50: ms("alone", 0.5),
    set_alone_ms_p99: ms("alone", 0.99),
  };
}

/** Stops the broker and starts it again with what it held. */
async function restartBroker(broker, folder) {
  await broker.stop();
  await wait(1_000);
  return startBroker({ port: broker.port, folder });
}

async function measure(count) {
  const folder = join(workFolder, `fleet-${count}`);
  const kept = join(workFolder, `broker-${count}`);
  for (const one of [folder, kept]) mkdirSync(one, { recursive: true });
  let broker = await startBroker({ folder: kept });
  const platform = await startPlatform(hasOneLogin ? count * controllers : controllers, {
    each: !hasOneLogin,
    push: hasPush,
  });
  const taking = await startRegisterPlatform(commandedCode);
  const pagePort = process.env.BENCH_PAGE === "off" ? undefined : await freePort();
  writeFleet(folder, count, { platform, taking, broker, pagePort });
  const profile = process.env.BENCH_PROFILE;
  const profiling = profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profile];
  const args = [...nodeFlagsForMemory, ...profiling, program, "fleet", "-c", join(folder, "fleet.yaml")];
  let began = performance.now();
  const fleet = start(process.execPath, args, { measured: true });
  const lost = new Map();
  fleet.stderr.on("data", (text) => {
    for (const [, why] of String(text).matchAll(/"(lost the link to the broker[^"]*)"/g))
      lost.set(why, (lost.get(why) ?? 0) + 1);
  });
  const first = await untilAllRead(fleet, { folder, count, broker, began });
  const firstLinks = await linksOf(pagePort);
  await wait(settleMs);
  const cpu = await cpuPercent(fleet);
  const resident = residentMb(fleet);
  // Printed now, in case the restart of the broker takes too long.
  console.error(`${count} accounts before the restart: ${JSON.stringify({ ...first, cpu, resident })}`);
  const sets = process.env.BENCH_SETS === "off" ? {} : await measureSets(fleet, taking, broker);
  const beforeRestart = await linksOf(pagePort);
  fleet.cpuAtBegin = cpuSeconds(fleet);
  broker = await restartBroker(broker, kept);
  began = performance.now();
  const again = await untilAllRead(fleet, { folder, count, broker, began });
  const left = 60_000 - (performance.now() - began);
  if (left > 0) await wait(left);
  const minute = cpuSeconds(fleet) - fleet.cpuAtBegin;
  const afterRestart = await linksOf(pagePort);
  const residentAfter = residentMb(fleet);
  const { rss, heap } = await memoryAfterGc(fleet);
  await stop(fleet, 60_000);
  await Promise.all([platform.stop(), broker.stop()]);
  taking.stop();
  const figures = {
    accounts: count,
    homeassistant: isAnnounced,
    push: hasPush,
    login: hasOneLogin ? "one" : "each",
    all_read_s: first.seconds,
    read: first.read,
    online: first.online,
    cpu_s_until_read: first.cpu,
    received_until_read: firstLinks?.received,
    cpu_percent_of_a_core: cpu,
    rss_mib: resident,
    ...sets,
    restart_all_read_s: again.seconds,
    restart_read: again.read,
    restart_online: again.online,
    restart_cpu_s_of_a_minute: minute,
    restart_received: afterRestart && afterRestart.received - beforeRestart.received,
    links_lost_beside_the_restart: afterRestart && afterRestart.lost - (count + 1),
    links_lost: Object.fromEntries(lost),
    rss_after_restart_mib: residentAfter,
    rss_after_gc_mib: rss,
    heap_mib: heap,
  };
  console.log(
    JSON.stringify(figures, (_, value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value)),
  );
  for (const fault of overBars(figures)) {
    console.error(`FAILED: ${fault}`);
    process.exitCode = 1;
  }
}

const given = process.argv.slice(2).map(Number);
process.once("SIGINT", () => void stopAll().then(() => process.exit(1)));
try {
  for (const count of given.length > 0 ? given : [50, 200]) await measure(count);
} finally {
  await stopAll();
}
