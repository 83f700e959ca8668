import { ignored } from "../runtime/failures.js";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { LiveSettings } from "../config/live-settings.js";
import type { Core } from "../feature/core.js";
import type { FloodListener, IncomingMessage } from "../mqtt/connection/settings.js";
import { cameWithin } from "../runtime/clock.js";
import { mayFollow, type Shown, standings } from "../greenhouse/steady.js";
import { SelfTest, selfTestTimes, type TestedLink } from "./self-test.js";

const mostControllers = 50;
const mostBytes = 16 * 1024;

const id = z.string().min(1).max(200);
/** The writer of a message or of `bridge/info`: a random id of the program's run. */
const signed = z.object({ instance: id });

/** A message on `bridge/self_test`, by which a bridge hears itself, and bridges hear each other. */
const selfTest = signed.extend({
  nonce: id,
  client: id.catch("unknown"),
  /** Whether it accepts commands. */
  commands: z.boolean().catch(true),
  /** Device codes of its account, up to `mostControllers`. */
  controllers: z
    .array(z.unknown())
    .catch([])
    .transform((codes) => codes.filter((code) => typeof code === "string").slice(0, mostControllers)),
  /** Whether it is about to stop. */
  leaving: z.boolean().catch(false),
});

type SelfTestMessage = Readonly<z.infer<typeof selfTest>>;

export function selfTestPayload(message: SelfTestMessage): string {
  const controllers = [...message.controllers].sort().slice(0, mostControllers);
  return JSON.stringify({ ...message, controllers });
}

/** Parses a client's message; null for any other shape. */
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
 * Finds other bridges for the same account at this broker. Pure; instants are monotonic ms. Evidence is of two kinds:
 * messages of another bridge on `bridge/self_test`, and links lost in turn where both use one client id.
 */

interface Heard {
  readonly firstAt: number;
  readonly at: number;
  readonly client: string;
}

export interface Presence {
  /** Bridges heard, by the id of their run. */
  readonly heard: ReadonlyMap<string, Heard>;
  /** When our link was found to have been another's in between, the newest last. */
  readonly exchanges: readonly number[];
  readonly exchanging: boolean;
  /** When this run first listened; null before. */
  readonly listensSince: number | null;
}

export const nobody: Presence = { heard: new Map(), exchanges: [], exchanging: false, listensSince: null };

/** A bridge silent for this long has stopped; of two bridges each speaks every 20 s. */
const silentMs = 70_000;
/**
 * Anybody who may write there could send a single message, which would block all commands. A bridge sends repeatedly.
 */
const sureAfterMs = 5_000;
/** A tool with the same client id may cause one exchange; this many within a minute are two bridges. */
const exchangesUntilSure = 3;
const exchangeWindowMs = 60_000;
/** Reconnects are at most 30 s apart, so a link that lasted this long has no rival any more. */
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
 * Removes what has become too old; the same object if nothing has. Nobody counts as silent before `awakeSince`, while
 * this process did not listen.
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

/**
 * Whether no other bridge was heard for longer than one would stay silent. Right after a start this is unknown, hence
 * false.
 */
export const isAlone = ({ heard, exchanging, listensSince }: Presence, now: number): boolean =>
  heard.size === 0 && !exchanging && listensSince !== null && now - listensSince > calmMs;

/** Whether a client was heard that may be another bridge. */
export const isSuspected = (presence: Presence): boolean => !isShared(presence) && presence.heard.size > 0;

/** The other bridge's client id; null where unknown. */
export const clientOf = (presence: Presence): string | null => sure(presence).at(-1)?.client ?? null;

/**
 * Whether a message comes from a rival: under our base topic any bridge is one; under another base topic only one that
 * commands our controllers.
 */
export function isRival(
  { commands, controllers }: Pick<SelfTestMessage, "commands" | "controllers">,
  isOurBase: boolean,
  knows: (code: string) => boolean,
): boolean {
  return isOurBase || (commands && controllers.some(knows));
}

