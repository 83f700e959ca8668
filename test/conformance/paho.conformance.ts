import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Program, startProgram } from "../end-to-end/support/program.js";
import { watchBroker } from "../end-to-end/support/watch.js";
import { tellFigures } from "../proof/figures.js";
import { endsWithThisProcess } from "../support/at-exit.js";
import { freePort } from "../support/mosquitto.js";
import { knownGaps, type Suite, unsteady } from "./known-gaps.js";
import { type LoginProxy, startLoginProxy } from "./login-proxy.js";
import { complaintAbout, type Result, testsIn } from "./verdict.js";

/*
 * Eclipse Paho's interoperability tests, each in a Python process of its own, against the embedded broker of the built
 * program. Most of a test is waiting, so several run at once, each against a program of its own.
 */

const folderOfPaho = join(import.meta.dirname, "paho");
const runner = join(import.meta.dirname, "run-one.py");
const files = { "3.1.1": "client_test.py", "5": "client_test5.py" } as const;
const lanes = 6;
const timeLimitMs = 75_000;
/** One that is known to fail is only asked whether it still does. */
const gapTimeLimitMs = 30_000;
/** May do everything; the other one may not subscribe to what the suite expects to be refused. */
const anything = { username: "anything", password: "conformance-anything" };
const limited = { username: "limited", password: "conformance-limited" };
const usesLimited = new Set(["test_subscribe_failure"]);

interface Task {
  readonly suite: Suite;
  readonly name: string;
}

interface Lane {
  readonly run: (task: Task) => Promise<{ readonly result: Result; readonly output: string }>;
  readonly close: () => Promise<void>;
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const mustRun = (process.env["CI"] ?? "") !== "";

it("Paho's interoperability tests pass against the embedded broker, but for a list that may only shrink (39)", async () => {
  if (!hasPython && !mustRun) {
    process.stdout.write("\n*** NOT RUN: Paho's tests need python3, which is not installed ***\n\n");
    await tellFigures("conformance", false, { "not run": "python3 is not installed" });
    return;
  }
  expect(hasPython, "python3 is not installed").toBe(true);
  const tasks: Task[] = [];
  for (const suite of ["3.1.1", "5"] as const)
    for (const name of testsIn(await readFile(join(folderOfPaho, files[suite]), "utf8")))
      tasks.push({ suite, name });

  const waiting = [...tasks];
  const outcomes = new Map<Task, { readonly result: Result; readonly output: string }>();
  const unexpected = (task: Task) =>
    unsteady[task.suite].includes(task.name)
      ? null
      : complaintAbout(task.name, outcomes.get(task)?.result ?? "failed", task.name in knownGaps[task.suite]);
  await Promise.all(
    Array.from({ length: lanes }, () =>
      inLane(async (lane) => {
        for (let task = waiting.shift(); task; task = waiting.shift())
          outcomes.set(task, await lane.run(task));
      }),
    ),
  );
  // Its waits are fixed times, which a busy machine does not keep: what surprises is asked again when all is quiet.
  const surprises = tasks.filter((task) => unexpected(task) !== null);
  for (const task of surprises) await inLane(async (lane) => void outcomes.set(task, await lane.run(task)));

  const figures = (["3.1.1", "5"] as const).map((suite) => {
    const own = tasks.filter((task) => task.suite === suite);
    const passed = own.filter((task) => outcomes.get(task)?.result === "passed").length;
    return [`passed of ${own.length}, MQTT ${suite}`, passed] as const;
  });
  await tellFigures("conformance", false, {
    ...Object.fromEntries(figures),
    "asked twice": surprises.length,
  });
  const complaints = tasks.flatMap((task) => {
    const complaint = unexpected(task);
    return complaint === null
      ? []
      : [`MQTT ${task.suite}: ${complaint}\n${outcomes.get(task)?.output ?? ""}`];
  });
  expect(complaints.join("\n")).toBe("");
});

async function inLane(work: (lane: Lane) => Promise<void>): Promise<void> {
  const lane = await openLane();
  try {
    await work(lane);
  } finally {
    await lane.close();
  }
}

async function openLane(): Promise<Lane> {
  const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-conformance-"));
  const port = await freePort();
  const configuration = {
    platform: { business_url: "http://127.0.0.1:9", realtime_url: "http://127.0.0.1:9", token: "none" },
    broker: {
      port,
      users: [
        { ...anything, publish: ["#"], subscribe: ["#"] },
        { ...limited, publish: ["#"], subscribe: ["TopicA/#", "Topic/#"] },
      ],
    },
    http: false,
    log: { level: "error" },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  const program = startProgram(["run"], { folder });
  const proxies: LoginProxy[] = [];
  const close = async () => {
    for (const proxy of proxies) await proxy.close();
    if (!program.hasEnded) program.signal("SIGKILL");
    await program.ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilItListens(port, program);
    for (const login of [anything, limited]) proxies.push(await startLoginProxy(port, login));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    close,
    run: (task) => python(task, proxies[usesLimited.has(task.name) ? 1 : 0]?.port ?? 0),
  };
}

async function untilItListens(port: number, program: Program): Promise<void> {
  const watch = await watchBroker({ url: `mqtt://127.0.0.1:${port}`, protocolVersion: 5, ...anything });
  await watch.end();
  if (program.hasEnded) throw new Error(program.stderr);
}

async function python(
  { suite, name }: Task,
  port: number,
): Promise<{ readonly result: Result; readonly output: string }> {
  const child = spawn(
    "python3",
    ["-B", runner, files[suite].replace(".py", ""), "127.0.0.1", String(port), name],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const startedAt = performance.now();
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      // One of them repeats itself for ever when it fails.
      output = (output + text).slice(-4_000);
    });
  const state = { isLate: false as boolean };
  const limitMs = name in knownGaps[suite] ? gapTimeLimitMs : timeLimitMs;
  endsWithThisProcess(child);
  const late = setTimeout(() => {
    state.isLate = true;
    child.kill("SIGKILL");
  }, limitMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(late);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const ran = output.includes("Ran 1 test");
  const result = state.isLate ? "timed out" : code === 0 && ran ? "passed" : "failed";
  process.stdout.write(`  ${suite} ${name}: ${result}, ${seconds} s\n`);
  return { result, output: output.slice(-1_500) };
}
