import { z } from "zod";
import { expecting } from "../expectation.js";
import { optional, required, withDefault } from "../fields.js";
import { typeFacts } from "../facts.js";
import { webUrl } from "../urls.js";
import { choice, duration, flag, section, text, whole, writtenText } from "../values.js";
import { shapes } from "./shapes.js";

const token = () => writtenText('the token alone, without "Bearer " and without blanks', /^[!-~]{1,8192}$/);

const defaultZone = "Asia/Shanghai";

function isTimeZone(name: string): boolean {
  try {
    return (
      name === defaultZone || new Intl.DateTimeFormat("en", { timeZone: name }) instanceof Intl.DateTimeFormat
    );
  } catch {
    return false;
  }
}

const timeZone = () => {
  const error = expecting("a time zone such as Asia/Shanghai or UTC");
  return z.string({ error }).refine(isTimeZone, { error });
};

const body = () => {
  const schema = z.record(z.string(), z.unknown(), { error: expecting("a section of keys with values") });
  typeFacts.add(schema, { name: "anything" });
  return schema;
};

const signIn = () =>
  section({
    body: required(body(), "Sent as it stands; quote digits that must stay text.", {
      example: "{ account: me@example.com, password: !secret platform_password }",
      secret: true,
    }),
    token_path: optional(text(), "Where the answer holds the token; the usual places are tried.", {
      example: "data.token",
    }),
  });

const timeouts = () =>
  section({
    connect: withDefault(duration(100), "5s", "To open a connection."),
    read: withDefault(duration(100), "15s", "From a read's start to its whole answer."),
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
      text("the name of a query parameter", /^[A-Za-z0-9._-]{1,64}$/),
      "token",
      "Name of the query parameter with credential: query.",
    ),
  });

export const platformSection = section({
  business_url: required(
    webUrl("https://business.example.com"),
    "Host of account, stations, devices and online flags.",
    {
      example: "https://business.example.com",
    },
  ),
  realtime_url: required(webUrl("https://realtime.example.com"), "Host of sensor data and control.", {
    example: "https://realtime.example.com",
  }),
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
    {
      example: "/run/secrets/token",
      off: true,
    },
  ),
  sign_in: optional(signIn(), "Get a token with an account, best one that nobody else uses.", { off: true }),
  time_zone: withDefault(timeZone(), defaultZone, "Of the platform's times that carry no zone."),
  timeouts: withDefault(timeouts(), {}, "Total deadlines, except connect."),
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
    {
      entry: "sensor-data",
      each: "<operation>",
      off: true,
    },
  ),
});
