import {
  fewestCharacters,
  isPasswordHash,
  parsePasswordHash,
  passwordWeakness,
  shortestPassword,
} from "../../runtime/passwords.js";
import { isLoopback } from "../../runtime/sockets.js";
import { atKey, atValue, type Finding, type Path, repeats, when } from "../../settings/problem.js";
import { urlOf } from "../../settings/values.js";
import { notifyErrors } from "../../notify/check.js";
import {
  distinctAddresses,
  distinctControllerIds,
  distinctSensors,
  fittingOptions,
  orderedLimits,
  sendableLimits,
} from "./controllers.js";
import { soundGroups } from "./groups.js";
import { orderedBands } from "./alarms.js";
import { foreignWeather, soundLimits } from "./limit-rules.js";
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
  sectionsAt,
  textOf,
} from "../../settings/draft.js";

/** Whether other machines can reach what listens there. */
export const isOpen = (broker: Draft): boolean => !isLoopback(textOf(broker, "host") ?? "127.0.0.1");

/** A broker that other machines can reach moves actuators for any of them. */
function usersBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  const hasUsers = itemsOf(broker, "users").length > 0 || typeof broker.users === "symbol";
  return when(
    isOpen(broker) && !hasUsers,
    ["broker", "host"],
    "other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1",
  );
}

/** Both have users that log in, and an address that other machines may reach. */
const servers = ["broker", "http"] as const;
const reached = { broker: "the broker", http: "the page" } as const;

/** Who may log in, at the broker and at the page. */
export const soundUsers = (root: Draft): Finding[] => [...usablePasswords(root), ...distinctUsers(root)];

/** A guessed password moves actuators from the network; with a broken hash no login could succeed. */
const usablePasswords = (root: Draft): Finding[] =>
  servers.flatMap((server) =>
    sectionsAt(root, `${server}.users.*`).flatMap(({ path, section }) => {
      const password = textOf(section, "password");
      const message =
        password === null ? null : passwordProblem(password, server, isOpen(sectionOf(root, server)));
      return message === null ? [] : [atValue([...path, "password"], message)];
    }),
  );

function passwordProblem(
  password: string,
  server: (typeof servers)[number],
  isReachable: boolean,
): string | null {
  if (isPasswordHash(password))
    return parsePasswordHash(password) === null
      ? "looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd"
      : null;
  const weakness = isReachable ? passwordWeakness(password) : null;
  return weakness === null
    ? null
    : `expected at least ${shortestPassword} characters, ${fewestCharacters} of them different, and no common password, because other machines can reach ${reached[server]}; ${weakness}`;
}

const distinctUsers = (root: Draft): Finding[] =>
  servers.flatMap((server) => {
    const users = sectionsAt(root, `${server}.users.*`).filter(
      ({ section }) => textOf(section, "username") !== null,
    );
    return repeats(users, ({ section }) => section.username).map(([{ path }]) =>
      atValue([...path, "username"], "another user above has this name"),
    );
  });

/** A page that was asked for and could not be used would be taken for one that works. */
function usablePage(root: Draft): Finding[] {
  const http = sectionOf(root, "http");
  const hasUsers = itemsOf(http, "users").length > 0 || typeof http.users === "symbol";
  if (http.page !== true || !isOpen(http) || hasUsers || sectionOf(http, "ingress").enabled === true)
    return [];
  return [
    atValue(
      ["http", "page"],
      "other machines can reach http.host, so the page needs http.users or http.ingress; or listen at 127.0.0.1",
    ),
  ];
}

/** One port, one listener. Port 0 means any free one. */
const distinctPorts = (root: Draft): Finding[] =>
  repeats(listeners(root), ({ port }) => port).map(([again, first]) => {
    // A default cannot be pointed at, so then the port that was written is the one to change.
    const [other, { path }] = again.written ? [first, again] : [again, first];
    return atValue(path, `${other.path.join(".")} listens at this port already`);
  });

/** The ports that are listened on at this computer. */
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

