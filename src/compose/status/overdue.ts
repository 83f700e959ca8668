import type { BridgeEvent } from "../../greenhouse/events.js";
import type { Actuator, Controller } from "../../greenhouse/model.js";
import { PlatformError, type PlatformReader } from "../../greenhouse/ports.js";
import type { ShapeReport } from "../../platform/shape-reports.js";
import type { Clock } from "../../runtime/clock.js";
import {
  jobIntervalMs,
  jobsOf,
  type PollIntervals,
  type PollJob,
  type PollOperation,
  pollOperations,
} from "../../sync/poll-plan.js";

/** A promised read or topic that is late. */
export interface Overdue {
  /** Topic id; null for the account's own list. */
  readonly controller: string | null;
  /** `controllers`, `sensors`, `running_status`, or a topic: `actuator/roof`, `sensor/air`, `parameter/ec`. */
  readonly what: string;
  /** ISO time from which on it is late. */
  readonly since: string;
}

export interface OverdueFacts {
  /** Monotonic ms, as all instants here; `wall` is the epoch ms of the same moment. */
  readonly now: number;
  readonly wall: number;
  readonly startedAt: number;
  readonly intervals: PollIntervals;
  readonly stretch: number;
  readonly controllers: Iterable<Controller>;
  readonly hasReadings: (code: string) => boolean;
  readonly answeredAt: (operation: PollOperation, code: string | null) => number | null;
  /** When the controller came to the mirror. */
  readonly knownSince: (code: string) => number;
}

/** Late is what has been missed three times over; a request may also take its time. */
const patience = 3;
const graceMs = 30_000;
const mostListed = 100;

/** Everything that is late now, the longest first. */
export function overdueOf(facts: OverdueFacts): readonly Overdue[] {
  const late: { readonly since: number; readonly controller: string | null; readonly what: string }[] = [];
  const judge = (controller: Controller | null, what: string, lastAt: number | null, job: PollJob) => {
    const intervalMs = jobIntervalMs(job, facts.intervals, controller ?? undefined) * facts.stretch;
    const known = controller === null ? facts.startedAt : facts.knownSince(controller.info.code);
    const from = lastAt ?? known;
    if (facts.now - from <= patience * intervalMs + graceMs) return;
    late.push({ since: from + intervalMs, controller: controller?.info.id ?? null, what });
  };
  judge(null, "controllers", facts.answeredAt("controllers", null), { kind: "controllers" });
  for (const controller of facts.controllers) judgeController(controller, facts, judge);
  return late
    .sort((one, other) => one.since - other.since)
    .slice(0, mostListed)
    .map(({ since, ...rest }) => ({
      ...rest,
      since: new Date(facts.wall - (facts.now - since)).toISOString(),
    }));
}

type Judge = (controller: Controller, what: string, lastAt: number | null, job: PollJob) => void;

function judgeController(controller: Controller, facts: OverdueFacts, judge: Judge): void {
  const { code } = controller.info;
  if (facts.hasReadings(code)) {
    const sensorsAt = facts.answeredAt("sensors", code);
    judge(controller, "sensors", sensorsAt, { kind: "sensors", code });
    const statusAt = facts.answeredAt("running_status", code);
    judge(controller, "running_status", statusAt, { kind: "running_status", code });
    // Answers come, but one of the configured sensors is never in them.
    if (sensorsAt !== null)
      for (const { id, ignore } of controller.settings?.sensors ?? [])
        if (!ignore && !controller.sensors.has(id))
          judge(controller, `sensor/${id}`, null, { kind: "sensors", code });
  }
  const register = { kind: "registers", code, read: { type: "address", address: "" } } as const;
  for (const [id, actuator] of controller.actuators)
    judge(controller, `actuator/${id}`, oldestRead(actuator), register);
  for (const [id, parameter] of controller.parameters)
    judge(controller, `parameter/${id}`, parameter.register?.startedAt ?? null, register);
}

/** An actuator is as current as the address read longest ago. */
function oldestRead({ registers }: Actuator): number | null {
  const starts = Object.values(registers).map(({ startedAt }) => startedAt);
  return starts.length === 0 ? null : Math.min(...starts);
}

