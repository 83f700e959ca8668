import { randomUUID } from "node:crypto";
import type { Configuration } from "../config/schema.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import { silentLog } from "../runtime/log.js";
import { embeddedAccess } from "../setup/doctor/broker-checks.js";
import { withBroker } from "./errands.js";
import { CommandFailure } from "./surroundings.js";

/* The bridge that runs with a configuration, as a client beside it meets it. */

export type Document = Readonly<Record<string, unknown>>;

export interface Question<Answer> {
  /** Where the answer comes, and what is worth hearing until then. */
  readonly topics: readonly string[];
  readonly send: { readonly topic: string; readonly payload: string };
  /** The answer, once it is there. */
  readonly heard: (topic: string, document: Document) => Answer | null;
  readonly longestMs: number;
  /** How the question ended without an answer. */
  readonly endings: Readonly<Record<"notSent" | "stopped" | "gone" | "late", string>>;
}

/** For a broker to show the retained state once the subscription stands. */
const shownMs = 1_000;
const connectMs = 1_500;

/** What comes from the broker about a question. `ended` aborts with the answer, or with why there will be none. */
function listening<Answer>({ heard, endings }: Question<Answer>, stateTopic: string) {
  const spoke = new AbortController();
  const ended = new AbortController();
  const state: { isOnline: boolean; answer: Answer | null } = { isOnline: false, answer: null };
  const said = (word: string) => {
    state.isOnline = word === "online";
    spoke.abort();
    if (!state.isOnline) ended.abort(new CommandFailure(endings.gone));
  };
  const message = ({ topic, payload }: { readonly topic: string; readonly payload: Uint8Array }) => {
    const text = new TextDecoder().decode(payload);
    if (topic === stateTopic) {
      said(text);
      return;
    }
    const document = documentOf(text);
    if (document !== null) state.answer ??= heard(topic, document);
    if (state.answer !== null) ended.abort();
  };
  return { spoke: spoke.signal, ended, state, said, message };
}

/**
 * Asks the running bridge; null when no bridge is online there. Rejects with a CommandFailure when it leaves, when it
 * does not answer in time, and when the user has enough.
 */
export async function askBridge<Answer>(
  configuration: Configuration,
  question: Question<Answer>,
  stop: AbortSignal,
): Promise<Answer | null> {
  if (!hasLogin(configuration)) return null;
  const { topics, send, longestMs, endings } = question;
  const stateTopic = topicsUnder(configuration.mqtt.base_topic).bridge.state;
  const { spoke, ended, state, said, message } = listening(question, stateTopic);
  const errand = {
    ...{ configuration: withLocalUrl(configuration), log: silentLog, connectMs },
    ...{ subscriptions: topics, withRetained: [stateTopic], onMessage: message },
    // The embedded broker ends with its bridge, which is then too late to say so.
    onDisconnected: () => {
      if (configuration.mqtt.url === undefined) said("offline");
    },
  };
  return withBroker(errand, async (connection) => {
    await systemClock.wait(shownMs, spoke).catch(() => undefined);
    if (!state.isOnline) return null;
    if (stop.aborted) throw new CommandFailure(endings.notSent);
    stop.addEventListener("abort", () => ended.abort(new CommandFailure(endings.stopped)));
    // A publish that the broker does not acknowledge must not hold up the end.
    connection
      .publish(send.topic, send.payload, { qos: 1, retain: false })
      .catch((error: unknown) => ended.abort(error));
    await systemClock.wait(longestMs, ended.signal).catch(() => undefined);
    if (state.answer !== null) return state.answer;
    if (ended.signal.aborted) throw ended.signal.reason;
    throw new CommandFailure(endings.late);
  }).catch(nobodyThere);
}

/** What a running bridge keeps under the filter, each an object; null when no bridge is online there. */
export async function retainedOfBridge(
  configuration: Configuration,
  filter: string,
): Promise<readonly Document[] | null> {
  if (!hasLogin(configuration)) return null;
  const { state } = topicsUnder(configuration.mqtt.base_topic).bridge;
  const found = new Map<string, string>();
  const errand = { configuration: withLocalUrl(configuration), log: silentLog, connectMs };
  const isWhole = await withBroker(errand, (connection) =>
    connection.scan([state, filter], (topic, payload) => {
      found.set(topic, new TextDecoder().decode(payload));
    }),
  ).catch(nobodyThere);
  if (isWhole === false)
    throw new CommandFailure(`the broker did not show all of ${filter}; let this user read it`);
  if (found.get(state) !== "online") return null;
  found.delete(state);
  return [...found.values()].map(documentOf).filter((document) => document !== null);
}

/** A broker that cannot be reached has no bridge. */
function nobodyThere(error: unknown): null {
  if (error instanceof CommandFailure && error.message.startsWith("no connection")) return null;
  throw error;
}

/** A payload as the JSON object that it is; null for any other. */
export function documentOf(payload: string): Document | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : null;
  } catch {
    return null;
  }
}

/** Why the embedded broker was not asked: its users' passwords are known as hashes only. */
export const missingLogin =
  "The passwords of broker.users are hashes, so the command line has no login: put one user's name and password into mqtt.username and mqtt.password (with !secret).";

/** Whether there is a login to reach the running bridge with. */
export const hasLogin = (configuration: Configuration): boolean =>
  configuration.mqtt.url !== undefined || embeddedAccess(configuration) !== null;

/** The embedded broker is reached where it listens. */
function withLocalUrl(configuration: Configuration): Configuration {
  const { mqtt } = configuration;
  if (mqtt.url !== undefined) return configuration;
  return { ...configuration, mqtt: { ...mqtt, ...embeddedAccess(configuration) } };
}

/** A question to the running bridge and its answer, told apart from others' by a transaction of its own. */
export async function requestOf(
  configuration: Configuration,
  name: string,
  fields: Document,
  { longestMs, endings }: Pick<Question<unknown>, "longestMs" | "endings">,
  stop: AbortSignal,
): Promise<Document | null> {
  const { bridge } = topicsUnder(configuration.mqtt.base_topic);
  const transaction = randomUUID();
  const question = {
    topics: [bridge.response(name)],
    send: { topic: bridge.request(name), payload: JSON.stringify({ ...fields, transaction }) },
    heard: (_: string, document: Document) => (document["transaction"] === transaction ? document : null),
    ...{ longestMs, endings },
  };
  return askBridge(configuration, question, stop);
}
