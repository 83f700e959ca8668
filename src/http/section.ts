import { msg } from "../language/text.js";
import { z } from "zod";
import { sensorKinds } from "../greenhouse/sensors.js";
import { isLoopback } from "../runtime/sockets.js";
import {
  type Parsed,
  choice,
  expecting,
  flag,
  host,
  list,
  login,
  optional,
  port,
  section,
  text,
  topicId,
  withDefault,
  writtenText,
} from "../settings/values.js";
import { type Draft, sectionOf } from "../settings/draft.js";
import { atValue, type Finding, when } from "../settings/problem.js";
import { hasUsers, isOpen } from "../settings/users.js";

/** Each role may do what those before it may. */
export const pageRoles = ["viewer", "operator", "admin"] as const;

const pageUserKeys = {
  ...login("anna"),
  role: withDefault(
    choice(pageRoles),
    "viewer",
    "viewer reads everything; operator also commands, asks for things and sets the log level; admin also changes settings.",
  ),
};

const pageUser = () => section(pageUserKeys);

const ingress = () =>
  section({
    enabled: withDefault(flag(), false, "Serve the page through Home Assistant's ingress."),
    role: withDefault(choice(pageRoles), "viewer", "What everybody who comes through it may."),
    address: withDefault(
      text(msg`an IP address`, /^[0-9A-Fa-f.:]{2,45}$/),
      "172.30.32.2",
      "The Supervisor's; only connections from there count as ingress.",
    ),
  });

const listenerKeys = {
  host: withDefault(host(), "127.0.0.1", "Address to listen at."),
  port: withDefault(port(), 8099, "A busy port is a warning, not a reason to stop."),
  token: optional(
    writtenText(msg`a token without blanks`, /^[!-~]{1,1000}$/),
    "Lets programs read, as `Authorization: Bearer`; `/metrics` asks for it.",
    { example: "!secret http_token", off: true, secret: true },
  ),
  allowed_hosts: withDefault(
    list(text(msg`a host name`, /^[A-Za-z0-9._:[\]-]{1,253}$/)),
    [],
    "Further names a browser may use for this address.",
  ),
  settings: withDefault(flag(), true, "Let admins see and change this configuration on the page."),
};

const namedInNetwork = withDefault(
  flag(),
  true,
  "Where other computers reach the page: announce it in the network as greenhouse2mqtt.local.",
);

const overviewKinds = withDefault(
  list(choice(sensorKinds, "sensor kind")),
  ["temperature", "humidity", "co2", "illuminance", "soil_moisture"],
  "Kinds of readings on the page's overview, in this order: the first sensor of each.",
);

const listener = section({
  ...listenerKeys,
  page: optional(
    flag(),
    "The page and its API. Default: true where `host` is this computer alone, with users, or with ingress.",
    "# true",
  ),
  users: withDefault(
    list(pageUser()),
    [],
    "Who may log in at the page; without users everybody on this computer reads, and nobody commands.",
    { off: true },
  ),
  ingress: withDefault(ingress(), {}, "Home Assistant's ingress, for the add-on.", { off: true }),
  mdns: namedInNetwork,
  past_readings: withDefault(
    flag(),
    true,
    "Fill the trends of the last 24 h at a start from the platform's weather-data/list, where the account gives it.",
  ),
  overview: overviewKinds,
});

/** The section for one page of all accounts of a fleet. */
export const fleetListener = section({
  ...listenerKeys,
  users: withDefault(
    list(
      section({
        ...pageUserKeys,
        accounts: optional(list(topicId()), "The accounts that the user sees; all where it is left out."),
      }),
    ),
    [],
    "Who may log in at the page; without users everybody on this computer reads, and nobody commands.",
  ),
  mdns: namedInNetwork,
  overview: overviewKinds,
});

/** `false`, or where to listen. */
export const httpSection = z.union([z.literal(false), listener], {
  error: expecting(msg`false or a section of keys with values`),
});

export type HttpSection = Parsed<typeof httpSection>;

/** Refuses a page that was asked for and could not be used, since users would take it for one that works. */
export function usablePage(root: Draft): Finding[] {
  const http = sectionOf(root, "http");
  if (http.page !== true || !isOpen(http) || hasUsers(http) || sectionOf(http, "ingress").enabled === true)
    return [];
  return [
    atValue(
      ["http", "page"],
      msg`other machines can reach http.host, so the page needs http.users or http.ingress; or listen at 127.0.0.1`,
    ),
  ];
}

/** Warns where everybody who reaches the page can read what it shows. */
export const openDoubts = ({ host, token, users, ingress }: Exclude<HttpSection, false>): Finding[] =>
  when(
    token === undefined && users.length === 0 && !ingress.enabled && !isLoopback(host),
    ["http", "host"],
    msg`other machines can reach this address and neither http.token nor http.users is set`,
  );
