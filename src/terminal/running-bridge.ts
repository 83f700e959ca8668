import { msg, row, type Text, textOf } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { randomUUID } from "node:crypto";
import type { Configuration } from "../config/schema.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import { BrokerClient, hasLogin, needsProof, openClient, settingsBeside } from "../beside/broker-client.js";
import { type AskSocket, atSocket, isOwnBroker, type NotAtSocket, SocketLost } from "../beside/own-socket.js";
import { CommandFailure } from "../runtime/ending.js";

/* The bridge that runs with a configuration, as a client beside it meets it at their broker. */

export type Document = Readonly<Record<string, unknown>>;

class NoBroker extends CommandFailure {
  readonly reason: Text;

  constructor(reason: Text) {
    super(msg`no connection to the broker: ${reason}`);
    this.reason = reason;
  }
}

/** Why the running bridge was not asked over the broker. Only `offline` says that none is connected there. */
export class NotAsked {
  readonly why: "no_login" | "unreachable" | "offline";
  readonly reason: Text;

  constructor(why: NotAsked["why"], reason: Text) {
    this.why = why;
    this.reason = reason;
  }
}

const brokerOf = ({ mqtt }: Configuration): Text => mqtt.url ?? msg`the embedded broker`;

const offline = (configuration: Configuration): NotAsked => {
  const { state } = topicsUnder(configuration.mqtt.base_topic).bridge;
  return new NotAsked("offline", msg`${state} at ${brokerOf(configuration)} does not say "online"`);
};

const notReadable = (configuration: Configuration, topics: readonly string[]): NotAsked =>
  new NotAsked("unreachable", msg`${brokerOf(configuration)}: ${topics.join(", ")} may not be read`);

