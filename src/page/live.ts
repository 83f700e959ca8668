import { computed, effect, type ReadonlySignal, signal, type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { language } from "./words.js";
import type { Alarms, ApiError, BridgeFacts, JournalPage, LiveMessage, Session } from "./protocol.js";

/* What the page knows, and since when. Everything shown comes from here, and the bridge has stated all of it. */

/** After this time without a message from the bridge, shown values may be outdated. */
const patienceMs = 15_000;

/** The account of a fleet in a fragment. */
export const accountIn = (hash: string): string | null =>
  /^#\/account\/([a-z0-9_-]+)(?:\/|$)/.exec(hash)?.[1] ?? null;

/**
 * The present account. For another one the page is loaded anew, so that no data appears under another account's name.
 */
export const account = accountIn(typeof location === "undefined" ? "" : location.hash);

const ofAccount = account === null ? "" : `account/${account}/`;

/** The link to a view of this bridge. */
export const link = (path: string): string => `#/${ofAccount}${path}`;

/** A fragment without its account. */
export const viewIn = (hash: string): string => hash.replace(/^#\//, "").replace(ofAccount, "");

/** Requests that do not belong to an account. */
const ofPage: ReadonlySet<string> = new Set(["api/login", "api/logout", "api/first_operator"]);

/** The API's address: beside the page, whatever path a proxy gave it. A fragment would break the WebSocket. */
export function address(path: string): URL {
  const own =
    account === null || ofPage.has(path) ? path : path.replace(/^api\//, `api/accounts/${account}/`);
  const url = new URL(own, document.baseURI);
  url.hash = "";
  return url;
}

export interface Answer<T = unknown> {
  readonly status: number;
  /** Null without a body, or without an answer. */
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

/** The fields that are not empty. */
export const withoutEmpty = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));

/** Marks requests that the page makes by itself, which do not prolong a login. */
const unattended = { headers: { "x-unattended": "1" } };

export const get = <T>(path: string, isUnattended = false): Promise<Answer<T>> =>
  ask<T>(path, isUnattended ? unattended : {});

export const post = <T>(path: string, body: object): Promise<Answer<T>> =>
  ask<T>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** A request as at `bridge/request`; the answer is in the language of the page. */
export const request = <T>(name: string, fields: object): Promise<Answer<T>> =>
  post<T>(`api/requests/${name}`, { ...fields, language: language.value });

/** The API's answer, requested anew at intervals; null before the first. */
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

/** Null while it is unknown whether this browser is logged in. */
export const session: Signal<Session | null> = signal(null);
export const isOperator = computed(() => ["operator", "admin"].includes(session.value?.role ?? ""));

/** Whether the first operator has opened the page to phones, and is shown its address. */
export const isOpening = signal(false);

/** Whether the list of a fleet's accounts is shown. */
export const isFleet = computed(() => session.value?.fleet === true && account === null);

/** The bridge's time, as the browser's may be wrong. */
export const now = signal(Date.now());
let offsetMs = 0;
const heardAt = signal(performance.now());
const clock = signal(performance.now());

/** Since when the bridge is silent, in its own time; null while it is heard. */
export const silentSince: ReadonlySignal<number | null> = computed(() => {
  const silentMs = clock.value - heardAt.value;
  return silentMs > patienceMs ? now.value - silentMs : null;
});

/**
 * Key for the time when the bridge was last heard, in the browser's time. Nothing else of it is stored here; it is for
 * a page that opens without reaching the bridge.
 */
const seenKey = () => `greenhouse2mqtt-seen ${new URL("./", document.baseURI).pathname}${account ?? ""}`;
const seenEveryMs = 15_000;
let notedAt = 0;
/** Set if nothing was heard since the page opened; `since` is when the bridge was heard before, null if unknown. */
export const notReached: Signal<{ readonly since: number | null } | null> = signal(null);

function noteSeen(): void {
  notReached.value = null;
  if (Date.now() - notedAt < seenEveryMs) return;
  notedAt = Date.now();
  localStorage.setItem(seenKey(), String(notedAt));
}

const views = new Map<string, Signal<unknown>>();

/** The content of a view; null before its first snapshot. */
export function view<T>(name: string): ReadonlySignal<T | null> {
  const held = views.get(name) ?? signal<unknown>(null);
  views.set(name, held);
  return held as ReadonlySignal<T | null>;
}

/** Views that do not exist. */
export const missing = signal<ReadonlySet<string>>(new Set());

/** Why nothing can be shown although the bridge answers: a proxy drops something. */
export const notLive: Signal<Partial<ApiError> | null> = signal(null);

export const bridge = view<BridgeFacts>("bridge");
export const alarms = view<Alarms>("alarms");

/** When the present run of the bridge began, if this page has seen an earlier one; for some minutes. */
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

/** Whether the account does not exist, or is hidden from this visitor. */
export const isAccountMissing = signal(false);

/** Shows these views, besides those that every page needs. */
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

/** Applies a merge patch (RFC 7396); unchanged parts stay the same objects. */
export function patchWith(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) result.delete(key);
    else result.set(key, patchWith(result.get(key), value));
  return Object.fromEntries(result);
}

/** The close code for the oldest page of a user with too many open. */
const pushedOut = 4409;
const pushedOutMs = 60_000;

function tick(socket: WebSocket | null): void {
  clock.value = performance.now();
  now.value = Date.now() + offsetMs;
  // A connection that broke silently looks open for minutes.
  if (clock.value - heardAt.value > patienceMs && socket?.readyState === WebSocket.OPEN) socket.close();
}

/** Keeps a connection while the page is open, once this browser is logged in. */
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
 * Asks why an upgrade was refused, as browsers do not tell. The same request without an upgrade gets an answer in
 * words; as a POST it has the origin that the upgrade had.
 */
async function askWhy(): Promise<void> {
  const { status, body } = await post<ApiError>("api/live", {});
  notLive.value = status === 403 || status === 426 ? body : null;
}

/** Loads the session. Returns whether views can be shown now, later, or only after somebody acts. */
async function letIn(isUnattended: boolean): Promise<"look" | "retry" | "stay"> {
  const { status, body } = await get<Session>("api/session", isUnattended);
  isAccountMissing.value = status === 404;
  // A proxy may answer instead of the bridge.
  if (session.peek() === null && (status === 0 || (status >= 502 && status <= 504))) {
    const seen = Number(localStorage.getItem(seenKey()));
    notReached.value = { since: seen > 0 ? seen : null };
  } else notReached.value = null;
  if (status === 401 || status === 404) return "stay";
  if (status !== 200 || body === null) return "retry";
  session.value = body;
  if ((body.account?.state ?? "running") === "running") return body.role === null ? "stay" : "look";
  // An account that does not run has no views; that was heard just now.
  heardAt.value = performance.now();
  for (const held of views.values()) held.value = null;
  return "retry";
}

/** Call it after a login. */
export let onLogin = (): void => undefined;

/** A random id, also on plain HTTP pages, which have no `randomUUID`. */
export const newId = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
