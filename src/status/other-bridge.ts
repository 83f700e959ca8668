import type { BridgeEvent } from "../greenhouse/events.js";
import type { RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";

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

/** What somebody wrote there; null for anything that is not such a message. */
export function readSelfTest(payload: Uint8Array): SelfTestMessage | null {
  if (payload.length > mostBytes) return null;
  const fields = parsed(payload);
  const instance = text(fields["instance"]);
  const nonce = text(fields["nonce"]);
  if (instance === null || nonce === null) return null;
  const controllers = Array.isArray(fields["controllers"]) ? fields["controllers"] : [];
  return {
    instance,
    nonce,
    client: text(fields["client"]) ?? "unknown",
    commands: fields["commands"] !== false,
    controllers: controllers.filter((code) => typeof code === "string").slice(0, mostControllers),
    leaving: fields["leaving"] === true,
  };
}

function parsed(payload: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
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
}

export const nobody: Presence = { heard: new Map(), exchanges: [], exchanging: false };

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

interface OtherBridgePorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Id of this run. */
  readonly instance: string;
  /** Device codes of the account as mirrored here. */
  readonly knows: (code: string) => boolean;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly note: (record: RecordBody) => void;
  /** Lets the other hear us without waiting for the next test. */
  readonly answer: () => void;
}

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

/** Finds another bridge of the same account at the same broker, and says so once, and once when it is gone. */
export class OtherBridge {
  readonly #ports: OtherBridgePorts;
  #presence: Presence = nobody;
  #told = false;
  #since: number | null = null;
  /** The link whose exchange has been counted. */
  #countedLink = 0;

  constructor(ports: OtherBridgePorts) {
    this.#ports = ports;
  }

  get isPresent(): boolean {
    return this.#told;
  }

  /** Whether somebody was heard who may be another bridge; it is one when it speaks again. */
  get isSuspected(): boolean {
    return isSuspected(this.#presence);
  }

  state(): { readonly present: boolean; readonly client: string | null; readonly since: number | null } {
    return { present: this.#told, client: clientOf(this.#presence), since: this.#since };
  }

  heard(message: SelfTestMessage, isOurBase: boolean): void {
    const { instance, clock, knows, answer } = this.#ports;
    if (message.instance === instance || !isRival(message, isOurBase, knows)) return;
    const isNew = !this.#presence.heard.has(message.instance);
    this.#change(
      message.leaving
        ? withLeft(this.#presence, message.instance)
        : withHeard(this.#presence, message.instance, message.client, clock.monotonic()),
    );
    if (isNew && !message.leaving) answer();
  }

  /** Link number `link` was preceded by one of another client with our client id, or by another's `bridge/info`. */
  exchanged(link: number): void {
    if (link === this.#countedLink) return;
    this.#countedLink = link;
    this.#change(withExchange(this.#presence, this.#ports.clock.monotonic()));
  }

  /** Once a second or so: who was silent for too long is gone. */
  look(): void {
    this.#change(atTime(this.#presence, this.#ports.clock.monotonic()));
  }

  #change(presence: Presence): void {
    this.#presence = presence;
    const present = isShared(presence);
    if (present === this.#told) return;
    this.#told = present;
    this.#tell(present);
  }

  #tell(present: boolean): void {
    const { clock, log, onEvent, note } = this.#ports;
    const at = clock.now();
    const client = clientOf(this.#presence);
    const message = present ? found : gone;
    this.#since = present ? at : null;
    if (present) log.error({ client }, message);
    else log.info(message);
    note({ type: "other_bridge", present, client });
    const severity = present ? "error" : "info";
    onEvent({ type: "other_bridge", severity, message, at, facts: { present, client } });
  }
}

const found =
  "Another bridge works for the same account at this broker; commands but stops are refused until one of the two is stopped. Give every bridge its own account, mqtt.client_id and mqtt.base_topic";
const gone = "The other bridge is gone; commands are taken again";
