import { suggestion } from "../runtime/similar-words.js";
import { groupsAndScenesIn } from "../config/rules/groups.js";
import type { Configuration } from "../config/schema.js";
import type { GroupResult, GroupOrScene } from "../greenhouse/groups.js";
import { topicsUnder } from "../mqtt/topics.js";
import { inOptions } from "./common.js";
import { askForCommand, NotReached } from "./ask-command.js";
import type { Tell } from "./speech.js";
import { CommandFailure, exitCodes, type ProcessContext } from "./context.js";

/* `greenhouse2mqtt set group GROUP COMMAND` and `set scene SCENE activate`: through the running bridge, which knows how it went with each. */

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
  { kind, name, id, payload }: GroupRequestBody,
  stop: AbortSignal,
): Promise<GroupResult> {
  const { set, result } = topicsUnder(configuration.mqtt.base_topic)[kind](name);
  const command = {
    id,
    payload,
    target: { [kind]: name },
    topics: { set, result },
    hint: "`greenhouse2mqtt journal` shows what became of each member",
    onPhase: () => undefined,
  };
  const answer = await askForCommand<GroupResult>(configuration, command, stop);
  if (!(answer instanceof NotReached)) return answer;
  throw new CommandFailure(
    `groups and scenes are commanded through a running bridge, and none was reached, so nothing was sent\n  ${answer.reasons}`,
  );
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
