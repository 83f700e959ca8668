import { isDeepStrictEqual } from "node:util";
import type { WebSocket } from "ws";
import { z } from "zod";
import { isoOrNull } from "../greenhouse/documents.js";
import type { Clock } from "../runtime/clock.js";
import { every } from "../runtime/schedule.js";
import type { LiveMessage } from "../page/protocol.js";

interface Viewer {
  readonly socket: WebSocket;
  /** A session, a user or an address. */
  readonly who: string;
  readonly isWelcome: () => boolean;
  /** What each view showed last; undefined where a snapshot is owed. */
  readonly shown: Map<string, object | null | undefined>;
  stalledAt: number | null;
  /** When a subscription was answered at once. */
  answeredAt: number;
}

const tickMs = 250;
const lookMs = 1_000;
const lifeSignMs = 4_000;
/** What a reader has not taken by then is not added to: it gets a snapshot once it reads again. */
const mostBufferedBytes = 64 * 1024;
const longestStalledMs = 60_000;
const mostViewers = 50;
/** Of one session, user or address: one that opens more keeps nobody else out. */
const mostOfOne = 20;

const subscription = z.strictObject({ subscribe: z.array(z.string()).max(20) });
const wrong = { error: "bad_request", message: 'Send {"subscribe": [...]} with at most 20 views.' };

/**
 * Shows views to browsers: a snapshot first, then what changed, at most four times a second. Who reads too slowly is sent
 * nothing until he has caught up, and then all of it anew.
 */
export class LiveViews {
  readonly #clock: Clock;
  readonly #view: (name: string) => object | null;
  readonly #viewers = new Set<Viewer>();
  /** As they are until something changes: all who look at a view are shown the same, so that one patch fits all. */
  readonly #documents = new Map<string, object>();
  readonly #patches = new Map<string, { readonly before: object; after: object; text: string | null }>();
  #end: AbortController | null = null;
  #lookedAt = 0;
  #saidAt = 0;

  /** `view` gives what a view shows, as the GET answers; null for no such thing. */
  constructor(clock: Clock, view: (name: string) => object | null) {
    this.#clock = clock;
    this.#view = view;
  }

  isFullFor(who: string): boolean {
    const own = [...this.#viewers].filter((viewer) => viewer.who === who).length;
    return own >= mostOfOne || this.#viewers.size >= mostViewers;
  }

  /** Takes a socket that was let in; `isWelcome` is asked every few seconds, and ends it where it no longer holds. */
  add(socket: WebSocket, who: string, isWelcome: () => boolean): void {
    const times = { stalledAt: null, answeredAt: -Infinity };
    const viewer: Viewer = { socket, who, isWelcome, shown: new Map(), ...times };
    this.#viewers.add(viewer);
    socket.on("message", (data, isBinary) =>
      this.#received(viewer, isBinary ? "" : (data as Buffer).toString()),
    );
    socket.on("error", () => socket.terminate());
    socket.on("close", () => this.#viewers.delete(viewer));
    if (this.#end === null) this.#run();
  }

  /** Something may show otherwise now. */
  touch(): void {
    this.#documents.clear();
  }

  close(): void {
    this.#end?.abort();
    for (const { socket } of this.#viewers) socket.close(1001);
  }

  /** Only while somebody is there: an idle bridge does nothing for a page that nobody has open. */
  #run(): void {
    const end = new AbortController();
    this.#end = end;
    void every(tickMs, this.#clock, end.signal, () => {
      const now = this.#clock.monotonic();
      // No part tells of everything by itself.
      if (now - this.#lookedAt >= lookMs) {
        this.#lookedAt = now;
        this.touch();
      }
      for (const viewer of this.#viewers) this.#show(viewer);
      if (now - this.#saidAt >= lifeSignMs) {
        this.#saidAt = now;
        for (const viewer of this.#viewers) this.#greet(viewer);
      }
      if (this.#viewers.size > 0) return;
      end.abort();
      this.#end = null;
      this.#patches.clear();
    });
  }

  #greet({ socket, isWelcome }: Viewer): void {
    if (!isWelcome()) socket.close(4401, "log in again");
    else say(socket, { view: null, kind: "alive", data: { at: isoOrNull(this.#clock.now()) } });
  }

  #received(viewer: Viewer, text: string): void {
    const { socket, shown } = viewer;
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
    shown.clear();
    for (const name of wanted.data.subscribe) shown.set(name, undefined);
    // Who asks again and again is answered with the next tick, and no more often than others are told what is new.
    if (this.#clock.monotonic() - viewer.answeredAt < tickMs) return;
    viewer.answeredAt = this.#clock.monotonic();
    this.#show(viewer);
  }

  /** Who cannot take what is new is owed all of it; who never catches up is let go. */
  #show(viewer: Viewer): void {
    const { socket, shown } = viewer;
    const now = this.#clock.monotonic();
    if (!isBehind(socket)) viewer.stalledAt = null;
    else if (now - (viewer.stalledAt ??= now) > longestStalledMs) socket.terminate();
    for (const [name, before] of shown) {
      if (before === undefined && isBehind(socket)) continue;
      const after = this.#documentOf(name);
      const news = this.#news(name, before, after);
      const isMissed = news !== null && isBehind(socket);
      shown.set(name, isMissed ? undefined : after);
      if (news !== null && !isMissed) socket.send(news);
    }
  }

  #documentOf(name: string): object | null {
    const document = this.#documents.get(name) ?? this.#view(name);
    if (document !== null) this.#documents.set(name, document);
    return document;
  }

  #news(name: string, before: object | null | undefined, after: object | null): string | null {
    if (before === after) return null;
    const view = name.slice(0, 100);
    if (after === null) return JSON.stringify(unknownView(view));
    if (!before) return JSON.stringify({ view, kind: "snapshot", data: after } satisfies LiveMessage);
    const held = this.#patches.get(name);
    if (held?.before === before && held.after === after) return held.text;
    const message = messageOf(view, before, after);
    const text = message && JSON.stringify(message);
    this.#patches.set(name, { before, after, text });
    return text;
  }
}

const isBehind = ({ bufferedAmount }: WebSocket) => bufferedAmount > mostBufferedBytes;

function say(socket: WebSocket, message: LiveMessage): void {
  if (!isBehind(socket)) socket.send(JSON.stringify(message));
}

const unknownView = (view: string): LiveMessage => ({
  ...{ view, kind: "error", data: { error: "not_found", message: `There is no view "${view}".` } },
});

/** Lists are added to, documents patched; null where nothing is new. */
function messageOf(view: string, before: object, after: object): LiveMessage | null {
  if (isList(before) && isList(after)) {
    const [old, now] = [before.records, after.records];
    const known = now.findIndex((_, at) => isDeepStrictEqual(now.slice(at), old.slice(0, now.length - at)));
    const data = now.slice(0, known < 0 ? undefined : known).toReversed();
    return data.length === 0 ? null : { view, kind: "append", data };
  }
  const data = mergePatch(before, after);
  // That time went on is no news.
  const isNews = isObject(data) && Object.keys(data).some((key) => key !== "at");
  return isNews ? { view, kind: "patch", data } : null;
}

const isList = (document: object): document is { readonly records: readonly unknown[] } =>
  "records" in document && Array.isArray(document.records);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What takes `before` to `after` as an RFC 7396 merge patch, in which null and absent are one; undefined for nothing. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (before === after) return undefined;
  if (!isObject(before) || !isObject(after)) return isDeepStrictEqual(before, after) ? undefined : after;
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = mergePatch(before[key] ?? null, after[key] ?? null);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
