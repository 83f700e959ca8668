import { msg, row, type Text } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import type { Configuration } from "../config/schema.js";
import { systemClock } from "../runtime/clock.js";
import { type AskSocket, NotAtSocket } from "../beside/own-socket.js";
import { CommandFailure } from "../runtime/ending.js";
import { refusalText } from "./wording.js";
import {
  askAtSocket,
  askBridge,
  type Document,
  documentOf,
  isDocument,
  NotAsked,
} from "../terminal/running-bridge.js";

/* Asks a running bridge for a command to an actuator, a group or a scene: at its socket, else over the broker. */

/** Longer than any command may take: its age, its steps and its read-backs. */
const longestMs = 15 * 60_000;
const lookEveryMs = 100;

export interface AskedCommand {
  readonly id: string;
  /** A JSON object that contains the id. */
  readonly payload: string;
  /** What the page's API needs beside the payload's fields. */
  readonly target: Document;
  readonly topics: { readonly set: string; readonly result: string; readonly command?: string };
  /** Where a person can look up what became of it. */
  readonly hint: Text;
  readonly onPhase: (phase: string) => void;
}

/** No bridge was asked, so nothing was sent. */
export class NotReached {
  readonly atSocket: NotAtSocket;
  readonly overBroker: NotAsked;

  constructor(atSocket: NotAtSocket, overBroker: NotAsked) {
    this.atSocket = atSocket;
    this.overBroker = overBroker;
  }

  get reasons(): Text {
    return row`${msg`at its socket: ${this.atSocket.reason}`}\n  ${msg`over the broker: ${this.overBroker.reason}`}`;
  }
}

interface Told {
  readonly message?: Text | null;
  readonly members?: readonly Told[];
}

/** Sentences that the bridge gave in the person's language are shown as they are. */
const asTold = <Result extends Told>(result: Result): Result => ({
  ...result,
  ...(typeof result.message === "string" && { message: row`${result.message}` }),
  ...(result.members !== undefined && { members: result.members.map(asTold) }),
});

/** The result from the bridge. Rejects with a CommandFailure if the bridge was asked and its answer did not come. */
export async function askForCommand<Result extends Told>(
  configuration: Configuration,
  command: AskedCommand,
  stop: AbortSignal,
  language: string,
): Promise<Result | NotReached> {
  const own = await askAtSocket(
    configuration,
    (ask) => overSocket<Result>(ask, command, stop),
    stop,
    language,
  );
  if (!(own instanceof NotAtSocket)) return language === "en" ? own : asTold(own);
  const answer = await overBroker<Result>(configuration, command, stop);
  return answer instanceof NotAsked ? new NotReached(own, answer) : answer;
}

async function overSocket<Result>(
  ask: AskSocket,
  { id, payload, target, hint, onPhase }: AskedCommand,
  stop: AbortSignal,
): Promise<Result> {
  const taken = await ask("/api/commands", { ...target, ...documentOf(payload) });
  if (taken.status === 409) return taken.document as unknown as Result;
  if (taken.status !== 202) throw new CommandFailure(refusalText(taken.document));
  const until = systemClock.monotonic() + longestMs;
  let before: unknown = null;
  while (systemClock.monotonic() < until) {
    const { phase, result } = (await ask(`/api/commands/${id}`)).document;
    if (isDocument(result)) return result as unknown as Result;
    if (typeof phase === "string" && phase !== before && phase !== "done") onPhase(phase);
    before = phase;
    await systemClock.wait(lookEveryMs, stop).catch(ignored);
    if (stop.aborted) throw new CommandFailure(endingsOf(hint).stopped);
  }
  throw new CommandFailure(endingsOf(hint).late);
}

function overBroker<Result>(
  configuration: Configuration,
  { id, payload, topics, hint, onPhase }: AskedCommand,
  stop: AbortSignal,
): Promise<Result | NotAsked> {
  const onDocument = (from: string, document: Document) => {
    if (document["id"] !== id) return null;
    if (from === topics.result) return document as unknown as Result;
    const phase = document["phase"];
    if (typeof phase === "string" && phase !== "done") onPhase(phase);
    return null;
  };
  const { set: topic, ...heard } = topics;
  const question = {
    topics: Object.values(heard),
    send: { topic, payload },
    onDocument,
    longestMs,
    endings: endingsOf(hint),
  };
  return askBridge(configuration, question, stop);
}

const endingsOf = (hint: Text) => ({
  notSent: msg`stopped; the command was not sent`,
  stopped: msg`stopped; the command was sent, and ${hint}`,
  gone: msg`the command was sent, but the bridge has gone offline; once it runs again ${hint}`,
  late: msg`the bridge did not answer; ${hint}`,
});
