import type { Controller } from "../greenhouse/model.js";
import type { Extent, Leftover } from "./leftovers.js";
import { isCode, isShown, wider } from "./leftovers.js";
import type { Message } from "./projection.js";
import type { Place, TargetKind, Topics } from "./topics.js";

/** Which states may be published; who opens it gives the input `released`. It answers and changes nothing. */
export interface StateGate {
  /** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what was published of it. */
  visible(shown: Controller | undefined, after: Controller): Controller | null;
  /** Whether the topics of a removed controller may be emptied. */
  mayClear(code: string): boolean;
}

/** What `step` may ask. */
export interface RetainedContext {
  readonly topics: Topics;
  /** Of states. */
  readonly qos: 0 | 1;
  readonly view: {
    controllers(): Iterable<Controller>;
    get(code: string): Controller | undefined;
    byId(id: string): Controller | undefined;
  };
  readonly gate: StateGate | null;
  /** Whether the configuration says that a controller, by topic id, is not to be mirrored. */
  readonly isLeftOut: (controllerId: string) => boolean;
}

/** What a command can be addressed to, and what a result tells of. */
export interface TargetPlace {
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
}
export type Shown = Omit<TargetPlace, "code">;

/** A message for the broker, retained. */
export interface Publish extends Message {
  readonly qos: 0 | 1;
  readonly sort: "announcement" | "document" | "state" | "leftover";
  /** Device code of the controller whose state it is. */
  readonly code: string | null;
  /** Grows with each. */
  readonly number: number;
}

export type AnnouncementOutcome = "taken" | "refused" | "link lost";

/** A topic of which the newest publish failed. */
interface Failed {
  readonly sort: Publish["sort"];
  readonly code: string | null;
  readonly attempts: number;
  /** Monotonic ms; null while it is being tried again. */
  readonly at: number | null;
}

export interface Retained {
  link: "down" | "greeting" | "up";
  /** What was allowed was shown in this run. */
  isGreeted: boolean;
  /** Of the newest publish, and of the newest before this link. */
  number: number;
  linkedAt: number;
  /** Publishes of this link without an answer. */
  onTheirWay: number;
  /** The newest of them of each topic. */
  readonly newest: Map<string, Publish>;
  readonly failed: Map<string, Failed>;
  /** Texts that the broker does not have yet. */
  readonly announcements: Map<string, string>;
  readonly documents: Map<string, { readonly payload: string; readonly qos: 0 | 1 }>;
  readonly dueDocuments: Set<string>;
  /** By device code the view that was published. */
  readonly published: Map<string, Controller>;
  readonly due: Set<string>;
  /** Controllers of which everything is published once more. */
  readonly anew: Set<string>;
  /** By device code topics of which it is not known what the broker holds. */
  readonly unknown: Map<string, Set<string>>;
  /** Controllers of which is to be shown before `online` what may be commanded. */
  readonly greetings: Set<string>;
  readonly again: Map<string, TargetPlace>;
  /** By the controller's topic id and the topic. */
  readonly leftovers: Map<string, Map<string, Leftover>>;
  /** Topic ids under which something left over may be emptied or marked now. */
  readonly sweeping: Map<string, Extent>;
  /** Topic ids of an earlier run, of controllers that have another one now. */
  readonly formerIds: Set<string>;
  found: number;
  /** Topics of an earlier run that were emptied. */
  cleared: number;
}

export const nothingRetained = (): Retained => ({
  link: "down",
  isGreeted: false,
  number: 0,
  linkedAt: 0,
  onTheirWay: 0,
  newest: new Map(),
  failed: new Map(),
  announcements: new Map(),
  documents: new Map(),
  dueDocuments: new Set(),
  published: new Map(),
  due: new Set(),
  anew: new Set(),
  unknown: new Map(),
  greetings: new Set(),
  again: new Map(),
  leftovers: new Map(),
  sweeping: new Map(),
  formerIds: new Set(),
  found: 0,
  cleared: 0,
});

/** What follows from an input: to be published in this order, and what became of announcements. */
export interface Decision {
  readonly publish: Publish[];
  readonly outcomes: { readonly topic: string; readonly outcome: AnnouncementOutcome }[];
}

export interface Turn extends Decision {
  readonly kept: Retained;
  readonly context: RetainedContext;
}

export const isWaiting = (failed: Failed | undefined): boolean => failed !== undefined && failed.at !== null;

interface About {
  readonly sort: Publish["sort"];
  readonly code: string | null;
  /** That of states where it is left out. */
  readonly qos?: 0 | 1;
}

export function publish(turn: Turn, { topic, payload }: Message, { sort, code, qos }: About): void {
  const { kept, context } = turn;
  kept.number += 1;
  kept.onTheirWay += 1;
  const one: Publish = { topic, payload, qos: qos ?? context.qos, sort, code, number: kept.number };
  kept.newest.set(topic, one);
  turn.publish.push(one);
}

export function keepLeftover({ leftovers }: Retained, id: string, topic: string, leftover: Leftover): void {
  const topics = leftovers.get(id) ?? new Map<string, Leftover>();
  leftovers.set(id, topics.set(topic, leftover));
}

export function dropLeftover({ leftovers }: Retained, id: string, topic: string): void {
  leftovers.get(id)?.delete(topic);
  if (leftovers.get(id)?.size === 0) leftovers.delete(id);
}

export const sweepUnder = ({ sweeping }: Retained, id: string, extent: Extent): unknown =>
  sweeping.set(id, wider(extent, sweeping.get(id)));

export const markUnknown = ({ unknown }: Retained, code: string, topic: string): unknown =>
  unknown.set(code, (unknown.get(code) ?? new Set()).add(topic));

export function forget({ documents, dueDocuments }: Retained, topic: string): void {
  documents.delete(topic);
  dueDocuments.delete(topic);
}

/** Somebody wants the topic as it is, or has something to say there. */
export function isWanted(
  { documents }: Retained,
  { view, topics }: RetainedContext,
  topic: string,
  place: Place,
): boolean {
  const mayBeShown = topics.codes || !isCode(place);
  return (
    (mayBeShown && isShown(place, view.byId(place.controllerId))) ||
    (documents.get(topic)?.payload ?? "") !== ""
  );
}
