import mqtt, { type IClientPublishOptions } from "mqtt";
import type { Message, Stretch } from "../history.js";

/** A client of its own at the broker, not behind the chaos proxy: sees every message and sends the load. */
export interface Recorder {
  readonly messages: readonly Message[];
  readonly isConnected: boolean;
  /** When it was not subscribed; the last may go on. */
  readonly absences: readonly Stretch[];
  /** The newest payload on a topic; empty where it was cleared, null where nothing came. */
  latest(topic: string): string | null;
  /** Topics with their newest payloads. */
  current(): ReadonlyMap<string, string>;
  /** Resolves with whether the broker took it; false at once without a connection. */
  publish(topic: string, payload: string | Buffer, options?: IClientPublishOptions): Promise<boolean>;
  end(): Promise<void>;
}

export function startRecorder(url: string, protocolVersion: 4 | 5): Recorder {
  const messages: Message[] = [];
  const newest = new Map<string, string>();
  const client = mqtt.connect(url, {
    protocolVersion,
    clientId: `recorder-${Math.random().toString(16).slice(2)}`,
    reconnectPeriod: 50,
    connectTimeout: 10_000,
    // A broker that is frozen on purpose is not to lose its witness.
    keepalive: 600,
  });
  let subscribed = false;
  const absences: { from: number; to: number }[] = [{ from: 0, to: Infinity }];
  client.on("error", () => undefined);
  client.on("connect", () => {
    client.subscribe("#", { qos: 1 }, (error) => {
      subscribed = error === null;
      const last = absences.at(-1);
      if (subscribed && last !== undefined) last.to = Date.now();
    });
  });
  client.on("close", () => {
    if (subscribed) absences.push({ from: Date.now(), to: Infinity });
    subscribed = false;
  });
  client.on("message", (topic, bytes, { retain }) => {
    const payload = bytes.toString();
    messages.push({ at: Date.now(), topic, payload, retain });
    newest.set(topic, payload);
  });
  return {
    messages,
    absences,
    get isConnected() {
      return subscribed;
    },
    latest: (topic) => newest.get(topic) ?? null,
    current: () => newest,
    publish: (topic, payload, options = {}) =>
      new Promise((resolve) => {
        if (!subscribed) {
          resolve(false);
          return;
        }
        const late = setTimeout(() => resolve(false), 15_000);
        client.publish(topic, payload, { qos: 1, ...options }, (error) => {
          clearTimeout(late);
          resolve(!error);
        });
      }),
    end: async () => {
      await client.endAsync(true);
    },
  };
}
