import mqtt, { ErrorWithReasonCode, type MqttClient } from "mqtt";
import { type Mosquitto, startMosquitto } from "../../support/mosquitto.js";
import { effectiveLines, textOf } from "./project.js";

/* A Mosquitto with the access list and the settings of `deploy/`, and clients of each of its users. */

export const password = "a-password-of-the-test";

const listed = ["bridge", "homeassistant", "operator", "dashboard"] as const;
/** `nobody` has a password, but no line in the access list. */
export const users = [...listed, "nobody"] as const;
export type User = (typeof users)[number];

/** May do everything, to look on; `done/<user>` tells a user that nothing more will come. */
const lookerOn = ["user witness", "topic readwrite #", "pattern read done/%u"];

/** Settings that depend on the place, which the test lays elsewhere. */
const ofThePlace =
  /^(listener|allow_anonymous|password_file|acl_file|persistence|persistence_location|log_dest|log_type) /;

export async function brokerOf(settingsFile: string, accessList: string): Promise<Mosquitto> {
  const acl = effectiveLines(accessList);
  const settings = effectiveLines(await textOf(settingsFile));
  const names = [...users, "witness"];
  return startMosquitto({
    users: Object.fromEntries(names.map((name) => [name, password])),
    acl: [...acl, ...lookerOn],
    extra: settings.filter((line) => !ofThePlace.test(line)),
  });
}

export interface Client {
  /** Publishes with QoS 1 and tells whether the broker took it. */
  publish(topic: string, payload?: string): Promise<"taken" | "forbidden">;
  /** What came in since it subscribed to everything. */
  readonly messages: readonly { readonly topic: string; readonly payload: string }[];
  readonly received: readonly string[];
  /** Resolves when a message on this topic came in. */
  until(topic: string): Promise<void>;
  end(): Promise<void>;
}

const notAuthorized = 0x87;

export async function clientOf(broker: Mosquitto, username: string): Promise<Client> {
  const client = await connected(broker, { username, password });
  const messages: { readonly topic: string; readonly payload: string }[] = [];
  client.on("message", (topic, payload) => messages.push({ topic, payload: payload.toString() }));
  await client.subscribeAsync("#", { qos: 1 });
  return {
    messages,
    get received() {
      return messages.map(({ topic }) => topic);
    },
    publish: async (topic, payload = "payload") => {
      try {
        await client.publishAsync(topic, payload, { qos: 1 });
        return "taken";
      } catch (error) {
        if (error instanceof ErrorWithReasonCode && error.code === notAuthorized) return "forbidden";
        throw error;
      }
    },
    until: async (topic) => {
      while (!messages.some((one) => one.topic === topic))
        await new Promise<void>((resolve) => {
          client.once("message", () => resolve());
        });
    },
    end: () => client.endAsync(true),
  };
}

/** Resolves with a client, or rejects with why the broker did not let it in. */
export function connected(
  { url }: Mosquitto,
  login: { readonly username?: string; readonly password?: string },
): Promise<MqttClient> {
  const client = mqtt.connect(url, { ...login, protocolVersion: 5, reconnectPeriod: 0 });
  return new Promise((resolve, reject) => {
    client.once("connect", () => resolve(client));
    client.once("error", (error) => {
      client.end(true);
      reject(error);
    });
  });
}
