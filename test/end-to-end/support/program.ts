import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endsWithThisProcess } from "../../support/at-exit.js";

/* The built program as a user starts it: a process of its own, of which only exit code, stdout and stderr are known. */

/** `dist/main.js`, or the file that GREENHOUSE2MQTT_DIST names. */
export const programFile = resolve(process.env["GREENHOUSE2MQTT_DIST"] ?? "dist/main.js");

/** Compiled code, which Node 22 and later keep there; in the home folder it would stand among the files under test. */
const cacheFolder = join(tmpdir(), "greenhouse2mqtt-compiled");

/** Its modules, each in a file of its own (`npm run build:modules`), for processes that need one of them alone. */
export const modulesFolder = resolve("dist-modules");

export interface ProgramOptions {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The file that it finds as `/etc/resolv.conf`, in a mount namespace of its own. */
  readonly resolvConf?: string | undefined;
  /** Written to stdin, which is then closed; without it stdin is empty. */
  readonly input?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<Ended>;
  readonly hasEnded: boolean;
  signal(name: NodeJS.Signals): void;
  /** Sends a signal, unless it has ended already, and waits for its end. */
  end(name: NodeJS.Signals): Promise<Ended>;
  /** Resolves with the match as soon as stdout holds one; rejects when the program ends first. */
  untilPrinted(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray>;
}

export function startProgram(args: readonly string[], options: ProgramOptions): Program {
  const [command = process.execPath, ...words] = [
    ...startsWith(options),
    process.execPath,
    programFile,
    ...args,
  ];
  const child = spawn(command, words, {
    cwd: options.folder,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: options.folder,
      XDG_CACHE_HOME: cacheFolder,
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  endsWithThisProcess(child);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8");
    child[name].on("data", (chunk: string) => {
      output[name] += chunk;
    });
  }
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const state = { hasEnded: false };
  const ended = once(child, "close").then(([code, signal]: unknown[]): Ended => {
    state.hasEnded = true;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, ...output };
  });
  ended.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    get hasEnded() {
      return state.hasEnded;
    },
    ended,
    signal: (name) => child.kill(name),
    end: (name) => {
      if (!state.hasEnded) child.kill(name);
      return ended;
    },
    untilPrinted: (pattern, timeoutMs) =>
      new Promise((found, failed) => {
        const fail = (why: string) =>
          failed(new Error(`${why} without printing ${pattern.source}\n${output.stdout}\n${output.stderr}`));
        const late = setTimeout(() => fail(`${timeoutMs} ms went by`), timeoutMs);
        const look = () => {
          const match = pattern.exec(output.stdout);
          if (match === null) return;
          clearTimeout(late);
          found(match);
        };
        child.stdout.on("data", look);
        child.once("close", () => {
          clearTimeout(late);
          fail("it ended");
        });
        look();
      }),
  };
}

const boundResolver = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';

/** Each runs in the place of the one before, so that the process stays the one that was started. */
const startsWith = ({ resolvConf }: ProgramOptions): readonly string[] =>
  resolvConf === undefined ? [] : ["unshare", "-rm", "sh", "-c", boundResolver, resolvConf];

/** What is waited for, unless the program ends first, which it then says with its last words. */
export const whileRuns = <Thing>(program: Program, awaited: Promise<Thing>): Promise<Thing> =>
  Promise.race([
    awaited,
    program.ended.then(({ code, stderr }) => {
      throw new Error(`it ended with code ${code ?? "none"}:\n${stderr.slice(-2_000)}`);
    }),
  ]);
