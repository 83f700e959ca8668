import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { reachable } from "../broker/settings.js";
import { commandDirectly } from "./direct-command.js";
import { type Configuration, controllerTopicId } from "../config/schema.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { addressPattern } from "../greenhouse/model.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { DirectoryInUse } from "../journal/lock.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { type TargetKind, topicsUnder } from "../mqtt/topics.js";
import { type Clock, systemClock } from "../runtime/clock.js";
import { silentLog } from "../runtime/log.js";
import { isPasswordHash } from "../runtime/passwords.js";
import { systemRandom } from "../runtime/random.js";
import { codeOf } from "./read.js";
import { withBroker, loggerFor, readConfiguration } from "./errands.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  programVersion,
  type Surroundings,
  untilStopped,
} from "./surroundings.js";

/** For a broker to show the retained state once the subscription stands. */
const shownMs = 1_000;
/** Longer than any command may take: its age, its steps and its read-backs. */
const longestMs = 15 * 60_000;

const journalShows = "`greenhouse2mqtt journal` shows what became of it";

/** Whether a bridge is there, and the wait for its answer: which ends too when it leaves, or the user has enough. */
export class BridgeWait {
  readonly #clock: Clock;
  readonly #spoke = new AbortController();
  readonly #over = new AbortController();
  #state: string | null = null;
  #isSent = false;
  #resolve: (result: CommandResult) => void = () => undefined;
  #reject: (why: CommandFailure) => void = () => undefined;
  readonly #result = new Promise<CommandResult>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#result.catch(() => undefined);
  }

  /** What stands in `bridge/state`. */
  said(state: string): void {
    this.#state = state;
    this.#spoke.abort();
    if (state !== "online" && this.#isSent)
      this.#giveUp(
        `the command was sent, but the bridge has gone offline; once it runs again ${journalShows}`,
      );
  }

  answered(result: CommandResult): void {
    this.#resolve(result);
  }

  async isOnline(): Promise<boolean> {
    await this.#clock.wait(shownMs, this.#spoke.signal).catch(() => undefined);
    return this.#state === "online";
  }

  /** Sends the command and waits for its result; rejects with a CommandFailure that says where it will be found. */
  async resultOf(send: () => Promise<unknown>, stop: AbortSignal): Promise<CommandResult> {
    if (stop.aborted) throw new CommandFailure("stopped; the command was not sent");
    const stopped = () => this.#giveUp(`stopped; the command was sent, and ${journalShows}`);
    stop.addEventListener("abort", stopped, { once: true });
    const late = () => this.#giveUp(`the bridge did not answer; ${journalShows}`);
    this.#clock.wait(longestMs, this.#over.signal).then(late, () => undefined);
    this.#isSent = true;
    try {
      // A publish that the broker does not acknowledge must not hold up the end.
      await Promise.race([send(), this.#result]);
      return await this.#result;
    } finally {
      stop.removeEventListener("abort", stopped);
      this.#over.abort();
    }
  }

  #giveUp(why: string): void {
    this.#reject(new CommandFailure(why));
  }
}

const connectMs = 1_500;

/** Why nobody asked the embedded broker: its users' passwords are known as hashes only. */
const missingLogin =
  "The passwords of broker.users are hashes, so `set` has no login: put one user's name and password into mqtt.username and mqtt.password (with !secret).";

/** Whether there is a login for `set` to reach the running bridge with. */
const hasLogin = ({ mqtt, broker }: Configuration): boolean =>
  mqtt.url !== undefined ||
  mqtt.username !== undefined ||
  broker.users.length === 0 ||
  broker.users.some(isPlain);

/** Sends the command through the running bridge and waits for its result; null when no bridge is online there. */
async function commandThroughBridge(
  configuration: Configuration,
  request: SetRequest,
  progress: (phase: string) => void,
  stop: AbortSignal,
): Promise<CommandResult | null> {
  if (!hasLogin(configuration)) return null;
  const topics = topicsUnder(configuration.mqtt.base_topic);
  const topic = topics[request.target](request.controllerId, request.targetId);
  const wait = new BridgeWait();
  const onMessage = (message: IncomingMessage) => {
    if (message.topic === topics.bridge.state) wait.said(message.payload.toString());
    const body = documentOf(message, request.id);
    if (body === null) return;
    if (message.topic === topic.result) wait.answered(body as unknown as CommandResult);
    else if (typeof body["phase"] === "string" && body["phase"] !== "done") progress(body["phase"]);
  };
  const errand = {
    configuration: withLocalUrl(configuration),
    log: silentLog,
    subscriptions: [topic.result, topic.command],
    withRetained: [topics.bridge.state],
    onMessage,
    // The embedded broker ends with its bridge, which is then too late to say so.
    onDisconnected: () => {
      if (configuration.mqtt.url === undefined) wait.said("offline");
    },
    connectMs,
  };
  try {
    return await withBroker(errand, async (connection) => {
      if (!(await wait.isOnline())) return null;
      const publish = () => connection.publish(topic.set, request.payload, { qos: 1, retain: false });
      return await wait.resultOf(publish, stop);
    });
  } catch (error) {
    if (error instanceof CommandFailure && error.message.startsWith("no connection")) return null;
    throw error;
  }
}

