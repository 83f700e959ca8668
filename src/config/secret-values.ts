import { textsIn } from "../runtime/redaction.js";
import type { Configuration } from "./schema.js";

/** Every text that must never reach a log, topic or message: tokens, passwords and the values of the sign-in body. */
export function secretValues(configuration: Configuration): readonly string[] {
  const { platform, mqtt, broker, http } = configuration;
  const found = [
    platform.token,
    ...textsIn(platform.sign_in?.body),
    mqtt.password,
    ...broker.users.map(({ password }) => password),
    http === false ? undefined : http.token,
  ];
  return [...new Set(found.filter((text) => text !== undefined))];
}
