import type { Controller } from "../greenhouse/model.js";
import type { PublishErrorKind } from "./connection/publish.js";
import { codeIn, type Extent, staleForm } from "./leftovers.js";
import { controllerMessages } from "./projection.js";
import {
  type RetainedContext,
  type Decision,
  dropLeftover,
  fill,
  forget,
  isWanted,
  keepLeftover,
  markUnknown,
  mostStates,
  type Publish,
  publishController,
  type Retained,
  type Shown,
  sweepUnder,
  type TargetPlace,
  type Turn,
} from "./retained-state.js";
import { placeOf } from "./topics.js";

/*
 * What the broker is to hold of ours and how far it does, as one value. `step` folds one input into it and says what is to be
 * published; it publishes nothing, waits for nothing and reads no clock. The value is changed in place, since it stands for a
 * hundred thousand topics. Of the topics that are as they should be only the published views of the controllers are kept,
 * which share most of their parts with the mirror.
 *
 * Nothing is dropped for lack of room: what has no room stays due. What failed is published again, and always as it is by then.
 */

const mostFound = 500_000;

export type Input =
  /** The broker takes messages; before `online` the first link of a run shows what may be commanded. */
  | { readonly type: "linked" }
  /** The broker has the bridge's `online`. */
  | { readonly type: "online" }
  | { readonly type: "unlinked" }
  /** A retained topic of its own, published where its text changes, however often it is wanted; an empty payload: nothing is to be there. */
  | { readonly type: "wanted"; readonly topic: string; readonly payload: string; readonly qos: 0 | 1 }
  /** Nothing is said of the topic any more, and it stays as it is. */
  | { readonly type: "forgotten"; readonly topic: string }
  | { readonly type: "announced"; readonly topic: string; readonly payload: string }
  | {
      readonly type: "changed";
      readonly before: Controller | undefined;
      readonly after: Controller | undefined;
    }
  /** The gate has opened for a controller. `anew`: everything it shows is published once more. */
  | { readonly type: "released"; readonly code: string; readonly anew: boolean }
  /** Everything is published once more. */
  | { readonly type: "republish" }
  /** A screen shows what was asked instead of what is so. */
  | { readonly type: "shown_again"; readonly about: TargetPlace }
  /** What a result tells of is published before the result. */
  | { readonly type: "hastened"; readonly code: string; readonly about: Shown | undefined }
  /** The broker holds this, from before. */
  | { readonly type: "found"; readonly topic: string; readonly payload: string }
  /** So much of what is left over may be emptied now. */
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
  // Of what comes in bursts only the last counts: what follows of it is published with the next input.
  const isPutOff = type === "changed" || type === "released";
  const turn: Turn = { kept, context, publish: [], outcomes: [], isPutOff };
  if (type === "wanted") want(kept, input);
  else if (type === "forgotten") forget(kept, input.topic);
  else if (type === "announced") kept.announcements.set(input.topic, input.payload);
  else if (type === "changed") changed(turn, input.before, input.after);
  else if (type === "released") release(kept, input);
  else if (type === "shown_again") showAgain(kept, input.about);
  else if (type === "linked") linked(turn);
  else if (type === "online") online(turn);
  else if (type === "unlinked") unlinked(turn);
  else if (type === "found") found(turn, input.topic, input.payload);
  else if (type === "swept") for (const id of kept.leftovers.keys()) sweepUnder(kept, id, input.extent);
  else if (type === "ended") ended(turn, input);
  else if (type === "woke") woke(turn, input.now);
  else if (kept.link === "up" && type === "republish") everything(turn);
  else if (kept.link === "up" && type === "hastened")
    publishController(turn, input.code, { about: input.about });
  // One answer after the other makes room, so that half of it is filled at once.
  const hasRoom = type !== "ended" || kept.onTheirWay < mostStates / 2;
  if (hasRoom && !isPutOff) fill(turn);
  return turn;
}

/** When something is to be tried again, monotonic ms; Infinity for never. */
export function nextWakeAt({ failed, link }: Retained): number {
  let first = Infinity;
  if (link === "up") for (const { at } of failed.values()) first = Math.min(first, at ?? Infinity);
  return first;
}

type InputOf<Type extends Input["type"]> = Extract<Input, { readonly type: Type }>;

/** Nothing is due where it is wanted so already: the broker has it, or it is due, on its way or to be tried again. */
function want({ documents, dueDocuments }: Retained, { topic, payload, qos }: InputOf<"wanted">): void {
  const before = documents.get(topic);
  if (before?.payload === payload && before.qos === qos) return;
  documents.set(topic, { payload, qos });
  dueDocuments.delete(topic);
  dueDocuments.add(topic);
}

function release(kept: Retained, { code, anew }: InputOf<"released">): void {
  if (anew && kept.published.has(code)) kept.anew.add(code);
  kept.due.add(code);
}

