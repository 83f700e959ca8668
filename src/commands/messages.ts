import type { Via } from "../greenhouse/command/outcomes.js";
import { publishProblem, sizeOf } from "../mqtt/connection/publish.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import type { Incoming, Topics } from "../mqtt/topics.js";

/** Where answers may go that a command asks for. */
export interface AnswerRules {
  readonly topics: Topics;
  /** Further first levels, as configured. */
  readonly responseTopics: readonly string[];
}

/** A command as the broker delivered it. */
export interface IncomingCommand {
  readonly controllerId: string;
  readonly target: "actuator" | "parameter" | "address";
  readonly targetId: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly expiryMs: number | null;
  readonly by: string | null;
  readonly via: Via;
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

type Where = Extract<Incoming, { type: "command" }>;

/** What a message on a `.../set` topic says; `via` is what the embedded broker knows of the sender. */
export function incomingCommand(
  message: IncomingMessage,
  where: Where,
  via: Via,
  rules: AnswerRules,
): IncomingCommand {
  const { messageExpiryIntervalS, userProperties, responseTopic, correlationData } = message.properties;
  const by = userProperties?.["by"];
  return {
    controllerId: where.controllerId,
    target: where.target,
    targetId: where.id,
    payload: message.payload,
    retained: message.retain,
    expiryMs: messageExpiryIntervalS === undefined ? null : messageExpiryIntervalS * 1_000,
    by: typeof by === "string" ? by.slice(0, 200) : null,
    via,
    response:
      responseTopic === undefined || !mayAnswerTo(responseTopic, rules)
        ? null
        : { topic: responseTopic, correlationData: correlationData ?? null },
  };
}

const noLimits = { maxPayloadBytes: Infinity, maximumPacketSize: null };

/** The bridge may publish where its senders may not, so an answer goes only where answers are meant to go. */
const mayAnswerTo = (topic: string, { topics, responseTopics }: AnswerRules) =>
  publishProblem(sizeOf(topic, "", {}), noLimits) === null &&
  [topics.bridge.answers, ...responseTopics].some(
    (root) => topic.length > root.length + 1 && topic.startsWith(`${root}/`),
  );
