import type { Controller, TargetKind } from "../greenhouse/model.js";
import type { PublishErrorKind } from "./connection/publish.js";
import {
  type ClearingGate,
  dropLeftover,
  dueAt,
  type Extent,
  findLeftover,
  isOfRestriction,
  isWanted,
  keepLeftover,
  type LeftoverContext,
  type Leftovers,
  leftoverTaken,
  noLeftovers,
  sweepUnder,
} from "./leftovers.js";
import { controllerMessages, type Message, restrictionMessages, targetMessages } from "./projection.js";
import { WaitingLine } from "../runtime/waiting-line.js";
import { type Place, placeOf } from "./topics.js";

/*
 * What the broker is to hold of ours, and how far it does, as one value. `step` folds one input into it and says what
 * to publish; it publishes nothing, waits for nothing and reads no clock. The value is changed in place, since it
 * covers a hundred thousand topics. For topics in order it keeps only the published views of the controllers, which
 * share most parts with the mirror.
 *
 * Nothing is dropped for lack of room: it stays due. What failed is published again, with its newest value.
 */

/**
 * Decides which states may be published; when it opens, its owner sends the input `released`. It only answers and
 * changes nothing.
 */
export interface StateGate extends ClearingGate {
  /** The part of the controller that may be shown; null for none yet. `shown` is what was published of it. */
  visible(shown: Controller | undefined, after: Controller): Controller | null;
}

/** What `step` may look at. */
export interface RetainedContext extends LeftoverContext {
  /** QoS of states. */
  readonly qos: 0 | 1;
  readonly view: LeftoverContext["view"] & { controllers(): Iterable<Controller> };
  readonly gate: StateGate | null;
}

/** A target of commands, which a result reports on. */
export interface TargetPlace {
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
}
export type Shown = Omit<TargetPlace, "code">;

/** A retained message for the broker. */
export interface Publish extends Message {
  readonly qos: 0 | 1;
  readonly sort: "announcement" | "document" | "state" | "leftover";
  /** Device code of the controller whose state it is; null for anything else. */
  readonly code: string | null;
  /** Grows with each publish. */
  readonly number: number;
}

export type AnnouncementOutcome = "taken" | "refused" | "link lost";

/** A topic whose newest publish failed. */
interface Failed {
  readonly sort: Publish["sort"];
  readonly code: string | null;
  readonly attempts: number;
  /** When to try again, in monotonic ms; null while it is being tried. */
  readonly at: number | null;
}

export interface Retained {
  link: "down" | "greeting" | "up";
  /** Whether this run has shown what may be commanded. */
  isGreeted: boolean;
  /** Number of the newest publish, and of the newest before this link. */
  number: number;
  linkedAt: number;
  /** Number of publishes on this link without an answer. */
  onTheirWay: number;
  /** The newest of them by topic. */
  readonly newest: Map<string, Publish>;
  readonly failed: Map<string, Failed>;
  /** Texts that the broker does not have yet. */
  readonly announcements: Map<string, string>;
  readonly documents: Map<string, { readonly payload: string; readonly qos: 0 | 1 }>;
  readonly dueDocuments: WaitingLine<string>;
  /** Topics of documents that an earlier run left. */
  readonly unwanted: Set<string>;
  /** The published views, by device code. */
  readonly published: Map<string, Controller>;
  readonly due: WaitingLine<string>;
  /** Controllers of which everything is published again. */
  readonly anew: Set<string>;
  /** Topics whose content on the broker is unknown, by device code. */
  readonly unknown: Map<string, Set<string>>;
  /** Controllers whose commandable targets are to be shown before `online`. */
  readonly greetings: Set<string>;
  readonly again: Map<string, TargetPlace>;
  readonly leftovers: Leftovers;
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
  dueDocuments: new WaitingLine(),
  unwanted: new Set(),
  published: new Map(),
  due: new WaitingLine(),
  anew: new Set(),
  unknown: new Map(),
  greetings: new Set(),
  again: new Map(),
  leftovers: noLeftovers(),
});

/** The result of an input: messages in publishing order, and outcomes of announcements. */
export interface Decision {
  readonly publish: Publish[];
  readonly outcomes: { readonly topic: string; readonly outcome: AnnouncementOutcome }[];
  /** Messages are put off to the next input, which must come soon. */
  readonly isPutOff: boolean;
}

