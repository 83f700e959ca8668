import { msg, type Text } from "../language/text.js";
import { isLoopback } from "../runtime/sockets.js";
import { suggestion } from "../runtime/similar-words.js";
import { type Draft, isGiven, itemsOf, sectionOf, sectionsAt } from "../settings/draft.js";
import { atKey, atValue, type Finding, type Path, when } from "../settings/problem.js";
import type { NotifySettings, WaySettings } from "./section.js";
import { loginErrors, type Service } from "./service.js";
import { messengersOf, serviceNames, services } from "./services.js";

/* Errors, doubts and private texts of the section `notify`. */

/** Errors between keys of the section, in a file as it was read. */
export function notifyErrors(root: Draft): Finding[] {
  const path = ["notify", "proxy"];
  return [
    ...sectionsAt(root, "notify.ways.*").flatMap((way) => wayErrors(way.section, way.path)),
    ...loginErrors(sectionOf(sectionOf(root, "notify"), "proxy"), path),
    ...dailyErrors(sectionOf(root, "notify")),
  ];
}

/** The daily message may name only ways that exist. */
function dailyErrors(notify: Draft): Finding[] {
  const ways = Object.keys(sectionOf(notify, "ways"));
  return itemsOf(sectionOf(notify, "daily"), "ways").flatMap((way, at) =>
    typeof way === "string" && !ways.includes(way)
      ? [
          atValue(
            ["notify", "daily", "ways", at],
            msg`there is no "${way}" under notify.ways${suggestion(way, ways)}`,
          ),
        ]
      : [],
  );
}

/** A way leads to exactly one service, and its quiet hours are not empty. */
function wayErrors(way: Draft, path: Path): Finding[] {
  const [first, ...others] = serviceNames.filter((name) => isGiven(way, name));
  const { from, to } = sectionOf(way, "quiet_hours");
  return [
    ...(first === undefined
      ? [atKey(path, msg`expected one of ${serviceNames.join(", ")}`)]
      : others.map((name) =>
          atKey(
            [...path, name],
            msg`only one service a way, and "${first}" is there already; add another way`,
          ),
        )),
    ...when(
      typeof from === "string" && from === to,
      [...path, "quiet_hours", "to"],
      msg`the same as from, so that it is never quiet; expected another time of day`,
    ),
    ...serviceNames.flatMap((name) => {
      const { errors }: Service = services[name];
      return errors?.(sectionOf(way, name), [...path, name]) ?? [];
    }),
  ];
}

/** Doubts: who could read a message, or the secret that authorises it, on the way. */
export const notifyDoubts = ({ ways }: NotifySettings): Finding[] =>
  Object.entries(ways).flatMap(([name, way]) =>
    doubtsOf(way).map(([path, sentence]) => atValue(["notify", "ways", name, ...path], sentence)),
  );

const doubtsOf = (way: WaySettings): readonly (readonly [path: Path, sentence: Text])[] =>
  messengersOf(way).flatMap(([name, messenger]) => {
    if ("mail" in messenger)
      return messenger.doubts.map(([key, sentence]) => [[name, key], sentence] as const);
    const { protocol, hostname } = new URL(messenger.url);
    if (protocol !== "http:" || isLoopback(hostname)) return [];
    return [[[name, "url"], msg`messages travel unencrypted, with the secret that lets them in`] as const];
  });

/** Names, addresses and hosts of the user, which a bundle hides. */
export function notifyPrivate({ name, proxy, ways }: NotifySettings) {
  const messengers = Object.values(ways).flatMap(messengersOf);
  const texts = messengers.map(([, messenger]) => messenger.private);
  return {
    names: [name, ...Object.keys(ways)],
    urls: [...(proxy === undefined ? [] : [proxy.url]), ...texts.flatMap(({ urls = [] }) => urls)],
    hosts: texts.flatMap(({ hosts = [] }) => hosts),
    users: [proxy?.username, ...texts.flatMap(({ users = [] }) => users)],
  };
}

/** The addresses where messages go; empty with a proxy, which looks the services up itself. */
export const messengerAddresses = ({ proxy, ways }: NotifySettings): readonly string[] =>
  proxy === undefined
    ? Object.values(ways)
        .flatMap(messengersOf)
        .map(([, messenger]) => ("mail" in messenger ? messenger.mail.host : messenger.url))
    : [proxy.url];
