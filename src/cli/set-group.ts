import { joined, msg, row, word } from "../language/text.js";
import { suggestion } from "../runtime/similar-words.js";
import { features } from "../config/features.js";
import type { Configuration } from "../config/schema.js";
import type { GroupResult, GroupOrScene } from "../greenhouse/groups.js";
import { topicsUnder } from "../mqtt/topics.js";
import { inOptions } from "../terminal/common.js";
import { askForCommand, NotReached } from "./ask-command.js";
import type { Tell } from "../language/words.js";
import { endedText } from "../greenhouse/wording.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { ProcessContext } from "../terminal/context.js";

/*
 * `greenhouse2mqtt set group GROUP COMMAND` and `set scene SCENE activate`: through the running bridge, which has the
 * result of each member.
 */

interface GroupRequestBody {
  readonly kind: GroupOrScene;
  readonly name: string;
  readonly id: string;
  readonly payload: string;
}

export const isGroupOrScene = (word: string): word is GroupOrScene => word === "group" || word === "scene";

/** Sends the command and prints the result of each member. */
export async function setGroupOrScene(
  context: ProcessContext,
  configuration: Configuration,
  request: GroupRequestBody,
): Promise<GroupResult> {
  const { kind, name } = request;
  const { groups, scenes } = features.groups.read(configuration);
  const known = kind === "group" ? groups : scenes;
  if (!known.has(name)) {
    const hint = suggestion(name, [...known.keys()]);
    const short = name.slice(0, 80);
    throw usageFailure(
      kind === "group"
        ? msg`there is no group "${short}" in the configuration${hint}`
        : msg`there is no scene "${short}" in the configuration${hint}`,
    );
  }
  const result = await ask(configuration, request, context);
  context.out(context.isTerminal ? report(result, context.speech.tell) : `${JSON.stringify(result)}\n`);
  return result;
}

async function ask(
  configuration: Configuration,
  { kind, name, id, payload }: GroupRequestBody,
  { stop, isTerminal, speech }: ProcessContext,
): Promise<GroupResult> {
  const { set, result } = topicsUnder(configuration.mqtt.base_topic)[kind](name);
  const command = {
    id,
    payload,
    target: { [kind]: name },
    topics: { set, result },
    hint: msg`\`greenhouse2mqtt journal\` shows what became of each member`,
    onPhase: () => undefined,
  };
  const answer = await askForCommand<GroupResult>(
    configuration,
    command,
    stop,
    isTerminal ? speech.language : "en",
  );
  if (!(answer instanceof NotReached)) return answer;
  throw new CommandFailure(
    row`${msg`groups and scenes are commanded through a running bridge, and none was reached, so nothing was sent`}\n  ${answer.reasons}`,
  );
}

/** A line for the whole, and one for each member. */
function report(whole: GroupResult, tell: Tell): string {
  const { group, scene, command, outcome, duration_ms: ms, members, message } = whole;
  const name = group === null ? msg`scene ${scene ?? ""}` : msg`group ${group}`;
  const lines = members.map((one) => {
    const what = [`${one.controller}/${one.actuator}`, one.command ?? []].flat().join(" ");
    const reason = one.reason === null ? "" : ` (${one.reason})`;
    const said = one.message === null ? "" : row`: ${endedText(one)(one.message)}`;
    return row`  ${what} → ${word(one.outcome)}${reason}${said}`;
  });
  const why = members.length === 0 && message !== null ? row`: ${endedText(whole)(message)}` : "";
  const head = row`${name}${command === null ? "" : ` ${command}`} → ${word(outcome)} ${msg`after ${(ms / 1000).toFixed(1)} s`}${why}`;
  return `${inOptions(tell(joined([head, ...lines], "\n")))}\n`;
}
