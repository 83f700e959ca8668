import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { endsWithThisProcess } from "../../support/at-exit.js";

/* A real Home Assistant as a process: installed by the script beside this file, with a configuration folder of its own. */

/** The newest release that the tests have seen, the oldest promised, or whatever PyPI has today. */
export type Which = "newest" | "floor" | "latest";

export interface Installation {
  readonly which: Which;
  readonly version: string;
  /** A program that runs its Python. */
  readonly python: string;
}

const run = promisify(execFile);

/** Takes minutes the first time. Rejects with a sentence that says why it cannot be had on this machine. */
export async function installed(which: Which): Promise<Installation> {
  const script = join(import.meta.dirname, "install");
  const child = spawn("bash", [script, which], { stdio: ["ignore", "pipe", "pipe"] });
  endsWithThisProcess(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => {
    said.err += chunk.toString();
    process.stdout.write(chunk);
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0)
    throw new Error(said.err.trim().split("\n").at(-1) ?? `its installation ended with ${code}`);
  const python = said.out.trim();
  const { stdout } = await run(python, ["-c", "from homeassistant.const import __version__ as v; print(v)"]);
  return { which, version: stdout.trim(), python };
}

/** A configuration folder. */
export async function configurationFolder(
  folder: string,
  { which }: Installation,
  port: number,
): Promise<void> {
  // From 2026 on what stands in the storage wins over YAML after five minutes.
  const http = {
    version: 3,
    minor_version: 1,
    key: "http",
    data: {
      stable: {
        server_port: port,
        server_host: ["127.0.0.1"],
        cors_allowed_origins: [],
        login_attempts_threshold: -1,
        ip_ban_enabled: true,
        ssl_profile: "intermediate_v6",
        use_x_frame_options: true,
        created_at: "2026-01-01T00:00:00+00:00",
        error: null,
        error_message: null,
      },
      pending: null,
      yaml_migration_done: true,
    },
  };
  const own = {
    "configuration.yaml": configuration(port),
    ...(which !== "floor" && { ".storage/http": JSON.stringify(http) }),
  };
  await mkdir(join(folder, "packages"), { recursive: true });
  for (const [name, text] of Object.entries(own)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const configuration = (port: number): string => `
homeassistant: { packages: !include_dir_named packages }
http: { server_host: 127.0.0.1, server_port: ${port} }
logger: { default: warning }
frontend:
config:
history:
logbook:
recorder:
sun:
automation: []
script: {}
`;

export interface HomeAssistantProcess {
  readonly port: number;
  /** Resolves when it answers on its port. */
  start(): Promise<void>;
  /** SIGTERM; it writes what it keeps before it ends. */
  stop(): Promise<void>;
  /** Everything it logged so far. */
  log(): string;
  /** Seconds of a processor it took since its start, and how much memory it holds in MB. */
  usage(): Promise<{ readonly cpuSeconds: number; readonly memoryMb: number }>;
}

export function processOf({ python }: Installation, folder: string, port: number): HomeAssistantProcess {
  const state: { child: ChildProcess | null; log: string } = { child: null, log: "" };
  return {
    port,
    log: () => state.log,
    start: async () => {
      const child = spawn(python, ["-m", "homeassistant", "--config", folder, "--skip-pip"], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      endsWithThisProcess(child);
      state.child = child;
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (state.log += chunk.toString()));
      while (!(await answers(port))) {
        if (child.exitCode !== null) throw new Error(`Home Assistant ended:\n${state.log.slice(-3_000)}`);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
    stop: async () => {
      const { child } = state;
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "close");
      child.kill("SIGTERM");
      await gone;
    },
    usage: async () => {
      const pid = state.child?.pid ?? 0;
      const [stat, status] = await Promise.all(
        ["stat", "status"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8")),
      );
      return usageIn(stat ?? "", status ?? "");
    },
  };
}

/** The texts of `/proc/<pid>/stat` and `status`. */
export function usageIn(stat: string, status: string) {
  const numbers = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(numbers[11]) + Number(numbers[12]);
  const memory = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  return { cpuSeconds: ticks / 100, memoryMb: Math.round(memory / 1024) };
}

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/api/onboarding`).then(
    () => true,
    () => false,
  );
