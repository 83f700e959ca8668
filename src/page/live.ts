import { computed, effect, type ReadonlySignal, signal, type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { language } from "./words.js";
import type { Alarms, ApiError, BridgeFacts, JournalPage, LiveMessage, Session } from "./protocol.js";

/*
 * What the page knows, and since when. Everything shown comes from here; nothing is shown that the bridge has not said.
 */

/** Longer than this without a word from the bridge, and what is shown may be over. */
const patienceMs = 15_000;

/** The account of a fleet that a fragment leads to. */
export const accountIn = (hash: string): string | null =>
  /^#\/account\/([a-z0-9_-]+)(?:\/|$)/.exec(hash)?.[1] ?? null;

/** The one that is looked at. Nothing of one is ever shown under the name of another: for another the page is loaded anew. */
export const account = accountIn(typeof location === "undefined" ? "" : location.hash);

const ofAccount = account === null ? "" : `account/${account}/`;

/** Where a view of this bridge is. */
export const link = (path: string): string => `#/${ofAccount}${path}`;

/** A fragment without the account. */
export const viewIn = (hash: string): string => hash.replace(/^#\//, "").replace(ofAccount, "");

/** What is not asked of an account. */
const ofPage: ReadonlySet<string> = new Set(["api/login", "api/logout", "api/first_operator"]);

/** Where the API is: beside the page, whatever path a proxy gave it. A fragment would break the WebSocket. */
export function address(path: string): URL {
  const own =
    account === null || ofPage.has(path) ? path : path.replace(/^api\//, `api/accounts/${account}/`);
  const url = new URL(own, document.baseURI);
  url.hash = "";
  return url;
}

export interface Answer<T = unknown> {
  readonly status: number;
  /** Null where there is none, or no answer at all. */
  readonly body: (T & Partial<ApiError>) | null;
}

async function ask<T>(path: string, init: RequestInit): Promise<Answer<T>> {
  try {
    const { headers } = init;
    const answer = await fetch(address(path), {
      ...init,
      headers: { ...(headers as Record<string, string>), "accept-language": language.value },
    });
    const text = await answer.text();
    const body = text === "" ? null : (JSON.parse(text) as T & Partial<ApiError>);
    if (answer.status === 401 && body?.error === "login_required")
      session.value = { user: null, role: null, via: null, login: true };
    return { status: answer.status, body };
  } catch {
    return { status: 0, body: null };
  }
}

/** Without what was left empty. */
export const withoutEmpty = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));

/** What the page asks by itself keeps no login alive. */
const unattended = { headers: { "x-unattended": "1" } };

export const get = <T>(path: string, isUnattended = false): Promise<Answer<T>> =>
  ask<T>(path, isUnattended ? unattended : {});

export const post = <T>(path: string, body: object): Promise<Answer<T>> =>
  ask<T>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** What is asked for as at `bridge/request`; the answer is in the language of the page. */
export const request = <T>(name: string, fields: object): Promise<Answer<T>> =>
  post<T>(`api/requests/${name}`, { ...fields, language: language.value });

/** What the API answers, asked anew every so often; null before the first answer. */
export function useAnswer<T>(path: string, everyMs: number): ReadonlySignal<T | null> {
  const answer = useSignal<T | null>(null);
  useEffect(() => {
    const load = async (isUnattended = false) => {
      const { status, body } = await get<T>(path, isUnattended);
      if (status === 200) answer.value = body;
    };
    void load();
    const timer = setInterval(() => void load(true), everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  return answer;
}

/** Null while it is not known whether this browser is let in. */
export const session: Signal<Session | null> = signal(null);
export const isOperator = computed(() => ["operator", "admin"].includes(session.value?.role ?? ""));

/** The first operator has opened the page to phones, and is shown where they find it. */
export const isOpening = signal(false);

/** The accounts of a fleet are looked at, and none of them. */
export const isFleet = computed(() => session.value?.fleet === true && account === null);

/** By the bridge's clock, as the browser's may be wrong. */
export const now = signal(Date.now());
let offsetMs = 0;
const heardAt = signal(performance.now());
const clock = signal(performance.now());

/** Since when the bridge is silent, by its own clock; null while it is heard. */
export const silentSince: ReadonlySignal<number | null> = computed(() => {
  const silentMs = clock.value - heardAt.value;
  return silentMs > patienceMs ? now.value - silentMs : null;
});

/**
 * When the bridge was heard last, by the browser's clock: all that is kept of it in this browser, for a page that opens where the
 * bridge is not reached.
 */
const seenKey = () => `greenhouse2mqtt-seen ${new URL("./", document.baseURI).pathname}${account ?? ""}`;
const seenEveryMs = 15_000;
let notedAt = 0;
/** Nothing was heard since this page was opened: when it was heard before, or that nobody knows. */
export const notReached: Signal<{ readonly since: number | null } | null> = signal(null);

function noteSeen(): void {
  notReached.value = null;
  if (Date.now() - notedAt < seenEveryMs) return;
  notedAt = Date.now();
  localStorage.setItem(seenKey(), String(notedAt));
}

const views = new Map<string, Signal<unknown>>();

/** What a view shows; null before its first snapshot. */
export function view<T>(name: string): ReadonlySignal<T | null> {
  const held = views.get(name) ?? signal<unknown>(null);
  views.set(name, held);
  return held as ReadonlySignal<T | null>;
}

/** Views that are not there. */
export const missing = signal<ReadonlySet<string>>(new Set());

/** Why nothing can be looked at although the bridge answers: a proxy on the way leaves something out. */
export const notLive: Signal<Partial<ApiError> | null> = signal(null);

export const bridge = view<BridgeFacts>("bridge");
export const alarms = view<Alarms>("alarms");

/** When the bridge that is shown began, where this page has seen an earlier one; for some minutes. */
export const restartedAt: ReadonlySignal<number | null> = computed(() => {
  const began = Date.parse(bridge.value?.started_at ?? "");
  return firstStart !== null && began > firstStart && now.value - began < newsMs ? began : null;
});
const newsMs = 300_000;
let firstStart: number | null = null;
effect(() => {
  if (bridge.value) firstStart ??= Date.parse(bridge.value.started_at);
});

const always = ["bridge", "alarms"];
const viewsShown = signal<readonly string[]>([]);

/** There is no account of this name, or none that this visitor sees. */
export const isAccountMissing = signal(false);

/** Looks at these views, besides the ones that every page needs. */
export function look(...names: readonly string[]): void {
  if (names.join(" ") !== viewsShown.peek().join(" ")) viewsShown.value = names;
}

const mostKept = 1_000;

function onMessage({ view: name, kind, data }: LiveMessage): void {
  heardAt.value = performance.now();
  noteSeen();
  if (isObject(data) && typeof data["at"] === "string") offsetMs = Date.parse(data["at"]) - Date.now();
  if (name === null || kind === "alive") return;
  const held = views.get(name);
  if (kind === "error") {
    missing.value = new Set([...missing.value, name]);
    if (held) held.value = null;
  } else if (held === undefined) return;
  else if (kind === "snapshot") held.value = data;
  else if (held.value === null) return;
  else if (kind === "patch") held.value = patchWith(held.value, data);
  else {
    const { records, next } = held.value as JournalPage<unknown>;
    held.value = { records: [...(data as unknown[]).toReversed(), ...records].slice(0, mostKept), next };
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** RFC 7396; what did not change stays the same object. */
export function patchWith(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) result.delete(key);
    else result.set(key, patchWith(result.get(key), value));
  return Object.fromEntries(result);
}

/** The code with which the bridge closes the oldest page of a user who has too many open. */
const pushedOut = 4409;
const pushedOutMs = 60_000;

function tick(socket: WebSocket | null): void {
  clock.value = performance.now();
  now.value = Date.now() + offsetMs;
  // A line that broke without a word looks open for minutes.
  if (clock.value - heardAt.value > patienceMs && socket?.readyState === WebSocket.OPEN) socket.close();
}

/** Keeps a connection for as long as the page is open, once this browser is let in. */
export function connect(): void {
  let socket: WebSocket | null = null;
  let tries = 0;
  let wasOpen = false;
  const subscribe = () => {
    const names = isFleet.value ? ["accounts"] : [...always, ...viewsShown.value];
    const spoken = language.value;
    for (const name of names) view(name);
    if (socket?.readyState === WebSocket.OPEN)
      socket.send(JSON.stringify({ subscribe: names, language: spoken }));
  };
  const open = () => {
    const url = address("api/live");
    url.protocol = url.protocol.replace("http", "ws");
    socket = new WebSocket(url);
    wasOpen = false;
    socket.onopen = () => {
      tries = 0;
      wasOpen = true;
      notLive.value = null;
      subscribe();
    };
    socket.onmessage = ({ data }) => onMessage(JSON.parse(String(data)) as LiveMessage);
    socket.onclose = ({ code }) => {
      if (!wasOpen) void askWhy();
      retry(code === pushedOut ? pushedOutMs : 0);
    };
  };
  const retry = (leastMs = 0) =>
    setTimeout(() => void enter(true), Math.max(leastMs, Math.min(4_000, 500 * 2 ** tries++)));
  const enter = async (isUnattended = false) => {
    const next = await letIn(isUnattended);
    if (next === "look") open();
    else if (next === "retry") retry();
  };
  onLogin = () => void enter();
  effect(subscribe);
  setInterval(() => tick(socket), 1_000);
  void enter();
}

/**
 * A browser tells nothing of an upgrade that was refused. The same without one is answered in words, and as it is a POST it says
 * where it comes from, as the upgrade did.
 */
async function askWhy(): Promise<void> {
  const { status, body } = await post<ApiError>("api/live", {});
  notLive.value = status === 403 || status === 426 ? body : null;
}

/** Who this browser is, and whether there is anything to look at now, later, or not before somebody does something. */
async function letIn(isUnattended: boolean): Promise<"look" | "retry" | "stay"> {
  const { status, body } = await get<Session>("api/session", isUnattended);
  isAccountMissing.value = status === 404;
  // A proxy may answer where the bridge does not.
  if (session.peek() === null && (status === 0 || (status >= 502 && status <= 504))) {
    const seen = Number(localStorage.getItem(seenKey()));
    notReached.value = { since: seen > 0 ? seen : null };
  } else notReached.value = null;
  if (status === 401 || status === 404) return "stay";
  if (status !== 200 || body === null) return "retry";
  session.value = body;
  if ((body.account?.state ?? "running") === "running") return body.role === null ? "stay" : "look";
  // An account that does not run has no views; that it does not was heard just now.
  heardAt.value = performance.now();
  for (const held of views.values()) held.value = null;
  return "retry";
}

/** To be called after a login. */
export let onLogin = (): void => undefined;

/** Random, also where the page came over plain HTTP and `randomUUID` is not there. */
export const newId = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
