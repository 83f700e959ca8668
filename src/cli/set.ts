import { msg, row, type Text, textOf, word } from "../language/text.js";
import { randomUUID } from "node:crypto";
import type { BridgeOptions } from "../bridge.js";
import { commandDirectly } from "./direct-command.js";
import { nearest } from "../runtime/similar-words.js";
import type { Configuration } from "../config/schema.js";
import { controllerTopicId } from "../settings/controllers.js";
import { type CommandResult, isGood, resultSentence } from "../greenhouse/command/outcomes.js";
import { addressPattern, type TargetKind, targetKinds } from "../greenhouse/model.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { DirectoryInUse } from "../journal/lock.js";
import { topicsUnder } from "../mqtt/topics.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { codeOf } from "../terminal/common.js";
import { endedText } from "../greenhouse/wording.js";
import { inOptions, loggerFor, readConfiguration, shortList, userName } from "../terminal/common.js";
import { type AskedCommand, askForCommand, NotReached } from "./ask-command.js";
import { isGroupOrScene, setGroupOrScene } from "./set-group.js";
import { CommandFailure, exitCodes, usageFailure } from "../runtime/ending.js";
import { type CommonOptions, programVersion, type ProcessContext } from "../terminal/context.js";

interface SetOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly by?: string;
  readonly for?: string;
  readonly hold?: string;
  readonly force?: boolean;
  readonly maxAge?: string;
}

interface SetRequest {
  readonly controllerId: string;
  readonly target: TargetKind;
  readonly targetId: string;
  readonly id: string;
  readonly payload: string;
}

/** `greenhouse2mqtt set`: sends one command, through the running bridge or, without one, directly. */
export async function set(
  context: ProcessContext,
  controller: string,
  actuator: string,
  command: string,
  options: SetOptions,
): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const id = randomUUID();
  const by = options.by ?? userName();
  const { for: lasts, hold, force, maxAge: max_age, dryRun: dry_run = false } = options;
  const payload = JSON.stringify({ command, id, by, dry_run, for: lasts, hold, force, max_age });
  if (isGroupOrScene(controller)) {
    const request = { kind: controller, name: actuator, id, payload };
    if (isDone(await setGroupOrScene(context, configuration, request), dry_run)) return;
    throw new CommandFailure("", exitCodes.notConfirmed);
  }
  const code = codeOf(configuration, controller);
  // A name that the configuration does not know counts as a topic id if it can be one.
  const isId = !Object.hasOwn(configuration.controllers, code) && topicIdPattern.test(code);
  const controllerId = isId ? code : (configuration.controllers[code]?.id ?? controllerTopicId(code));
  const request: SetRequest = { controllerId, ...targetNamed(configuration, code, actuator), id, payload };
  const progress = (phase: string) => {
    if (context.isTerminal) context.err.write(`${context.speech.tell(word(`${phase}…`))}\n`);
  };
  const log = loggerFor(configuration, context);
  const asked = await askForCommand<CommandResult>(
    configuration,
    asCommand(configuration, request, progress),
    context.stop,
    // Programs get English.
    context.isTerminal ? context.speech.language : "en",
  );
  const result =
    asked instanceof NotReached
      ? await withoutBridge(asked, { ...request, by, lasts }, progress, { configuration, log }, context.stop)
      : asked;
  report(context, result, command, meantBy(configuration, controller, code, request));
  if (!isDone(result, dry_run)) throw new CommandFailure("", exitCodes.notConfirmed);
}

/** Whether it ended as it was asked for. */
const isDone = ({ outcome }: Pick<CommandResult, "outcome">, isDryRun: boolean): boolean =>
  isGood(outcome) || (outcome === "dry_run" && isDryRun);

/** Prints the result. That of a misunderstood command does not contain the command, so the typed one is shown. */
function report(
  context: ProcessContext,
  result: CommandResult,
  command: string,
  meantBy: (result: CommandResult) => Text,
): void {
  const { tell } = context.speech;
  const told = resultSentence({ ...result, command: result.command ?? command }, word, endedText(result));
  context.out(
    context.isTerminal ? `${inOptions(tell(told))}${tell(meantBy(result))}\n` : `${JSON.stringify(result)}\n`,
  );
}

const idRule = {
  pattern: topicIdPattern,
  what: msg`id of an actuator or parameter; expected 1 to 64 of a-z, 0-9, "_" and "-", see the configuration`,
};
const addressRule = {
  pattern: addressPattern,
  what: msg`address; expected 1 to 64 letters, digits, ".", "_" and "-"`,
};

