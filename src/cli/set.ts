import { randomUUID } from "node:crypto";
import type { BridgeOptions } from "../bridge.js";
import { commandDirectly } from "./direct-command.js";
import { type Configuration, controllerTopicId } from "../config/schema.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { addressPattern } from "../greenhouse/model.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { DirectoryInUse } from "../journal/lock.js";
import { type TargetKind, topicsUnder } from "../mqtt/topics.js";
import { systemClock, systemRandom } from "../runtime/clock.js";
import { codeOf } from "./read.js";
import { loggerFor, readConfiguration, userName } from "./errands.js";
import { askBridge, type Document, missingLogin } from "./running-bridge.js";
import { hasLogin } from "../setup/broker-client.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  programVersion,
  type Surroundings,
  untilStopped,
} from "./surroundings.js";

/** Longer than any command may take: its age, its steps and its read-backs. */
const longestMs = 15 * 60_000;

const journalShows = "`greenhouse2mqtt journal` shows what became of it";

const endings = {
  notSent: "stopped; the command was not sent",
  stopped: `stopped; the command was sent, and ${journalShows}`,
  gone: `the command was sent, but the bridge has gone offline; once it runs again ${journalShows}`,
  late: `the bridge did not answer; ${journalShows}`,
};

/** Sends the command through the running bridge and waits for its result; null when no bridge is online there. */
function commandThroughBridge(
  configuration: Configuration,
  request: SetRequest,
  progress: (phase: string) => void,
  stop: AbortSignal,
): Promise<CommandResult | null> {
  const topics = topicsUnder(configuration.mqtt.base_topic);
  const topic = topics[request.target](request.controllerId, request.targetId);
  const heard = (from: string, document: Document) => {
    if (document["id"] !== request.id) return null;
    if (from === topic.result) return document as unknown as CommandResult;
    if (typeof document["phase"] === "string" && document["phase"] !== "done") progress(document["phase"]);
    return null;
  };
  const send = { topic: topic.set, payload: request.payload };
  const question = { topics: [topic.result, topic.command], send, heard, longestMs, endings };
  return askBridge(configuration, question, stop);
}

interface SetOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly by?: string;
}

interface SetRequest {
  readonly controllerId: string;
  readonly target: TargetKind;
  readonly targetId: string;
  readonly id: string;
  readonly payload: string;
}

/** `greenhouse2mqtt set`: one command, through the running bridge where there is one, else by itself. */
export async function set(
  around: Surroundings,
  controller: string,
  actuator: string,
  command: string,
  options: SetOptions,
): Promise<void> {
  const configuration = await readConfiguration(options, around);
  const code = codeOf(configuration, controller);
  const id = randomUUID();
  const by = options.by ?? userName();
  const payload = JSON.stringify({ command, id, by, dry_run: options.dryRun === true });
  // A name the configuration does not know is an id where it can be one.
  const isId = !Object.hasOwn(configuration.controllers, code) && topicIdPattern.test(code);
  const controllerId = isId ? code : (configuration.controllers[code]?.id ?? controllerTopicId(code));
  const request: SetRequest = { controllerId, ...targetNamed(configuration, code, actuator), id, payload };
  const progress = (phase: string) => {
    if (around.isTerminal) around.err.write(`${phase}…\n`);
  };
  const log = loggerFor(configuration, around);
  const result =
    (await commandThroughBridge(configuration, request, progress, around.stop)) ??
    (await directly(request, by, progress, { configuration, log }, around.stop));
  around.out(around.isTerminal ? `${sentence(result)}\n` : `${JSON.stringify(result)}\n`);
  const isDone =
    ["confirmed", "already"].includes(result.outcome) ||
    (result.outcome === "dry_run" && options.dryRun === true);
  if (!isDone) throw new CommandFailure("", exitCodes.notConfirmed);
}

const targetKinds = ["actuator", "parameter", "address"] as const satisfies readonly TargetKind[];

const idRule = {
  pattern: topicIdPattern,
  what: 'id of an actuator or parameter; expected 1 to 64 of a-z, 0-9, "_" and "-", see the configuration',
};
const addressRule = {
  pattern: addressPattern,
  what: 'address; expected 1 to 64 letters, digits, ".", "_" and "-"',
};

/**
 * An actuator's or parameter's id; `parameter/ID` and `address/ADDRESS` say which is meant. A name that could exist and
 * does not is left to the command to refuse.
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
    throw new CommandFailure(`${JSON.stringify(targetId.slice(0, 80))} can be no ${what}`, exitCodes.usage);
  if (named !== undefined) return { target: named, targetId };
  const known = Object.hasOwn(controllers, code) ? controllers[code] : undefined;
  const isParameter = known?.actuators[name] === undefined && known?.parameters[name] !== undefined;
  return { target: isParameter ? "parameter" : "actuator", targetId };
}

async function directly(
  request: SetRequest,
  by: string,
  progress: (phase: string) => void,
  around: Pick<BridgeOptions, "configuration" | "log">,
  stop: AbortSignal,
): Promise<CommandResult> {
  const own = { clock: systemClock, random: systemRandom, setLogLevel: () => undefined };
  const payload = new TextEncoder().encode(request.payload);
  const asked = { ...request, payload, by, via: `command line, user ${userName()}` };
  const done = commandDirectly({ ...around, ...own, version: programVersion() }, asked, progress);
  return unlessStopped(done, stop).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUse)) throw error;
    const why = hasLogin(around.configuration) ? "" : ` ${missingLogin}`;
    throw new CommandFailure(
      `${error.message} It could not be reached over the broker, so the command was not sent.${why}`,
    );
  });
}

/** Gives the command up like a crash would: its journal tells the next start of the bridge how far it came. */
const unlessStopped = <Answer>(work: Promise<Answer>, stop: AbortSignal): Promise<Answer> =>
  Promise.race([
    work,
    untilStopped(stop).then(() => {
      throw new CommandFailure(
        "stopped; the command may have been sent, and `greenhouse2mqtt journal` shows what became of it once the bridge has run again",
      );
    }),
  ]);

function sentence({ controller, actuator, command, ...result }: CommandResult): string {
  const { outcome, reason, message, read_back, duration_ms } = result;
  const why = reason === null ? "" : ` (${reason})`;
  const shows = read_back === null ? "" : ` The platform shows ${read_back}.`;
  return `${controller}/${actuator} ${command ?? ""}: ${outcome}${why} after ${(duration_ms / 1000).toFixed(1)} s.${shows}${message === null ? "" : ` ${message}`}`;
}