interface Turn extends Decision {
  readonly kept: Retained;
  readonly context: RetainedContext;
}

/** Text or bytes, which are read only where they count. */
interface FoundPayload {
  readonly length: number;
  toString(): string;
}

export type Input =
  /** The broker takes messages; before `online` the first link of a run shows what may be commanded. */
  | { readonly type: "linked" }
  /** The broker has the bridge's `online`. */
  | { readonly type: "online" }
  | { readonly type: "unlinked" }
  /** A retained topic of its own, published when its text changes; an empty payload: nothing is to be there. */
  | { readonly type: "wanted"; readonly topic: string; readonly payload: string; readonly qos: 0 | 1 }
  /** What is wanted on these topics is published again, for readers that may show something else. */
  | { readonly type: "repeated"; readonly topics: readonly string[] }
  /** A topic of an earlier run, which goes when the configuration's leftovers go. */
  | { readonly type: "unwanted"; readonly topic: string }
  /** The topic is not kept any more, and stays as it is. */
  | { readonly type: "forgotten"; readonly topic: string }
  | { readonly type: "announced"; readonly topic: string; readonly payload: string }
  | {
      readonly type: "changed";
      readonly before: Controller | undefined;
      readonly after: Controller | undefined;
    }
  /** The gate has opened for a controller. `anew`: everything it shows is published again. */
  | { readonly type: "released"; readonly code: string; readonly anew: boolean }
  /** Everything is published again. */
  | { readonly type: "republish" }
  /** A screen shows the request instead of the true state. */
  | { readonly type: "shown_again"; readonly about: TargetPlace }
  /** What a result reports is published before the result. */
  | { readonly type: "hastened"; readonly code: string; readonly about: Shown | undefined }
  /** The broker has held this since before the link. */
  | { readonly type: "found"; readonly topic: string; readonly payload: FoundPayload }
  /** Leftovers up to this extent may be emptied now. */
  | { readonly type: "swept"; readonly extent: Extent }
  | {
      readonly type: "ended";
      readonly publish: Publish;
      readonly error: PublishErrorKind | null;
      readonly now: number;
    }
  | { readonly type: "woke"; readonly now: number };

export function step(kept: Retained, input: Input, context: RetainedContext): Decision {
  const { type } = input;
  // Of inputs that come in bursts only the last counts, so their messages go with the next input.
  const isPutOff = type === "changed" || type === "released";
  const turn: Turn = { kept, context, publish: [], outcomes: [], isPutOff };
  if (type === "wanted") want(kept, input);
  else if (type === "repeated") repeat(kept, input.topics);
  else if (type === "unwanted") kept.unwanted.add(input.topic);
  else if (type === "forgotten") forget(kept, input.topic);
  else if (type === "announced") kept.announcements.set(input.topic, input.payload);
  else if (type === "changed") onChange(turn, input.before, input.after);
  else if (type === "released") release(kept, input);
  else if (type === "shown_again") showAgain(kept, input.about);
  else if (type === "linked") onLinked(turn);
  else if (type === "online") online(turn);
  else if (type === "unlinked") onUnlinked(turn);
  else if (type === "found") onFound(turn, input);
  else if (type === "swept") onSwept(turn, input.extent);
  else if (type === "ended") onEnd(turn, input);
  else if (type === "woke") woke(turn, input.now);
  else if (kept.link === "up" && type === "republish") everything(turn);
  else if (kept.link === "up" && type === "hastened")
    publishController(turn, input.code, { about: input.about });
  // Each answer makes room; it is filled again when half of it is free.
  const hasRoom = type !== "ended" || kept.onTheirWay < mostStates / 2;
  if (hasRoom && !isPutOff) fill(turn);
  return turn;
}

/** When something is to be tried again, in monotonic ms; Infinity for never. */
export function nextWakeAt({ failed, link }: Retained): number {
  let first = Infinity;
  if (link === "up") for (const { at } of failed.values()) first = Math.min(first, at ?? Infinity);
  return first;
}

const markUnknown = ({ unknown }: Retained, code: string, topic: string): unknown =>
  unknown.set(code, (unknown.get(code) ?? new Set()).add(topic));

function forget({ documents, dueDocuments }: Retained, topic: string): void {
  documents.delete(topic);
  dueDocuments.delete(topic);
}