/**
 * The target by an actuator's or parameter's id; `parameter/ID` and `address/ADDRESS` choose the kind. The command
 * itself refuses a valid id that does not exist.
 */
function targetNamed(
  { controllers }: Configuration,
  code: string,
  name: string,
): Pick<SetRequest, "target" | "targetId"> {
  const named = targetKinds.find((kind) => name.startsWith(`${kind}/`));
  const targetId = named === undefined ? name : name.slice(named.length + 1);
  const { pattern, what } = named === "address" ? addressRule : idRule;
  if (!pattern.test(targetId))
    throw usageFailure(msg`${JSON.stringify(targetId.slice(0, 80))} can be no ${what}`);
  if (named !== undefined) return { target: named, targetId };
  const known = Object.hasOwn(controllers, code) ? controllers[code] : undefined;
  const isParameter = known?.actuators[name] === undefined && known?.parameters[name] !== undefined;
  return { target: isParameter ? "parameter" : "actuator", targetId };
}

const hint = msg`\`greenhouse2mqtt journal\` shows what became of it`;

function asCommand(
  { mqtt }: Configuration,
  { controllerId, target, targetId, id, payload }: SetRequest,
  onPhase: (phase: string) => void,
): AskedCommand {
  const { set, result, command } = topicsUnder(mqtt.base_topic)[target](controllerId, targetId);
  const topics = { set, result, command };
  return {
    id,
    payload,
    target: { controller: controllerId, [target]: targetId },
    topics,
    hint,
    onPhase,
  };
}

/** Without a bridge that can be asked, sends the command directly; refuses that while one runs. */
async function withoutBridge(
  { atSocket, reasons }: NotReached,
  request: SetRequest & { readonly by: string; readonly lasts: string | undefined },
  progress: (phase: string) => void,
  context: Pick<BridgeOptions, "configuration" | "log">,
  stop: AbortSignal,
): Promise<CommandResult> {
  if (context.configuration.cluster !== undefined)
    throw new CommandFailure(
      row`${msg`the member of the cluster that runs the account was not reached, so the command was not sent.`}\n  ${reasons}`,
    );
  if (atSocket.holder === null && request.lasts !== undefined) throw nothingEndsIt(request.lasts);
  return directly(request, request.by, progress, context, stop).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new CommandFailure(
      row`${msg`${textOf(error)} It was not reached, so the command was not sent.`}\n  ${reasons}`,
    );
  });
}

function directly(
  request: SetRequest,
  by: string,
  progress: (phase: string) => void,
  context: Pick<BridgeOptions, "configuration" | "log">,
  stop: AbortSignal,
): Promise<CommandResult> {
  const own = { clock: systemClock, random: systemRandom, setLogLevel: () => undefined };
  const payload = new TextEncoder().encode(request.payload);
  const asked = { ...request, payload, by, via: `command line, user ${userName()}` };
  const done = commandDirectly({ ...context, ...own, version: programVersion() }, asked, progress);
  return unlessStopped(done, stop);
}

/** Gives the command up as a crash would: its journal tells the next start how far it came. */
const unlessStopped = <Answer>(work: Promise<Answer>, stop: AbortSignal): Promise<Answer> =>
  Promise.race([
    work,
    untilAborted(stop).then(() => {
      throw new CommandFailure(
        msg`stopped; the command may have been sent, and \`greenhouse2mqtt journal\` shows what became of it once the bridge has run again`,
      );
    }),
  ]);

const nothingEndsIt = (lasts: string): CommandFailure =>
  new CommandFailure(
    msg`the command was not sent: only a running bridge could end it after ${lasts}, and none is running; start it first`,
  );

const meantBy =
  (...about: Parameters<typeof findTarget>) =>
  ({ reason }: CommandResult): Text =>
    reason === "unknown_actuator" ? findTarget(...about) : "";

/** Suggests what was probably meant by an unknown name; empty if nothing is similar. */
function findTarget(
  { controllers }: Configuration,
  typed: string,
  code: string,
  { target, targetId }: SetRequest,
): Text {
  const own = Object.hasOwn(controllers, code) ? controllers[code] : undefined;
  const ids = Object.entries(controllers).map(([one, { id }]) => id ?? controllerTopicId(one));
  const near =
    own === undefined
      ? nearest(typed, [...Object.keys(controllers), ...ids])
      : nearest(targetId, Object.keys(target === "parameter" ? own.parameters : own.actuators));
  if (near !== null) return row` ${msg`Did you mean "${near}"?`}`;
  return own === undefined && ids.length > 0 ? row` ${msg`The configuration has ${shortList(ids)}.`}` : "";
}
