import { isDeepStrictEqual } from "node:util";
import type { WebSocket } from "ws";
import { isoOrNull } from "../greenhouse/documents.js";
import type { Clock } from "../runtime/clock.js";
import { every } from "../runtime/schedule.js";
import type { LiveMessage } from "../page/protocol.js";

/** One thing a browser can look at. A document is patched; a list (journal, log) is appended to. */
export interface LiveView {
  /** As the GET answers; null while there is no such thing. */
  document(): object | null;
  readonly isList: boolean;
}

interface LiveParts {
  readonly clock: Clock;
  /** Null for a name that is no view. */
  readonly view: (name: string) => LiveView | null;
  /** Called every second while somebody looks. */
  readonly look: () => void;
}

interface Viewer {
  readonly socket: WebSocket;
  /** A session, a user or an address. */
  readonly who: string;
  readonly isWelcome: () => boolean;
  /** Of each view it is shown: `behind` is owed a snapshot. */
  readonly shown: Map<string, "current" | "behind">;
  stalledAt: number | null;
}

interface Feed {
  readonly view: LiveView;
  /** What was shown last; undefined before the first. */
  last: object | null | undefined;
  news: unknown[];
  isDirty: boolean;
}

const tickMs = 250;
const lookMs = 1_000;
const lifeSignMs = 4_000;
/** What a reader has not taken by then is not added to: it gets a snapshot once it reads again. */
const mostBufferedBytes = 64 * 1024;
const longestStalledMs = 60_000;
const mostViews = 20;
const mostViewers = 50;
/** Of one session, user or address: one that opens more keeps nobody else out. */
const mostOfOne = 20;

/**
 * Shows views to browsers: a snapshot first, then what changed, at most four times a second. What goes to all who look at
 * the same view is made once. Who reads too slowly is sent nothing until he has caught up, and then all of it anew.
 */
export class LiveViews {
  readonly #parts: LiveParts;
  readonly #viewers = new Set<Viewer>();
  readonly #feeds = new Map<string, Feed>();
  #end: AbortController | null = null;
  #saidAt = 0;
  #lookedAt = 0;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  isFullFor(who: string): boolean {
    const own = [...this.#viewers].filter((viewer) => viewer.who === who).length;
    return own >= mostOfOne || this.#viewers.size >= mostViewers;
  }

  /** Views that somebody looks at. */
  get watched(): Iterable<string> {
    return this.#feeds.keys();
  }

