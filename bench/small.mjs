// A small computer: the bridge in a control group with a fifth of a core and little memory, whose writes take 5 ms each
// (slow-disk-hook.mjs). 20 controllers with 12 sensors, Home Assistant on, 40 actuators. Needs root; without writable
// control groups it says so, and the run ends with 1.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, messagesPerController } from "./account.mjs";
import { actuators, commandedControllers, once, code as commanded, weather } from "./commands.mjs";
import { figure, percentile, spread } from "./figures.mjs";
import { filledJournal } from "./filled-journal.mjs";
import { mustLive, stop } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { allSensors, bases, freePort, startBridge, startBroker } from "./setup.mjs";
import { Sweeper } from "./sweep.mjs";
import { watchPage } from "./viewers.mjs";
import { Counter } from "./wire.mjs";

const controllers = 20;
const share = 0.2;
const slowDisk = ["--import", new URL("./slow-disk-hook.mjs", import.meta.url).href];
const periodUs = 100_000;
const day = 86_400;
const cardMbADay = 50;
const commandsADay = 200;
const journalMib = 50;
/** A fifth of a core needs this long for the deferred work of a start. */
const settledMs = 20_000;

/**
 * A group that has its share of a core whatever else the computer does: its folders, its peak memory, and how often it
 * was killed for lack of memory; null if no group is available.
 */
function makeGroup(mib) {
  const name = `greenhouse2mqtt-${process.pid}-${mib}`;
  const isNew = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const limits = isNew
    ? [
        [
          "",
          {
            "cpu.max": `${share * periodUs} ${periodUs}`,
            "cpu.weight": "10000",
            "memory.max": String(mib << 20),
          },
        ],
      ]
    : [
        [
          "cpu",
          {
            "cpu.cfs_period_us": String(periodUs),
            "cpu.cfs_quota_us": String(share * periodUs),
            "cpu.shares": "200000",
          },
        ],
        ["memory", { "memory.limit_in_bytes": String(mib << 20) }],
      ];
  const folders = [];
  try {
    for (const [controller, settings] of limits) {
      const folder = ["/sys/fs/cgroup", controller, name].filter(Boolean).join("/");
      mkdirSync(folder);
      folders.push(folder);
      for (const [file, text] of Object.entries(settings)) writeFileSync(`${folder}/${file}`, text);
    }
  } catch (error) {
    for (const folder of folders) rmdirSync(folder);
    return { problem: error.message };
  }
  const memory = folders.at(isNew ? 0 : 1);
  const number = (file, pattern = /(\d+)/) =>
    Number(pattern.exec(readFileSync(`${memory}/${file}`, "utf8"))?.[1] ?? NaN);
  return {
    folders,
    mostMib: () => number(isNew ? "memory.peak" : "memory.max_usage_in_bytes") / 1024 / 1024,
    kills: () => number(isNew ? "memory.events" : "memory.oom_control", /oom_kill (\d+)/),
    remove: () => folders.forEach((folder) => rmdirSync(folder)),
  };
}

/** The bytes that the process has written to the disk. */
const writtenBy = ({ pid }) =>
  Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);

async function pageSeconds({ port }, pages) {
  const began = performance.now();
  for (const page of pages) {
    const answer = await fetch(`http://127.0.0.1:${port}${page}`);
    await answer.arrayBuffer();
  }
  return (performance.now() - began) / 1_000;
}

/**
 * Every other fan has a guard on the wind, which switches it off if it is on. Measures commands to the others
 * meanwhile.
 */
async function besideFlappingWind({ sender, ...scene }, commands) {
  const took = [];
  let [sent, isOver] = [0, false];
  const flap = async () => {
    for (let flips = 0; !isOver; flips += 1) {
      sender.publish("weather/wind", flips % 2 === 0 ? "20" : "3", 1);
      await wait(250);
    }
    sender.publish("weather/wind", "3", 1);
  };
  const flapping = flap();
  const others = () => (sent += 1);
  const first = Math.ceil(commands / actuators) * actuators;
  for (let turn = first; turn < first + Math.min(commands, actuators); turn += 2) {
    took.push(await once("bridge", { ...scene, sender, others }, turn));
    await wait(250);
  }
  isOver = true;
  await flapping;
  return { took, sent };
}

const startSmall = (platform, broker, more) =>
  startBridge(platform, broker, {
    ...{ concurrency: 4, controllers: commandedControllers(), weather, flags: slowDisk, ...more },
  });

/** Seconds to the first value with a journal of the largest allowed size. */
async function startByFullJournal({ broker, platform, ear, folders }) {
  const dataDir = await filledJournal(journalMib);
  await ear.quiet(1_000);
  const began = performance.now();
  const first = ear.next();
  const child = startSmall(platform, broker, { within: folders, dataDir });
  const seconds = ((await first) - began) / 1_000;
  await wait(settledMs);
  mustLive(child);
  return { child, seconds };
}