/** Once, however often it is asked for meanwhile: who asks too often must not fill the link. */
function showAgain({ link, again }: Retained, about: TargetPlace): void {
  if (link === "up") again.set(JSON.stringify(about), about);
}

function linked({ kept, context }: Turn): void {
  kept.link = "greeting";
  if (!kept.isGreeted) for (const { info } of context.view.controllers()) kept.greetings.add(info.code);
}

function online(turn: Turn): void {
  turn.kept.link = "up";
  turn.kept.isGreeted = true;
  everything(turn);
}

/** The broker may have forgotten or kept anything: everything goes out once, and what ended meanwhile is emptied. */
function everything({ kept, context }: Turn): void {
  for (const [code, published] of kept.published) {
    const present = context.view.get(code);
    for (const { topic, payload } of controllerMessages(context.topics, published, present))
      if (payload === "" && present === undefined)
        keepLeftover(kept, published.info.id, topic, { code, owed: null });
      else if (payload === "") markUnknown(kept, code, topic);
  }
  for (const set of [kept.published, kept.again, kept.anew]) set.clear();
  for (const { info } of context.view.controllers()) kept.due.add(info.code);
  for (const topic of kept.documents.keys()) kept.dueDocuments.add(topic);
  for (const id of kept.leftovers.keys()) sweepUnder(kept, id, "ended");
}

/** The next link publishes everything that is wanted; to be remembered is what was to be emptied. */
function unlinked({ kept, outcomes }: Turn): void {
  kept.link = "down";
  for (const { topic, payload, code } of kept.newest.values())
    if (code !== null && payload === "") markUnknown(kept, code, topic);
  for (const [topic, { code }] of kept.failed) if (code !== null) markUnknown(kept, code, topic);
  for (const topic of kept.announcements.keys()) outcomes.push({ topic, outcome: "link lost" });
  for (const set of [kept.newest, kept.failed, kept.announcements, kept.greetings]) set.clear();
  kept.linkedAt = kept.number;
  kept.onTheirWay = 0;
}

function changed(
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
    keepLeftover(kept, id, topic, { code, owed: null });
    forget(kept, topic);
  }
}

function ended(turn: Turn, { publish, error, now }: InputOf<"ended">): void {
  const { kept, outcomes } = turn;
  const { topic, payload, sort, code, number } = publish;
  if (number <= kept.linkedAt) return;
  kept.onTheirWay -= 1;
  // What was published there since is answered later, and counts instead.
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
  if (sort === "leftover") leftoverTaken(turn, publish);
}

/** The broker would answer the same at once. */
const isFinal = (error: PublishErrorKind): boolean => error === "refused" || error === "invalid";

/** After the so manieth failure. */
export function retryMs(error: PublishErrorKind, attempts: number): number {
  const doubled = 2 ** Math.min(attempts - 1, 10);
  return isFinal(error) ? Math.min(10_000 * doubled, 600_000) : Math.min(1_000 * doubled, 60_000);
}

function leftoverTaken({ kept, context }: Turn, { topic, payload }: Publish): void {
  const id = placeOf(context.topics.base, topic)?.controllerId ?? "";
  const leftover = kept.leftovers.get(id)?.get(topic);
  if (leftover === undefined) return;
  if (payload !== "") {
    if (leftover.owed === payload) keepLeftover(kept, id, topic, { ...leftover, owed: null });
    return;
  }
  if (leftover.code === null) kept.cleared += 1;
  dropLeftover(kept, id, topic);
}

function woke({ kept, context }: Turn, now: number): void {
  for (const [topic, failed] of kept.failed) {
    if (failed.at === null || failed.at > now) continue;
    kept.failed.set(topic, { ...failed, at: null });
    if (failed.sort === "document") kept.dueDocuments.add(topic);
    if (failed.sort === "leftover")
      sweepUnder(kept, placeOf(context.topics.base, topic)?.controllerId ?? "", "ended");
    if (failed.code === null) continue;
    markUnknown(kept, failed.code, topic);
    kept.due.add(failed.code);
  }
}

function found({ kept, context }: Turn, topic: string, payload: string): void {
  const place = placeOf(context.topics.base, topic);
  if (payload === "" || place === null || isWanted(kept, context, topic, place)) return;
  if (kept.leftovers.get(place.controllerId)?.has(topic) || kept.found >= mostFound) return;
  kept.found += 1;
  const code = place.leaf === "info" ? codeIn(payload) : null;
  if (code !== null && context.view.get(code) !== undefined) kept.formerIds.add(place.controllerId);
  const stale = staleForm(place, payload);
  const owed = stale === payload ? null : stale;
  keepLeftover(kept, place.controllerId, topic, { code: null, owed });
  if (owed !== null) sweepUnder(kept, place.controllerId, "ended");
}
