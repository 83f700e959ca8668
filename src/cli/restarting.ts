import { spawn } from "node:child_process";
import { exitOf } from "../runtime/ending.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { readText } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { ProcessContext } from "../terminal/context.js";

/*
 * Whether and how something starts the program again: systemd when it ends, Home Assistant's Supervisor when it is
 * asked.
 */

export interface Restarting {
  /** False if nothing is known to restart it. */
  canRestart(): Promise<boolean>;
  /** Why a restart is refused; null if it is not, or if this program ends before the answer comes. */
  restart(): Promise<string | null>;
  /** The program ends at once, so whoever asked must get his answer before. */
  readonly endsAtOnce: boolean;
}

/** `MainPID` and `Restart` of a unit; null if systemd cannot be asked. */
type AskUnit = (unit: Unit) => Promise<string | null>;

interface Unit {
  readonly name: string;
  readonly isOfUser: boolean;
}

export function restartingOf(
  {
    env,
    restart,
    supervisor,
    stop,
  }: Pick<ProcessContext, "env" | "restart" | "supervisor"> & Partial<Pick<ProcessContext, "stop">>,
  log: () => Pick<Logger, "error">,
  { pid = process.pid, askUnit = askedOfSystemd, ownUnit = unitOfThisProcess } = {},
): Restarting | undefined {
  if (supervisor !== undefined && supervisor !== null)
    return {
      canRestart: () => Promise.resolve(true),
      restart: () => Promise.race([refusalOf(supervisor, log), endOf(stop)]),
      endsAtOnce: false,
    };
  if (restart === undefined) return undefined;
  return {
    canRestart: () => isOfUnit(env, { pid, askUnit, ownUnit }),
    restart: () => {
      restart();
      return Promise.resolve(null);
    },
    endsAtOnce: true,
  };
}

/**
 * Whether this is the main process of a unit that restarts. A shell of a service has the service's variables too;
 * before version 248 none of them tells it from the main process, and none ever says whether a unit restarts. So
 * systemd is asked.
 */
async function isOfUnit(
  env: ProcessContext["env"],
  {
    pid,
    askUnit,
    ownUnit,
  }: { readonly pid: number; readonly askUnit: AskUnit; readonly ownUnit: () => Promise<Unit | null> },
): Promise<boolean> {
  if ((env["INVOCATION_ID"] ?? "") === "") return false;
  const unit = await ownUnit();
  const said = unit === null ? null : await askUnit(unit);
  return said === null ? env["SYSTEMD_EXEC_PID"] === String(pid) : startsAgain(said, pid);
}

/** Whether the unit starts again after the exit code of a restart, which is that of a failure. */
function startsAgain(said: string, pid: number): boolean {
  const facts = new Map(
    said.split("\n").map((line) => {
      const [name = "", value = ""] = line.split("=", 2);
      return [name, value] as const;
    }),
  );
  return (
    facts.get("MainPID") === String(pid) && ["always", "on-failure"].includes(facts.get("Restart") ?? "")
  );
}

/** The unit of a process: the innermost service among its cgroups. */
export function unitIn(cgroups: string): Unit | null {
  const path = /^0::(.*)$/m.exec(cgroups)?.[1] ?? "";
  const name = path.split("/").findLast((part) => part.endsWith(".service")) ?? "";
  if (!/^[\w@:.\\-]+\.service$/.test(name) || name.startsWith("user@")) return null;
  return { name, isOfUser: path.includes("/user@") };
}

const unitOfThisProcess = (): Promise<Unit | null> =>
  readText("/proc/self/cgroup").then(unitIn).catch(nullIfFailed);

const answerMs = 3_000;

async function askedOfSystemd({ name, isOfUser }: Unit): Promise<string | null> {
  const words = ["show", ...(isOfUser ? ["--user"] : []), "--property=MainPID,Restart", "--", name];
  const child = spawn("systemctl", words, { stdio: ["ignore", "pipe", "ignore"], timeout: answerMs });
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString("utf8")));
  const code = await exitOf(child).catch(nullIfFailed);
  return code === 0 ? said : null;
}

const refusalOf = (
  supervisor: Parameters<typeof askSupervisor>[0],
  log: () => Pick<Logger, "error">,
): Promise<string | null> =>
  askSupervisor(supervisor).then(
    () => null,
    (error: unknown) => {
      log().error({ err: error }, "Home Assistant did not restart the app; restart it there");
      return String(error instanceof Error ? error.message : error);
    },
  );

const endOf = (stop: AbortSignal | undefined): Promise<null> =>
  new Promise((done) => stop?.addEventListener("abort", () => done(null), { once: true }));

/** Asks the Supervisor to end the program and start it again. */
async function askSupervisor({
  url,
  token,
}: {
  readonly url: string;
  readonly token: string;
}): Promise<void> {
  const answer = await fetch(`${url}/addons/self/restart`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(60_000),
  });
  await answer.body?.cancel().catch(ignored);
  if (!answer.ok) throw new Error(`the Supervisor answered ${answer.status}`);
}
