import { z } from "zod";
import {
  choice,
  expecting,
  flag,
  idKey,
  list,
  map,
  named,
  optional,
  required,
  section,
  text,
  timeZone,
  urlOf,
  webUrl,
  whole,
  withDefault,
  writtenText,
} from "../values.js";

/* To whom alarms go when nobody looks at the page. */

const secretText = (what: string, pattern = /^[!-~]{1,1000}$/) => writtenText(what, pattern);
const timeOfDay = () => writtenText("a time of day such as 22:00", /^(?:[01]\d|2[0-3]):[0-5]\d$/);
const mailAddress = () =>
  writtenText(
    "a mail address such as house@example.com",
    /^(?:[^\s<>@]+@[^\s<>@]+|[^<>\r\n]{1,100} <[^\s<>@]+@[^\s<>@]+>)$/,
  );
const severity = () => choice(["info", "warning", "error"]);
const secretExample = (name: string) => ({ example: `!secret ${name}`, secret: true });

const quietHours = () =>
  section({
    from: required(timeOfDay(), "From this time of day on it is quiet.", '"22:00"'),
    to: required(timeOfDay(), "Until this one; what is still so is then said in one message.", '"06:00"'),
    severity: withDefault(severity(), "error", "What is at least so severe is said at any time."),
  });

const ntfy = () =>
  section({
    url: withDefault(webUrl("https://ntfy.sh"), "https://ntfy.sh", "The server, your own or the public one."),
    topic: required(
      writtenText("a topic of letters, digits, _ and -", /^[A-Za-z0-9_-]{1,64}$/),
      "At the public server who knows the topic reads it: choose one that nobody guesses.",
      secretExample("ntfy_topic"),
    ),
    token: optional(secretText("an access token without blanks"), "Access token, where one is needed.", {
      ...secretExample("ntfy_token"),
      off: true,
    }),
  });

const telegram = () =>
  section({
    url: withDefault(webUrl("https://api.telegram.org"), "https://api.telegram.org", "The Bot API's host."),
    token: required(
      secretText("a bot's token such as 123456:ABC-DEF", /^\d{1,20}:[A-Za-z0-9_-]{10,200}$/),
      "The bot's token, from @BotFather.",
      secretExample("telegram_token"),
    ),
    chat_id: required(
      writtenText("a chat id such as 12345678, -100123456789 or @channel", /^(?:-?\d{1,20}|@\w{1,64})$/),
      "Where it writes: a person, a group or a channel.",
      "12345678",
    ),
  });

const wecom = () =>
  section({
    url: withDefault(webUrl("https://qyapi.weixin.qq.com"), "https://qyapi.weixin.qq.com", "WeCom's host."),
    key: required(
      secretText("the key of a group robot", /^[A-Za-z0-9-]{1,200}$/),
      "What follows `key=` in the address of the group's robot.",
      secretExample("wecom_key"),
    ),
  });

const dingtalk = () =>
  section({
    url: withDefault(webUrl("https://oapi.dingtalk.com"), "https://oapi.dingtalk.com", "DingTalk's host."),
    access_token: required(
      secretText("the access token of a custom robot", /^[A-Za-z0-9]{1,200}$/),
      "What follows `access_token=` in the robot's address.",
      secretExample("dingtalk_token"),
    ),
    secret: optional(
      secretText("the robot's secret, which begins with SEC"),
      "Of a robot whose messages are signed. One with a keyword instead needs it in `notify.name`.",
      secretExample("dingtalk_secret"),
    ),
  });

const headers = () => {
  const name = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, {
    error: expecting("the name of a header"),
  });
  const value = writtenText("the text of a header", /^[ -~]{1,1000}$/);
  return named(z.record(name, value, { error: expecting("a section of headers") }), "map of texts");
};

