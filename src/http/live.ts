import { languages } from "../language/known.js";
import { ignored } from "../runtime/failures.js";
import { isDeepStrictEqual } from "node:util";
import type { WebSocket } from "ws";
import { z } from "zod";
import { isoOrNull } from "../greenhouse/documents.js";
import { inEnglish, tellIn } from "../language/languages.js";
import { documentText, Sentence } from "../language/text.js";
import type { Tell } from "../language/words.js";
import { type Clock, Rest } from "../runtime/clock.js";
import type { Faults } from "./faults.js";
import type { LiveMessage, Role } from "../page/protocol.js";
import { may } from "./roles.js";

interface Place {
  /** The user or address under which viewers are counted. */
  readonly place: string;
  readonly role: Role | null;
}

interface Viewer {
  readonly socket: WebSocket;
  readonly of: Place;
  readonly isWelcome: () => boolean;
  /** The views that the viewer follows; false where it is owed a snapshot. */
  readonly views: Map<string, boolean>;
  /** The language of the sentences that the viewer gets. */
  language: string;
  /** For how many ticks the viewer has been behind. */
  stalledTicks: number;
  /** Whether a subscription was answered at once since the last tick. */
  isAnswered: boolean;
}

const tickMs = 250;
/** Views for which nobody waits are updated once in this many ticks, a second. */
const calmTicks = 4;
const lifeSignTicks = 16;
/** A viewer with more unread bytes than this is sent nothing until it reads again, then a snapshot. */
const mostBufferedBytes = 64 * 1024;
const mostStalledTicks = 240;
const mostViewers = 50;
/** Places that viewers leave to operators. */
const keptForOperators = 10;
/** Most viewers of one user or address; one more closes his oldest. */
const mostOfOne = 20;
/**
 * Close code for which the page reconnects later than after a lost connection. Otherwise one user's pages would push
 * each other out for ever.
 */
const pushedOut = 4409;
/** Most items in the snapshot of a list. */
const mostItems = 100;

const subscription = z.strictObject({
  subscribe: z.array(z.string()).max(20),
  /** The language of sentences; English when absent. */
  language: z.enum(languages).default("en"),
});
const wrong = { error: "bad_request", message: 'Send {"subscribe": [...]} with at most 20 views.' };

/**
 * Shows views to browsers: a snapshot first, then changes, at most four times a second. A reader that is too slow gets
 * nothing until it has caught up, then a new snapshot.
 */
export class LiveViews {
  readonly #clock: Clock;
  readonly #view: (name: string) => object | null;
  readonly #isCalm: (name: string) => boolean;
  /** The tick in which each view was last made. */
  readonly #lookedAt = new Map<string, number>();
  readonly #faults: Faults;
  /** Pauses the work while there are no viewers. */
  readonly #someone: Rest;
  readonly #viewers = new Set<Viewer>();
  /** What all viewers that are up to date have of each view, so that one patch fits all. */
  readonly #shown = new Map<string, object | null>();
  readonly #tells = new Map<string, Tell>([["en", inEnglish]]);
  #ticks = 0;

  /**
   * `view` returns a document, or a list that only grows, newest first; null for an unknown name. `isCalm`: whether
   * nobody waits for changes of a view.
   */
  constructor(
    clock: Clock,
    view: (name: string) => object | null,
    faults: Faults,
    isCalm: (name: string) => boolean = () => false,
  ) {
    this.#clock = clock;
    this.#isCalm = isCalm;
    this.#faults = faults;
    this.#someone = new Rest(clock);
    this.#view = view;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#viewers.size === 0) await this.#someone.for(Infinity, signal);
      await this.#clock.wait(tickMs, signal).catch(ignored);
      this.#faults.attempt(() => this.#tick());
    }
    for (const { socket } of this.#viewers) socket.close(1001);
  }

  /** Whether no place is free and this user or address has no older viewer to give up for it. */
  isFullFor(place: string, role: Role | null): boolean {
    return this.#isFull(role) && this.#ownOf(place).length === 0;
  }

