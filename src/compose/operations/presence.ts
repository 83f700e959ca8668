/*
 * Who else works for the same account at this broker. Pure; instants are monotonic ms. Two kinds of evidence: messages of
 * another bridge on `bridge/self_test`, and, where both use one client id and throw each other out, the exchange of links.
 */

interface Heard {
  readonly firstAt: number;
  readonly at: number;
  readonly client: string;
}

export interface Presence {
  /** Bridges heard, by the id of their run. */
  readonly heard: ReadonlyMap<string, Heard>;
  /** When a link of ours was found to have been another's in between, newest last. */
  readonly exchanges: readonly number[];
  readonly exchanging: boolean;
}

export const nobody: Presence = { heard: new Map(), exchanges: [], exchanging: false };

/** A bridge that is not heard for this long has stopped; it speaks every 20 s while there are two. */
export const silentMs = 70_000;
/**
 * One message may be anybody's who may write there, and would refuse everybody's commands; a bridge speaks again and again.
 */
const sureAfterMs = 5_000;
/** One exchange may be a tool with the same client id; this many in a minute are two bridges. */
const exchangesUntilSure = 3;
const exchangeWindowMs = 60_000;
/** Reconnects are at most 30 s apart, so that a link that stood this long has no rival any more. */
const calmMs = 90_000;
const mostHeard = 100;

export function withHeard(presence: Presence, instance: string, client: string, now: number): Presence {
  const heard = new Map(presence.heard);
  if (heard.size >= mostHeard && !heard.has(instance)) return presence;
  const firstAt = heard.get(instance)?.firstAt ?? now;
  return { ...presence, heard: heard.set(instance, { firstAt, at: now, client }) };
}

export function withLeft(presence: Presence, instance: string): Presence {
  const heard = new Map(presence.heard);
  return heard.delete(instance) ? { ...presence, heard } : presence;
}

export function withExchange(presence: Presence, now: number): Presence {
  const exchanges = [...presence.exchanges.slice(-(exchangesUntilSure - 1)), now];
  const first = exchanges[0] ?? now;
  const sure = exchanges.length >= exchangesUntilSure && now - first <= exchangeWindowMs;
  return { ...presence, exchanges, exchanging: presence.exchanging || sure };
}

/** What of it still counts; the same object while nothing has become too old. */
export function atTime(presence: Presence, now: number): Presence {
  const heard = [...presence.heard].filter(([, { at }]) => now - at <= silentMs);
  const over = presence.exchanging && now - (presence.exchanges.at(-1) ?? now) > calmMs;
  if (heard.length === presence.heard.size && !over) return presence;
  return {
    ...presence,
    heard: new Map(heard),
    ...(over && { exchanging: false, exchanges: [] }),
  };
}

const isSure = ({ firstAt, at }: Heard): boolean => at - firstAt >= sureAfterMs;

const sure = ({ heard }: Presence): readonly Heard[] => [...heard.values()].filter(isSure);

export const isShared = (presence: Presence): boolean => presence.exchanging || sure(presence).length > 0;

/** Somebody was heard who may be another bridge. */
export const isSuspected = (presence: Presence): boolean => !isShared(presence) && presence.heard.size > 0;

/** The client id of another bridge, as far as it is known. */
export const clientOf = (presence: Presence): string | null => sure(presence).at(-1)?.client ?? null;