/*
 * Events about the platform that no part raises by itself: looked for now and then, each raised once per occurrence. Pure;
 * `now` is monotonic ms, `at` epoch ms.
 */

export interface NoticedFacts {
  readonly shapes: readonly ShapeReport[];
  /** Sign-ins sent so far. */
  readonly signIns: number;
  /** How often a token was refused soon after it was issued, from the second in a row. */
  readonly contested: number;
  /** There is no credential the platform takes, although there is an account to sign in with. */
  readonly isSignInRefused: boolean;
}

export interface Noticed {
  /** Shapes told, with how many of them there were then and when that was. */
  readonly shapes: ReadonlyMap<string, { readonly count: number; readonly toldAt: number }>;
  readonly signIns: number;
  readonly signInToldAt: number | null;
  readonly contested: number;
  readonly contestedToldAt: number | null;
  /** When the newest events about shapes were raised. */
  readonly shapeEvents: readonly number[];
}

export const noticedNothing: Noticed = {
  shapes: new Map(),
  signIns: 0,
  signInToldAt: null,
  contested: 0,
  contestedToldAt: null,
  shapeEvents: [],
};

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const shapeEventsPerHour = 10;
const signInPauseMs = 600_000;
const contestedPauseMs = 3_600_000;

/** What is new, and what to remember. */
export function notice(
  before: Noticed,
  facts: NoticedFacts,
  now: number,
  at: number,
): { readonly after: Noticed; readonly events: readonly BridgeEvent[] } {
  const shapes = shapeNews(before, facts.shapes, now, at);
  const signIn = signInNews(before, facts, now, at);
  const session = sessionNews(before, facts, now, at);
  return {
    after: { ...shapes.after, ...signIn.after, ...session.after },
    events: [...shapes.events, ...signIn.events, ...session.events],
  };
}

function sessionNews(before: Noticed, { contested }: NoticedFacts, now: number, at: number) {
  const mayTell = before.contestedToldAt === null || now - before.contestedToldAt >= contestedPauseMs;
  if (contested <= before.contested || !mayTell)
    return { after: { contested, contestedToldAt: before.contestedToldAt }, events: [] };
  return { after: { contested, contestedToldAt: now }, events: [sessionContested(at)] };
}

function shapeNews(before: Noticed, reports: readonly ShapeReport[], now: number, at: number) {
  const told = new Map(before.shapes);
  const recent = before.shapeEvents.filter((then) => now - then < hourMs);
  const events: BridgeEvent[] = [];
  for (const [key, report] of summed(reports)) {
    const known = told.get(key);
    const isNews = known === undefined || (report.count > known.count && now - known.toldAt >= dayMs);
    // What is over the limit is not marked as told, so that it is told when there is room again.
    if (!isNews || recent.length >= shapeEventsPerHour) continue;
    told.set(key, { count: report.count, toldAt: now });
    recent.push(now);
    events.push(shapeUnknown(report, at));
  }
  return { after: { shapes: told, shapeEvents: recent }, events };
}

/** One entry per operation and problem: the same fault in differently named fields is one occurrence. */
function summed(reports: readonly ShapeReport[]): ReadonlyMap<string, ShapeReport> {
  const found = new Map<string, ShapeReport>();
  for (const report of reports) {
    const key = `${report.operation}\n${report.problem}`;
    const other = found.get(key);
    found.set(key, other ? { ...other, count: other.count + report.count } : report);
  }
  return found;
}

function signInNews(before: Noticed, { signIns, isSignInRefused }: NoticedFacts, now: number, at: number) {
  if (!isSignInRefused) return { after: { signIns, signInToldAt: null }, events: [] };
  const isNew = signIns > before.signIns;
  const mayTell = before.signInToldAt === null || now - before.signInToldAt >= signInPauseMs;
  if (!isNew || !mayTell)
    return { after: { signIns: before.signIns, signInToldAt: before.signInToldAt }, events: [] };
  return { after: { signIns, signInToldAt: now }, events: [signInRefused(signIns, at)] };
}