  /** Takes a socket that was let in; `isWelcome` is asked every few seconds, and ends it where it no longer holds. */
  add(socket: WebSocket, who: string, isWelcome: () => boolean): void {
    const viewer: Viewer = { socket, who, isWelcome, shown: new Map(), stalledAt: null };
    this.#viewers.add(viewer);
    socket.on("message", (data, isBinary) =>
      this.#received(viewer, isBinary ? "" : (data as Buffer).toString()),
    );
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      this.#viewers.delete(viewer);
      this.#forgetUnseen();
    });
    if (this.#end === null) this.#run();
  }

  /** Something of a view may show otherwise now; costs nothing where nobody looks. */
  touch(name: string): void {
    const feed = this.#feeds.get(name);
    if (feed) feed.isDirty = true;
  }

  /** Adds to a list; the item is not made where nobody looks. */
  append(name: string, item: () => unknown): void {
    const feed = this.#feeds.get(name);
    if (feed === undefined) return;
    feed.news.push(item());
    // More than a snapshot has is not worth keeping.
    if (feed.news.length > 100) feed.news.shift();
    feed.isDirty = true;
  }

  close(): void {
    this.#end?.abort();
    for (const { socket } of this.#viewers) socket.close(1001);
  }

  /** Only while somebody is there: an idle bridge does nothing for a page that nobody has open. */
  #run(): void {
    const end = new AbortController();
    this.#end = end;
    void every(tickMs, this.#parts.clock, end.signal, () => {
      if (this.#viewers.size === 0) {
        end.abort();
        this.#end = null;
        return;
      }
      for (const [name, feed] of this.#feeds) if (feed.isDirty) this.#show(name, feed);
      for (const viewer of this.#viewers) this.#tend(viewer);
      const now = this.#parts.clock.monotonic();
      if (now - this.#lookedAt >= lookMs) {
        this.#lookedAt = now;
        this.#parts.look();
      }
      if (now - this.#saidAt < lifeSignMs) return;
      this.#saidAt = now;
      for (const viewer of this.#viewers) this.#greet(viewer);
    });
  }

  #greet({ socket, isWelcome }: Viewer): void {
    if (!isWelcome()) socket.close(4401, "log in again");
    else if (socket.bufferedAmount <= mostBufferedBytes)
      send(socket, { view: null, kind: "alive", data: { at: isoOrNull(this.#parts.clock.now()) } });
  }

  /** Who has caught up gets what he missed; who never does is let go. */
  #tend(viewer: Viewer): void {
    const { socket, shown } = viewer;
    if (socket.bufferedAmount > mostBufferedBytes) {
      viewer.stalledAt ??= this.#parts.clock.monotonic();
      if (this.#parts.clock.monotonic() - viewer.stalledAt > longestStalledMs) socket.terminate();
      return;
    }
    viewer.stalledAt = null;
    for (const [name, state] of shown)
      if (state === "behind") {
        this.#snapshot(viewer, name);
        return;
      }
  }

  #received(viewer: Viewer, text: string): void {
    const { socket } = viewer;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      socket.close(1008, "no JSON");
      return;
    }
    const wanted = namesIn(message);
    if (wanted === null) {
      const data = { error: "bad_request", message: 'Send {"subscribe": [...]} with at most 20 views.' };
      if (socket.bufferedAmount <= mostBufferedBytes) send(socket, { view: null, kind: "error", data });
      return;
    }
    // Answers that are not read are not made: what is owed is a snapshot, once everything before it was taken.
    const isBehind = socket.bufferedAmount > mostBufferedBytes;
    viewer.shown.clear();
    for (const name of wanted) {
      const view = this.#feeds.get(name)?.view ?? this.#parts.view(name);
      if (view === null) {
        if (!isBehind) refuse(socket, name);
        continue;
      }
      if (!this.#feeds.has(name)) this.#feeds.set(name, { view, last: undefined, news: [], isDirty: false });
      viewer.shown.set(name, "behind");
      if (!isBehind) this.#snapshot(viewer, name);
    }
    this.#forgetUnseen();
  }

  #forgetUnseen(): void {
    for (const name of this.#feeds.keys())
      if (![...this.#viewers].some(({ shown }) => shown.has(name))) this.#feeds.delete(name);
  }

  /** What others are patched from is what a newcomer is shown, so that the next patch fits both. */
  #snapshot({ socket, shown }: Viewer, name: string): void {
    const feed = this.#feeds.get(name);
    if (feed === undefined) return;
    // What is in the snapshot is not to follow it once more.
    shown.set(name, "behind");
    if (feed.view.isList) this.#show(name, feed);
    shown.set(name, "current");
    if (feed.last === undefined || feed.view.isList) feed.last = feed.view.document();
    if (feed.last === null) refuse(socket, name);
    else send(socket, { view: name, kind: "snapshot", data: feed.last });
  }

  #show(name: string, feed: Feed): void {
    feed.isDirty = false;
    const message = feed.view.isList ? appended(name, feed) : patched(name, feed);
    if (message === null) return;
    const text = JSON.stringify(message);
    for (const { socket, shown } of this.#viewers) {
      if (!shown.has(name)) continue;
      if (socket.bufferedAmount > mostBufferedBytes) shown.set(name, "behind");
      else if (shown.get(name) === "current") socket.send(text);
    }
  }
}

function patched(name: string, feed: Feed): LiveMessage | null {
  const before = feed.last;
  // Nobody has been shown it yet; the first snapshot will be as new.
  if (before === undefined) return null;
  const after = feed.view.document();
  feed.last = after;
  if (after === null) return before === null ? null : { view: name, kind: "error", data: unknownView(name) };
  if (before === null) return { view: name, kind: "snapshot", data: after };
  const patch = mergePatch(before, after);
  // That time went on is no news.
  const isNews = patch !== undefined && Object.keys(patch as object).some((key) => key !== "at");
  return isNews ? { view: name, kind: "patch", data: patch } : null;
}

function appended(name: string, feed: Feed): LiveMessage | null {
  const news = feed.news;
  feed.news = [];
  return news.length === 0 ? null : { view: name, kind: "append", data: news };
}

const send = (socket: WebSocket, message: LiveMessage) => socket.send(JSON.stringify(message));

const unknownView = (name: string) => ({
  error: "not_found",
  message: `There is no view "${name.slice(0, 100)}".`,
});
const refuse = (socket: WebSocket, name: string) =>
  send(socket, { view: name.slice(0, 100), kind: "error", data: unknownView(name) });

function namesIn(message: unknown): readonly string[] | null {
  if (typeof message !== "object" || message === null || !("subscribe" in message)) return null;
  if (Object.keys(message).length > 1) return null;
  const { subscribe } = message;
  if (!Array.isArray(subscribe) || subscribe.length > mostViews) return null;
  const names = subscribe.filter((name) => typeof name === "string");
  return names.length === subscribe.length ? [...new Set(names)] : null;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What takes `before` to `after` as an RFC 7396 merge patch, in which null and absent are one; undefined for nothing. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (before === after) return undefined;
  if (!isObject(before) || !isObject(after)) return isDeepStrictEqual(before, after) ? undefined : after;
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key] ?? null, after[key] ?? null];
    const change = mergePatch(old, now);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
