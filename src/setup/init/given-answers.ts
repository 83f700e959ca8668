import { urlOf } from "../../config/values.js";
import { isLoopback } from "../../runtime/sockets.js";

/** What the command line says already. A secret is never an option: it would stand in the list of processes. */
export interface GivenAnswers {
  readonly businessUrl?: string;
  readonly realtimeUrl?: string;
  readonly allowInsecure?: boolean;
  /** Name of an environment variable that holds the token. */
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  readonly mqttUrl?: string;
  readonly mqttUsername?: string;
  readonly mqttPasswordEnv?: string;
  readonly embedded?: boolean;
}

/** Options that are missing or do not go together. */
class IncompleteAnswers extends Error {
  override name = "IncompleteAnswers" as const;
}

/** Without a terminal the options must say everything. Throws IncompleteAnswers with what is missing. */
export function answersFrom(given: GivenAnswers): Answers {
  const { businessUrl, realtimeUrl, allowInsecure = false } = given;
  const credential = credentialFrom(given);
  const missing = [
    ...(businessUrl === undefined ? ["--business-url"] : []),
    ...(realtimeUrl === undefined ? ["--realtime-url"] : []),
    ...(credential === null ? ["--token-env or --token-file"] : []),
    ...(given.mqttUrl === undefined && given.embedded !== true ? ["--mqtt-url or --embedded"] : []),
  ];
  if (businessUrl === undefined || realtimeUrl === undefined || credential === null || missing.length > 0)
    throw new IncompleteAnswers(
      `there is no terminal to ask on, so these options are needed: ${missing.join(", ")} (or copy config.example.yaml)`,
    );
  for (const [option, address] of [
    ["--business-url", businessUrl],
    ["--realtime-url", realtimeUrl],
  ] as const) {
    const objection = addressObjection(address);
    if (objection !== null) throw new IncompleteAnswers(`${option}: ${objection}`);
  }
  return { platform: { businessUrl, realtimeUrl, allowInsecure, credential }, broker: brokerFrom(given) };
}

export function credentialFrom({ tokenEnv, tokenFile }: GivenAnswers): CredentialAnswer | null {
  if (tokenEnv !== undefined && tokenFile !== undefined)
    throw new IncompleteAnswers("only one of --token-env and --token-file can be given");
  if (tokenEnv !== undefined) return { type: "token", token: { from: "env", name: tokenEnv } };
  return tokenFile === undefined ? null : { type: "token_file", path: tokenFile };
}

export function brokerFrom({ mqttUrl, mqttUsername, mqttPasswordEnv, embedded }: GivenAnswers): BrokerAnswer {
  if (mqttUrl === undefined) return { type: "embedded" };
  if (embedded === true) throw new IncompleteAnswers("only one of --mqtt-url and --embedded can be given");
  return {
    type: "external",
    url: mqttUrl,
    ...(mqttUsername !== undefined && { username: mqttUsername }),
    ...(mqttPasswordEnv !== undefined && { password: { from: "env", name: mqttPasswordEnv } as const }),
  };
}

/** Why this cannot be the address of a host of the platform; null when it can. */
export function addressObjection(address: string): string | null {
  const url = urlOf(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "")
    return "expected an address such as https://business.example.com";
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return 'expected an address alone, without user, "?" and "#"';
  return null;
}

/** Whether the token would go over a network unencrypted. */
export function isOpen(address: string): boolean {
  const url = urlOf(address);
  return url?.protocol === "http:" && !isLoopback(url.hostname);
}

/** A text that is kept in `secrets.yaml`, or taken from a variable of the environment at every start. */
export type Secret =
  { readonly from: "secrets"; readonly text: string } | { readonly from: "env"; readonly name: string };

export type CredentialAnswer =
  | { readonly type: "token"; readonly token: Secret }
  | { readonly type: "token_file"; readonly path: string }
  | {
      readonly type: "sign_in";
      /** The field names of the sign-in body are the platform's. */
      readonly accountField: string;
      readonly account: string;
      readonly passwordField: string;
      readonly password: Secret;
    };

export interface PlatformAnswer {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly allowInsecure: boolean;
  readonly credential: CredentialAnswer;
}

export type BrokerAnswer =
  | { readonly type: "embedded" }
  | {
      readonly type: "external";
      readonly url: string;
      readonly username?: string;
      readonly password?: Secret;
    };

/** Everything a first configuration needs to know. */
export interface Answers {
  readonly platform: PlatformAnswer;
  readonly broker: BrokerAnswer;
}
