// npm run bench [-- pi] [-- --json FILE] [-- --only a,c] [-- --peer] [-- --long] [-- --keep]
// Measures the built program (GREENHOUSE2MQTT_DIST, default ../dist) beside bare baselines. BENCH_REDUCED=1: fewer and
// smaller measurements. A missed target does not fail the run: figures depend on the machine, so a person reads them.
// It fails for what depends on no machine: a ratio to the bare loop that is a tenth worse than at the previous landing
// (kept.mjs), and work that grows faster than the account (line.mjs).
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureAnnounced } from "./announced.mjs";
import { measureBands } from "./bands.mjs";
import { measureCommands } from "./commands.mjs";
import { measureDecisions } from "./decisions.mjs";
import { table } from "./figures.mjs";
import { measureFlood } from "./flood.mjs";
import { measureGrowth } from "./growth.mjs";
import { measureIsolation } from "./isolation.mjs";
import { measureJudging } from "./judging.mjs";
import { outOfLine, readKept, worseThan, writeKept } from "./kept.mjs";
import { measureLine } from "./line.mjs";
import { measureMemory } from "./memory.mjs";
import { measurePage } from "./page.mjs";
import { measurePace, startPaced } from "./pace.mjs";
import { stopAll } from "./processes.mjs";
import { measureSilent } from "./silent.mjs";
import { measureSmall } from "./small.mjs";
import { measurePeer, peerTitle } from "./peer.mjs";
import { measureSparkplug } from "./sparkplug.mjs";
import { measureStart } from "./start.mjs";
import { notePackages } from "./setup.mjs";
import { measureSweep } from "./sweep.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "string" },
    only: { type: "string" },
    peer: { type: "boolean" },
    long: { type: "boolean" },
    keep: { type: "boolean" },
  },
});
const reduced = process.env.BENCH_REDUCED === "1";
const isSmall = positionals.includes("pi");
const wanted = (part) =>
  isSmall || part === "pi"
    ? isSmall && part === "pi"
    : values.only === undefined
      ? part !== "n" || values.peer === true
      : values.only.split(",").includes(part);
const isLong = values.long === true;
const say = (text) => process.stderr.write(`  ${text}\n`);

const full = {
  sweep: { controllers: 500, warmUp: 3, rounds: 25 },
  sparkplug: { controllers: 500, warmUp: 2, rounds: 9 },
  memory: {
    samples: 5,
    settleMs: 15_000,
    sizes: [
      { controllers: 20, atMost: 1.15 },
      { controllers: 500, atMost: 1.4 },
      { controllers: 5_000, atMost: 3 },
    ],
  },
  start: { controllers: 20, rounds: 15 },
  pace: { sizes: [20, 500], settleMs: 95_000, seconds: 60 },
  growth: {
    samples: 5,
    sizes: [
      { controllers: 100, rounds: 9 },
      { controllers: 1_000, rounds: 5 },
      { controllers: 10_000, rounds: 2 },
    ],
  },
  commands: { commands: 480 },
  flood: { stops: 300 },
  silent: { commands: 120, guards: 20 },
  peer: {
    starts: { rounds: 9 },
    sweeps: { controllers: 500, rounds: 15 },
    sets: { commands: 300 },
    paced: { sizes: [20, 500], settleMs: 95_000, seconds: 60 },
  },
  decisions: { decisions: 20_000, rounds: 7, memoryCommands: 100_000 },
  judging: { judged: 50_000, rounds: 7 },
  bands: { controllers: 500, warmUp: 3, rounds: 15, stops: 60 },
  announced: { sizes: [2_000, 10_000], sweeps: 5, samples: 3 },
  isolation: { seconds: 4, rounds: 8 },
  small: { memories: [512, 256], commands: 120, sweeps: 9, pacedSeconds: 600 },
  line: {
    sizes: isLong ? [20, 500, 2_000, 10_000] : [20, 500, 2_000],
    ...{ checks: [2_500, 10_000, 40_000], journals: [10, 50], rounds: 3 },
  },
  page: { sizes: [20, 500], viewers: 5, samples: 3, settleMs: 30_000, seconds: 60, rounds: 7, commands: 240 },
};
const fewer = {
  sweep: { controllers: 500, warmUp: 2, rounds: 4 },
  sparkplug: { controllers: 500, warmUp: 1, rounds: 3 },
  memory: { samples: 3, settleMs: 2_000, sizes: full.memory.sizes.slice(0, 2) },
  start: { controllers: 20, rounds: 3 },
  pace: { sizes: [20, 500], settleMs: 30_000, seconds: 10 },
  growth: {
    samples: 3,
    sizes: [
      { controllers: 100, rounds: 2 },
      { controllers: 200, rounds: 2 },
      { controllers: 400, rounds: 2 },
    ],
  },
  commands: { commands: 60 },
  flood: { stops: 40 },
  silent: { commands: 30, guards: 6 },
  peer: {
    starts: { rounds: 3 },
    sweeps: { controllers: 500, rounds: 4 },
    sets: { commands: 60 },
    paced: { sizes: [20, 500], settleMs: 30_000, seconds: 20 },
  },
  decisions: { decisions: 5_000, rounds: 3, memoryCommands: 30_000 },
  judging: { judged: 20_000, rounds: 3 },
  bands: { controllers: 500, warmUp: 2, rounds: 5, stops: 30 },
  announced: { sizes: [2_000], sweeps: 3, samples: 1 },
  isolation: { seconds: 3, rounds: 2 },
  small: { memories: [256], commands: 30, sweeps: 3, pacedSeconds: 120 },
  line: { sizes: [100, 400], checks: [2_500, 10_000], journals: [5, 20], rounds: 1 },
  page: { sizes: [20], viewers: 5, samples: 1, settleMs: 2_000, seconds: 10, rounds: 2, commands: 60 },
};
const counts = reduced ? fewer : full;