  #isFull(role: Role | null): boolean {
    const others = [...this.#viewers].filter(({ of }) => !may(of.role, "operator")).length;
    const isKept = !may(role, "operator") && others >= mostViewers - keptForOperators;
    return isKept || this.#viewers.size >= mostViewers;
  }

  /** Oldest first. */
  #ownOf(place: string): readonly Viewer[] {
    return [...this.#viewers].filter(({ of }) => of.place === place);
  }

  /**
   * Adds a socket that was let in. `isWelcome` is checked every few seconds; once it is false, the socket is closed.
   */
  add(socket: WebSocket, of: Place, isWelcome: () => boolean): void {
    const own = this.#ownOf(of.place);
    const [oldest] = own.length >= mostOfOne || this.#isFull(of.role) ? own : [];
    if (oldest !== undefined) {
      this.#viewers.delete(oldest);
      oldest.socket.close(pushedOut, "a newer page of the same user took this one's place");
    }
    const views = new Map<string, boolean>();
    const viewer = { socket, of, isWelcome, views, language: "en", stalledTicks: 0, isAnswered: false };
    this.#viewers.add(viewer);
    this.#someone.wake();
    socket.on("message", (data, isBinary) => {
      this.#faults.attempt(() => this.#onMessage(viewer, isBinary ? "" : (data as Buffer).toString()));
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => this.#viewers.delete(viewer));
  }

  /** Closes the sockets of viewers that are no longer let in. */
  review(): void {
    for (const { socket, isWelcome } of this.#viewers) if (!isWelcome()) socket.close(4401, "log in again");
  }

  #tick(): void {
    const looked = new Set([...this.#viewers].flatMap(({ views }) => [...views.keys()]));
    for (const name of this.#shown.keys())
      if (!looked.has(name)) {
        this.#shown.delete(name);
        this.#lookedAt.delete(name);
      }
    // A view that fails must not keep viewers from the others.
    for (const name of looked) if (this.#isDue(name)) this.#faults.attempt(() => this.#tellNews(name));
    for (const viewer of this.#viewers) {
      this.#faults.attempt(() => this.#pay(viewer));
      viewer.isAnswered = false;
      viewer.stalledTicks = isBehind(viewer.socket) ? viewer.stalledTicks + 1 : 0;
      // A viewer that never catches up is disconnected.
      if (viewer.stalledTicks > mostStalledTicks) viewer.socket.terminate();
    }
    this.#ticks += 1;
    if (this.#ticks % lifeSignTicks === 0) {
      this.review();
      const data = { at: isoOrNull(this.#clock.now()) };
      for (const { socket } of this.#viewers) say(socket, { view: null, kind: "alive", data });
    }
  }

  #onMessage(viewer: Viewer, text: string): void {
    const { socket, views } = viewer;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      socket.close(1008, "no JSON");
      return;
    }
    const wanted = subscription.safeParse(message);
    if (!wanted.success) {
      say(socket, { view: null, kind: "error", data: wrong });
      return;
    }
    views.clear();
    for (const name of wanted.data.subscribe) views.set(name, false);
    viewer.language = wanted.data.language;
    this.#learn(viewer.language);
    // A viewer that subscribes again within a tick is answered at the next tick, no faster than others get changes.
    if (!viewer.isAnswered) this.#pay(viewer);
    viewer.isAnswered = true;
  }

  /** Loads a language; messages in it wait until its words are there. */
  #learn(language: string): void {
    if (!this.#tells.has(language))
      tellIn(language)
        .then((tell) => this.#tells.set(language, tell))
        .catch((error: unknown) => this.#faults.note(error));
  }

  #isDue(name: string): boolean {
    const ticks = this.#ticks - (this.#lookedAt.get(name) ?? -Infinity);
    if (ticks < calmTicks && this.#isCalm(name)) return false;
    this.#lookedAt.set(name, this.#ticks);
    return true;
  }

  /** Sends what changed in a view to its viewers; one that cannot take it is owed a snapshot. */
  #tellNews(name: string): void {
    const before = this.#shown.get(name);
    const after = this.#view(name);
    this.#shown.set(name, after);
    const news = before === undefined ? null : newsOf(name, before, after);
    if (news === null) return;
    const texts = new Map<string, string>();
    for (const { socket, views, language } of this.#viewers) {
      if (views.get(name) !== true) continue;
      const text = texts.get(language) ?? this.#textOf(news, language);
      if (text !== null) texts.set(language, text);
      if (text === null || isBehind(socket)) views.set(name, false);
      else socket.send(text);
    }
  }

  /** Sends the snapshots that are owed, as far as the viewer takes them. */
  #pay({ socket, views, language }: Viewer): void {
    if (!this.#tells.has(language)) return;
    for (const [name, isPaid] of views) {
      if (isPaid || isBehind(socket)) continue;
      const shown = this.#shown.get(name) ?? this.#view(name);
      this.#shown.set(name, shown);
      views.set(name, true);
      socket.send(this.#textOf(allOf(name, shown), language) ?? "");
    }
  }

  /** Null until the words of the language are loaded. */
  #textOf(message: LiveMessage, language: string): string | null {
    const tell = this.#tells.get(language);
    if (tell === undefined) return null;
    return tell === inEnglish ? JSON.stringify(message) : documentText(message, tell);
  }
}

const isBehind = ({ bufferedAmount }: WebSocket) => bufferedAmount > mostBufferedBytes;

function say(socket: WebSocket, message: LiveMessage): void {
  if (!isBehind(socket)) socket.send(JSON.stringify(message));
}

function allOf(name: string, shown: object | null): LiveMessage {
  const view = name.slice(0, 100);
  const message = `There is no view "${view}".`;
  if (shown === null) return { view, kind: "error", data: { error: "not_found", message } };
  if (!isList(shown)) return { view, kind: "snapshot", data: shown };
  const records = shown.slice(0, mostItems);
  return { view, kind: "snapshot", data: { records, next: records.at(-1)?.seq ?? null } };
}

/** The message about a change: new items of a list, or a patch of a document; null where nothing is new. */
function newsOf(view: string, before: object | null, after: object | null): LiveMessage | null {
  if (before === after) return null;
  if (before === null || after === null) return allOf(view, after);
  if (isList(before) && isList(after)) {
    const known = after.findIndex((item) => item === before[0]);
    const data = after.slice(0, known < 0 ? undefined : known).toReversed();
    return data.length === 0 ? null : { view, kind: "append", data };
  }
  const data = mergePatch(before, after);
  // A new time alone is no news.
  const isNews = isObject(data) && Object.keys(data).some((key) => key !== "at");
  return isNews ? { view, kind: "patch", data } : null;
}

const isList = (shown: object): shown is readonly { readonly at: string; readonly seq?: number }[] =>
  Array.isArray(shown);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Sentence);

/**
 * The RFC 7396 merge patch from `before` to `after`, with null and absent treated alike; undefined where nothing
 * differs.
 */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (before === after) return undefined;
  if (!isObject(before) || !isObject(after)) return isDeepStrictEqual(before, after) ? undefined : after;
  // Keys are ids, and an id may be the name of an inherited property, such as `constructor`.
  const own = (of: typeof before, key: string) => (Object.hasOwn(of, key) ? (of[key] ?? null) : null);
  const changes: (readonly [key: string, change: unknown])[] = [];
  const compare = (key: string) => {
    const change = mergePatch(own(before, key), own(after, key));
    if (change !== undefined) changes.push([key, change]);
  };
  // Hundreds of rows are compared four times a second, most of them equal, so no list of keys is built.
  for (const key of Object.keys(after)) if (before[key] !== after[key]) compare(key);
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) compare(key);
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}
