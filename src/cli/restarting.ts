import { spawn } from "node:child_process";
import { once } from "node:events";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { readText } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { ProcessContext } from "../terminal/context.js";

/* Whether something starts the program again, and how: systemd does when it ends, Home Assistant's Supervisor when it is asked. */

export interface Restarting {
  /** False where nobody knows that anything would. */
  canRestart(): Promise<boolean>;
  /** Why it is refused; null where it is not, or where this program ends before the answer comes. */
  restart(): Promise<string | null>;
  /** Whoever asked is to have his answer before. */
  readonly endsAtOnce: boolean;
}

/** What a unit says of these two; null where it cannot be asked. */
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
 * What a shell of a service has started has the service's variables too, but is not the process that systemd watches. Below version 248
 * no variable tells the two apart, and none tells anywhere whether a unit starts again what has ended: so systemd is asked.
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

/** After the exit code of a restart, which is that of a failure. */
function startsAgain(said: string, pid: number): boolean {
  const facts = new Map(said.split("\n").map((line) => line.split("=", 2) as [string, string]));
  return (
    facts.get("MainPID") === String(pid) && ["always", "on-failure"].includes(facts.get("Restart") ?? "")
  );
}

/** From the groups of a process, of which the innermost is the unit. */
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
  const code = await once(child, "close").then(([one]) => one as unknown, nullIfFailed);
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

/** It ends the program, and starts it again. */
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
