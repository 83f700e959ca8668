import type { CommandPhases, PhaseTarget, Told } from "./command-phases.js";

export interface EarlierPhasesPorts {
  readonly phases: Pick<CommandPhases, "topicOf" | "endedBefore">;
  /** Shows what the broker holds under these filters; resolves early when the link is lost. */
  readonly scan: (
    filters: readonly string[],
    found: (topic: string, payload: Uint8Array) => void,
  ) => Promise<void>;
}

interface Ends {
  readonly about: PhaseTarget;
  /** In the order of the journal. */
  readonly told: readonly Told[];
}

/**
 * Commands that ended in an earlier run whose topics may still show them on their way, because the broker or the power was
 * away at the time. What the broker shows is looked at first: a newer command may have been shown there of which no record
 * was made.
 */
export class EarlierPhases {
  readonly #ports: EarlierPhasesPorts;
  readonly #ends = new Map<string, Ends>();
  #link: object | null = null;

  constructor(ports: EarlierPhasesPorts) {
    this.#ports = ports;
  }

  ended(about: PhaseTarget, command: Told): void {
    const topic = this.#ports.phases.topicOf(about);
    this.#ends.set(topic, { about, told: [...(this.#ends.get(topic)?.told ?? []), command] });
  }

  /** Looks once; again with the next link where this one does not last until the end. */
  async connected(): Promise<void> {
    if (this.#ends.size === 0) return;
    const link = {};
    this.#link = link;
    const shown = new Map<string, string>();
    await this.#ports.scan(this.#filters(), (topic, payload) => {
      shown.set(topic, Buffer.from(payload).toString());
    });
    if (this.#link !== link) return;
    for (const [topic, { about, told }] of this.#ends) {
      const news = newsFor(told, read(shown.get(topic)));
      if (news !== null) this.#ports.phases.endedBefore(about, news);
    }
    this.#ends.clear();
  }

  disconnected(): void {
    this.#link = null;
  }

  /** One a controller and kind of target; not the filters other parts look with, as the first to end would end both. */
  #filters(): readonly string[] {
    const filters = [...this.#ends.keys()].map((topic) => topic.replace(/[^/]+\/command$/, "+/command"));
    return [...new Set(filters)];
  }
}

interface Seen {
  readonly id?: unknown;
  readonly phase?: unknown;
  readonly received_at?: unknown;
}

/** Null for nothing, and for what is no document of ours. */
function read(payload: string | undefined): Seen | null {
  try {
    const parsed: unknown = JSON.parse(payload ?? "");
    return typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}

/** What a topic that shows `seen` has to show instead; null when nothing. */
function newsFor(told: readonly Told[], seen: Seen | null): Told | null {
  const newest = told.at(-1) ?? null;
  if (seen === null || newest === null) return newest;
  const own = told.findLast((one) => one.id === seen.id && isOf(one, seen));
  const seenAt = Date.parse(own?.received_at ?? String(seen.received_at));
  if (own !== newest && !(seenAt >= Date.parse(newest.received_at))) return newest;
  // Of a newer one that no record is of, nothing is known.
  return own === undefined || seen.phase === "done" ? null : own;
}

/** An id may have been used for several commands. */
const isOf = (one: Told, { received_at: at }: Seen) => at === undefined || at === one.received_at;