const shapeUnknown = ({ operation, problem, sample }: ShapeReport, at: number): BridgeEvent => ({
  type: "shape_unknown",
  severity: "warning",
  message: `An answer of ${operation} could not be read: ${problem}. platform.shapes.${operation} can say where things are; "unreadable" in bridge/health shows the names it had.`,
  at,
  facts: { operation, problem, fields: sample.join(" ") },
});

const signInRefused = (signIns: number, at: number): BridgeEvent => ({
  type: "sign_in_refused",
  severity: "error",
  message:
    "Signing in does not help: the platform refuses the account, or the token it has just issued. Check platform.sign_in.body, and ask the operator whether this address must be registered. It is tried again at growing intervals.",
  at,
  facts: { sign_ins: signIns },
});

const sessionContested = (at: number): BridgeEvent => ({
  type: "session_contested",
  severity: "error",
  message:
    "The platform refuses each token soon after it was issued: probably somebody else signs in with the same account, and each sign-in ends the other's. Give the bridge an account of its own.",
  at,
});

/**
 * The shortest interval of the reads that are made, not of those configured: an account without sensors is asked for its list of
 * controllers only.
 */
export function shortestIntervalMs(
  intervals: PollIntervals,
  controllers: Iterable<Controller>,
  hasReadings: (code: string) => boolean,
): number {
  let shortest = intervals.controllersMs;
  for (const controller of controllers)
    for (const job of jobsOf(controller, hasReadings(controller.info.code)))
      shortest = Math.min(shortest, jobIntervalMs(job, intervals, controller));
  return shortest;
}

/** `held`: not sent, because the host is away or asked for a pause. */
export const pollResults = ["ok", "failed", "held"] as const;
export type PollResult = (typeof pollResults)[number];

const key = (operation: PollOperation, code: string | null) => `${operation} ${code ?? ""}`;

/** Notes what polling asked and when it was answered; instants are monotonic ms. */
export class ReadBook {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #answeredAt = new Map<string, number>();
  #endedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When any read ended, well or not: the sign that polling goes on. Null before the first. */
  get endedAt(): number | null {
    return this.#endedAt;
  }

  /** When the platform last answered this; null while it has not. */
  answeredAt(operation: PollOperation, code: string | null): number | null {
    return this.#answeredAt.get(key(operation, code)) ?? null;
  }

  count(operation: PollOperation, result: PollResult): number {
    return this.#counts.get(`${operation} ${result}`) ?? 0;
  }

  forget(code: string): void {
    for (const operation of pollOperations) this.#answeredAt.delete(key(operation, code));
  }

  /** The same reader, with a note of every read that polling makes. */
  watching(reader: PlatformReader): PlatformReader {
    return {
      ...others(reader),
      controllers: (signal) => this.#noted("controllers", null, reader.controllers(signal)),
      devices: (dataType, signal) => this.#noted("devices", null, reader.devices(dataType, signal)),
      connection: (code, signal, pace) =>
        this.#noted("connection", code, reader.connection(code, signal, pace)),
      sensors: (code, signal) => this.#noted("sensors", code, reader.sensors(code, signal)),
      runningStatuses: (code, signal) =>
        this.#noted("running_status", code, reader.runningStatuses(code, signal)),
      value: (code, address, fresh, signal) =>
        this.#noted("register", code, reader.value(code, address, fresh, signal)),
      values: (code, group, signal) => this.#noted("registers", code, reader.values(code, group, signal)),
    };
  }

  async #noted<T>(operation: PollOperation, code: string | null, read: Promise<T>): Promise<T> {
    try {
      const answer = await read;
      this.#answeredAt.set(key(operation, code), this.#clock.monotonic());
      this.#ended(operation, "ok");
      return answer;
    } catch (error) {
      const isHeld = error instanceof PlatformError && error.facts.kind === "paused";
      this.#ended(operation, isHeld ? "held" : "failed");
      throw error;
    }
  }

  #ended(operation: PollOperation, result: PollResult): void {
    this.#endedAt = this.#clock.monotonic();
    const counted = `${operation} ${result}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}

const others = (reader: PlatformReader): Pick<PlatformReader, "stations" | "get"> => ({
  stations: (signal) => reader.stations(signal),
  get: (operation, query, signal) => reader.get(operation, query, signal),
});