const hookUrl = () => {
  const error = expecting("an address that starts with http:// or https://");
  const pattern = /^https?:\/\/[^\s/@]+(?:\/[!-~]*)?$/;
  return named(
    z
      .string({ error })
      .regex(pattern, { error })
      .refine((given) => urlOf(given) !== null, { error }),
    "URL",
  );
};

const webhook = () =>
  section({
    url: required(
      hookUrl(),
      "Gets each message as a POST of JSON; any answer from 200 to 299 is well.",
      secretExample("webhook_url"),
    ),
    headers: optional(headers(), "Further headers, such as one with a token.", {
      example: "{ Authorization: !secret webhook_token }",
      off: true,
      secret: true,
    }),
  });

const smtp = () =>
  section({
    host: required(
      text("a host name or address", /^[A-Za-z0-9._:[\]%-]{1,253}$/),
      "The mail server.",
      "mail.example.com",
    ),
    port: withDefault(whole(1, 65_535), 587, "Mostly 587 with starttls, 465 with tls."),
    encryption: withDefault(
      choice(["starttls", "tls", "none"]),
      "starttls",
      "starttls: encrypted before anything is said, or not sent; tls: from the first byte.",
    ),
    reject_unauthorized: withDefault(flag(), true, "Refuse a server whose certificate cannot be verified."),
    username: optional(writtenText(), "Its login, where it asks for one.", "house@example.com"),
    password: optional(writtenText(), "Its password.", secretExample("smtp_password")),
    from: required(mailAddress(), "Who writes.", "house@example.com"),
    to: required(
      list(mailAddress()).min(1, { error: expecting("at least one mail address") }),
      "Who gets it.",
      "[anna@example.com]",
    ),
  });

const way = section({
  severity: withDefault(severity(), "warning", "What is less severe is not said here."),
  cleared: withDefault(flag(), true, "Also say when it is over."),
  events: withDefault(
    list(choice(["guards", "commands", "people"])),
    [],
    "Also say what guards moved, what commands ended badly, and who locked or changed what; collected over 30 s.",
    "[guards, commands, people]",
  ),
  quiet_hours: optional(quietHours(), "When only what is severe is said.", { off: true }),
  ntfy: optional(ntfy(), "A push message by ntfy. Each way has exactly one of these six."),
  telegram: optional(telegram(), "Or a message of a Telegram bot.", { off: true }),
  wecom: optional(wecom(), "Or a group robot of WeCom.", { off: true }),
  dingtalk: optional(dingtalk(), "Or a custom robot of DingTalk.", { off: true }),
  webhook: optional(webhook(), "Or a POST to any address.", { off: true }),
  smtp: optional(smtp(), "Or a mail.", { off: true }),
});

const proxy = () =>
  section({
    url: required(
      webUrl("http://proxy.lan:3128"),
      "The proxy, which has to know CONNECT.",
      "http://proxy.lan:3128",
    ),
    username: optional(writtenText(), "Its login, where it asks for one.", "# bridge"),
    password: optional(writtenText(), "Its password.", { ...secretExample("proxy_password"), off: true }),
  });

const daily = () =>
  section({
    at: required(timeOfDay(), "The time of day, where the greenhouse is.", '"07:00"'),
    ways: optional(list(idKey()), "Through these; all where it is left out.", "[phone]"),
  });

export const notifySection = section({
  name: optional(
    text(),
    "Stands before each message, for who gets those of several bridges.",
    "# North farm",
  ),
  language: withDefault(choice(["en", "zh"]), "en", "Of the messages."),
  time_zone: optional(
    timeZone(),
    "Of quiet hours and of times in messages. Default: platform.time_zone.",
    "# Asia/Shanghai",
  ),
  proxy: optional(proxy(), "Where messages only leave through a proxy.", { off: true }),
  daily: optional(
    daily(),
    "A message every day: readings, water, what guards did, who moved what, what is wrong.",
    {
      off: true,
    },
  ),
  ways: withDefault(map(idKey(), way), {}, "Each under a name of yours.", { entry: "phone", each: "<way>" }),
});
