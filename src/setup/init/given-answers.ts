import { both } from "../../language/lists.js";
import { msg, row, type Text } from "../../language/text.js";
import { parse } from "yaml";
import { z } from "zod";
import { findingsOf } from "../../config/load.js";
import { type Finding, formatPath, saying } from "../../settings/problem.js";
import { nearest, suggestion } from "../../runtime/similar-words.js";
import { section, spoken } from "../../settings/values.js";
import type { Language } from "../../greenhouse/labels.js";
import { harmless } from "../discover/given-file.js";
import { addressObjection, type Answers, isOpen, type Secret } from "./answers.js";

/* The answers of `init` without questions: from options and a file, for people who set up many sites. */

export interface GivenOptions {
  readonly businessUrl?: string;
  readonly realtimeUrl?: string;
  readonly tokenEnv?: string;
  readonly mqttUrl?: string;
}

const expectedText = saying(msg`expected a text`);
const text = z.string({ error: expectedText }).min(1, { error: expectedText });
const platformAnswers = section({
  business_url: text,
  realtime_url: text,
  allow_insecure: z.literal(true, { error: saying(msg`expected true`) }),
  token: text,
  token_env: text,
  token_file: text,
  sign_in: section({ body: z.record(z.string(), text) }),
}).partial();
const mqttAnswers = section({ url: text, username: text, password: text }).partial();
const fields = section({
  language: spoken().optional(),
  platform: platformAnswers.default({}),
  mqtt: mqttAnswers.default({}),
});
const sections = { platform: platformAnswers, mqtt: mqttAnswers };

/** The full path, such as `platform.business_url`, of a key that was written elsewhere; null for an unknown key. */
function placeOf(key: string): string | null {
  const inside = Object.entries(sections).find(([, { shape }]) => Object.keys(shape).includes(key));
  if (inside !== undefined) return `${inside[0]}.${key}`;
  return Object.keys(fields.shape).includes(key) ? key : null;
}

/** A finding as a line; for an unknown key, with the key that may be meant and its place. */
function lineOf({ path, on, message }: Finding): Text {
  const where = formatPath(path);
  return row`${where === "" ? "" : `${where}: `}${message}${on === "key" ? hintFor(path.map(String)) : ""}`;
}

function hintFor(path: readonly string[]): Text {
  const key = path.at(-1) ?? "";
  const place = placeOf(key);
  const [section = "", inner] = place?.split(".") ?? [];
  if (place !== null)
    return inner === undefined
      ? msg`; it belongs to no section: write "${place}: …" without blanks before it`
      : msg`; it belongs to ${place}: write "${section}: { ${inner}: … }"`;
  const own = suggestion(key, Object.keys(path.length === 1 ? fields.shape : shapeAt(path[0] ?? "")));
  if (own !== "") return own;
  const near = nearest(
    key,
    Object.values(sections).flatMap(({ shape }) => Object.keys(shape)),
  );
  return near === null ? "" : msg`, did you mean "${placeOf(near) ?? near}"?`;
}

const shapeAt = (section: string): object =>
  Object.entries(sections).find(([name]) => name === section)?.[1].shape ?? {};

/**
 * The answers, or what is missing or wrong, one a line. `spoken`: the terminal's language, used if the file names none.
 */
export function givenAnswers(
  file: string,
  options: GivenOptions,
  spoken: Language = "en",
): Answers | readonly Text[] {
  const read = fields.safeParse(parseYaml(file) ?? {});
  if (!read.success) return findingsOf(read.error.issues).map(lineOf);
  const { platform, mqtt, language = spoken === "en" ? undefined : spoken } = read.data;
  const business_url = options.businessUrl ?? platform.business_url;
  const realtime_url = options.realtimeUrl ?? platform.realtime_url;
  const url = options.mqttUrl ?? mqtt.url;
  const token_env = options.tokenEnv ?? platform.token_env;
  const { token, token_file, sign_in, allow_insecure } = platform;
  const ways = { token, token_env, token_file, sign_in };
  const given = Object.entries(ways).filter(([, value]) => value !== undefined);
  const wrong = [
    ...addressProblems("platform.business_url", "--business-url", business_url, allow_insecure),
    ...addressProblems("platform.realtime_url", "--realtime-url", realtime_url, allow_insecure),
    ...(given.length === 1 ? [] : [credentialProblem(given.map(([key]) => key))]),
    ...(url === undefined && (mqtt.username ?? mqtt.password) !== undefined
      ? [msg`mqtt.url is missing beside mqtt.username and mqtt.password`]
      : []),
  ];
  if (business_url === undefined || realtime_url === undefined || wrong.length > 0) return wrong;
  const credential = {
    ...(token !== undefined && { token: secret(token) }),
    ...(token_env !== undefined && { token: { from: "env", text: token_env } as const }),
    ...(token_file !== undefined && { token_file }),
    ...(sign_in !== undefined && { sign_in: { body: bodyOf(sign_in.body) } }),
  };
  const password = mqtt.password === undefined ? {} : { password: secret(mqtt.password) };
  const login = { ...(mqtt.username !== undefined && { username: mqtt.username }), ...password };
  const hosts = { business_url, realtime_url, ...(allow_insecure && { allow_insecure }) };
  return {
    ...(language && { language }),
    platform: { ...hosts, ...credential },
    mqtt: url === undefined ? {} : { url, ...login },
  };
}

function parseYaml(file: string): unknown {
  try {
    return parse(file);
  } catch {
    return "no YAML";
  }
}

function addressProblems(key: string, option: string, address = "", isAllowed = false): readonly Text[] {
  if (address === "") return [msg`${key} is missing (${option})`];
  const objection = addressObjection(address);
  if (objection !== null) return [row`${key}: ${objection}`];
  return isOpen(address) && !isAllowed
    ? [
        msg`${key}: http:// lets others read the token on the way; use https://, or say platform.allow_insecure: true`,
      ]
    : [];
}

const credentialProblem = (given: readonly string[]): Text =>
  given.length === 0
    ? msg`a credential is missing: platform.token_env (--token-env), token, token_file or sign_in`
    : msg`one credential is expected, and there are ${both(given)}`;

const secret = (given: string): Secret => ({ from: "secrets", text: given });

/** A field that is no account name may be a secret. */
const bodyOf = (body: Readonly<Record<string, string>>): Record<string, string | Secret> =>
  Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, harmless.test(key) ? value : secret(value)]),
  );
