import { spawn } from "node:child_process";

/** Sends messages to systemd: `READY=1`, `WATCHDOG=1`, `STATUS=…`. */
export interface ServiceManager {
  /** The longest time in ms between two signs of life before it restarts us; null without a watchdog. */
  readonly watchdogMs: number | null;
  /** Sends without waiting. Of failures in a row only the first is reported. */
  tell(...assignments: readonly string[]): void;
}

interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Called with the reason why messages do not arrive, once for failures in a row. */
  readonly onFailure: (reason: string) => void;
  readonly program?: string;
}

/**
 * The service manager that started us; null for none (no NOTIFY_SOCKET). Node.js cannot send to its socket, so the
 * program `systemd-notify` does; the unit needs `NotifyAccess=all` for that.
 */
export function serviceManager(options: ServiceManagerOptions): ServiceManager | null {
  const { env, pid } = options;
  const socket = env["NOTIFY_SOCKET"];
  if (socket === undefined || socket === "") return null;
  return new Notifier(options, socket, watchdogMs(env, pid));
}

/** Sends one message at a time; assignments that come meanwhile are joined into the next. */
class Notifier implements ServiceManager {
  readonly watchdogMs: number | null;
  readonly #options: ServiceManagerOptions;
  readonly #socket: string;
  #waiting: readonly string[] | null = null;
  #isBusy = false;
  #hasFailed = false;

  constructor(options: ServiceManagerOptions, socket: string, watchdog: number | null) {
    this.#options = options;
    this.#socket = socket;
    this.watchdogMs = watchdog;
  }

  tell(...assignments: readonly string[]): void {
    if (this.#isBusy) this.#waiting = merge(this.#waiting ?? [], assignments);
    else this.#send(assignments);
  }

  #send(assignments: readonly string[]): void {
    const { env, program = "systemd-notify" } = this.#options;
    this.#isBusy = true;
    const child = spawn(program, assignments, {
      stdio: "ignore",
      env: { NOTIFY_SOCKET: this.#socket, PATH: env["PATH"] },
    });
    // It may outlive us: the last message says that we stop.
    child.unref();
    child.once("error", (error) => this.#onEnd(error.message));
    child.once("exit", (code) =>
      this.#onEnd(code === 0 ? null : `systemd-notify ended with code ${code ?? "none"}`),
    );
  }

  #onEnd(failure: string | null): void {
    if (failure !== null && !this.#hasFailed) this.#options.onFailure(failure);
    this.#hasFailed = failure !== null;
    this.#isBusy = false;
    const next = this.#waiting;
    this.#waiting = null;
    if (next !== null) this.#send(next);
  }
}

/** Joins assignments; the newest of each name counts. */
function merge(older: readonly string[], newer: readonly string[]): readonly string[] {
  const name = (assignment: string) => assignment.split("=")[0];
  const names = new Set(newer.map(name));
  return [...older.filter((one) => !names.has(name(one))), ...newer];
}

function watchdogMs(env: Readonly<Record<string, string | undefined>>, pid: number): number | null {
  const forPid = env["WATCHDOG_PID"];
  if (forPid !== undefined && forPid !== "" && Number(forPid) !== pid) return null;
  const microseconds = Number(env["WATCHDOG_USEC"]);
  return Number.isFinite(microseconds) && microseconds >= 1_000 ? microseconds / 1_000 : null;
}