/** Calls back with a link of its own; rejects with a CommandFailure when the broker does not let it in. */
export async function withBroker<Answer>(
  configuration: Configuration,
  work: (client: BrokerClient) => Promise<Answer>,
  connectMs = 15_000,
): Promise<Answer> {
  const client = await openClient(settingsBeside(configuration), systemClock, connectMs);
  if (!(client instanceof BrokerClient)) throw new NoBroker(client.reason);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** The same as `atSocket`, for a command that ends where the bridge goes. */
export const askAtSocket = <Answer>(
  configuration: Pick<Configuration, "data_dir">,
  work: (ask: AskSocket) => Promise<Answer>,
  stop: AbortSignal,
  /** Of the sentences in its answers. */
  language = "en",
): Promise<Answer | NotAtSocket> =>
  atSocket(configuration, work, stop, language).catch((error: unknown) => {
    throw error instanceof SocketLost ? new CommandFailure(textOf(error)) : error;
  });

/** Checking a password takes a small computer that is busy a while. */
const besideMs = 5_000;

/** The same at the broker of a bridge that may run. */
async function besideBridge<Answer>(
  configuration: Configuration,
  work: (client: BrokerClient) => Promise<Answer | NotAsked>,
): Promise<Answer | NotAsked> {
  if (!hasLogin(configuration)) return new NotAsked("no_login", missingLogin);
  if (needsProof(configuration) && !(await isOwnBroker(configuration, new AbortController().signal)))
    return new NotAsked("no_login", unproven(configuration));
  return withBroker(configuration, work, besideMs).catch((error: unknown) => {
    if (!(error instanceof NoBroker)) throw error;
    return new NotAsked("unreachable", error.reason);
  });
}

export interface Question<Answer> {
  /** Where the answer comes, and what is worth hearing until then. */
  readonly topics: readonly string[];
  readonly send: { readonly topic: string; readonly payload: string };
  /** The answer, once it is there. */
  readonly onDocument: (topic: string, document: Document) => Answer | null;
  readonly longestMs: number;
  /** How the question ended without an answer. */
  readonly endings: Readonly<Record<"notSent" | "stopped" | "gone" | "late", Text>>;
}

/**
 * Asks the running bridge, if it is online there. Rejects with a CommandFailure when it leaves, when it
 * does not answer in time, and when the user has enough.
 */
export const askBridge = <Answer>(
  configuration: Configuration,
  { topics, send, onDocument, longestMs, endings }: Question<Answer>,
  stop: AbortSignal,
): Promise<Answer | NotAsked> =>
  besideBridge<Answer>(configuration, async (client) => {
    const stateTopic = topicsUnder(configuration.mqtt.base_topic).bridge.state;
    const seen: { isOnline: boolean; answer: Answer | null } = { isOnline: false, answer: null };
    const over = new AbortController();
    const ends = (why: Text) => over.abort(new CommandFailure(why));
    client.watch(({ topic, payload }) => {
      if (topic === stateTopic) {
        seen.isOnline = payload.toString() === "online";
        if (!seen.isOnline) ends(endings.gone);
        return;
      }
      const document = documentOf(payload.toString());
      if (document !== null) seen.answer ??= onDocument(topic, document);
      if (seen.answer !== null) over.abort();
    });
    const refused = await client.subscribe(topics);
    if (refused.length > 0) return notReadable(configuration, refused);
    await client.subscribeWithRetained([stateTopic]);
    if (!seen.isOnline) return offline(configuration);
    if (stop.aborted) throw new CommandFailure(endings.notSent);
    stop.addEventListener("abort", () => ends(endings.stopped));
    // The embedded broker ends with its bridge, which is then too late to say so.
    const isEmbedded = configuration.mqtt.url === undefined;
    void client.closed.then(({ reason }) =>
      ends(isEmbedded ? endings.gone : row`${reason}; ${endings.late}`),
    );
    // A publish that the broker does not acknowledge must not hold up the end.
    client.publish(send.topic, send.payload).catch((error: unknown) => {
      ends(msg`the broker does not take what is published to ${send.topic}: ${textOf(error)}`);
    });
    await systemClock.wait(longestMs, over.signal).catch(ignored);
    if (seen.answer !== null) return seen.answer;
    throw over.signal.aborted ? over.signal.reason : new CommandFailure(endings.late);
  });

/** What a running bridge keeps under the filter, by topic. */
export const retainedTexts = (
  configuration: Configuration,
  filter: string,
): Promise<ReadonlyMap<string, string> | NotAsked> =>
  besideBridge(configuration, async (client) => {
    const { state } = topicsUnder(configuration.mqtt.base_topic).bridge;
    const { found, isWhole } = await client.readRetained([state, filter]);
    if (!isWhole)
      throw new CommandFailure(msg`the broker did not show all of ${filter}; let this user read it`);
    if (found.get(state) !== "online") return offline(configuration);
    found.delete(state);
    return found;
  });

/** The same, each an object. */
export async function retainedOfBridge(
  configuration: Configuration,
  filter: string,
): Promise<readonly Document[] | NotAsked> {
  const found = await retainedTexts(configuration, filter);
  if (found instanceof NotAsked) return found;
  return [...found.values()].map(documentOf).filter((document) => document !== null);
}

export const isDocument = (value: unknown): value is Document =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A payload as the JSON object that it is; null for any other. */
export function documentOf(payload: string): Document | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    return isDocument(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

const unproven = ({ broker: { port } }: Configuration): Text =>
  msg`No password was sent to port ${port}. Only the bridge can say, at its socket in data_dir, that its embedded broker listens there, and that socket was not reached. Start the bridge where it does not run, or run this as the user that runs it.`;

/** Why the embedded broker was not asked: its users' passwords are known as hashes only. */
const missingLogin = msg`The passwords of broker.users are hashes, so the command line has no login: put one user's name and password into mqtt.username and mqtt.password (with !secret).`;

/** A question to the running bridge and its answer, told apart from others' by a transaction of its own. */
export async function requestOf(
  configuration: Configuration,
  name: string,
  fields: Document,
  { longestMs, endings }: Pick<Question<unknown>, "longestMs" | "endings">,
  stop: AbortSignal,
): Promise<Document | NotAsked> {
  const { bridge } = topicsUnder(configuration.mqtt.base_topic);
  const transaction = randomUUID();
  const question = {
    topics: [bridge.response(name)],
    send: { topic: bridge.request(name), payload: JSON.stringify({ ...fields, transaction }) },
    onDocument: (_: string, document: Document) =>
      document["transaction"] === transaction ? document : null,
    longestMs,
    endings,
  };
  return askBridge(configuration, question, stop);
}