type InputOf<Type extends Input["type"]> = Extract<Input, { readonly type: Type }>;

/** Nothing is due if the same is wanted already: the broker has it, or it is due, on its way or to be tried again. */
function want(
  { documents, dueDocuments, unwanted }: Retained,
  { topic, payload, qos }: Omit<InputOf<"wanted">, "type">,
): void {
  unwanted.delete(topic);
  const before = documents.get(topic);
  if (before?.payload === payload && before.qos === qos) return;
  documents.set(topic, { payload, qos });
  dueDocuments.delete(topic);
  dueDocuments.add(topic);
}

/** Without a link nothing is due, as the next one publishes everything. */
function repeat({ link, documents, dueDocuments }: Retained, topics: readonly string[]): void {
  if (link === "up") for (const topic of topics) if (documents.has(topic)) dueDocuments.add(topic);
}

function release(kept: Retained, { code, anew }: InputOf<"released">): void {
  if (anew && kept.published.has(code)) kept.anew.add(code);
  kept.due.add(code);
}

/** Repeated requests make one publish, so that too many cannot fill the link. */
function showAgain({ link, again }: Retained, about: TargetPlace): void {
  if (link === "up") again.set(JSON.stringify(about), about);
}

function onLinked({ kept, context }: Turn): void {
  kept.link = "greeting";
  if (!kept.isGreeted) for (const { info } of context.view.controllers()) kept.greetings.add(info.code);
}

function online(turn: Turn): void {
  turn.kept.link = "up";
  turn.kept.isGreeted = true;
  everything(turn);
}

/**
 * The broker may have forgotten or kept anything: everything is published once, and what ended meanwhile is emptied.
 */
function everything({ kept, context }: Turn): void {
  for (const [code, published] of kept.published) {
    const present = context.view.get(code);
    for (const { topic, payload } of controllerMessages(context.topics, published, present))
      if (payload === "" && present === undefined)
        keepLeftover(kept.leftovers, published.info.id, topic, { code, owed: null });
      else if (payload === "") markUnknown(kept, code, topic);
  }
  for (const set of [kept.published, kept.again, kept.anew]) set.clear();
  for (const { info } of context.view.controllers()) kept.due.add(info.code);
  for (const topic of kept.documents.keys()) kept.dueDocuments.add(topic);
  sweepAll(kept, "ended");
}

/** The next link publishes everything wanted; only what was to be emptied has to be remembered. */
function onUnlinked({ kept, outcomes }: Turn): void {
  kept.link = "down";
  for (const { topic, payload, code } of kept.newest.values())
    if (code !== null && payload === "") markUnknown(kept, code, topic);
  for (const [topic, { code }] of kept.failed) if (code !== null) markUnknown(kept, code, topic);
  for (const topic of kept.announcements.keys()) outcomes.push({ topic, outcome: "link lost" });
  for (const set of [kept.newest, kept.failed, kept.announcements, kept.greetings]) set.clear();
  kept.linkedAt = kept.number;
  kept.onTheirWay = 0;
}

function onChange(
  { kept, context }: Turn,
  before: Controller | undefined,
  after: Controller | undefined,
): void {
  const code = (after ?? before)?.info.code;
  if (code === undefined) return;
  kept.due.add(code);
  if (before === undefined || after !== undefined) return;
  kept.published.delete(code);
  kept.unknown.delete(code);
  const { id } = before.info;
  const own = controllerMessages(context.topics, before, undefined).map(({ topic }) => topic);
  const documents = [...kept.documents.keys()].filter((one) =>
    one.startsWith(`${context.topics.base}/${id}/`),
  );
  for (const topic of [...own, ...documents]) {
    keepLeftover(kept.leftovers, id, topic, { code, owed: null });
    forget(kept, topic);
  }
}

