import mqtt, { type IClientPublishOptions, type MqttClient } from "mqtt";
import { holdsWithin } from "../../support/changes.js";

/* A client that sees everything at the broker and remembers it in order. */

export interface Seen {
  /** Position among all messages seen. */
  readonly index: number;
  readonly topic: string;
  readonly payload: string;
  /** Delivered because it was retained, not because it was published just now. */
  readonly retain: boolean;
  /** Of an MQTT 5 message; null without. */
  readonly correlationData: string | null;
  /** When it arrived, ms of a steady clock. */
  readonly atMs: number;
  /** When it arrived, epoch ms. */
  readonly at: number;
}

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** How long anything is waited for that has to come some time. */
const patientMs = 50_000;

/** MQTT 5 properties of a publish. */
export type PublishProperties = NonNullable<IClientPublishOptions["properties"]>;

interface PublishOptions {
  readonly retain?: boolean;
  readonly properties?: PublishProperties;
}

export interface Watch {
  readonly clientId: string;
  readonly seen: readonly Seen[];
  readonly isConnected: boolean;
  /** When it was not subscribed, epoch ms; the last may go on. */
  readonly absences: readonly Stretch[];
  /** The newest payload on a topic; empty where it was cleared, null where nothing came. */
  latest(topic: string): string | null;
  /** Newest payloads that are not empty, by topic, of topics that match. */
  current(pattern: RegExp): ReadonlyMap<string, string>;
  /** Position of the next message. */
  mark(): number;
  /** Waits until a condition on what was seen holds; `what` is said when it does not in time. */
  untilTrue(condition: () => boolean, what: string, timeoutMs?: number): Promise<void>;
  publish(topic: string, payload: string | Buffer, options?: PublishOptions): Promise<void>;
  end(): Promise<void>;
}

export interface WatchOptions {
  readonly url: string;
  readonly protocolVersion: 4 | 5;
  readonly username?: string;
  readonly password?: string;
}

/** Tries until there is a broker: the embedded one comes up with the bridge. Comes back to a broker that went. */
export async function watchBroker({ url, ...login }: WatchOptions): Promise<Watch> {
  const clientId = `watch-${Math.random().toString(16).slice(2)}`;
  // A broker that is frozen on purpose is not to lose its witness.
  const options = {
    clientId,
    reconnectPeriod: 50,
    connectTimeout: 10_000,
    keepalive: 600,
    resubscribe: false,
  };
  const client = mqtt.connect(url, { ...login, ...options });
  const seen: Seen[] = [];
  const newest = new Map<string, string>();
  const listeners = new Set<() => void>();
  client.on("error", () => undefined);
  client.on("message", (topic, bytes, { retain, properties }) => {
    const payload = bytes.toString();
    const correlationData = properties?.correlationData?.toString() ?? null;
    const times = { atMs: performance.now(), at: Date.now() };
    seen.push({ index: seen.length, topic, payload, retain, correlationData, ...times });
    newest.set(topic, payload);
    for (const listener of [...listeners]) listener();
  });
  const untilTrue: Watch["untilTrue"] = (condition, what, timeoutMs = patientMs) =>
    holdsWithin(timeoutMs, condition, listeners, what);
  const presence = presenceOf(client, listeners);
  const end = () => client.endAsync(true);
  await untilTrue(() => presence.isConnected, `a broker answers at ${url}`, 60_000).catch(
    async (error: unknown) => {
      await end();
      throw error;
    },
  );
  return {
    ...{ clientId, seen, absences: presence.absences, untilTrue, end },
    get isConnected() {
      return presence.isConnected;
    },
    latest: (topic) => newest.get(topic) ?? null,
    current: (pattern) =>
      new Map([...newest].filter(([topic, payload]) => payload !== "" && pattern.test(topic))),
    mark: () => seen.length,
    publish: async (topic, payload, { retain = false, properties } = {}) => {
      await client.publishAsync(topic, payload, { qos: 1, retain, ...(properties && { properties }) });
    },
  };
}