const isPlain = ({ password }: Configuration["broker"]["users"][number]): boolean =>
  !isPasswordHash(password);

/** The embedded broker is reached where it listens; without `mqtt.username` a user with a plain password serves as login. */
function withLocalUrl(configuration: Configuration): Configuration {
  const { mqtt, broker } = configuration;
  if (mqtt.url !== undefined) return configuration;
  const user = mqtt.username === undefined ? broker.users.find(isPlain) : mqtt;
  return {
    ...configuration,
    mqtt: {
      ...mqtt,
      url: `mqtt://${reachable(broker.host)}:${broker.port}`,
      username: user?.username,
      password: user?.password,
    },
  };
}

function documentOf(message: IncomingMessage, id: string): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(message.payload.toString());
    if (typeof parsed !== "object" || parsed === null || !("id" in parsed) || parsed.id !== id) return null;
    return { ...parsed };
  } catch {
    return null;
  }
}

/** Who runs the program. A container may give it a number that has no entry in the list of users. */
export function userName(
  ask: () => { readonly username: string } = userInfo,
  number: () => number | undefined = () => process.getuid?.(),
): string {
  try {
    return ask().username;
  } catch {
    const own = number();
    return own === undefined ? "unknown" : `uid ${own}`;
  }
}

export interface SetOptions extends CommonOptions {
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
  controller: string,
  actuator: string,
  command: string,
  options: SetOptions,
  around: Surroundings,
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
    (await directly(configuration, request, { log, progress, by, stop: around.stop }));
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

interface Doing {
  readonly log: ReturnType<typeof loggerFor>;
  readonly progress: (phase: string) => void;
  readonly by: string;
  readonly stop: AbortSignal;
}

async function directly(
  configuration: Configuration,
  request: SetRequest,
  { log, progress, by, stop }: Doing,
): Promise<CommandResult> {
  const around = {
    configuration,
    clock: systemClock,
    random: systemRandom,
    log,
    setLogLevel: () => undefined,
    version: programVersion(),
  };
  const payload = new TextEncoder().encode(request.payload);
  const via = `command line, user ${userName()}`;
  try {
    const done = commandDirectly(around, { ...request, payload, by, via }, progress);
    return await unlessStopped(done, stop);
  } catch (error) {
    if (error instanceof DirectoryInUse) {
      const why = hasLogin(configuration) ? "" : ` ${missingLogin}`;
      throw new CommandFailure(
        `${error.message} It could not be reached over the broker, so the command was not sent.${why}`,
      );
    }
    throw error;
  }
}

/** Gives the command up like a crash would: its journal tells the next start of the bridge how far it came. */
async function unlessStopped<Answer>(work: Promise<Answer>, stop: AbortSignal): Promise<Answer> {
  const over = new AbortController();
  const stopped = untilStopped(AbortSignal.any([stop, over.signal])).then(() => {
    throw new CommandFailure(
      "stopped; the command may have been sent, and `greenhouse2mqtt journal` shows what became of it once the bridge has run again",
    );
  });
  stopped.catch(() => undefined);
  try {
    return await Promise.race([work, stopped]);
  } finally {
    over.abort();
  }
}

function sentence({
  controller,
  actuator,
  command,
  outcome,
  reason,
  message,
  read_back,
  duration_ms,
}: CommandResult): string {
  const why = reason === null ? "" : ` (${reason})`;
  const shows = read_back === null ? "" : ` The platform shows ${read_back}.`;
  return `${controller}/${actuator} ${command ?? ""}: ${outcome}${why} after ${(duration_ms / 1000).toFixed(1)} s.${shows}${message === null ? "" : ` ${message}`}`;
}