function onEnd(turn: Turn, { publish, error, now }: InputOf<"ended">): void {
  const { kept, outcomes } = turn;
  const { topic, payload, sort, code, number } = publish;
  if (number <= kept.linkedAt) return;
  kept.onTheirWay -= 1;
  // A newer publish on this topic gets its own answer, which counts instead.
  if (kept.newest.get(topic) !== publish) return;
  kept.newest.delete(topic);
  // The link is gone, and the next one publishes everything.
  if (error === "offline") return;
  const isRefused = error !== null && sort === "announcement" && isFinal(error);
  if (error !== null && !isRefused) {
    const attempts = (kept.failed.get(topic)?.attempts ?? 0) + 1;
    kept.failed.set(topic, { sort, code, attempts, at: now + retryMs(error, attempts) });
    return;
  }
  if (!isRefused) kept.failed.delete(topic);
  if (sort === "announcement" && (isRefused || kept.announcements.get(topic) === payload)) {
    kept.announcements.delete(topic);
    outcomes.push({ topic, outcome: isRefused ? "refused" : "taken" });
  }
  if (sort === "document" && kept.documents.get(topic)?.payload === "") kept.documents.delete(topic);
  if (sort === "leftover") leftoverTaken(kept.leftovers, turn.context.topics.base, topic, payload);
}

/** Whether the broker would answer the same at once. */
const isFinal = (error: PublishErrorKind): boolean => error === "refused" || error === "invalid";

/** The pause after that many failures in a row. */
export function retryMs(error: PublishErrorKind, attempts: number): number {
  const doubled = 2 ** Math.min(attempts - 1, 10);
  return isFinal(error) ? Math.min(10_000 * doubled, 600_000) : Math.min(1_000 * doubled, 60_000);
}

function onFound({ kept, context }: Turn, { topic, payload }: InputOf<"found">): void {
  const place = placeOf(context.topics.base, topic);
  if (payload.length === 0 || place === null) return;
  if (isWanted(context, place, kept.documents.get(topic)?.payload)) doubt(kept, context, place, topic);
  else findLeftover(kept.leftovers, context, topic, payload.toString(), place);
}

/** A restriction may end before this run publishes it; the first publish of the controller then empties its topic. */
function doubt(kept: Retained, { view }: RetainedContext, place: Place, topic: string): void {
  const code = isOfRestriction(place) ? view.byId(place.controllerId)?.info.code : undefined;
  if (code !== undefined && !kept.published.has(code)) markUnknown(kept, code, topic);
}

function onSwept({ kept, context: { qos } }: Turn, extent: Extent): void {
  sweepAll(kept, extent);
  if (extent !== "ended") for (const topic of kept.unwanted) want(kept, { topic, payload: "", qos });
}

function sweepAll({ leftovers }: Retained, extent: Extent): void {
  for (const id of leftovers.under.keys()) sweepUnder(leftovers, id, extent);
}

function woke({ kept, context }: Turn, now: number): void {
  for (const [topic, failed] of kept.failed) {
    if (failed.at === null || failed.at > now) continue;
    kept.failed.set(topic, { ...failed, at: null });
    if (failed.sort === "document") kept.dueDocuments.add(topic);
    if (failed.sort === "leftover")
      sweepUnder(kept.leftovers, placeOf(context.topics.base, topic)?.controllerId ?? "", "ended");
    if (failed.code === null) continue;
    markUnknown(kept, failed.code, topic);
    kept.due.add(failed.code);
  }
}

const isWaiting = (failed: Failed | undefined): boolean => failed !== undefined && failed.at !== null;