/** Subscribes at each connect, and knows when it was not. */
function presenceOf(client: MqttClient, listeners: ReadonlySet<() => void>) {
  const absences: { from: number; to: number }[] = [{ from: 0, to: Infinity }];
  const presence = { isConnected: false, absences };
  client.on("connect", () => {
    client.subscribe("#", { qos: 1 }, (error) => {
      const last = absences.at(-1);
      if (error || last === undefined) return;
      presence.isConnected = true;
      last.to = Date.now();
      for (const listener of [...listeners]) listener();
    });
  });
  client.on("close", () => {
    if (presence.isConnected) absences.push({ from: Date.now(), to: Infinity });
    presence.isConnected = false;
  });
  return presence;
}

/** Waits until the newest payload on a topic is as wanted; a text is compared. */
export async function until(
  watch: Watch,
  topic: string,
  wanted: string | ((payload: string) => boolean),
  timeoutMs = patientMs,
): Promise<string> {
  const isWanted = (payload: string | null): payload is string =>
    payload !== null && (typeof wanted === "string" ? payload === wanted : wanted(payload));
  const what = typeof wanted === "string" ? `"${wanted}"` : "what the test waits for";
  try {
    await watch.untilTrue(() => isWanted(watch.latest(topic)), `${topic} shows ${what}`, timeoutMs);
  } catch (error) {
    const last = seenOn(watch, topic).slice(-3);
    const shown = last.length === 0 ? "nothing came" : last.map(({ payload }) => payload).join("\n  ");
    throw new Error(`${error instanceof Error ? error.message : ""}; last on it:\n  ${shown}`, {
      cause: error,
    });
  }
  return watch.latest(topic) ?? "";
}

/** Waits for a message that comes after a mark. */
export async function untilNew(
  watch: Watch,
  mark: number,
  topic: string,
  wanted: string | ((payload: string) => boolean),
  timeoutMs = patientMs,
): Promise<Seen> {
  const find = () =>
    watch.seen
      .slice(mark)
      .find(
        (one) =>
          one.topic === topic && (typeof wanted === "string" ? one.payload === wanted : wanted(one.payload)),
      );
  const what = `a new message on ${topic}${typeof wanted === "string" ? ` with "${wanted}"` : ""}`;
  await watch.untilTrue(() => find() !== undefined, what, timeoutMs);
  const found = find();
  if (found === undefined) throw new Error(what);
  return found;
}

/** Waits for an event of a type on `bridge/event`; resolves with its fields. */
export async function untilEvent(watch: Watch, mark: number, type: string, timeoutMs = patientMs) {
  const isOne = (payload: string) => fields(payload)["type"] === type;
  return untilNew(watch, mark, "greenhouse/bridge/event", isOne, timeoutMs);
}

/** `greenhouse/bridge/request/<name>`; resolves with the fields of its answer, which is never retained. */
export async function ask(watch: Watch, name: string, payload: string | object = {}) {
  const mark = watch.mark();
  const topic = `greenhouse/bridge/response/${name}`;
  const transaction = `request ${++requests}`;
  const isText = typeof payload === "string";
  await watch.publish(
    `greenhouse/bridge/request/${name}`,
    isText ? payload : JSON.stringify({ transaction, ...payload }),
  );
  const isOwn = (text: string) => isText || fields(text)["transaction"] === transaction;
  const answer = await untilNew(watch, mark, topic, isOwn);
  if (answer.retain) throw new Error(`${topic} is retained`);
  return fields(answer.payload);
}
let requests = 0;

export const seenOn = (watch: Watch, topic: string): readonly Seen[] =>
  watch.seen.filter((one) => one.topic === topic);

/** A payload's fields; `{}` for what is no JSON object. */
export function fields(payload: string | null): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(payload ?? "");
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}
