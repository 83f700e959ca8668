import type { Controller } from "../greenhouse/model.js";
import { type Extent, isCode, isSettled } from "./leftovers.js";
import { controllerMessages, type Message, restrictionMessages, targetMessages } from "./projection.js";
import {
  type RetainedContext,
  dropLeftover,
  isWaiting,
  isWanted,
  publish,
  type Retained,
  type Shown,
  sweepUnder,
  type Turn,
} from "./retained-state.js";
import { type Place, placeOf } from "./topics.js";

/* What goes to the broker next: in which order, how much of it at once, and what it says by then. */

/** States on their way at once; more would only queue inside the client. */
export const mostStates = 512;
/** Documents are few, and each is owed to somebody who waits. */
const mostDocuments = 2_048;

/** Takes what is due, the most urgent first, until there is no room or nothing left. */
export function fill(turn: Turn): void {
  const { kept } = turn;
  if (kept.link === "greeting") while (kept.onTheirWay < mostStates && greetNext(turn));
  if (kept.link !== "up") return;
  announceNext(turn);
  while (kept.onTheirWay < mostDocuments && documentNext(turn));
  while (kept.onTheirWay < mostStates && (againNext(turn) || controllerNext(turn) || leftoverNext(turn)));
}

function greetNext(turn: Turn): boolean {
  const { kept, context } = turn;
  for (const code of kept.greetings) {
    kept.greetings.delete(code);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    for (const message of restrictionMessages(context.topics, undefined, controller))
      publish(turn, message, { sort: "state", code });
    return true;
  }
  return false;
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

function documentNext(turn: Turn): boolean {
  const { dueDocuments, documents } = turn.kept;
  for (const topic of dueDocuments) {
    dueDocuments.delete(topic);
    const document = documents.get(topic);
    if (document === undefined) continue;
    publish(turn, { topic, payload: document.payload }, { sort: "document", code: null, qos: document.qos });
    return true;
  }
  return false;
}

function againNext(turn: Turn): boolean {
  const { kept, context } = turn;
  for (const [key, { code, target, targetId }] of kept.again) {
    kept.again.delete(key);
    const controller = context.view.get(code);
    if (controller === undefined) continue;
    for (const message of targetMessages(context.topics, controller, target, targetId))
      publish(turn, message, { sort: "state", code });
    return true;
  }
  return false;
}

function controllerNext(turn: Turn): boolean {
  for (const code of turn.kept.due) {
    publishController(turn, code);
    return true;
  }
  return false;
}

/** `urgent` passes a gate that is closed for the whole controller, or for what it is about. */
export function publishController(
  turn: Turn,
  code: string,
  urgent?: { readonly about: Shown | undefined },
): void {
  const { kept, context } = turn;
  const { view, gate } = context;
  kept.due.delete(code);
  if (gate?.mayClear(code) === false) return;
  const present = view.get(code);
  if (present === undefined) {
    for (const id of kept.leftovers.keys()) sweepUnder(kept, id, "ended");
    return;
  }
  const before = kept.published.get(code);
  const passed = gate === null ? present : gate.visible(before, present);
  const after = urgent ? withShown(passed, present, urgent.about) : passed;
  if (after === null) return;
  kept.published.set(code, after);
  for (const message of messagesFor(turn, before, after, after === present))
    publish(turn, message, { sort: "state", code });
  if (kept.leftovers.has(after.info.id)) sweepUnder(kept, after.info.id, "ended");
}

/** What leads from one view to the next; beside it everything of the next once more, or what is not known to be there. */
function messagesFor(
  { kept, context: { topics } }: Turn,
  before: Controller | undefined,
  after: Controller,
  isAll: boolean,
): readonly Message[] {
  const { code } = after.info;
  const news = controllerMessages(topics, before, after);
  const isAnew = kept.anew.delete(code) && before !== undefined;
  const unknown = kept.unknown.get(code);
  if (!isAnew && unknown === undefined) return news;
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
  if (visible === null || visible === present) return present;
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
function leftoverNext(turn: Turn): boolean {
  const { kept, context } = turn;
  for (const [id, extent] of kept.sweeping) {
    kept.sweeping.delete(id);
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
    return true;
  }
  return false;
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
