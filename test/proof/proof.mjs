// npm run proof [-- --only fuzz,canary] [-- --reduced]
// Runs every proof at full counts (or at those of the environment) and writes docs/proof.md. Figures of parts
// that were not run this time stay, with their date.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const root = resolve(import.meta.dirname, "../..");
const documentFile = join(root, "docs/proof.md");
const storeFile = join(root, "docs/proof.json");
const { values } = parseArgs({
  options: { only: { type: "string" }, reduced: { type: "boolean", default: false } },
});

const vitest = (...more) => ["npx", "vitest", "run", ...more];
const proof = (mode) => vitest("--config", "vitest.proof.config.ts", "--mode", mode);
const simulation = ["--config", "vitest.simulation.config.ts"];

/** `env` at full counts, `less` on top of it with --reduced. `figures` reads what the part wrote to its report. */
const parts = {
  simulation: {
    title: "Simulation: seeds x 6 h",
    run: vitest(...simulation),
    env: { SEEDS: "500" },
    less: { SEEDS: "20" },
    report: "SIMULATION_REPORT",
    figures: ({ seeds, commands, posts, programStarts, violations, minutes }) => ({
      ...{ seeds, commands, POSTs: posts, "starts of the program": programStarts, violations, minutes },
    }),
  },
  mutants: { title: "Planted bugs in the simulation", run: vitest(...simulation, "--mode", "mutants") },
  kill: {
    title: "kill -9 at every step of a command",
    run: vitest("--config", "vitest.e2e.config.ts", "test/end-to-end/kill.test.ts"),
    env: { KILL_RUNS: "200" },
    less: { KILL_RUNS: "24" },
    figures: ({ kills, seconds, wrong }) => ({ kills, seconds, wrong }),
  },
  campaign: {
    title: "Fault campaign",
    run: vitest("--config", "vitest.campaign.config.ts"),
    less: { CAMPAIGN: "reduced" },
    report: "CAMPAIGN_REPORT",
    figures: ({ totals, tookS, rows, notRun }) => ({
      ...totals,
      seconds: tookS,
      "kinds of faults": rows.length,
      "not run": notRun.join("; ") || "nothing",
    }),
  },
  soak: { title: "Soak", run: proof("soak"), less: { SOAK_MESSAGES: "60000", SOAK_COMMANDS: "300" } },
  fuzz: {
    title: "Packet fuzz of the embedded broker",
    run: proof("fuzz"),
    env: { FUZZ_SECONDS: "1800" },
    less: { FUZZ_SECONDS: "20" },
  },
  canary: { title: "Planted secrets", run: proof("canary") },
  conformance: { title: "Paho's conformance tests", run: proof("conformance") },
  bench: {
    title: "Speed and memory",
    run: ["node", "bench/run.mjs", "--json", "$REPORT"],
    less: { BENCH_REDUCED: "1" },
    figures: ({ figures, reduced }) => ({
      ...Object.fromEntries(
        figures
          .filter(({ target }) => target !== null)
          .map(({ part, name, unit, value, met }) => [
            `${part} ${name}`,
            `${Number(value.toPrecision(3))} ${unit}, target ${met ? "met" : "missed"}`,
          ]),
      ),
      reduced,
    }),
  },
};

const wanted = values.only?.split(",") ?? Object.keys(parts);
const unknown = wanted.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`there is no part ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
const commit =
  git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") === "" ? "" : " with changes");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
const kept = existsSync(storeFile) ? JSON.parse(readFileSync(storeFile, "utf8")) : {};
const work = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-proof-"));

async function runPart(name) {
  const {
    run,
    env = {},
    less = {},
    report = "PROOF_REPORT",
    figures = (written) => written.figures ?? {},
  } = parts[name];
  const file = join(work, `${name}.json`);
  const planned = { ...env, ...(values.reduced ? less : {}) };
  const given = Object.keys(planned).filter((key) => process.env[key] !== undefined);
  const counts = { ...planned, ...Object.fromEntries(given.map((key) => [key, process.env[key]])) };
  const [command, ...rest] = run.map((word) => (word === "$REPORT" ? file : word));
  console.log(`\n== ${name} ${JSON.stringify(counts)}`);
  const began = performance.now();
  const child = spawn(command, rest, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, CI: process.env.CI ?? "1", ...counts, [report]: file },
  });
  const code = await new Promise((done) => child.once("close", done).once("error", () => done(-1)));
  const written = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  return {
    date: new Date().toISOString().slice(0, 10),
    ...{ version, commit, machine, node: process.version },
    reduced: values.reduced || given.length > 0,
    green: code === 0,
    minutes: Number(((performance.now() - began) / 60_000).toFixed(1)),
    figures: { ...counts, ...(Object.keys(written).length > 0 ? figures(written) : {}) },
  };
}

function documentOf(results) {
  const lines = [
    "# Proof",
    "",
    "Written by `npm run proof`. Each part says when it was last run, on what, and what it measured; CI repeats all but the",
    "planted bugs and the bench with reduced counts. `npm run proof -- --only fuzz,canary` runs some of them and keeps the others' figures.",
    "",
    "| part | result | date | commit | minutes |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const [name, { title }] of Object.entries(parts)) {
    const result = results[name];
    lines.push(
      result === undefined
        ? `| ${title} (\`${name}\`) | not run | | | |`
        : `| ${title} (\`${name}\`) | ${result.green ? "green" : "**red**"}${result.reduced ? ", reduced" : ""} | ${result.date} | ${result.commit} | ${result.minutes} |`,
    );
  }
  for (const [name, { title }] of Object.entries(parts)) {
    const result = results[name];
    if (result === undefined) continue;
    lines.push(
      "",
      `## ${title}`,
      "",
      `Version ${result.version}, Node ${result.node}, ${result.machine}.`,
      "",
    );
    for (const [what, value] of Object.entries(result.figures)) lines.push(`- ${what}: ${value}`);
  }
  return `${lines.join("\n")}\n`;
}

const results = { ...kept };
try {
  for (const name of wanted) {
    results[name] = await runPart(name);
    // After each part, so that an interrupted run loses only the one it was at.
    writeFileSync(storeFile, `${JSON.stringify(results, null, 1)}\n`);
    writeFileSync(documentFile, documentOf(results));
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
const red = wanted.filter((name) => !results[name].green);
console.log(red.length === 0 ? `\nall green: ${wanted.join(", ")}` : `\nred: ${red.join(", ")}`);
process.exitCode = red.length === 0 ? 0 : 1;