/** Parts that broke off; the others are measured all the same. */
const broken = [];

/** The figures of a part, which has one of these letters. */
async function partOf(letters, measured) {
  if (!letters.some(wanted)) return [];
  try {
    return await measured();
  } catch (error) {
    broken.push(`part ${letters.join(", ")} broke off: ${error.stack}`);
    say(broken.at(-1));
    return [];
  }
}

async function measure() {
  const needsPackages = wanted("b") || wanted("c");
  const loaded = needsPackages ? await notePackages() : null;
  // They settle in the meantime and hardly disturb: together they need two percent of a processor.
  let paced = null;
  const parts = [
    [["c"], () => measureStart({ ...counts.start, ...loaded, say })],
    [["a"], () => measureSweep({ ...counts.sweep, say })],
    [["o"], () => measureSparkplug({ ...counts.sparkplug, say })],
    [["i"], () => measureFlood({ ...counts.flood, say })],
    [["l"], () => measureSilent({ ...counts.silent, say })],
    [["f"], () => measureCommands({ ...counts.commands, say })],
    [["d"], async () => ((paced = await startPaced(counts.pace.sizes)), [])],
    [["g", "h"], () => measureDecisions({ ...counts.decisions, wanted, say })],
    [["j"], () => measureJudging({ ...counts.judging, say })],
    [["b"], () => measureMemory({ ...counts.memory, ...loaded, say })],
    [["d"], () => measurePace(paced, { ...counts.pace, say })],
    [["k"], () => measurePage({ ...counts.page, say })],
    [["p"], () => measureIsolation({ ...counts.isolation, say })],
    [["m"], () => measureAnnounced({ ...counts.announced, say })],
    [["n"], () => measurePeer({ ...counts.peer, say })],
    [["pi"], () => measureSmall({ ...counts.small, say })],
    [["r"], () => measureBands({ ...counts.bands, say })],
    [["q"], () => measureLine({ ...counts.line, say })],
    [["e"], () => measureGrowth({ ...counts.growth, say })],
  ];
  const figures = [];
  for (const [letters, measured] of parts) figures.push(...(await partOf(letters, measured)));
  return figures.sort((one, other) => one.part.localeCompare(other.part));
}

function report(figures, seconds) {
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`;
  if (reduced)
    console.log("Counts are REDUCED (BENCH_REDUCED=1): fewer rounds, shorter times, smaller accounts.");
  console.log(
    `Node ${process.version}, ${machine}, ${Math.round(seconds)} s; 12 sensors a controller, request budget off.`,
  );
  console.log("Medians; the ratio is bridge by bare, each pair measured in this run.\n");
  const [beside, others] = [
    figures.filter(({ part }) => part === "n"),
    figures.filter(({ part }) => part !== "n"),
  ];
  if (others.length > 0) console.log(`${table(others)}\n`);
  if (beside.length > 0) console.log(`${peerTitle}\n\n${table(beside, { bare: "Node-RED" })}\n`);
  const document = { node: process.version, machine, reduced, counts, seconds, figures };
  if (values.json === undefined) console.log(JSON.stringify(document));
  else writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`);
}

const interrupted = () => void stopAll().then(() => process.exit(1));
process.once("SIGINT", interrupted);
process.once("SIGTERM", interrupted);
try {
  const began = performance.now();
  const figures = await measure();
  report(figures, (performance.now() - began) / 1000);
  const faults = [
    ...broken,
    ...(values.keep === true ? [] : worseThan(readKept(), figures)),
    ...outOfLine(figures),
  ];
  for (const fault of faults) console.error(`FAILED: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
  if (values.keep === true) writeKept(figures);
} finally {
  await stopAll();
}
