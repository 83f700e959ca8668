import { PlatformError, type PlatformErrorKind, type PlatformHost } from "../greenhouse/ports.js";
import type { Logger } from "../runtime/log.js";
import type { PollJob } from "./poll-plan.js";
import { wasHeld } from "./poll-reads.js";

/** The part that watches hosts reports what concerns a whole host. */
const ofTheHost = new Set<PlatformErrorKind>(["unreachable", "unauthorized"]);
/** Errors that count only from the second in a row. */
const passing = new Set<PlatformErrorKind>(["timeout", "interrupted", "throttled"]);
/** The shortest time between two lines about one kind of poll. */
const logAgainMs = 600_000;

interface Trouble {
  /** Failures in a row, by the job's name. */
  readonly failing: Map<string, number>;
  /** Whether the end of the trouble is worth a line. */
  isLogged: boolean;
  loggedAt: number;
}

/**
 * Logs once for each kind of poll that it fails, and once that it works again, however many controllers are affected.
 * Trouble of a whole host is left out.
 */
export class PollTroubles {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #isAway: (host: PlatformHost) => boolean;
  readonly #byKind = new Map<PollJob["kind"], Trouble>();

  /** `now` is monotonic ms. */
  constructor(log: Logger, now: () => number, isAway: (host: PlatformHost) => boolean) {
    this.#log = log;
    this.#now = now;
    this.#isAway = isAway;
  }

  /** Notes a failure; returns whether it is the first in a row and not that of a whole host. */
  onFailed(name: string, job: PollJob, error: unknown): boolean {
    if (!(error instanceof PlatformError)) {
      this.#log.error({ err: error, job: name }, "a poll failed unexpectedly");
      return false;
    }
    const { kind, host } = error.facts;
    if (wasHeld(error)) return false;
    this.#log.debug({ job: name }, error.message);
    if (ofTheHost.has(kind) || this.#isAway(host)) return false;
    const fresh: Trouble = { failing: new Map(), isLogged: false, loggedAt: -Infinity };
    const trouble = this.#byKind.get(job.kind) ?? fresh;
    this.#byKind.set(job.kind, trouble);
    const inARow = (trouble.failing.get(name) ?? 0) + 1;
    trouble.failing.set(name, inARow);
    if (inARow > 1 || !passing.has(kind)) this.#warn(job, trouble, error);
    return inARow === 1 && kind !== "throttled";
  }

  onWorked(name: string, { kind }: PollJob): void {
    if (this.#isOver(kind, name)) this.#log.info({ poll: kind }, `polling ${subjects[kind]} works again`);
  }

  /** Forgets jobs that are not polled any more. */
  forget(names: Iterable<string>): void {
    for (const name of names) for (const kind of this.#byKind.keys()) this.#isOver(kind, name);
  }

  /** Whether this was the last failing job of a kind that was logged. */
  #isOver(kind: PollJob["kind"], name: string): boolean {
    const trouble = this.#byKind.get(kind);
    if (trouble?.failing.delete(name) !== true || trouble.failing.size > 0) return false;
    const { isLogged } = trouble;
    trouble.isLogged = false;
    return isLogged;
  }

  #warn(job: PollJob, trouble: Trouble, { message, facts }: PlatformError): void {
    const now = this.#now();
    if (trouble.isLogged || now - trouble.loggedAt < logAgainMs) return;
    trouble.isLogged = true;
    trouble.loggedAt = now;
    const controller = "code" in job ? job.code : undefined;
    const first = controller === undefined ? "" : ` (${controller} was the first)`;
    const { operation, code, platformMessage, requestId } = facts;
    this.#log.warn(
      {
        poll: job.kind,
        controller,
        operation,
        code,
        platform_message: platformMessage,
        request_id: requestId,
      },
      `polling ${subjects[job.kind]} fails${first}, so what is shown of them grows old: ${message}`,
    );
  }
}

const subjects = {
  controllers: "the list of controllers",
  devices: "the list of other devices",
  videos: "the list of videos",
  connection: "the status of single devices",
  sensors: "sensors",
  averages: "averages",
  running_status: "running statuses",
  registers: "actuators and parameters",
} as const satisfies Record<PollJob["kind"], string>;
