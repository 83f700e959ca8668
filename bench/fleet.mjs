// node bench/fleet.mjs [accounts ...]   (default: 50 200)
// A fleet of accounts with 5 controllers of 12 sensors each, read once a minute: time until all are online, memory, processor.
// The page is served; BENCH_PAGE=off leaves it out.
// The platform is the stub of the other parts, which takes no commands; a person reads the figures.
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
import { freePort, startBroker, startPlatform } from "./surroundings.mjs";

const controllers = 5;
const secondsOfCpu = Number(process.env.BENCH_SECONDS ?? 60);
const program = process.env.GREENHOUSE2MQTT_DIST ?? here("../dist/main.js");

function writeFleet(folder, count, { platform, broker, pagePort }) {
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
}

/** How many accounts run with all their controllers. */
function online(folder) {
  try {
    const { accounts } = JSON.parse(readFileSync(join(folder, "data", "fleet-status.json"), "utf8"));
    return Object.values(accounts).filter(
      (one) => one.platform === "online" && one.broker === "online" && one.controllers >= controllers,
    ).length;
  } catch {
    return 0;
  }
}

async function measure(count) {
  const folder = join(workFolder, `fleet-${count}`);
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  writeFleet(folder, count, { platform, broker, pagePort: await freePort() });
  const startedAt = performance.now();
  const args = [...nodeFlagsForMemory, program, "fleet", "-c", join(folder, "fleet.yaml")];
  const fleet = start(process.execPath, args, { measured: true });
  while (online(folder) < count) {
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
  const { rss, heap } = await memoryAfterGc(fleet);
  await stop(fleet);
  await Promise.all([platform.stop(), broker.stop()]);
  const figures = {
    accounts: count,
    online_s: onlineS,
    rss_mib: resident,
    rss_after_gc_mib: rss,
    heap_mib: heap,
    cpu_percent_of_a_core: cpu,
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
