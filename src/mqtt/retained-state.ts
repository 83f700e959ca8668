import type { Controller } from "../greenhouse/model.js";
import { type Extent, isCode, isSettled, isShown, type Leftover, wider } from "./leftovers.js";
import { controllerMessages, type Message, restrictionMessages, targetMessages } from "./projection.js";
import { type Place, placeOf, type TargetKind, type Topics } from "./topics.js";

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
  /** To be published with the next input, which is not to be long in coming. */
  readonly isPutOff: boolean;
}

export interface Turn extends Decision {
  readonly kept: Retained;
  readonly context: RetainedContext;
}

const isWaiting = (failed: Failed | undefined): boolean => failed !== undefined && failed.at !== null;

interface About {
  readonly sort: Publish["sort"];
  readonly code: string | null;
  /** That of states where it is left out. */
  readonly qos?: 0 | 1;
}

function publish(turn: Turn, { topic, payload }: Message, { sort, code, qos }: About): void {
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

/* What goes to the broker next: in which order, how much of it at once, and what it says by then. */

/** States on their way at once; more would only queue inside the client. */
export const mostStates = 512;
/** Documents are few, and each is owed to somebody who waits. */
const mostDocuments = 2_048;

/** Takes what is due, the most urgent first, until there is no room or nothing left. */
export function fill(turn: Turn): void {
  const { kept, context } = turn;
  if (kept.link === "greeting") greet(turn);
  if (kept.link !== "up") return;
  if (kept.announcements.size > 0) announceNext(turn);
  for (const topic of kept.dueDocuments) {
    if (kept.onTheirWay >= mostDocuments) break;
    kept.dueDocuments.delete(topic);
    const document = kept.documents.get(topic);
    if (document === undefined) continue;
    publish(turn, { topic, payload: document.payload }, { sort: "document", code: null, qos: document.qos });
  }
  for (const [key, { code, target, targetId }] of kept.again) {
    if (kept.onTheirWay >= mostStates) return;
    kept.again.delete(key);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    for (const message of targetMessages(context.topics, controller, target, targetId))
      publish(turn, message, { sort: "state", code });
  }
  for (const code of kept.due) {
    if (kept.onTheirWay >= mostStates) return;
    publishController(turn, code);
  }
  for (const [id, extent] of kept.sweeping) {
    if (kept.onTheirWay >= mostStates) return;
    kept.sweeping.delete(id);
    sweep(turn, id, extent);
  }
}

/** Shows before `online` what may be commanded. */
function greet(turn: Turn): void {
  const { kept, context } = turn;
  for (const code of kept.greetings) {
    if (kept.onTheirWay >= mostStates) return;
    kept.greetings.delete(code);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    for (const message of restrictionMessages(context.topics, controller))
      publish(turn, message, { sort: "state", code });
  }
}

/** One at a time, each after the broker's answer to the one before: they are large, and slow to take in for who reads them. */
function announceNext(turn: Turn): void {
  const { announcements, newest, failed } = turn.kept;
  for (const topic of announcements.keys()) if (newest.get(topic)?.sort === "announcement") return;
  for (const [topic, payload] of announcements)
    if (!isWaiting(failed.get(topic))) {
      publish(turn, { topic, payload }, { sort: "announcement", code: null, qos: 1 });
      return;
    }
}

/** `urgent` passes a gate that is closed for the whole controller, or for what it is about. */
export function publishController(
  turn: Turn,
  code: string,
  urgent?: { readonly about: Shown | undefined },
): void {
  const { kept, context } = turn;
  const { topics, view, gate } = context;
  const present = view.get(code);
  // Of one that is gone nothing is urgent.
  if (urgent && present === undefined) return;
  kept.due.delete(code);
  if (present === undefined) {
    if (gate?.mayClear(code) === false) return;
    for (const id of kept.leftovers.keys()) sweepUnder(kept, id, "ended");
    return;
  }
  const before = kept.published.get(code);
  let after = gate === null ? present : gate.visible(before, present);
  if (urgent && after !== present && gate?.mayClear(code) !== false)
    after = withShown(after, present, urgent.about);
  if (after === null) return;
  kept.published.set(code, after);
  const news = controllerMessages(topics, before, after);
  const isMore = kept.anew.has(code) || kept.unknown.has(code);
  const messages = isMore ? withMore(turn, news, { before, after, isAll: after === present }) : news;
  for (const message of messages) publish(turn, message, { sort: "state", code });
  if (kept.leftovers.has(after.info.id)) sweepUnder(kept, after.info.id, "ended");
}

interface Views {
  readonly before: Controller | undefined;
  readonly after: Controller;
  /** Nothing is kept back. */
  readonly isAll: boolean;
}

/** Beside what is new everything once more, or what is not known to be there. */
function withMore(
  { kept, context: { topics } }: Turn,
  news: readonly Message[],
  { before, after, isAll }: Views,
): readonly Message[] {
  const { code } = after.info;
  const isAnew = kept.anew.delete(code) && before !== undefined;
  const unknown = kept.unknown.get(code);
  const whole = controllerMessages(topics, undefined, after);
  // An empty topic has nothing to tell twice.
  const all = isAnew
    ? [...news.filter(({ payload }) => payload === ""), ...whole.filter(({ payload }) => payload !== "")]
    : news;
  // Not while something is kept back: a topic that shows it may not be emptied yet.
  if (unknown === undefined || !isAll) return all;
  kept.unknown.delete(code);
  const said = topicsOf(all);
  const shown = new Map(whole.map((one) => [one.topic, one]));
  const missing = [...unknown].filter((topic) => !said.has(topic));
  return [...all, ...missing.map((topic) => shown.get(topic) ?? { topic, payload: "" })];
}

const topicsOf = (messages: readonly Message[]) => new Set(messages.map(({ topic }) => topic));

/** What may be shown, and beside it what a result tells of, which is not to be learnt later than the result. */
function withShown(visible: Controller | null, present: Controller, about: Shown | undefined): Controller {
  if (visible === null) return present;
  if (about?.target === "actuator")
    return { ...visible, actuators: withItem(visible.actuators, present.actuators, about.targetId) };
  if (about?.target === "parameter")
    return { ...visible, parameters: withItem(visible.parameters, present.parameters, about.targetId) };
  return visible;
}

function withItem<Item>(visible: ReadonlyMap<string, Item>, present: ReadonlyMap<string, Item>, id: string) {
  const item = present.get(id);
  return item === undefined ? visible : new Map(visible).set(id, item);
}

/** Marks and empties what may be, under a controller's topic id. */
function sweep(turn: Turn, id: string, extent: Extent): void {
  const { kept, context } = turn;
  const controller = context.view.byId(id);
  for (const [topic, { code, owed }] of kept.leftovers.get(id) ?? []) {
    const place = placeOf(context.topics.base, topic);
    if (place === null || isWanted(kept, context, topic, place)) {
      dropLeftover(kept, id, topic);
      continue;
    }
    const mayGo =
      code === null
        ? isForgotten(kept, context, place, controller, extent)
        : (context.gate?.mayClear(code) ?? true);
    const payload = mayGo ? "" : owed;
    const isSaid = payload === null || kept.newest.get(topic)?.payload === payload;
    if (!isSaid && !isWaiting(kept.failed.get(topic)))
      publish(turn, { topic, payload }, { sort: "leftover", code: null });
  }
}

/** Whether what an earlier run left there may go. */
function isForgotten(
  { formerIds }: Retained,
  { isLeftOut, topics }: RetainedContext,
  place: Place,
  controller: Controller | undefined,
  extent: Extent,
): boolean {
  if (extent !== "settled") return extent === "all";
  const { controllerId: id } = place;
  if (!topics.codes && isCode(place)) return true;
  return isLeftOut(id) || formerIds.has(id) || isSettled(place, controller);
}