interface About {
  readonly sort: Publish["sort"];
  readonly code: string | null;
  /** Defaults to the QoS of states. */
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

/* What goes to the broker next: the order, how much at once, and which value. */

/** States on their way at once; more would only queue inside the client. */
const mostStates = 512;
/** Documents are few, and somebody waits for each. */
const mostDocuments = 2_048;

/** Takes what is due, the most urgent first, until there is no room or nothing left. */
function fill(turn: Turn): void {
  const { kept, context } = turn;
  if (kept.link === "greeting") greet(turn);
  if (kept.link !== "up") return;
  if (kept.announcements.size > 0) announce(turn);
  while (kept.dueDocuments.size > 0 && kept.onTheirWay < mostDocuments)
    publishDocument(turn, kept.dueDocuments.take());
  for (const [key, { code, target, targetId }] of kept.again) {
    if (kept.onTheirWay >= mostStates) return;
    kept.again.delete(key);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    for (const message of targetMessages(context.topics, controller, target, targetId))
      publish(turn, message, { sort: "state", code });
  }
  while (kept.onTheirWay < mostStates) {
    const code = kept.due.take();
    if (code === undefined) break;
    publishController(turn, code);
  }
  while (kept.onTheirWay < mostStates) {
    const id = kept.leftovers.sweeping.take();
    if (id === undefined) return;
    const extent = kept.leftovers.widest.get(id);
    kept.leftovers.widest.delete(id);
    if (extent !== undefined) sweep(turn, id, extent);
  }
}

function publishDocument(turn: Turn, topic = ""): void {
  const document = turn.kept.documents.get(topic);
  if (document === undefined) return;
  const { payload, qos } = document;
  publish(turn, { topic, payload }, { sort: "document", code: null, qos });
}

/** Shows what may be commanded, before `online`. */
function greet(turn: Turn): void {
  const { kept, context } = turn;
  for (const code of kept.greetings) {
    if (kept.onTheirWay >= mostStates) return;
    kept.greetings.delete(code);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    // Published views do not contain these; if one ends before the controller is published, it is emptied then.
    for (const message of restrictionMessages(context.topics, controller)) {
      markUnknown(kept, code, message.topic);
      publish(turn, message, { sort: "state", code });
    }
  }
}

/** Sends the announcements that are due: who announces has few on their way, and each topic one at a time. */
function announce(turn: Turn): void {
  const { announcements, newest, failed } = turn.kept;
  for (const [topic, payload] of announcements)
    if (newest.get(topic)?.sort !== "announcement" && !isWaiting(failed.get(topic)))
      publish(turn, { topic, payload }, { sort: "announcement", code: null, qos: 1 });
}

/** `urgent` passes a gate that is closed for the whole controller, or for what it is about. */
function publishController(turn: Turn, code: string, urgent?: { readonly about: Shown | undefined }): void {
  const { kept, context } = turn;
  const { topics, view, gate } = context;
  const present = view.get(code);
  // Nothing is urgent for a controller that is gone.
  if (urgent && present === undefined) return;
  kept.due.delete(code);
  if (present === undefined) {
    if (gate?.mayClear(code) === false) return;
    sweepAll(kept, "ended");
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
  if (kept.leftovers.under.has(after.info.id)) sweepUnder(kept.leftovers, after.info.id, "ended");
}

interface Views {
  readonly before: Controller | undefined;
  readonly after: Controller;
  /** Whether nothing is held back. */
  readonly isAll: boolean;
}

/** Adds to the news everything once more, or what is not known to be on the broker. */
function withMore(
  { kept, context: { topics } }: Turn,
  news: readonly Message[],
  { before, after, isAll }: Views,
): readonly Message[] {
  const { code } = after.info;
  const isAnew = kept.anew.delete(code) && before !== undefined;
  const unknown = kept.unknown.get(code);
  const whole = controllerMessages(topics, undefined, after);
  // An empty topic needs no repetition.
  const all = isAnew
    ? [...news.filter(({ payload }) => payload === ""), ...whole.filter(({ payload }) => payload !== "")]
    : news;
  // Not while something is held back: a topic that shows it may not be emptied yet.
  if (unknown === undefined || !isAll) return all;
  kept.unknown.delete(code);
  const said = topicsOf(all);
  const shown = new Map(whole.map((one) => [one.topic, one]));
  const missing = [...unknown].filter((topic) => !said.has(topic));
  return [...all, ...missing.map((topic) => shown.get(topic) ?? { topic, payload: "" })];
}

const topicsOf = (messages: readonly Message[]) => new Set(messages.map(({ topic }) => topic));

/** The visible part plus what a result reports, which must not be published after the result. */
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

/** Marks and empties leftovers under a controller's topic id, as far as allowed. */
function sweep(turn: Turn, id: string, extent: Extent): void {
  const { kept, context } = turn;
  const { leftovers, documents, newest, failed } = kept;
  for (const [topic, leftover] of leftovers.under.get(id) ?? []) {
    const place = placeOf(context.topics.base, topic);
    if (place === null || isWanted(context, place, documents.get(topic)?.payload)) {
      dropLeftover(leftovers, id, topic);
      if (place !== null) doubt(kept, context, place, topic);
      continue;
    }
    const payload = dueAt(leftovers, context, leftover, place, extent);
    const isSaid = payload === null || newest.get(topic)?.payload === payload;
    if (!isSaid && !isWaiting(failed.get(topic)))
      publish(turn, { topic, payload }, { sort: "leftover", code: null });
  }
}
