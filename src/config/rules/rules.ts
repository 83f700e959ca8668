import { msg } from "../../language/text.js";
import { isLoopback } from "../../runtime/sockets.js";
import { atKey, atValue, type Finding, type Path, repeats, when } from "../../settings/problem.js";
import { urlOf } from "../../settings/values.js";
import {
  distinctAddresses,
  distinctControllerIds,
  distinctSensors,
  fittingOptions,
  orderedLimits,
  sendableLimits,
} from "./controllers.js";
import { orderedBands } from "./alarms.js";
import { foreignWeather, soundLimits } from "./limit-rules.js";
import { allFeatures } from "../schema.js";
import { distinctMeanings, distinctStatusReads } from "./meanings.js";
import { judgedUnits } from "./units.js";
import {
  asDraft,
  type Draft,
  isGiven,
  isDraft,
  itemsOf,
  numberOf,
  sectionOf,
  textOf,
} from "../../settings/draft.js";

/** Each listener needs a port of its own. Port 0 means any free one. */
const distinctPorts = (root: Draft): Finding[] =>
  repeats(listeners(root), ({ port }) => port).map(([again, first]) => {
    // A default is nowhere in the file, so the port that was written is reported.
    const [other, { path }] = again.written ? [first, again] : [again, first];
    return atValue(path, msg`${other.path.join(".")} listens at this port already`);
  });

/** The ports at which this configuration listens. */
export function listeners(root: Draft) {
  const broker = sectionOf(root, "broker");
  const tls = sectionOf(broker, "tls");
  const listener = (used: boolean, section: Draft, path: Path, standard: number) => {
    const written = numberOf(section, String(path.at(-1)));
    const port = written ?? standard;
    return used && port !== 0 ? [{ path, port, written: written !== null }] : [];
  };
  const embedded = !isGiven(sectionOf(root, "mqtt"), "url");
  const encrypted = embedded && isGiven(tls, "cert") && isGiven(tls, "key");
  return [
    ...listener(embedded, broker, ["broker", "port"], 1883),
    ...listener(embedded, broker, ["broker", "websocket_port"], 0),
    ...listener(encrypted, tls, ["broker", "tls", "port"], 8883),
    ...listener(root.http !== false, sectionOf(root, "http"), ["http", "port"], 8099),
  ];
}

/** With any other scheme TLS settings would have no effect, and the user would believe the link encrypted. */
function tlsNeedsTlsUrl(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  const tls = sectionOf(mqtt, "tls");
  const used = ["ca", "cert", "key"].some((key) => isGiven(tls, key)) || tls.reject_unauthorized === false;
  const url = textOf(mqtt, "url");
  const scheme = url === null ? null : (urlOf(url)?.protocol ?? null);
  const misused = url === null ? !isGiven(mqtt, "url") : scheme === "mqtt:" || scheme === "ws:";
  return used && misused
    ? [atKey(["mqtt", "tls"], msg`tls is only for an mqtt.url that starts with mqtts:// or wss://`)]
    : [];
}

/** A certificate is of no use without its key, for the client as for the embedded broker. */
const certificateWithKey = (root: Draft): Finding[] =>
  ["mqtt", "broker"].flatMap((name) => {
    const tls = sectionOf(sectionOf(root, name), "tls");
    const cert = isGiven(tls, "cert");
    const key = isGiven(tls, "key");
    if (cert === key) return [];
    const [has, lacks] = cert ? ["cert", "key"] : ["key", "cert"];
    return [atKey([name, "tls", has], msg`"${has}" needs "${lacks}" beside it`)];
  });

/** MQTT 3.1.1 forbids a password without a user. */
function passwordWithUser(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  return isGiven(mqtt, "password") && !isGiven(mqtt, "username")
    ? [atKey(["mqtt", "password"], msg`"password" needs "username" beside it`)]
    : [];
}

const topicIn = (root: Draft, section: string, key: string, standard: string) =>
  textOf(sectionOf(root, section), key) ?? standard;
const baseTopic = (root: Draft) => topicIn(root, "mqtt", "base_topic", "greenhouse");
const prefix = (root: Draft) => topicIn(root, "homeassistant", "discovery_prefix", "homeassistant");

const isWithin = (topic: string, root: string) => topic === root || topic.startsWith(`${root}/`);
const overlap = (one: string, other: string) => isWithin(one, other) || isWithin(other, one);

/** An answer must not be taken for a command, a state or an announcement. */
function harmlessResponseTopics(root: Draft): Finding[] {
  const taken = [
    ["mqtt.base_topic", baseTopic(root)],
    ["homeassistant.discovery_prefix", prefix(root)],
    ["homeassistant.status_topic", topicIn(root, "homeassistant", "status_topic", "homeassistant/status")],
  ] as const;
  return itemsOf(sectionOf(root, "commands"), "response_topics").flatMap((topic, at) => {
    const found = typeof topic === "string" ? taken.find(([, other]) => overlap(topic, other)) : undefined;
    if (found === undefined) return [];
    const message = msg`answers below it could be taken for messages of ${found[0]}; expected one outside "${found[1]}"`;
    return [atValue(["commands", "response_topics", at], message)];
  });
}

/** Discovery messages below our own topics, or the reverse, would be taken for the other. */
const separateTopics = (root: Draft): Finding[] =>
  when(
    overlap(baseTopic(root), prefix(root)),
    isGiven(sectionOf(root, "mqtt"), "base_topic")
      ? ["mqtt", "base_topic"]
      : ["homeassistant", "discovery_prefix"],
    msg`base_topic and homeassistant.discovery_prefix must not lie within each other`,
  );

/** The platform needs exactly one credential. */
function oneCredential(root: Draft): Finding[] {
  const { platform } = root;
  if (!isDraft(platform)) return [];
  const [first, ...others] = ["token", "token_file", "sign_in"].filter((key) => isGiven(platform, key));
  if (first === undefined) return [atKey(["platform"], msg`expected one of token, token_file and sign_in`)];
  const message = msg`only one of token, token_file and sign_in may be given, and "${first}" is there already`;
  return others.map((key) => atKey(["platform", key], message));
}

/** Others can read and use a token on an unencrypted link. */
function encryptedPlatform(root: Draft): Finding[] {
  const platform = sectionOf(root, "platform");
  if (platform.allow_insecure === true) return [];
  return ["business_url", "realtime_url"].flatMap((key) => {
    const url = urlOf(textOf(platform, key) ?? "");
    return when(
      url?.protocol === "http:" && !isLoopback(url.hostname),
      ["platform", key],
      msg`http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true`,
    );
  });
}

const rules: readonly ((root: Draft) => Finding[])[] = [
  oneCredential,
  encryptedPlatform,
  tlsNeedsTlsUrl,
  certificateWithKey,
  passwordWithUser,
  separateTopics,
  harmlessResponseTopics,
  distinctPorts,
  distinctControllerIds,
  distinctSensors,
  distinctAddresses,
  fittingOptions,
  distinctMeanings,
  distinctStatusReads,
  orderedLimits,
  sendableLimits,
  orderedBands,
  judgedUnits,
  soundLimits,
  foreignWeather,
];

/** All problems between keys, in a file as it was read; never throws, whatever was read. */
export function brokenRules(read: unknown): Finding[] {
  const root = asDraft(read);
  const ofFeatures = allFeatures.flatMap(({ errors }) => errors?.(root) ?? []);
  return [...rules.flatMap((rule) => rule(root)), ...ofFeatures];
}
