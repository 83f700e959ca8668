import { targetKinds } from "../greenhouse/model.js";
import { placeOf } from "../mqtt/topics.js";
import type { Command } from "./command.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";

export type PhaseTarget = Pick<Command, "controllerId" | "target" | "targetId">;

/** The topic's facts about a command, besides its phase. */
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
 * Commands that ended in an earlier run, whose topics may still show them as open because the broker or the power was
 * away. Every start looks once at what the broker shows. That may be a newer command without a record, which is not
 * open any more either.
 */
export class EarlierPhases {
  readonly #base: string;
  readonly #phases: ShownPhases;
  readonly #onUnrecorded: OnUnrecorded | undefined;
  readonly #ends = new Map<string, Ends>();
  /** What the broker shows, by topic; null once that was handled. */
  #shown: Map<string, string> | null = new Map();

  /** `onUnrecorded` gets commands shown as open without a record. If absent, they are only shown as ended. */
  constructor(base: string, phases: ShownPhases, onUnrecorded?: OnUnrecorded) {
    this.#base = base;
    this.#phases = phases;
    this.#onUnrecorded = onUnrecorded;
  }

  /** Whether what the broker shows is still to be handled. */
  get isLooking(): boolean {
    return this.#shown !== null;
  }

  onEnd(about: PhaseTarget, command: CommandFacts): void {
    const topic = this.#phases.topicOf(about);
    this.#ends.set(topic, { about, told: [...(this.#ends.get(topic)?.told ?? []), command] });
  }

  /** Takes a message that the broker held before. */
  onFound(topic: string, payload: Uint8Array): void {
    if (topic.endsWith("/command")) this.#shown?.set(topic, Buffer.from(payload).toString());
  }

  /** Handles what the broker has shown. After a lost link the next one shows it again. */
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

/** The target of a topic; null if it is none of ours. */
function targetOfTopic(topic: string, base: string): PhaseTarget | null {
  const place = placeOf(base, topic);
  const target = targetKinds.find((one) => one === place?.folder);
  return place === null || target === undefined
    ? null
    : { controllerId: place.controllerId, target, targetId: place.id };
}

type Seen = Readonly<Partial<Record<keyof CommandFacts | "phase", unknown>>>;

/** Null for nothing, and for anything that is no document of ours. */
function read(payload: string | undefined): Seen | null {
  try {
    const parsed: unknown = JSON.parse(payload ?? "");
    return typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}

/** The command that a topic has to show instead of `seen`; null for no change. */
function newsFor(told: readonly CommandFacts[], seen: Seen | null): CommandFacts | null {
  const newest = told.at(-1) ?? null;
  if (seen === null) return newest;
  const own = told.findLast((one) => one.id === seen.id && isOf(one, seen));
  const seenAt = Date.parse(own?.received_at ?? String(seen.received_at));
  if (newest !== null && own !== newest && !(seenAt >= Date.parse(newest.received_at))) return newest;
  if (seen.phase === "done") return null;
  // A command without a record is known by its topic only, and is not open any more.
  return own ?? toldBy(seen) ?? newest;
}

/** Whether the topic shows an open command that the journal does not have. */
const isUnrecorded = (told: readonly CommandFacts[], seen: Seen): boolean =>
  seen.phase !== "done" && toldBy(seen) !== null && !told.some(({ id }) => id === seen.id);

/** One id may have been used for several commands. */
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
