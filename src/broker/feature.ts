import type { Feature } from "../feature/feature.js";
import type { Clock } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import type { Gaps } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { RefusedLogin } from "./authenticator.js";
import type { EmbeddedBroker } from "./broker.js";
import type { BrokerConfiguration } from "./settings.js";
import { privateAs, privatePath } from "../runtime/redaction.js";
import { plainPasswords, soundUsers } from "../settings/users.js";
import { withDefault } from "../settings/values.js";
import { brokerSection, usersBeyondLoopback } from "./section.js";

const keys = {
  broker: withDefault(
    brokerSection,
    {},
    "The embedded broker, used when mqtt.url is absent; keeps nothing over a restart.",
    { off: true },
  ),
};

/** The feature `broker`: the embedded broker. */
export const broker = {
  keys,
  errors: (root) => [...usersBeyondLoopback(root), ...soundUsers(root, "broker")],
  doubts: ({ broker: { users } }) => plainPasswords("broker", users),
  privateTexts: ({ broker: { host, users, tls } }) => [
    ...privateAs("host", [host]),
    ...privateAs(
      "user",
      users.map(({ username }) => username),
    ),
    ...[tls.cert, tls.key].flatMap(privatePath),
  ],
  /** Starts it if no other broker is configured, else null. Only then its code is loaded. */
  start: async (configuration: BrokerConfiguration, starting: Starting) =>
    configuration.mqtt.url === undefined ? startEmbedded(configuration, starting) : null,
} satisfies Feature<typeof keys> & { readonly start: unknown };

interface Starting {
  readonly clock: Clock;
  readonly gaps?: Gaps;
  readonly log: Logger;
  /** Where refused logins are noted. */
  readonly journal: { append(record: LoginFailed, options: { readonly durable: false }): Promise<unknown> };
  /** Registers a listener for reloads, which gets the configuration in force. */
  readonly onReload?: ((listener: (now: BrokerConfiguration) => void) => void) | undefined;
}

interface LoginFailed extends RefusedLogin {
  readonly type: "login_failed";
  readonly listener: "broker";
  readonly user: null;
}

/** Loads the broker's code and starts it. */
async function startEmbedded(
  configuration: BrokerConfiguration,
  { clock, gaps, log, journal, onReload }: Starting,
): Promise<EmbeddedBroker> {
  const { startBroker } = await import("./broker.js");
  const { brokerSettings } = await import("./settings.js");
  // The name is left out, as people type passwords into the wrong field.
  const onRefusedLogin = (refused: RefusedLogin) => {
    const record = { type: "login_failed", listener: "broker", user: null, ...refused } as const;
    journal.append(record, { durable: false }).catch(ignored);
  };
  const broker = await startBroker(brokerSettings(configuration), { clock, gaps, log }, onRefusedLogin);
  let { users } = configuration.broker;
  onReload?.(({ broker: now }) => {
    void broker.renewCertificate();
    if (JSON.stringify(now.users) === JSON.stringify(users)) return;
    users = now.users;
    broker
      .takeUsers(users)
      .catch((error: unknown) => log.error({ err: error }, "an earlier session could not be ended"));
  });
  return broker;
}
