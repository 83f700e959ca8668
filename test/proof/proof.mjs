// npm run proof [-- NAME...]
// Runs the named proofs, or all, at full counts or those of the environment, and writes proof/report.md and proof/report.json.
// Figures of what was not run this time stay, with their date. Each proof's own head comment tells its environment variables.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join, resolve } from "node:path";

/** What is proved, with the full counts where the proof itself takes fewer. */
const proofs = {
  simulation: { title: "Simulation: seeds x 6 h" },
  mutants: { title: "Planted bugs in the simulation" },
  kill: { title: "kill -9 at every step of a command", full: { KILL_RUNS: "200" } },
  campaign: { title: "Fault campaign" },
  planted: { title: "Planted bugs in the fault campaign" },
  soak: { title: "Soak" },
  days: { title: "Simulated days of one run" },
  fuzz: { title: "Packet fuzz of the embedded broker", full: { FUZZ_SECONDS: "1800" } },
  "page-fuzz": { title: "Fuzz of page and API", full: { FUZZ_SECONDS: "600" } },
  floods: { title: "Floods of each socket", full: { FLOOD_SECONDS: "600" } },
  canary: { title: "Planted secrets" },
  conformance: { title: "The embedded broker by raw packets, and other people's clients" },
  page: { title: "The page in a real browser" },
  cluster: { title: "Members of a cluster at real NATS servers" },
  model: { title: "The model of a cluster, all of its states" },
  homeassistant: { title: "A real Home Assistant", full: { HOMEASSISTANT_ROWS: "all" } },
};
const root = resolve(import.meta.dirname, "../..");
const folder = join(root, "proof");
const storeFile = join(folder, "report.json");
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(proofs);
const unknown = wanted.filter((name) => !Object.hasOwn(proofs, name));
if (unknown.length > 0) {
  console.error(`there is no proof ${unknown.join(", ")}; there are ${Object.keys(proofs).join(", ")}`);
  process.exit(2);
}

async function run(name) {
  const report = join(folder, `${name}.part.json`);
  rmSync(report, { force: true });
  console.log(`\n== ${name}`);
  const began = performance.now();
  const child = spawn("npx", ["vitest", "run", "--config", "vitest.proof.config.ts", "--mode", name], {
    cwd: root,
    stdio: "inherit",
    env: { ...proofs[name].full, ...process.env, CI: process.env.CI ?? "1", PROOF_REPORT: report },
  });
  const code = await new Promise((done) => child.once("close", done).once("error", () => done(-1)));
  const { figures = {}, reduced = false } = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {};
  rmSync(report, { force: true });
  return {
    date: new Date().toISOString().slice(0, 10),
    ...surroundings,
    green: code === 0,
    minutes: Number(((performance.now() - began) / 60_000).toFixed(1)),
    reduced,
    figures,
  };
}

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
const surroundings = {
  version: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version,
  commit: git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") === "" ? "" : " with changes"),
  machine: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.version,
};

function documentOf(results) {
  const rows = [];
  const parts = [];
  for (const [name, { title }] of Object.entries(proofs)) {
    const result = results[name];
    if (result === undefined) {
      rows.push(`| ${title} (\`${name}\`) | not run | | | |`);
      continue;
    }
    rows.push(
      `| ${title} (\`${name}\`) | ${result.green ? "green" : "**red**"}${result.reduced ? ", reduced" : ""} | ${result.date} | ${result.commit} | ${result.minutes} |`,
    );
    parts.push("", `## ${title}`, "", `Version ${result.version}, Node ${result.node}, ${result.machine}.`, "");
    for (const [what, value] of Object.entries(result.figures)) parts.push(`- ${what}: ${value}`);
  }
  const head = ["# Proof", "", "| proof | result | date | commit | minutes |", "| --- | --- | --- | --- | --- |"];
  return `${[...head, ...rows, ...parts].join("\n")}\n`;
}

mkdirSync(folder, { recursive: true });
const known = () => (existsSync(storeFile) ? JSON.parse(readFileSync(storeFile, "utf8")) : {});
const red = [];
for (const name of wanted) {
  const result = await run(name);
  if (!result.green) red.push(name);
  // After each one, so that an interrupted run loses only the one it was at.
  const results = { ...known(), [name]: result };
  writeFileSync(storeFile, `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(join(folder, "report.md"), documentOf(results));
}
console.log(red.length === 0 ? `\nall green: ${wanted.join(", ")}` : `\nred: ${red.join(", ")}`);
process.exitCode = red.length === 0 ? 0 : 1;
