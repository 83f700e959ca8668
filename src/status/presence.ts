/** What a bridge says on `bridge/self_test`: to hear itself, and so that two bridges hear each other. */
interface SelfTestMessage {
  /** A random id of the run of the program that sent it. */
  readonly instance: string;
  readonly nonce: string;
  readonly client: string;
  /** Whether it takes commands at all. */
  readonly commands: boolean;
  /** Device codes of its account, the first few. */
  readonly controllers: readonly string[];
  /** It is about to stop. */
  readonly leaving: boolean;
}

const mostControllers = 50;
const mostBytes = 16 * 1024;

export function selfTestPayload(message: SelfTestMessage): string {
  const controllers = [...message.controllers].sort().slice(0, mostControllers);
  return JSON.stringify({ ...message, controllers });
}

function parsed(payload: Uint8Array): Readonly<Record<string, unknown>> {
  if (payload.length > mostBytes) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** What somebody wrote there; null for anything that is not such a message. */
export function readSelfTest(payload: Uint8Array): SelfTestMessage | null {
  const { client, commands, controllers, leaving, ...ids } = parsed(payload);
  const [instance, nonce] = [text(ids["instance"]), text(ids["nonce"])];
  if (instance === null || nonce === null) return null;
  const codes: readonly unknown[] = Array.isArray(controllers) ? controllers : [];
  return {
    ...{ instance, nonce, client: text(client) ?? "unknown", commands: commands !== false },
    controllers: codes.filter((code) => typeof code === "string").slice(0, mostControllers),
    leaving: leaving === true,
  };
}

const text = (value: unknown): string | null =>
  typeof value === "string" && value.length > 0 && value.length <= 200 ? value : null;

/** Who wrote a message, or a `bridge/info`; null where it does not say. */
export const instanceIn = (payload: Uint8Array): string | null => text(parsed(payload)["instance"]);

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
  /** When this run first listened; null before. */
  readonly listensSince: number | null;
}

export const nobody: Presence = { heard: new Map(), exchanges: [], exchanging: false, listensSince: null };

/** A bridge that is not heard for this long has stopped; it speaks every 20 s while there are two. */
const silentMs = 70_000;
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

export const withLink = (presence: Presence, now: number): Presence => ({
  ...presence,
  listensSince: presence.listensSince ?? now,
});

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

/** Nobody was heard for as long as another bridge would hardly be silent; just after a start nothing is certain. */
export const isAlone = ({ heard, exchanging, listensSince }: Presence, now: number): boolean =>
  heard.size === 0 && !exchanging && listensSince !== null && now - listensSince > calmMs;

/** Somebody was heard who may be another bridge. */
export const isSuspected = (presence: Presence): boolean => !isShared(presence) && presence.heard.size > 0;

/** The client id of another bridge, as far as it is known. */
export const clientOf = (presence: Presence): string | null => sure(presence).at(-1)?.client ?? null;

/**
 * Whether a message means a rival: under our base topic any other bridge is one; under another only a bridge that commands
 * controllers of ours.
 */
export function isRival(
  { commands, controllers }: Pick<SelfTestMessage, "commands" | "controllers">,
  isOurBase: boolean,
  knows: (code: string) => boolean,
): boolean {
  return isOurBase || (commands && controllers.some(knows));
}
