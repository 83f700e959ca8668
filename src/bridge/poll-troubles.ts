import { PlatformError, type PlatformErrorKind, type PlatformHost } from "../greenhouse/platform-error.js";
import type { Logger } from "../runtime/logger.js";
import type { PollJob } from "./poll-jobs.js";

/** Told of the host as a whole, by whoever watches it. */
const ofTheHost = new Set<PlatformErrorKind>(["unreachable", "paused", "unauthorized"]);
/** Once is bad luck, twice in a row is not. */
const passing = new Set<PlatformErrorKind>(["timeout", "interrupted", "throttled"]);
/** A kind of poll that fails every other time is not worth a line each time. */
const tellAgainMs = 600_000;

interface Trouble {
  /** Failures in a row, by the job's name. */
  readonly failing: Map<string, number>;
  /** Its end is worth a line. */
  isTold: boolean;
  toldAt: number;
}

/**
 * Tells once per kind of poll that it fails and once that it works again, however many controllers it concerns. What is wrong with a
 * whole host is left out.
 */
export class PollTroubles {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #byKind = new Map<PollJob["kind"], Trouble>();
  readonly #away = new Set<PlatformHost>();

  /** `now` is monotonic ms. */
  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  hostReachable(host: PlatformHost, reachable: boolean): void {
    if (reachable) this.#away.delete(host);
    else this.#away.add(host);
  }

  failed(name: string, job: PollJob, error: unknown): void {
    if (!(error instanceof PlatformError)) {
      this.#log.error({ err: error, job: name }, "a poll failed unexpectedly");
      return;
    }
    const { kind, host } = error.facts;
    if (kind !== "paused") this.#log.debug({ job: name }, error.message);
    if (ofTheHost.has(kind) || this.#away.has(host)) return;
    const trouble = this.#of(job.kind);
    const inARow = (trouble.failing.get(name) ?? 0) + 1;
    trouble.failing.set(name, inARow);
    if (inARow > 1 || !passing.has(kind)) this.#tell(job, trouble, error);
  }

  worked(name: string, { kind }: PollJob): void {
    const trouble = this.#byKind.get(kind);
    if (trouble?.failing.delete(name) !== true || trouble.failing.size > 0) return;
    if (trouble.isTold) this.#log.info({ poll: kind }, `polling ${subjects[kind]} works again`);
    trouble.isTold = false;
  }

  /** These are not asked for any more. */
  forget(names: Iterable<string>): void {
    for (const name of names)
      for (const trouble of this.#byKind.values())
        if (trouble.failing.delete(name) && trouble.failing.size === 0) trouble.isTold = false;
  }

  #of(kind: PollJob["kind"]): Trouble {
    const known = this.#byKind.get(kind);
    if (known) return known;
    const made: Trouble = { failing: new Map(), isTold: false, toldAt: -Infinity };
    this.#byKind.set(kind, made);
    return made;
  }

  #tell(job: PollJob, trouble: Trouble, { message, facts }: PlatformError): void {
    const now = this.#now();
    if (trouble.isTold || now - trouble.toldAt < tellAgainMs) return;
    trouble.isTold = true;
    trouble.toldAt = now;
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
  connection: "the status of single devices",
  sensors: "sensors",
  running_status: "running statuses",
  registers: "actuators and parameters",
} as const satisfies Record<PollJob["kind"], string>;
