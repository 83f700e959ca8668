import {
  fewestCharacters,
  isPasswordHash,
  parsePasswordHash,
  passwordWeakness,
  shortestPassword,
} from "../../runtime/passwords.js";
import { isLoopback } from "../../runtime/sockets.js";
import type { Finding, Path } from "../problem.js";
import { urlOf } from "../urls.js";
import {
  distinctAddresses,
  distinctControllerIds,
  distinctSensors,
  fittingOptions,
  orderedLimits,
  sendableLimits,
} from "./controllers.js";
import { asDraft, type Draft, given, isDraft, itemsOf, numberOf, sectionOf, textOf } from "./draft.js";

const brokerHost = (broker: Draft) => textOf(broker, "host") ?? "127.0.0.1";

/** A broker that other machines can reach moves actuators for whoever connects. */
export function usersBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  if (
    isLoopback(brokerHost(broker)) ||
    itemsOf(broker, "users").length > 0 ||
    typeof broker.users === "symbol"
  )
    return [];
  return [
    {
      path: ["broker", "host"],
      on: "value",
      message:
        "other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1",
    },
  ];
}

/** Whoever guesses a password from the network moves actuators. */
export function strongPasswordsBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  if (isLoopback(brokerHost(broker))) return [];
  return itemsOf(broker, "users").flatMap((user, at): Finding[] => {
    const password = textOf(asDraft(user), "password");
    if (password === null || isPasswordHash(password)) return [];
    const weakness = passwordWeakness(password);
    return weakness === null
      ? []
      : [
          {
            path: ["broker", "users", at, "password"],
            on: "value",
            message: `expected at least ${shortestPassword} characters, ${fewestCharacters} of them different, and no common password, because other machines can reach the broker; ${weakness}`,
          },
        ];
  });
}

/** The broker would not start with it. */
export function readableHashes(root: Draft): Finding[] {
  return itemsOf(sectionOf(root, "broker"), "users").flatMap((user, at): Finding[] => {
    const password = textOf(asDraft(user), "password");
    if (password === null || !isPasswordHash(password) || parsePasswordHash(password) !== null) return [];
    return [
      {
        path: ["broker", "users", at, "password"],
        on: "value",
        message: "looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd",
      },
    ];
  });
}

export function distinctUsers(root: Draft): Finding[] {
  const seen = new Set<string>();
  return itemsOf(sectionOf(root, "broker"), "users").flatMap((user, at): Finding[] => {
    const name = textOf(asDraft(user), "username");
    if (name === null) return [];
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [
      { path: ["broker", "users", at, "username"], on: "value", message: "another user above has this name" },
    ];
  });
}

/** One port, one listener. Port 0 means any free one. */
export function distinctPorts(root: Draft): Finding[] {
  const taken = new Map<number, Listener>();
  return listeners(root).flatMap((listener): Finding[] => {
    const owner = taken.get(listener.port);
    if (owner === undefined || listener.port === 0) {
      taken.set(listener.port, listener);
      return [];
    }
    // A default cannot be pointed at, so then the port that was written is the one to change.
    const [first, second] = listener.written ? [owner, listener] : [listener, owner];
    const message = `${first.path.join(".")} listens at this port already`;
    return [{ path: second.path, on: "value", message }];
  });
}

interface Listener {
  readonly path: Path;
  readonly port: number;
  readonly written: boolean;
}

function listeners(root: Draft): Listener[] {
  const broker = sectionOf(root, "broker");
  const tls = sectionOf(broker, "tls");
  const listener = (used: boolean, section: Draft, path: Path, standard: number | null): Listener[] => {
    const written = numberOf(section, String(path.at(-1)));
    const port = written ?? standard;
    return used && port !== null ? [{ path, port, written: written !== null }] : [];
  };
  const embedded = !given(sectionOf(root, "mqtt"), "url");
  const encrypted = embedded && given(tls, "cert") && given(tls, "key");
  return [
    ...listener(embedded, broker, ["broker", "port"], 1883),
    ...listener(embedded, broker, ["broker", "websocket_port"], null),
    ...listener(encrypted, tls, ["broker", "tls", "port"], 8883),
    ...listener(root.http !== false, sectionOf(root, "http"), ["http", "port"], 8099),
  ];
}

/** TLS settings would be without effect on any other scheme, and the user would believe the link encrypted. */
export function tlsNeedsTlsUrl(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  const tls = sectionOf(mqtt, "tls");
  const used = ["ca", "cert", "key"].some((key) => given(tls, key)) || tls.reject_unauthorized === false;
  const url = textOf(mqtt, "url");
  const scheme = url === null ? null : (urlOf(url)?.protocol ?? null);
  const misused = url === null ? !given(mqtt, "url") : scheme === "mqtt:" || scheme === "ws:";
  return used && misused
    ? [
        {
          path: ["mqtt", "tls"],
          on: "key",
          message: "tls is only for an mqtt.url that starts with mqtts:// or wss://",
        },
      ]
    : [];
}

