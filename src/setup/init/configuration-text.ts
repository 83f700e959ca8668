import { stringify } from "yaml";
import type { Answers, BrokerAnswer, PlatformAnswer, Secret } from "./given-answers.js";

export interface FirstFiles {
  readonly configuration: string;
  /** What is to be added to `secrets.yaml`, by name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** One YAML value on one line. */
const scalar = (text: string): string => stringify(text, { lineWidth: 0, blockQuote: false }).trimEnd();

/** The first configuration. `taken`: names in `secrets.yaml` that already stand for something else. */
export function firstFiles({ platform, broker }: Answers, taken: ReadonlySet<string>): FirstFiles {
  const secrets = new Map<string, string>();
  const refer = (wanted: string, secret: Secret): string => {
    if (secret.from === "env") return `!env ${secret.name}`;
    const name = freeName(wanted, taken);
    secrets.set(name, secret.text);
    return `!secret ${name}`;
  };
  const lines = [
    "# Written by `greenhouse2mqtt init`. config.example.yaml shows every key; `greenhouse2mqtt check` reads this file.",
    ...platformLines(platform, refer),
    ...brokerLines(broker, refer),
    "commands:",
    "  read_only: true # no command is taken; set it to false when the readings look right",
    "# Actuators are listed under `controllers`; `greenhouse2mqtt discover` finds their addresses.",
    "",
  ];
  return { configuration: lines.join("\n"), secrets };
}

type Refer = (wanted: string, secret: Secret) => string;

function platformLines(platform: PlatformAnswer, refer: Refer): readonly string[] {
  return [
    "platform:",
    `  business_url: ${scalar(platform.businessUrl)}`,
    `  realtime_url: ${scalar(platform.realtimeUrl)}`,
    ...(platform.allowInsecure ? ["  allow_insecure: true # the token can be read on the way"] : []),
    ...credentialLines(platform, refer),
  ];
}

function credentialLines({ credential }: PlatformAnswer, refer: Refer): readonly string[] {
  switch (credential.type) {
    case "token":
      return [`  token: ${refer("platform_token", credential.token)}`];
    case "token_file":
      return [`  token_file: ${scalar(credential.path)}`];
    case "sign_in":
      return [
        "  sign_in:",
        "    body:",
        `      ${scalar(credential.accountField)}: ${scalar(credential.account)}`,
        `      ${scalar(credential.passwordField)}: ${refer("platform_password", credential.password)}`,
      ];
  }
}

function brokerLines(broker: BrokerAnswer, refer: Refer): readonly string[] {
  if (broker.type === "embedded")
    return [
      "# Without mqtt.url the embedded broker is used, on this computer only. Mosquitto is better for permanent use.",
    ];
  const { url, username, password } = broker;
  return [
    "mqtt:",
    `  url: ${scalar(url)}`,
    ...(username === undefined ? [] : [`  username: ${scalar(username)}`]),
    ...(password === undefined ? [] : [`  password: ${refer("mqtt_password", password)}`]),
  ];
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    const name = `${wanted}_${number}`;
    if (!taken.has(name)) return name;
  }
}

/** Lines for `secrets.yaml`. */
export const secretLines = (secrets: ReadonlyMap<string, string>): string =>
  [...secrets].map(([name, text]) => `${name}: ${JSON.stringify(text)}\n`).join("");