/** Two bridges send tests more often, so that each soon notices when the other stops. */
const sharedEveryMs = 20_000;
/** The interval until each has heard the other twice. */
const suspectedEveryMs = 6_000;
const goodbyeMs = 1_000;
const topicEnd = "/bridge/self_test";

/** The parts of the core that it needs. */
type TestedCore = Pick<Core, "configuration" | "clock" | "gaps" | "log" | "topics" | "onEvent"> & {
  readonly journal: Pick<Core["journal"], "boot" | "append">;
  readonly mirror: { readonly store: Pick<Core["mirror"]["store"], "controllers" | "get"> };
  readonly connection: TestedLink;
};

/** Tests the link by messages through the broker: whether they come back, and whether another bridge is there. */
export class BrokerTests {
  readonly self: SelfTest;
  readonly #core: TestedCore;
  readonly #live: LiveSettings;
  readonly #newsListeners: (() => void)[] = [];
  #presence: Presence = nobody;
  /** When another bridge was found, epoch ms; null while there is none. */
  #since: number | null = null;
  /** Whether there was another bridge, since a monotonic time; null before the first. */
  #shown: Shown<boolean> | null = null;
  /** Numbers of links: the first of this run, and the last one found to have been another's before. */
  #firstLink: number | null = null;
  #countedLink = 0;
  #takenOver = 0;

  constructor(core: TestedCore, live: LiveSettings) {
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

  /** Calls back when the bridge learns that it is heard, deaf, alone or not alone. */
  onNews(listener: () => void): void {
    this.#newsListeners.push(listener);
  }

  #tellNews(): void {
    for (const listener of this.#newsListeners) listener();
  }

  /** Whether there is another bridge; null while this run cannot know yet. */
  readonly isShared = (): boolean | null =>
    this.#since !== null || (isAlone(this.#presence, this.#core.clock.monotonic()) ? false : null);

  /** The other bridge, and since when it is there; null for none. */
  other(): { readonly client: string | null; readonly since: number } | null {
    return this.#since === null ? null : { client: clientOf(this.#presence), since: this.#since };
  }

  /** A link is up, and `bridge/info` has not been published on it yet. */
  onConnected(): void {
    this.#presence = withLink(this.#presence, this.#core.clock.monotonic());
    this.#compareLinks();
    this.self.onConnected();
  }

  /** Bridges under any base topic are heard here; in a flood only our own messages have to get through. */
  readonly flood: FloodListener = {
    allowanceOf: (topic) =>
      topic.endsWith(topicEnd)
        ? { key: topicEnd, isUrgent: (payload) => payload.includes(this.#core.journal.boot) }
        : null,
    onSurplus: ignored,
  };

  /** Handles a self-test message; returns whether it was one. */
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
      // The other bridge need not wait for our next test.
      if (isNew && !leaving) this.self.soon();
    }
    return true;
  }

  /** The time until the next look is due, ms. */
  restMs(): number {
    const { heard, exchanging } = this.#presence;
    return heard.size > 0 || exchanging || this.#since !== null ? 1_000 : this.self.restMs();
  }

  /** Does what is due; bridges that were silent for too long are gone. */
  look(): void {
    this.self.look();
    const { clock, gaps } = this.#core;
    this.#change(atTime(this.#presence, clock.monotonic(), gaps.newest()?.until));
  }

  /** Announces the stop, so that another bridge need not wait until it notices our silence. */
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
   * Two bridges with one client id are never connected together, so they cannot hear each other. But each finds that
   * its link was taken over, or that `bridge/info` has become the other's. A link counts once.
   */
  #compareLinks(): void {
    const { connects, takenOver } = this.#core.connection.counters();
    this.#firstLink ??= connects;
    if (takenOver > this.#takenOver) this.#onExchange(connects);
    this.#takenOver = takenOver;
  }

  /** A retained `bridge/info`. At the first link of this run it comes from an earlier run and counts for nothing. */
  onFound(topic: string, payload: Uint8Array): void {
    const { topics, journal, connection } = this.#core;
    // Every retained topic of the bridge comes here.
    if (topic !== topics.bridge.info) return;
    const { connects } = connection.counters();
    if (this.#firstLink === null || connects === this.#firstLink) return;
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
