import { suggestion } from "../runtime/similar-words.js";
import { groupsAndScenesIn } from "../config/rules/groups.js";
import type { Configuration } from "../config/schema.js";
import type { GroupResult, GroupOrScene } from "../greenhouse/groups.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import { inOptions } from "./common.js";
import { type AskSocket, NotAtSocket } from "../setup/own-socket.js";
import { askAtSocket, askBridge, type Document, documentOf, isDocument, NotAsked } from "./running-bridge.js";
import type { Tell } from "./speech.js";
import { CommandFailure, exitCodes, type ProcessContext } from "./context.js";

/* `greenhouse2mqtt set group GROUP COMMAND` and `set scene SCENE activate`: through the running bridge, which knows how it went with each. */

/** Longer than any command may take. */
const longestMs = 15 * 60_000;
const lookEveryMs = 100;

const endings = {
  notSent: "stopped; the command was not sent",
  stopped: "stopped; the command was sent, and `greenhouse2mqtt journal` shows what became of each member",
  gone: "the command was sent, but the bridge has gone offline; once it runs again `greenhouse2mqtt journal` shows what became of each member",
  late: "the bridge did not answer; `greenhouse2mqtt journal` shows what became of each member",
};

interface GroupRequestBody {
  readonly kind: GroupOrScene;
  readonly name: string;
  readonly id: string;
  readonly payload: string;
}

export const isGroupOrScene = (word: string): word is GroupOrScene => word === "group" || word === "scene";

/** Sends it and says how it went with each. */
export async function setGroupOrScene(
  context: ProcessContext,
  configuration: Configuration,
  request: GroupRequestBody,
): Promise<GroupResult> {
  const { kind, name } = request;
  const { groups, scenes } = groupsAndScenesIn(configuration);
  const known = kind === "group" ? groups : scenes;
  if (!known.has(name))
    throw new CommandFailure(
      `there is no ${kind} "${name.slice(0, 80)}" in the configuration${suggestion(name, [...known.keys()])}`,
      exitCodes.usage,
    );
  const result = await ask(configuration, request, context.stop);
  context.out(context.isTerminal ? report(result, context.speech.tell) : `${JSON.stringify(result)}\n`);
  return result;
}

async function ask(
  configuration: Configuration,
  request: GroupRequestBody,
  stop: AbortSignal,
): Promise<GroupResult> {
  const own = await askAtSocket(configuration, (ask) => askedAtSocket(ask, request, stop), stop);
  if (!(own instanceof NotAtSocket)) return own;
  const topic = topicsUnder(configuration.mqtt.base_topic)[request.kind](request.name);
  const onDocument = (_: string, document: Document) =>
    document["id"] === request.id ? (document as unknown as GroupResult) : null;
  const send = { topic: topic.set, payload: request.payload };
  const question = { topics: [topic.result], send, onDocument, longestMs, endings };
  const overMqtt = await askBridge(configuration, question, stop);
  if (!(overMqtt instanceof NotAsked)) return overMqtt;
  throw new CommandFailure(
    `groups and scenes are commanded through a running bridge, and none was reached, so nothing was sent\n  at its socket: ${own.reason}\n  over the broker: ${overMqtt.reason}`,
  );
}

async function askedAtSocket(
  ask: AskSocket,
  { kind, name, id, payload }: GroupRequestBody,
  stop: AbortSignal,
): Promise<GroupResult> {
  const taken = await ask("/api/commands", { [kind]: name, ...documentOf(payload) });
  if (taken.status === 409) return taken.document as unknown as GroupResult;
  if (taken.status !== 202) throw new CommandFailure(String(taken.document["message"]));
  const until = systemClock.monotonic() + longestMs;
  while (systemClock.monotonic() < until) {
    const { result } = (await ask(`/api/commands/${id}`)).document;
    if (isDocument(result)) return result as unknown as GroupResult;
    await systemClock.wait(lookEveryMs, stop).catch(() => undefined);
    if (stop.aborted) throw new CommandFailure(endings.stopped);
  }
  throw new CommandFailure(endings.late);
}

/** A line of the whole, and one of each member. */
function report(
  { group, scene, command, outcome, duration_ms: ms, members, message }: GroupResult,
  tell: Tell,
): string {
  const whole = `${tell(group === null ? `scene ${scene ?? ""}` : `group ${group}`)} ${command ?? ""}`;
  const lines = members.map(
    (one) =>
      `  ${one.controller}/${one.actuator} ${one.command ?? ""} → ${tell(one.outcome)}${one.reason === null ? "" : ` (${one.reason})`}${one.message === null ? "" : `: ${tell(one.message)}`}`,
  );
  const why = members.length === 0 && message !== null ? `: ${tell(message)}` : "";
  const head = `${whole.trim()} → ${tell(outcome)} ${tell(`after ${(ms / 1000).toFixed(1)} s`)}${why}`;
  return `${inOptions([head, ...lines].join("\n"))}\n`;
}
