import type { Actuator, Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Gaps } from "../runtime/gaps.js";
import type { Mirror } from "../sync/mirror.js";
import { jobIntervalMs, type PollIntervals, type PollJob } from "../sync/poll-plan.js";
import type { PollOperation } from "../sync/poll-reads.js";

/** A promised read or topic that is late. */
export interface Overdue {
  /** Topic id; null for the account's own list. */
  readonly controller: string | null;
  /** A read (`controllers`, `sensors`, `running_status`) or a topic (`actuator/roof`, `sensor/air`, `parameter/ec`). */
  readonly what: string;
  /** ISO time since when it is late. */
  readonly since: string;
}

export interface OverdueFacts {
  /** Monotonic ms, as all instants here; `wall` is the same moment as epoch ms. */
  readonly now: number;
  readonly wall: number;
  readonly startedAt: number;
  /** Since when nothing has paused the process. */
  readonly awakeSince: number;
  readonly intervals: PollIntervals;
  readonly stretch: number;
  readonly controllers: Iterable<Controller>;
  readonly hasReadings: (code: string) => boolean;
  readonly answeredAt: (operation: PollOperation, code: string | null) => number | null;
  /** When the controller was first mirrored. */
  readonly knownSince: (code: string) => number;
}

/** A read is late after three missed intervals, and some time for the request. */
const patience = 3;
const graceMs = 30_000;
const mostListed = 100;

interface OverdueNow {
  /** The longest overdue, up to `mostListed`. */
  readonly late: readonly Overdue[];
  /** Everything that is late. */
  readonly all: readonly Pick<Overdue, "controller" | "what">[];
  /** Controllers whose promised reads were all answered in time; null stands for the account's list. */
  readonly upToDate: ReadonlySet<string | null>;
}

export function overdueOf(facts: OverdueFacts): OverdueNow {
  const upToDate = new Set<string | null>();
  const all: { readonly since: number; readonly controller: string | null; readonly what: string }[] = [];
  const judge = (controller: Controller | null, what: string, lastAt: number | null, job: PollJob) => {
    const intervalMs = jobIntervalMs(job, facts.intervals, controller ?? undefined) * facts.stretch;
    const known = controller === null ? facts.startedAt : facts.knownSince(controller.info.code);
    const from = lastAt ?? known;
    const id = controller?.info.id ?? null;
    const isLate = facts.now - Math.max(from, facts.awakeSince) > patience * intervalMs + graceMs;
    if (isLate || lastAt === null || lastAt < facts.awakeSince) upToDate.delete(id);
    if (isLate) all.push({ since: from + intervalMs, controller: id, what });
  };
  upToDate.add(null);
  judge(null, "controllers", facts.answeredAt("controllers", null), { kind: "controllers" });
  for (const controller of facts.controllers) {
    upToDate.add(controller.info.id);
    judgeController(controller, facts, judge);
  }
  const listed = all.sort((one, other) => one.since - other.since).slice(0, mostListed);
  const iso = (at: number) => new Date(facts.wall - (facts.now - at)).toISOString();
  return { late: listed.map(({ since, ...rest }) => ({ ...rest, since: iso(since) })), all, upToDate };
}

type Judge = (controller: Controller, what: string, lastAt: number | null, job: PollJob) => void;

function judgeController(controller: Controller, facts: OverdueFacts, judge: Judge): void {
  const { code } = controller.info;
  if (facts.hasReadings(code)) {
    const sensorsAt = facts.answeredAt("sensors", code);
    judge(controller, "sensors", sensorsAt, { kind: "sensors", code });
    const statusAt = facts.answeredAt("running_status", code);
    judge(controller, "running_status", statusAt, { kind: "running_status", code });
    // The platform answers, but never with this configured sensor.
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

/** An actuator is as current as its oldest address. */
function oldestRead({ registers }: Actuator): number | null {
  const starts = Object.values(registers).map(({ startedAt }) => startedAt);
  return starts.length === 0 ? null : Math.min(...starts);
}

/** Knows since when each controller is mirrored, and finds what is late. */
export class OverdueWatch {
  readonly #clock: Clock;
  readonly #gaps: Pick<Gaps, "newest">;
  readonly #intervals: PollIntervals;
  readonly #mirror: Pick<Mirror, "store" | "poller" | "inventory">;
  readonly #startedAt: number;
  readonly #knownSince = new Map<string, number>();

  constructor(
    { clock, gaps }: { readonly clock: Clock; readonly gaps: Pick<Gaps, "newest"> },
    intervals: PollIntervals,
    mirror: Pick<Mirror, "store" | "poller" | "inventory">,
  ) {
    this.#clock = clock;
    this.#gaps = gaps;
    this.#intervals = intervals;
    this.#mirror = mirror;
    this.#startedAt = clock.monotonic();
    mirror.store.onChange((before, after) => {
      if (before === undefined && after) this.#knownSince.set(after.info.code, clock.monotonic());
      if (before && after === undefined) this.#knownSince.delete(before.info.code);
    }, []);
  }

  now(): OverdueNow {
    const { poller, store, inventory } = this.#mirror;
    return overdueOf({
      now: this.#clock.monotonic(),
      wall: this.#clock.now(),
      startedAt: this.#startedAt,
      // A shorter pause is covered by the grace time.
      awakeSince: this.#gaps.newest(graceMs)?.until ?? -Infinity,
      intervals: this.#intervals,
      stretch: poller.stretch,
      controllers: store.controllers(),
      hasReadings: (code) => inventory.readingsOf(code) === "usual",
      answeredAt: (operation, code) => poller.tally.answeredAt(operation, code),
      knownSince: (code) => this.#knownSince.get(code) ?? this.#startedAt,
    });
  }
}
