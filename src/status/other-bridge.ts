import { ignored } from "../runtime/failures.js";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { LiveSettings } from "../config/live-settings.js";
import type { Core } from "../feature/core.js";
import type { FloodListener, IncomingMessage } from "../mqtt/connection/settings.js";
import { cameWithin } from "../runtime/clock.js";
import { mayFollow, type Shown, standings } from "../greenhouse/steady.js";
import { SelfTest, selfTestTimes } from "./self-test.js";

const mostControllers = 50;
const mostBytes = 16 * 1024;

const id = z.string().min(1).max(200);
/** Who wrote a message, or a `bridge/info`: a random id of the run of the program. */
const signed = z.object({ instance: id });

/** What a bridge says on `bridge/self_test`: to hear itself, and so that two bridges hear each other. */
const selfTest = signed.extend({
  nonce: id,
  client: id.catch("unknown"),
  /** Whether it takes commands at all. */
  commands: z.boolean().catch(true),
  /** Device codes of its account, the first few. */
  controllers: z
    .array(z.unknown())
    .catch([])
    .transform((codes) => codes.filter((code) => typeof code === "string").slice(0, mostControllers)),
  /** It is about to stop. */
  leaving: z.boolean().catch(false),
});

type SelfTestMessage = Readonly<z.infer<typeof selfTest>>;

export function selfTestPayload(message: SelfTestMessage): string {
  const controllers = [...message.controllers].sort().slice(0, mostControllers);
  return JSON.stringify({ ...message, controllers });
}

/** What a client wrote; null for anything that is not of this shape. */
function readAs<Message>(shape: z.ZodType<Message>, payload: Uint8Array): Message | null {
  if (payload.length > mostBytes) return null;
  try {
    return shape.safeParse(JSON.parse(new TextDecoder().decode(payload))).data ?? null;
  } catch {
    return null;
  }
}

export const readSelfTest = (payload: Uint8Array): SelfTestMessage | null => readAs(selfTest, payload);

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

/**
 * What of it still counts; the same object while nothing has become too old. Who was not heard while nobody listened, before
 * `awakeSince`, was not silent.
 */