/** A certificate is of no use without its key, for the client as for the embedded broker. */
export function certificateWithKey(root: Draft): Finding[] {
  return ["mqtt", "broker"].flatMap((name): Finding[] => {
    const tls = sectionOf(sectionOf(root, name), "tls");
    const [cert, key] = [given(tls, "cert"), given(tls, "key")];
    if (cert === key) return [];
    const [has, lacks] = cert ? ["cert", "key"] : ["key", "cert"];
    return [{ path: [name, "tls", has], on: "key", message: `"${has}" needs "${lacks}" beside it` }];
  });
}

/** MQTT 3.1.1 forbids a password without a user. */
export function passwordWithUser(root: Draft): Finding[] {
  const mqtt = sectionOf(root, "mqtt");
  return given(mqtt, "password") && !given(mqtt, "username")
    ? [{ path: ["mqtt", "password"], on: "key", message: '"password" needs "username" beside it' }]
    : [];
}

/** An answer must not be taken for a command, a state or an announcement. */
export function harmlessResponseTopics(root: Draft): Finding[] {
  const homeassistant = sectionOf(root, "homeassistant");
  const taken = new Map([
    ["mqtt.base_topic", textOf(sectionOf(root, "mqtt"), "base_topic") ?? "greenhouse"],
    ["homeassistant.discovery_prefix", textOf(homeassistant, "discovery_prefix") ?? "homeassistant"],
    ["homeassistant.status_topic", textOf(homeassistant, "status_topic") ?? "homeassistant/status"],
  ]);
  return itemsOf(sectionOf(root, "commands"), "response_topics").flatMap((topic, at): Finding[] => {
    if (typeof topic !== "string") return [];
    const found = [...taken].find(([, other]) => isWithin(topic, other) || isWithin(other, topic));
    if (found === undefined) return [];
    const message = `answers below it could be taken for messages of ${found[0]}; expected one outside "${found[1]}"`;
    return [{ path: ["commands", "response_topics", at], on: "value", message }];
  });
}

const isWithin = (topic: string, root: string) => topic === root || topic.startsWith(`${root}/`);

/** Discovery messages below our own topics (or the reverse) would be taken for the other. */
export function separateTopics(root: Draft): Finding[] {
  const base = textOf(sectionOf(root, "mqtt"), "base_topic") ?? "greenhouse";
  const prefix = textOf(sectionOf(root, "homeassistant"), "discovery_prefix") ?? "homeassistant";
  if (!isWithin(base, prefix) && !isWithin(prefix, base)) return [];
  return [
    {
      path: ["mqtt", "base_topic"],
      on: "value",
      message: "base_topic and homeassistant.discovery_prefix must not lie within each other",
    },
  ];
}

const credentials = ["token", "token_file", "sign_in"] as const;

/** The platform is spoken to with exactly one credential. */
export function oneCredential(root: Draft): Finding[] {
  if (!isDraft(root.platform)) return [];
  const platform = sectionOf(root, "platform");
  const [first, ...others] = credentials.filter((key) => given(platform, key));
  if (first === undefined)
    return [{ path: ["platform"], on: "key", message: "expected one of token, token_file and sign_in" }];
  return others.map((key) => ({
    path: ["platform", key],
    on: "key",
    message: `only one of token, token_file and sign_in may be given, and "${first}" is there already`,
  }));
}

/** A token on an unencrypted way can be read and used by others. */
export function encryptedPlatform(root: Draft): Finding[] {
  const platform = sectionOf(root, "platform");
  if (platform.allow_insecure === true) return [];
  return ["business_url", "realtime_url"].flatMap((key): Finding[] => {
    const url = urlOf(textOf(platform, key) ?? "");
    return url?.protocol !== "http:" || isLoopback(url.hostname)
      ? []
      : [
          {
            path: ["platform", key],
            on: "value",
            message:
              "http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true",
          },
        ];
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
  usersBeyondLoopback,
  strongPasswordsBeyondLoopback,
  readableHashes,
  distinctUsers,
  distinctPorts,
  distinctControllerIds,
  distinctSensors,
  distinctAddresses,
  fittingOptions,
  orderedLimits,
  sendableLimits,
];

/** Everything wrong between keys, in a file as it was read; never throws, whatever was read. */
export function brokenRules(read: unknown): Finding[] {
  const root = asDraft(read);
  return rules.flatMap((rule) => rule(root));
}
