import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/* The program in a process of its own, for what concerns a process: signals, crashes, restarts. */

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Turns the sources into JavaScript under `folder`, as the build does but without looking at types. */
async function compileProgram(folder: string): Promise<string> {
  const names = await readdir(join(root, "src"), { recursive: true });
  for (const name of names.filter((one) => one.endsWith(".ts"))) {
    const target = join(folder, "dist", name.replace(/\.ts$/, ".js"));
    const { outputText } = ts.transpileModule(await readFile(join(root, "src", name), "utf8"), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        verbatimModuleSyntax: true,
      },
    });
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  await cp(join(root, "package.json"), join(folder, "package.json"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  return join(folder, "dist", "main.js");
}

/** Compiles the program once for a test file. Returns where it is. */
export function compiledProgram(): () => string {
  let folder = "";
  let file = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "program-"));
    file = await compileProgram(folder);
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return () => file;
}

export interface Process {
  /** One parsed line of the log each; what is no JSON is `{msg: <line>}`. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly stderr: string;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly isRunning: boolean;
}

export interface ProcessOptions {
  readonly folder: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** JavaScript that runs in the process before the program, for faults no user can cause. */
  readonly before?: string;
}

/** Starts the program; killed with the test. */
export function startProcess(file: string, options: ProcessOptions): Process {
  const { folder, args = ["run"], env = {}, before } = options;
  const imported =
    before === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(before)}`];
  const child = spawn(process.execPath, [...imported, file, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  let isRunning = true;
  const ended = once(child, "close").then(([code, signal]: unknown[]) => {
    isRunning = false;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  onTestFinished(async () => {
    if (isRunning) child.kill("SIGKILL");
    await ended;
  });
  return {
    get lines() {
      return stderr
        .split("\n")
        .filter((line) => line !== "")
        .map(parsed);
    },
    get stderr() {
      return stderr;
    },
    get isRunning() {
      return isRunning;
    },
    ended,
    signal: (name) => child.kill(name),
  };
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return { msg: line };
  }
}

export const says = ({ lines }: Process, text: string): boolean =>
  lines.some(({ msg }) => typeof msg === "string" && msg.includes(text));