async function measureGroup(mib, { commands, sweeps, pacedSeconds, say }) {
  const group = makeGroup(mib);
  if (group.problem !== undefined) {
    say(`small computer, ${mib} MiB: NOT MEASURED: ${group.problem}`);
    process.exitCode = 1;
    return [];
  }
  const http = { port: await freePort() };
  const broker = await startBroker();
  const platform = await startRegisterPlatform(
    ...Array.from({ length: controllers }, (_, index) => codeOf(index)),
  );
  platform.hasSensors = true;
  const ear = await Counter.open(broker.port, allSensors(bases.bridge));
  const states = await Counter.open(broker.port, [
    `${bases.bridge}/${commanded.toLowerCase()}/actuator/+/state`,
  ]);
  const began = performance.now();
  const first = ear.next();
  const child = startSmall(platform, broker, { within: group.folders, http });
  const startSeconds = ((await first) - began) / 1_000;
  say(`${mib} MiB: first value after ${startSeconds.toFixed(2)} s`);
  await states.until(actuators, 60_000);
  await ear.quiet(5_000);
  const sweeper = await Sweeper.open(broker);
  const swept = [];
  for (let n = 0; n < sweeps; n += 1)
    swept.push((await sweeper.sweep("bridge", child, ear, controllers * messagesPerController)).seconds);
  const sender = await Counter.open(broker.port, ["none"]);
  sender.publish("weather/wind", "3", 1);
  await wait(1_000);
  const took = [];
  const watching = await watchPage(http, 1, [`controller/${commanded.toLowerCase()}`, "overview", "journal"]);
  const writtenBefore = writtenBy(child);
  for (let turn = 0; turn < commands; turn += 1) {
    // Every tenth command is sent together with a sweep.
    if (turn % 10 === 0) sender.publish(`${bases.bridge}/bridge/request/refresh`, "{}");
    took.push(await once("bridge", { child, platform, sender, base: bases.bridge }, turn));
    await wait(250);
  }
  // Until the last one is confirmed and its records are on the disk.
  await wait(8_000);
  const ofCommand = (writtenBy(child) - writtenBefore) / commands;
  const shown = watching.bytes();
  watching.close();
  const page = await pageSeconds(http, ["/", "/api/overview", `/api/controllers/${codeOf(0).toLowerCase()}`]);
  const [written, pacedAt] = [writtenBy(child), performance.now()];
  await wait(pacedSeconds * 1_000);
  mustLive(child);
  const ofPolls = ((writtenBy(child) - written) / ((performance.now() - pacedAt) / 1_000)) * day;
  const aDay = (ofPolls + ofCommand * commandsADay) / 1e6;
  const storm = await besideFlappingWind({ child, platform, sender, base: bases.bridge }, commands);
  say(`${mib} MiB: ${storm.sent} POSTs by guards in a flapping wind`);
  await stop(child, 30_000);
  const full = await startByFullJournal({ broker, platform, ear, folders: group.folders });
  say(`${mib} MiB: first value by a journal of ${journalMib} MiB after ${full.seconds.toFixed(2)} s`);
  const [most, kills] = [group.mostMib(), group.kills()];
  for (const one of [ear, states, sender, sweeper]) one.close();
  await Promise.all([stop(full.child, 30_000), broker.stop()]);
  platform.stop();
  group.remove();
  const name = (what) => `a fifth of a core, ${mib} MiB: ${what}`;
  const atMost = (limit) => ({ target: { of: "value", atMost: limit } });
  return [
    figure("pi", name("start to first value"), "s", startSeconds, atMost(3)),
    figure("pi", name("sweep of 20"), "s", spread(swept).median, { range: spread(swept) }),
    figure("pi", name("set publish to POST, p50"), "ms", percentile(took, 0.5), { range: spread(took) }),
    figure("pi", name("set publish to POST, p99"), "ms", percentile(took, 0.99), atMost(150)),
    figure(
      "pi",
      name("set publish to POST beside a flapping wind, p99"),
      "ms",
      percentile(storm.took, 0.99),
      {
        range: spread(storm.took),
      },
    ),
    figure("pi", name("start to first value, journal at its quota"), "s", full.seconds),
    figure("pi", name("sent to an open page during the commands"), "kB", shown / 1e3),
    figure("pi", name("the page, its overview and a controller"), "s", page),
    figure("pi", name("memory at most, file cache included"), "MiB", most),
    figure("pi", name("killed for memory"), "times", kills, atMost(0)),
    figure("pi", name("written to the card for a command"), "kB", ofCommand / 1e3),
    figure("pi", name("written to the card by polling, a day"), "MB", ofPolls / 1e6),
    figure(
      "pi",
      name(`written to the card a day, with ${commandsADay} commands`),
      "MB",
      aDay,
      atMost(cardMbADay),
    ),
  ];
}

export async function measureSmall({ memories, ...counts }) {
  const figures = [];
  for (const mib of memories) figures.push(...(await measureGroup(mib, counts)));
  return figures;
}
