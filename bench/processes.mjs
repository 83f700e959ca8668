import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Everything the run writes; removed at its end. */
export const workFolder = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-bench-"));

const running = new Set();
let files = 0;

export const newFile = (name) => join(workFolder, `${++files}-${name}`);

/** Starts a program; the child's `tail` holds the end of its stderr. `within`: control groups it starts in. */
export function start(command, args, { env = {}, measured = false, within = [] } = {}) {
  const memoryFile = newFile("memory.json");
  const enter = within.map((folder) => `echo $$ > '${folder}/cgroup.procs'`).join("; ");
  const whole =
    within.length === 0 ? [command, args] : ["/bin/sh", ["-c", `${enter}; exec "$0" "$@"`, command, ...args]];
  const child = spawn(...whole, {
    env: { ...process.env, ...env, ...(measured ? { BENCH_MEMORY: memoryFile } : {}) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  Object.assign(child, { memoryFile, tail: "", said: "" });
  child.stderr.on("data", (text) => (child.tail = (child.tail + text).slice(-2_000)));
  child.stdout.on("data", (text) => (child.said = (child.said + text).slice(-2_000)));
  child.once("exit", () => running.delete(child));
  return child;
}

/** Resolves with the match once the child's stdout contains one. */
export async function untilSays(child, pattern, timeoutMs = 600_000) {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const match = pattern.exec(child.said);
    if (match) return match;
    mustLive(child);
    if (performance.now() > deadline) throw new Error(`${child.spawnargs.join(" ")} never said ${pattern}`);
    await wait(2);
  }
}

export function mustLive(child) {
  if (child.exitCode === null && child.signalCode === null) return;
  throw new Error(`${child.spawnargs.join(" ")} ended by itself:\n${child.tail}`);
}

export async function stop(child, withinMs = 5_000) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await Promise.race([gone, wait(withinMs, undefined, { ref: false }).then(() => child.kill("SIGKILL"))]);
  await gone;
}

export async function stopAll() {
  await Promise.all([...running].map((child) => stop(child)));
  rmSync(workFolder, { recursive: true, force: true });
}

export const nodeFlagsForMemory = [
  "--expose-gc",
  "--import",
  new URL("./collect-garbage.mjs", import.meta.url).href,
];

export function residentMb(child) {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return Number(match?.[1]) / 1024;
}

/** CPU seconds, user and system, since the process began. */
export function cpuSeconds(child) {
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Collects garbage in a child started with `nodeFlagsForMemory`; resident and JavaScript memory in MiB. */
export async function memoryAfterGc(child) {
  rmSync(child.memoryFile, { force: true });
  child.kill("SIGUSR2");
  while (!existsSync(child.memoryFile)) {
    mustLive(child);
    await wait(20);
  }
  const usage = JSON.parse(readFileSync(child.memoryFile, "utf8"));
  await wait(300);
  return { rss: residentMb(child), heap: (usage.heapUsed + usage.external) / 1024 / 1024 };
}