export function atTime(presence: Presence, now: number, awakeSince = -Infinity): Presence {
  const quietMs = (at: number) => now - Math.max(at, awakeSince);
  const heard = [...presence.heard].filter(([, { at }]) => quietMs(at) <= silentMs);
  const over = presence.exchanging && quietMs(presence.exchanges.at(-1) ?? now) > calmMs;
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

/** No other was heard for as long as another bridge would hardly be silent; just after a start nothing is certain. */
export const isAlone = ({ heard, exchanging, listensSince }: Presence, now: number): boolean =>
  heard.size === 0 && !exchanging && listensSince !== null && now - listensSince > calmMs;

/** A client was heard that may be another bridge. */
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

/** While there are two bridges they speak more often, so that each notices soon when the other stops. */
const sharedEveryMs = 20_000;
/** And so often until each has heard the other twice. */
const suspectedEveryMs = 6_000;
const goodbyeMs = 1_000;
const topicEnd = "/bridge/self_test";

/** What the bridge learns by talking to itself through the broker: whether it is heard, and whether it is alone. */
export class BrokerTests {
  readonly self: SelfTest;
  readonly #core;
  readonly #live: LiveSettings;
  readonly #newsListeners: (() => void)[] = [];
  #presence: Presence = nobody;
  /** Since when another bridge is there, epoch ms; null while none is. */
  #since: number | null = null;
  /** The same by the monotonic clock; null before there ever was one. */
  #shown: Shown<boolean> | null = null;
  /** Counts of links: the first one of this run, and the last one that was found to have been another's before. */
  #firstLink: number | null = null;
  #countedLink = 0;
  #takenOver = 0;

  constructor(
    core: Pick<
      Core,
      "configuration" | "clock" | "gaps" | "log" | "journal" | "mirror" | "connection" | "topics" | "onEvent"
    >,
    live: LiveSettings,
  ) {
    this.#core = core;
    this.#live = live;
    const newMessage = () => {
      const nonce = randomUUID();
      return { nonce, payload: this.#payload(nonce, false) };
    };
    const times = () => ({ ...selfTestTimes, everyMs: this.#everyMs() });
    this.self = new SelfTest(core, core.topics.bridge.selfTest, newMessage, times);
    this.self.onHearing(() => this.#tellNews());
  }

  /** Calls back when it is known to be heard, deaf, alone or not alone. */
  onNews(listener: () => void): void {
    this.#newsListeners.push(listener);
  }

  #tellNews(): void {
    for (const listener of this.#newsListeners) listener();
  }

  /** Whether there is another one; null while this run cannot know yet. */
  readonly isShared = (): boolean | null =>
    this.#since !== null || (isAlone(this.#presence, this.#core.clock.monotonic()) ? false : null);

  /** Which other bridge there is, and since when; null where there is none. */
  other(): { readonly client: string | null; readonly since: number } | null {
    return this.#since === null ? null : { client: clientOf(this.#presence), since: this.#since };
  }

  /** A link stands, and `bridge/info` has not been published on it yet. */
  onConnected(): void {
    this.#presence = withLink(this.#presence, this.#core.clock.monotonic());
    this.#compareLinks();
    this.self.onConnected();
  }

  /** Whoever speaks below any base topic is heard here; of many no more than the own ones has to get through. */
  readonly flood: FloodListener = {
    allowanceOf: (topic) =>
      topic.endsWith(topicEnd)
        ? { key: topicEnd, isUrgent: (payload) => payload.includes(this.#core.journal.boot) }
        : null,
    onSurplus: ignored,
  };

  /** Whether the message was one of these; no other part has to look at it then. */
  onMessage({ topic, payload }: IncomingMessage): boolean {
    if (!topic.endsWith(topicEnd)) return false;
    const { topics, journal, mirror, clock } = this.#core;
    const message = readSelfTest(payload);
    if (message === null) return true;
    const { instance, client, leaving } = message;
    if (instance === journal.boot) this.self.onMessage(message.nonce);
    else if (isRival(message, topic === topics.bridge.selfTest, (code) => !!mirror.store.get(code))) {
      const isNew = !this.#presence.heard.has(instance);
      const heard = withHeard(this.#presence, instance, client, clock.monotonic());
      this.#change(leaving ? withLeft(this.#presence, instance) : heard);
      // The other need not wait for our next test.
      if (isNew && !leaving) this.self.soon();
    }
    return true;
  }

  /** When to look next unless something comes, ms. */
  restMs(): number {
    const { heard, exchanging } = this.#presence;
    return heard.size > 0 || exchanging || this.#since !== null ? 1_000 : this.self.restMs();
  }

  /** Does what is due; who was silent for too long is gone. */
  look(): void {
    this.self.look();
    const { clock, gaps } = this.#core;
    this.#change(atTime(this.#presence, clock.monotonic(), gaps.newest()?.until));
  }

  /** The other of two bridges need not wait until it notices our silence. */
  async goodbye(): Promise<void> {
    const { clock, connection, topics } = this.#core;
    if (connection.state !== "online") return;
    const goodbye = connection.publish(topics.bridge.selfTest, this.#payload(randomUUID(), true));
    await cameWithin(clock, goodbyeMs, goodbye).catch(ignored);
  }

  #everyMs(): number {
    if (isSuspected(this.#presence)) return suspectedEveryMs;
    return this.#since === null ? selfTestTimes.everyMs : sharedEveryMs;
  }

  /**
   * Two bridges with one client id never stand at the broker together, so they cannot hear each other. But each finds that
   * its last link was taken over, or that `bridge/info` has become another's meanwhile. A link counts once.
   */
  #compareLinks(): void {
    const { connects, takenOver } = this.#core.connection.counters();
    this.#firstLink ??= connects;
    if (takenOver > this.#takenOver) this.#onExchange(connects);
    this.#takenOver = takenOver;
  }

  /** The broker holds this, from before; at the first link of this run it is what an earlier run left. */
  onFound(topic: string, payload: Uint8Array): void {
    const { topics, journal, connection } = this.#core;
    const { connects } = connection.counters();
    if (topic !== topics.bridge.info || this.#firstLink === null || connects === this.#firstLink) return;
    const writer = readAs(signed, payload);
    if (writer !== null && writer.instance !== journal.boot) this.#onExchange(connects);
  }

  #onExchange(link: number): void {
    if (link === this.#countedLink) return;
    this.#countedLink = link;
    this.#change(withExchange(this.#presence, this.#core.clock.monotonic()));
  }

  #change(presence: Presence): void {
    this.#presence = presence;
    const present = isShared(presence);
    const { clock, log, journal, onEvent } = this.#core;
    const now = clock.monotonic();
    if (present === (this.#since !== null) || !mayFollow(this.#shown, present, now, standings.otherBridge))
      return;
    this.#shown = { state: present, since: now };
    const at = clock.now();
    const client = clientOf(presence);
    const message = present ? found : gone;
    this.#since = present ? at : null;
    this.#live.noteOtherBridge(present);
    if (present) log.error({ client }, message);
    else log.info(message);
    journal.append({ type: "other_bridge", present, client }, { durable: false }).catch(ignored);
    const severity = present ? "error" : "info";
    onEvent({ type: "other_bridge", severity, message, at, facts: { present, client } });
    this.#tellNews();
  }

  #payload(nonce: string, leaving: boolean): string {
    const { configuration, journal, mirror } = this.#core;
    return selfTestPayload({
      instance: journal.boot,
      nonce,
      leaving,
      client: configuration.mqtt.client_id,
      commands: !this.#live.current.commands.read_only,
      controllers: [...mirror.store.controllers()].map(({ info }) => info.code),
    });
  }
}

const found =
  "Another bridge works for the same account at this broker; commands but stops are refused until one of the two is stopped. Give every bridge its own account, mqtt.client_id and mqtt.base_topic";
const gone = "The other bridge is gone; commands are taken again";
