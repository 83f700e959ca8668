import type { Via } from "../greenhouse/command/outcomes.js";
import type { CommandPhases, PhaseTarget, Told } from "./command-phases.js";

export interface EarlierPhasesPorts {
  /** The base topic. */
  readonly base: string;
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
 * away at the time. Every start looks once at what the broker shows: a newer command may have been shown there of which no
 * record was made, and one that nothing is known of is not on its way any more either.
 */
export class EarlierPhases {
  readonly #ports: EarlierPhasesPorts;
  readonly #ends = new Map<string, Ends>();
  #hasLooked = false;
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
    if (this.#hasLooked) return;
    const link = {};
    this.#link = link;
    const { base, phases, scan } = this.#ports;
    const shown = new Map<string, string>();
    // Not a filter that other parts look with, as the first to end would end both.
    await scan([`${base}/+/+/+/command`], (topic, payload) => {
      shown.set(topic, Buffer.from(payload).toString());
    });
    if (this.#link !== link) return;
    this.#hasLooked = true;
    for (const topic of new Set([...this.#ends.keys(), ...shown.keys()])) {
      const { about, told } = this.#ends.get(topic) ?? { about: aboutOf(topic, base), told: [] };
      const news = newsFor(told, read(shown.get(topic)));
      if (news !== null && about !== null) phases.endedBefore(about, news);
    }
    this.#ends.clear();
  }

  disconnected(): void {
    this.#link = null;
  }
}

const targets = ["actuator", "parameter", "address"] as const;

/** Whose topic it is; null where it is none of ours. */
function aboutOf(topic: string, base: string): PhaseTarget | null {
  const [controllerId, folder, targetId] = topic.slice(base.length + 1).split("/");
  const target = targets.find((one) => one === folder);
  if (controllerId === undefined || targetId === undefined || target === undefined) return null;
  return { controllerId, target, targetId };
}

type Seen = Readonly<Partial<Record<keyof Told | "phase", unknown>>>;

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
  if (seen === null) return newest;
  const own = told.findLast((one) => one.id === seen.id && isOf(one, seen));
  const seenAt = Date.parse(own?.received_at ?? String(seen.received_at));
  if (newest !== null && own !== newest && !(seenAt >= Date.parse(newest.received_at))) return newest;
  if (seen.phase === "done") return null;
  // Of one that no record is of, only what the topic says is known, and that it is not on its way any more.
  return own ?? toldBy(seen) ?? newest;
}

/** An id may have been used for several commands. */
const isOf = (one: Told, { received_at: at }: Seen) => at === undefined || at === one.received_at;

function toldBy({ id, received_at, command, value, by, via }: Seen): Told | null {
  if (typeof id !== "string" || typeof received_at !== "string") return null;
  const textOf = (field: unknown) => (typeof field === "string" ? field : null);
  return { id, received_at, command: textOf(command), value: textOf(value), by: textOf(by), via: viaOf(via) };
}

function viaOf(via: unknown): Via {
  if (typeof via === "string") return via;
  if (typeof via !== "object" || via === null) return null;
  const facts: Record<string, string | null> = {};
  const fields: Readonly<Record<string, unknown>> = { ...via };
  for (const [key, value] of Object.entries(fields))
    if (typeof value === "string" || value === null) facts[key] = value;
  return facts;
}
