import { msg, row, type Text, textOf } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { randomUUID } from "node:crypto";
import type { Configuration } from "../config/schema.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import { BrokerClient, hasLogin, needsProof, openClient, settingsBeside } from "../beside/broker-client.js";
import { type AskSocket, atSocket, isOwnBroker, type NotAtSocket, SocketLost } from "../beside/own-socket.js";
import { CommandFailure } from "../runtime/ending.js";

/* Talks to the running bridge of a configuration as another client of its broker. */

export type Document = Readonly<Record<string, unknown>>;

class NoBroker extends CommandFailure {
  readonly reason: Text;

  constructor(reason: Text) {
    super(msg`no connection to the broker: ${reason}`);
    this.reason = reason;
  }
}

/** Why the running bridge was not asked over the broker. Only `offline` means that no bridge is connected there. */
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

/** Calls back with a link of its own. Rejects with a CommandFailure when the broker refuses it. */
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

/** `atSocket` for a command that fails when the bridge goes away. */
export const askAtSocket = <Answer>(
  configuration: Pick<Configuration, "data_dir">,
  work: (ask: AskSocket) => Promise<Answer>,
  stop: AbortSignal,
  /** The language of the answer's sentences. */
  language = "en",
): Promise<Answer | NotAtSocket> =>
  atSocket(configuration, work, stop, language).catch((error: unknown) => {
    throw error instanceof SocketLost ? new CommandFailure(textOf(error)) : error;
  });

/** A busy small computer needs a while to check a password. */
const besideMs = 5_000;

/** `withBroker` for the broker of a bridge that perhaps does not run; a link that fails becomes `NotAsked`. */
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
  /** Topics to subscribe to, for the answer and progress before it. */
  readonly topics: readonly string[];
  readonly send: { readonly topic: string; readonly payload: string };
  /** The answer, or null while it has not come. */
  readonly onDocument: (topic: string, document: Document) => Answer | null;
  readonly longestMs: number;
  /** Sentences for the ways to end without an answer. */
  readonly endings: Readonly<Record<"notSent" | "stopped" | "gone" | "late", Text>>;
}

/**
 * Asks the running bridge, if it is online. Rejects with a CommandFailure if the bridge leaves or does not answer in
 * time, or if the user stops.
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
    // The embedded broker ends together with its bridge, which cannot say so any more.
    const isEmbedded = configuration.mqtt.url === undefined;
    void client.closed.then(({ reason }) =>
      ends(isEmbedded ? endings.gone : row`${reason}; ${endings.late}`),
    );
    // A publish that the broker does not acknowledge must not delay the end.
    client.publish(send.topic, send.payload).catch((error: unknown) => {
      ends(msg`the broker does not take what is published to ${send.topic}: ${textOf(error)}`);
    });
    await systemClock.wait(longestMs, over.signal).catch(ignored);
    if (seen.answer !== null) return seen.answer;
    throw over.signal.aborted ? over.signal.reason : new CommandFailure(endings.late);
  });

/** Retained messages of a running bridge under the filter, by topic. */
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

/** The same, each parsed as an object. */
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

/** Parses a payload as a JSON object; null for anything else. */
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

/** Sends a request to the running bridge; its own transaction id marks the answer. */
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
