import { reachable } from "../broker/reachable.js";
import type { Configuration } from "../config/schema.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { IncomingMessage } from "../mqtt/connection.js";
import { topicsUnder } from "../mqtt/topics.js";
import type { Logger } from "../runtime/logger.js";
import { BridgeWait } from "./bridge-wait.js";
import { withBroker } from "./broker-errand.js";
import type { SetRequest } from "./set.js";
import { CommandFailure } from "./surroundings.js";

const connectMs = 1_500;

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
  !password.startsWith("scrypt") && !password.startsWith("$scrypt");

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
