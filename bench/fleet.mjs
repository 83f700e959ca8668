// node bench/fleet.mjs [accounts ...]   (default: 50 200)
// A fleet of accounts with 5 controllers of 12 sensors each, read once a minute: time until all are online, memory, processor.
// One account more has a platform that takes commands: from a set to its POST there, beside a bridge of one account alone.
// The page is served; BENCH_PAGE=off leaves it out. A person reads the figures.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  cpuSeconds,
  here,
  memoryAfterGc,
  nodeFlagsForMemory,
  residentMb,
  start,
  stop,
  stopAll,
  workFolder,
} from "./processes.mjs";
import { code, commandedControllers, startBridgeSide, timeSets, weather } from "./commands.mjs";
import { percentile } from "./figures.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { freePort, startBroker, startPlatform } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const controllers = 5;
const secondsOfCpu = Number(process.env.BENCH_SECONDS ?? 60);
const program = process.env.GREENHOUSE2MQTT_DIST ?? here("../dist/main.js");

function writeFleet(folder, count, { platform, taking, broker, pagePort }) {
  mkdirSync(join(folder, "accounts"), { recursive: true });
  const defaults = {
    platform: { business_url: platform.url, realtime_url: platform.url, push: { enabled: false } },
    mqtt: { url: `mqtt://127.0.0.1:${broker.port}` },
    homeassistant: { enabled: false },
  };
  const page = process.env.BENCH_PAGE === "off" ? {} : { http: { port: pagePort } };
  const fleet = { defaults, platform: { requests_per_minute: 0 }, ...page };
  writeFileSync(join(folder, "fleet.yaml"), JSON.stringify(fleet), { mode: 0o600 });
  for (let at = 0; at < count; at += 1) {
    const account = { platform: { token: `token-${at}`, requests_per_minute: 0 } };
    writeFileSync(join(folder, "accounts", `site-${at}.yaml`), JSON.stringify(account), { mode: 0o600 });
  }
  const never = "24h";
  const commanded = {
    platform: { business_url: taking.url, realtime_url: taking.url, token: "bench", requests_per_minute: 0 },
    polling: { controllers: never, sensors: never, running_status: never, actuators: never },
    controllers: commandedControllers(),
    weather,
  };
  writeFileSync(join(folder, "accounts", "commanded.yaml"), JSON.stringify(commanded), { mode: 0o600 });
}

/** How many accounts run with all their controllers. */
function online(folder) {
  try {
    const { accounts } = JSON.parse(readFileSync(join(folder, "data", "fleet-status.json"), "utf8"));
    return Object.values(accounts).filter(
      (one) => one.platform === "online" && one.broker === "online" && one.controllers > 0,
    ).length;
  } catch {
    return 0;
  }
}

async function measure(count) {
  const folder = join(workFolder, `fleet-${count}`);
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const taking = await startRegisterPlatform(code);
  writeFleet(folder, count, { platform, taking, broker, pagePort: await freePort() });
  const startedAt = performance.now();
  const args = [...nodeFlagsForMemory, program, "fleet", "-c", join(folder, "fleet.yaml")];
  const fleet = start(process.execPath, args, { measured: true });
  while (online(folder) <= count) {
    if (performance.now() - startedAt > 300_000)
      throw new Error(`only ${online(folder)} of ${count} came online`);
    await wait(500);
  }
  const onlineS = (performance.now() - startedAt) / 1_000;
  // After its first poll a sensor is due between half an interval and one and a half.
  await wait(90_000);
  const before = cpuSeconds(fleet);
  await wait(secondsOfCpu * 1_000);
  const cpu = ((cpuSeconds(fleet) - before) / secondsOfCpu) * 100;
  const resident = residentMb(fleet);
  const sender = await Counter.open(broker.port, ["none"]);
  sender.publish("weather/wind", "3", 1);
  const alone = await startBridgeSide(broker, sender, false);
  const sets = await timeSets(
    { fleet: { child: fleet, platform: taking, sender, base: "greenhouse/commanded" }, alone },
    240,
  );
  const { rss, heap } = await memoryAfterGc(fleet);
  await Promise.all([stop(fleet), stop(alone.child)]);
  await Promise.all([platform.stop(), broker.stop()]);
  for (const one of [taking, alone.platform]) one.stop();
  sender.close();
  const figures = {
    accounts: count,
    online_s: onlineS,
    rss_mib: resident,
    rss_after_gc_mib: rss,
    heap_mib: heap,
    cpu_percent_of_a_core: cpu,
    set_ms_p50: percentile(sets.fleet, 0.5),
    set_ms_p99: percentile(sets.fleet, 0.99),
    set_alone_ms_p50: percentile(sets.alone, 0.5),
    set_alone_ms_p99: percentile(sets.alone, 0.99),
  };
  console.log(
    JSON.stringify(figures, (_, value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value)),
  );
}

const given = process.argv.slice(2).map(Number);
process.once("SIGINT", () => void stopAll().then(() => process.exit(1)));
try {
  for (const count of given.length > 0 ? given : [50, 200]) await measure(count);
} finally {
  await stopAll();
}
