import type { Finding } from "../problem.js";
import { urlOf } from "../urls.js";
import { given, itemsOf, sectionOf, textOf, type Draft } from "./draft.js";

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