/** TLS settings would be without effect on any other scheme, and the user would believe the link encrypted. */
function tlsNeedsTlsUrl(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  const tls = sectionOf(mqtt, "tls");
  const used = ["ca", "cert", "key"].some((key) => isGiven(tls, key)) || tls.reject_unauthorized === false;
  const url = textOf(mqtt, "url");
  const scheme = url === null ? null : (urlOf(url)?.protocol ?? null);
  const misused = url === null ? !isGiven(mqtt, "url") : scheme === "mqtt:" || scheme === "ws:";
  return used && misused
    ? [atKey(["mqtt", "tls"], "tls is only for an mqtt.url that starts with mqtts:// or wss://")]
    : [];
}

/** Members that take over from each other have to be found at one broker. */
const clusterNeedsBroker = (root: Draft): Finding[] =>
  isGiven(root, "cluster") && !isGiven(sectionOf(root, "mqtt"), "url")
    ? [atKey(["cluster"], "cluster needs mqtt.url: all members use one broker, which runs by itself")]
    : [];

/** A certificate is of no use without its key, for the client as for the embedded broker. */
const certificateWithKey = (root: Draft): Finding[] =>
  ["mqtt", "broker"].flatMap((name) => {
    const tls = sectionOf(sectionOf(root, name), "tls");
    const cert = isGiven(tls, "cert");
    const key = isGiven(tls, "key");
    if (cert === key) return [];
    const [has, lacks] = cert ? ["cert", "key"] : ["key", "cert"];
    return [atKey([name, "tls", has], `"${has}" needs "${lacks}" beside it`)];
  });

/** MQTT 3.1.1 forbids a password without a user. */
function passwordWithUser(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  return isGiven(mqtt, "password") && !isGiven(mqtt, "username")
    ? [atKey(["mqtt", "password"], '"password" needs "username" beside it')]
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
    const message = `answers below it could be taken for messages of ${found[0]}; expected one outside "${found[1]}"`;
    return [atValue(["commands", "response_topics", at], message)];
  });
}

/** Discovery messages below our own topics (or the reverse) would be taken for the other. */
const separateTopics = (root: Draft): Finding[] =>
  when(
    overlap(baseTopic(root), prefix(root)),
    isGiven(sectionOf(root, "mqtt"), "base_topic")
      ? ["mqtt", "base_topic"]
      : ["homeassistant", "discovery_prefix"],
    "base_topic and homeassistant.discovery_prefix must not lie within each other",
  );

/** The platform is spoken to with exactly one credential. */
function oneCredential(root: Draft): Finding[] {
  const { platform } = root;
  if (!isDraft(platform)) return [];
  const [first, ...others] = ["token", "token_file", "sign_in"].filter((key) => isGiven(platform, key));
  if (first === undefined) return [atKey(["platform"], "expected one of token, token_file and sign_in")];
  const message = `only one of token, token_file and sign_in may be given, and "${first}" is there already`;
  return others.map((key) => atKey(["platform", key], message));
}

/** A token on an unencrypted way can be read and used by others. */
function encryptedPlatform(root: Draft): Finding[] {
  const platform = sectionOf(root, "platform");
  if (platform.allow_insecure === true) return [];
  return ["business_url", "realtime_url"].flatMap((key) => {
    const url = urlOf(textOf(platform, key) ?? "");
    return when(
      url?.protocol === "http:" && !isLoopback(url.hostname),
      ["platform", key],
      "http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true",
    );
  });
}

const rules: readonly ((root: Draft) => Finding[])[] = [
  oneCredential,
  encryptedPlatform,
  tlsNeedsTlsUrl,
  clusterNeedsBroker,
  certificateWithKey,
  passwordWithUser,
  separateTopics,
  harmlessResponseTopics,
  usersBeyondLoopback,
  usablePasswords,
  distinctUsers,
  usablePage,
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
  notifyErrors,
  soundGroups,
];

/** Everything wrong between keys, in a file as it was read; never throws, whatever was read. */
export function brokenRules(read: unknown): Finding[] {
  const root = asDraft(read);
  return rules.flatMap((rule) => rule(root));
}
