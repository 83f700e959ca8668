import { msg } from "../../language/text.js";
import { z } from "zod";
import {
  choice,
  defaultZone,
  duration,
  expecting,
  expectingOneOf,
  flag,
  list,
  map,
  named,
  optional,
  required,
  section,
  text,
  timeZone,
  webUrl,
  whole,
  withDefault,
  writtenText,
} from "../values.js";

/** Operations whose answers the interface document does not show in full, and the push channels. */
const operations = [
  "control/mqtt",
  "mqtt-client-status",
  "sensor-data",
  "device_status",
  "get-value",
  "set-value",
  "set-value/flush",
  "station",
  "device",
  "weather-data/avg",
  "weather-data/list",
  "video-data/list",
  "account/sign-in",
  "ws/device-status",
  "ws/set-value",
  "ws/sensor-data",
] as const;

export type ShapedOperation = (typeof operations)[number];

const path = () => text(msg`a path such as data.list`);

const query = () => {
  const name = text(msg`the name of a query parameter`, /^[A-Za-z0-9._-]{1,64}$/);
  return named(z.record(z.string(), name, { error: expecting(msg`a section of names`) }), "map of names");
};

const params = () => {
  const name = z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: expecting(msg`the name of a query parameter`) });
  const value = writtenText(msg`the text of a query parameter`, /^.{1,200}$/u);
  const error = expecting(msg`a section of parameters with their values`);
  return named(z.record(name, value, { error }), "map of texts");
};

const shape = () =>
  section({
    items: optional(path(), "Where the list of items stands.", "data.list"),
    name: optional(path(), "In an item: its name.", "factorName"),
    value: optional(path(), "In an item: its value.", "val"),
    unit: optional(path(), "In an item: its unit.", "unit"),
    time: optional(path(), "In an item: when it was measured.", "dateTime"),
    channel: optional(path(), "In an item: its channel.", "channel"),
    code: optional(path(), "In an item: its factor or device code.", "factor"),
    params: optional(
      params(),
      "Query parameters, added to each read; `{deviceCode}`, `{since}`, `{until}` (a day; also `:date`, `:iso`, `:ms`, `:s`) are filled in.",
      "{ pageSize: 500 }",
    ),
    query: optional(query(), "The platform's names of query parameters.", "{ deviceCode: code }"),
  });

const shapes = () =>
  z.partialRecord(z.enum(operations, { error: expectingOneOf(operations) }), shape(), {
    error: expecting(msg`a section of operations`),
  });

/** What a written token may be, and how that is said. */
export const writtenToken = {
  what: msg`the token alone, without "Bearer " and without blanks`,
  pattern: /^[!-~]{1,8192}$/,
};

const token = () => writtenText(writtenToken.what, writtenToken.pattern);

const body = () =>
  named(
    z.record(z.string(), z.unknown(), { error: expecting(msg`a section of keys with values`) }),
    "anything",
  );

const refusedCode = () =>
  writtenText(msg`a code other than 200, which means success`, /^(?!200$)[!-~]{1,64}$/);

const signIn = () =>
  section({
    body: required(body(), "Sent as it stands; quote digits that must stay text.", {
      example: "{ account: me@example.com, password: !secret platform_password }",
      secret: true,
    }),
    token_path: optional(
      text(),
      "Where the answer holds the token; the usual places are tried.",
      "data.token",
    ),
    refused_codes: optional(
      list(refusedCode()),
      "Codes in an answer's body that mean a refused token, besides 401 and 403.",
      "[40101]",
    ),
  });

const timeouts = () =>
  section({
    connect: withDefault(duration(100), "5s", "To open a connection."),
    read: withDefault(duration(100), "15s", "From a read's first byte to its whole answer."),
    control: withDefault(
      duration(100),
      "30s",
      "The same for a control value and for a fresh read inside a command.",
    ),
  });

const push = () =>
  section({
    enabled: withDefault(flag(), true, "Listen to the platform's WebSocket channels beside polling."),
    credential: withDefault(choice(["header", "query", "none"]), "header", "How the token is carried there."),
    query_name: withDefault(
      text(msg`the name of a query parameter`, /^[A-Za-z0-9._-]{1,64}$/),
      "token",
      "Name of the query parameter with credential: query.",
    ),
    subscribe: withDefault(
      map(
        text(msg`a path such as /ws/set-value`, /^\/[^\s?#]{0,300}$/),
        text(msg`a message`, /^[^]{1,4000}$/),
      ),
      {},
      "A first message for a channel that needs one, by path; `{deviceCode}` and `{token}` are filled in.",
      { example: '# { /ws/set-value: "subscribe" }' },
    ),
  });

export const platformSection = section({
  business_url: required(
    webUrl("https://business.example.com"),
    "Host of account, stations, devices and online flags.",
    "https://business.example.com",
  ),
  realtime_url: required(
    webUrl("https://realtime.example.com"),
    "Host of sensor data and control.",
    "https://realtime.example.com",
  ),
  allow_insecure: withDefault(
    flag(),
    false,
    "Allow http and ws to anything but this computer: the token can be read on the way.",
  ),
  token: optional(token(), "Exactly one of token, token_file and sign_in.", {
    example: "!env GREENHOUSE_TOKEN",
    secret: true,
  }),
  token_file: optional(
    text(),
    "File that holds the token alone; read again when it changes and after a refusal.",
    "# /run/secrets/token",
  ),
  sign_in: optional(signIn(), "Get a token with an account, best one that nobody else uses.", { off: true }),
  time_zone: withDefault(timeZone(), defaultZone, "Of the platform's times that carry no zone."),
  timeouts: withDefault(timeouts(), {}, "Total deadlines from the first byte on, except connect."),
  requests_per_minute: withDefault(
    whole(0, 100_000),
    300,
    "Budget of polling; a command never waits for it. 0 = none.",
  ),
  concurrency: withDefault(
    whole(1, 64),
    4,
    "Reads at the same time; commands have connections of their own.",
  ),
  push: withDefault(push(), {}, "Values that the platform sends by itself."),
  shapes: withDefault(
    shapes(),
    {},
    "Where an answer is ambiguous: what doctor tells you to add, by operation.",
    { entry: "sensor-data", each: "<operation>", off: true },
  ),
});
