import { targetKinds } from "../greenhouse/model.js";
import { placeOf } from "../mqtt/topics.js";
import type { Command } from "./command.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";

export type PhaseTarget = Pick<Command, "controllerId" | "target" | "targetId">;

/** What the topic tells of a command besides its phase. */
export type CommandFacts = Pick<CommandResult, "id" | "command" | "value" | "by" | "via" | "received_at">;

/** Shows phases on the topics of commands. */
interface ShownPhases {
  topicOf(about: PhaseTarget): string;
  endedBefore(about: PhaseTarget, command: CommandFacts): void;
}

type OnUnrecorded = (about: PhaseTarget, command: CommandFacts, phase: unknown) => void;

interface Ends {
  readonly about: PhaseTarget;
  /** In the order of the journal. */
  readonly told: readonly CommandFacts[];
}

/**
 * Commands that ended in an earlier run whose topics may still show them on their way, because the broker or the power was
 * away at the time. Every start looks once at what the broker shows. It may show a newer command that was never recorded, which is not
 * on its way any more either.
 */
export class EarlierPhases {
  readonly #base: string;
  readonly #phases: ShownPhases;
  readonly #onUnrecorded: OnUnrecorded | undefined;
  readonly #ends = new Map<string, Ends>();
  /** What the broker shows, by topic, until that was looked at; null from then on. */
  #shown: Map<string, string> | null = new Map();

  /** `onUnrecorded` is told what is shown on its way, in this phase, and no record is of; it is only shown to have ended where absent. */
  constructor(base: string, phases: ShownPhases, onUnrecorded?: OnUnrecorded) {
    this.#base = base;
    this.#phases = phases;
    this.#onUnrecorded = onUnrecorded;
  }

  /** Whether what the broker shows was not looked at yet. */
  get isLooking(): boolean {
    return this.#shown !== null;
  }

  onEnd(about: PhaseTarget, command: CommandFacts): void {
    const topic = this.#phases.topicOf(about);
    this.#ends.set(topic, { about, told: [...(this.#ends.get(topic)?.told ?? []), command] });
  }

  /** The broker holds this, from before. */
  onFound(topic: string, payload: Uint8Array): void {
    if (topic.endsWith("/command")) this.#shown?.set(topic, Buffer.from(payload).toString());
  }

  /** The broker has shown what it holds. Of a link that was lost meanwhile the next one shows it again. */
  onLooked(): void {
    const shown = this.#shown;
    if (shown === null) return;
    this.#shown = null;
    for (const topic of new Set([...this.#ends.keys(), ...shown.keys()])) {
      const { about, told } = this.#ends.get(topic) ?? { about: targetOfTopic(topic, this.#base), told: [] };
      const seen = read(shown.get(topic));
      const news = newsFor(told, seen);
      if (news === null || about === null) continue;
      this.#phases.endedBefore(about, news);
      if (seen !== null && isUnrecorded(told, seen)) this.#onUnrecorded?.(about, news, seen.phase);
    }
    this.#ends.clear();
  }
}

/** Whose topic it is; null where it is none of ours. */
function targetOfTopic(topic: string, base: string): PhaseTarget | null {
  const place = placeOf(base, topic);
  const target = targetKinds.find((one) => one === place?.folder);
  return place === null || target === undefined
    ? null
    : { controllerId: place.controllerId, target, targetId: place.id };
}

type Seen = Readonly<Partial<Record<keyof CommandFacts | "phase", unknown>>>;

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
function newsFor(told: readonly CommandFacts[], seen: Seen | null): CommandFacts | null {
  const newest = told.at(-1) ?? null;
  if (seen === null) return newest;
  const own = told.findLast((one) => one.id === seen.id && isOf(one, seen));
  const seenAt = Date.parse(own?.received_at ?? String(seen.received_at));
  if (newest !== null && own !== newest && !(seenAt >= Date.parse(newest.received_at))) return newest;
  if (seen.phase === "done") return null;
  // A command without a record is known by its topic alone, and is not on its way any more.
  return own ?? toldBy(seen) ?? newest;
}

/** What stands there is on its way, and the journal knows of no such command. */
const isUnrecorded = (told: readonly CommandFacts[], seen: Seen): boolean =>
  seen.phase !== "done" && toldBy(seen) !== null && !told.some(({ id }) => id === seen.id);

/** An id may have been used for several commands. */
const isOf = (one: CommandFacts, { received_at: at }: Seen) => at === undefined || at === one.received_at;

function toldBy({ id, received_at, command, value, by, via }: Seen): CommandFacts | null {
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
