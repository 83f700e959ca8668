import type { Configuration } from "../config/schema.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { BrokerConnection, IncomingMessage } from "../mqtt/connection.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import { withBroker } from "./broker-errand.js";
import type { SetRequest } from "./set.js";
import { CommandFailure } from "./surroundings.js";

const connectMs = 1_500;
/** Longer than any command may take: its age, its steps and its read-backs. */
const longestMs = 15 * 60_000;

/** Why nobody asked the embedded broker: its users' passwords are known as hashes only. */
export const missingLogin =
  "The passwords of broker.users are hashes, so `set` has no login: put one user's name and password into mqtt.username and mqtt.password (with !secret).";

/** Whether there is a login for `set` to reach the running bridge with. */
export const hasLogin = ({ mqtt, broker }: Configuration): boolean =>
  mqtt.url !== undefined ||
  mqtt.username !== undefined ||
  broker.users.length === 0 ||
  broker.users.some(isPlain);

/** Sends the command through the running bridge and waits for its result; null when no bridge is online there. */
export async function commandThroughBridge(
  configuration: Configuration,
  request: SetRequest,
  progress: (phase: string) => void,
): Promise<CommandResult | null> {
  if (!hasLogin(configuration)) return null;
  const topics = topicsUnder(configuration.mqtt.base_topic);
  const topic = topics[request.target](request.controllerId, request.targetId);
  let ended: (result: CommandResult) => void = () => undefined;
  const result = new Promise<CommandResult>((resolve) => {
    ended = resolve;
  });
  const onMessage = (message: IncomingMessage) => {
    const body = documentOf(message, request.id);
    if (body === null) return;
    if (message.topic === topic.result) ended(body as unknown as CommandResult);
    else if (typeof body["phase"] === "string" && body["phase"] !== "done") progress(body["phase"]);
  };
  const reached = withLocalUrl(configuration);
  const errand = {
    configuration: reached,
    log: silentLog,
    subscriptions: [topic.result, topic.command],
    onMessage,
    connectMs,
  };
  try {
    return await withBroker(errand, async (connection) => {
      if (!(await isBridgeOnline(connection, topics.bridge.state))) return null;
      await connection.publish(topic.set, request.payload, { qos: 1, retain: false });
      return await inTime(result);
    });
  } catch (error) {
    if (error instanceof CommandFailure && error.message.startsWith("no connection")) return null;
    throw error;
  }
}

const isPlain = ({ password }: Configuration["broker"]["users"][number]): boolean =>
  !password.startsWith("scrypt") && !password.startsWith("$scrypt");

/** The embedded broker is reached where it listens; without `mqtt.username` a user with a plain password serves as login. */
function withLocalUrl(configuration: Configuration): Configuration {
  const { mqtt, broker } = configuration;
  if (mqtt.url !== undefined) return configuration;
  const user = mqtt.username === undefined ? broker.users.find(isPlain) : mqtt;
  const host = broker.host === "0.0.0.0" || broker.host === "::" ? "127.0.0.1" : broker.host;
  return {
    ...configuration,
    mqtt: {
      ...mqtt,
      url: `mqtt://${host}:${broker.port}`,
      username: user?.username,
      password: user?.password,
    },
  };
}

async function isBridgeOnline(connection: BrokerConnection, stateTopic: string): Promise<boolean> {
  let online = false;
  await connection.scan(
    [stateTopic],
    (_, payload) => {
      online = payload.toString() === "online";
    },
    300,
  );
  return online;
}

async function inTime(result: Promise<CommandResult>): Promise<CommandResult> {
  const answered = new AbortController();
  const late = systemClock.wait(longestMs, answered.signal).then(() => {
    throw new CommandFailure(
      "the bridge did not answer; see `greenhouse2mqtt journal` for what became of the command",
    );
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([result, late]);
  } finally {
    answered.abort();
  }
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

const nothing = () => undefined;

/** The connection's own lines would only stand between the user and the result; a failure is told by its error. */
const silentLog: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
};
