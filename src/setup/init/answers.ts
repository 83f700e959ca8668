import { msg, type Text } from "../../language/text.js";
import { type Node, Scalar, YAMLSeq } from "yaml";
import type { Language } from "../../greenhouse/labels.js";
import { inEnglish } from "../../language/languages.js";
import type { Tell } from "../../language/words.js";
import { urlOf } from "../../settings/values.js";
import type { suggestedBands } from "../../greenhouse/bands.js";
import { isLoopback } from "../../runtime/sockets.js";
import { type EntryValue, flowNode, pairOf, sectionOf, yamlText } from "../../saving/yaml-text.js";

/** A text for `secrets.yaml`, or the environment variable that holds it at every start. */
export interface Secret {
  readonly from: "secrets" | "env";
  readonly text: string;
}

/** The answers, under their keys of the configuration. */
export interface Answers {
  /** Absent: English. */
  readonly language?: Language;
  readonly platform: PlatformAnswer;
  readonly mqtt: BrokerAnswer;
  /** Absent: the page is for this computer alone. */
  readonly http?: PageAnswer;
  /** Absent: no alarms. */
  readonly alarms?: typeof suggestedBands;
  /** Absent: a folder beside the configuration. */
  readonly data_dir?: string;
}

/** One of the three. The field names of a sign-in are the platform's; the second field is the password. */
export interface Credential {
  readonly token?: Secret;
  readonly token_file?: string;
  readonly sign_in?: { readonly body: Readonly<Record<string, string | Secret>> };
}

export interface PlatformAnswer extends Credential {
  readonly business_url: string;
  readonly realtime_url: string;
  readonly allow_insecure?: true;
}

/** Without `url`, the embedded broker is used. */
export interface BrokerAnswer {
  readonly url?: string;
  readonly username?: string;
  readonly password?: Secret;
}

/** Why this cannot be the address of a platform host; null if it can. */
export function addressObjection(address: string): Text | null {
  const url = urlOf(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "")
    return msg`expected an address such as https://business.example.com`;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return msg`expected an address alone, without user, "?" and "#"`;
  return null;
}

/** Whether the token would go over a network unencrypted. */
export function isOpen(address: string): boolean {
  const url = urlOf(address);
  return url?.protocol === "http:" && !isLoopback(url.hostname);
}

/** A page that other computers reach too. */
export interface PageAnswer {
  readonly host: string;
  /** Their passwords are hashes. */
  readonly users: readonly { readonly username: string; readonly password: string; readonly role: string }[];
}

/** Every address of this computer, also a future one. */
export const everyAddress = "0.0.0.0";

export interface FirstFiles {
  readonly configuration: string;
  /** What to add to `secrets.yaml`, by name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** The first configuration. `taken`: names in `secrets.yaml` with another meaning; `tell`: the language of comments. */
export function firstFiles(
  { language, platform, mqtt, http, alarms, data_dir }: Answers,
  taken: ReadonlySet<string>,
  tell: Tell = inEnglish,
): FirstFiles {
  const secrets = new Map<string, string>();
  const refer = (wanted: string, { from, text }: Secret): Scalar => {
    let name = from === "env" ? text : wanted;
    for (let number = 2; from === "secrets" && taken.has(name); number += 1) name = `${wanted}_${number}`;
    if (from === "secrets") secrets.set(name, text);
    return Object.assign(new Scalar(name), { tag: from === "env" ? "!env" : "!secret" });
  };
  const nodeOf = (section: string, key: string, value: unknown): Node => {
    if (isSecret(value)) return refer(`${section}_${key}`, value);
    if (typeof value !== "object" || value === null) return new Scalar(value);
    if (Array.isArray(value)) return listOf(value);
    const pairs = Object.entries(value).map(([inner, one]) =>
      pairOf(inner, nodeOf(section, inner, one), remarks[inner]?.map(tell)),
    );
    return sectionOf(pairs);
  };
  const commands = sectionOf([pairOf("read_only", true, [tell(readOnly)])]);
  const sections = [
    ...(language === undefined ? [] : [pairOf("language", new Scalar(language))]),
    pairOf("platform", nodeOf("platform", "", platform)),
    ...(mqtt.url === undefined ? [] : [pairOf("mqtt", nodeOf("mqtt", "", mqtt))]),
    pairOf("commands", commands, mqtt.url === undefined ? [tell(embedded)] : []),
    ...(http === undefined ? [] : [pairOf("http", nodeOf("http", "", http))]),
    ...(alarms === undefined ? [] : [pairOf("alarms", bandsNode(alarms))]),
    ...(data_dir === undefined ? [] : [pairOf("data_dir", new Scalar(data_dir))]),
  ];
  return { configuration: yamlText(sectionOf(sections), [tell(head)], [tell(foot)]), secrets };
}

const listOf = (items: readonly unknown[]): Node => {
  const list = new YAMLSeq();
  list.items = items.map((one) => flowNode(one as EntryValue));
  return list;
};

const bandsNode = (alarms: object): Node =>
  sectionOf(Object.entries(alarms).map(([kind, bands]) => pairOf(kind, flowNode(bands as EntryValue))));

const head = msg`Written by \`greenhouse2mqtt init\`. \`greenhouse2mqtt schema --example\` shows every key, \`greenhouse2mqtt check\` checks this file.`;
const foot = msg`Actuators are listed under \`controllers\`; \`greenhouse2mqtt discover\` finds their addresses.`;
const readOnly = msg`No command is taken; set it to false when the readings look right.`;
const embedded = msg`Without mqtt.url the embedded broker is used, on this computer only. Mosquitto is better for permanent use.`;
const remarks: Readonly<Record<string, readonly Text[]>> = {
  allow_insecure: [msg`The token can be read on the way.`],
};

const isSecret = (value: unknown): value is Secret =>
  typeof value === "object" && value !== null && "from" in value && "text" in value;

/** Lines for `secrets.yaml`. */
export const secretLines = (secrets: ReadonlyMap<string, string>): string =>
  [...secrets].map(([name, text]) => `${name}: ${JSON.stringify(text)}\n`).join("");
