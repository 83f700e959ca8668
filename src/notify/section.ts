import { msg } from "../language/text.js";
import {
  choice,
  flag,
  idKey,
  list,
  map,
  optional,
  type Parsed,
  required,
  section,
  spoken,
  text,
  timeZone,
  webUrl,
  withDefault,
  writtenText,
} from "../settings/values.js";
import { secretExample } from "./service.js";
import { serviceKeys } from "./services.js";

/* The section `notify`: where alarms go while nobody looks at the page. */

const timeOfDay = () => writtenText(msg`a time of day such as 22:00`, /^(?:[01]\d|2[0-3]):[0-5]\d$/);
const severity = () => choice(["info", "warning", "error"]);

const quietHours = () =>
  section({
    from: required(timeOfDay(), "From this time of day on it is quiet.", '"22:00"'),
    to: required(timeOfDay(), "Until this one; what is still so is then said in one message.", '"06:00"'),
    severity: withDefault(severity(), "error", "What is at least so severe is said at any time."),
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
  ...serviceKeys,
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

const notifySection = section({
  name: optional(
    text(),
    "Stands before each message, for who gets those of several bridges.",
    "# North farm",
  ),
  language: withDefault(spoken(), "en", "Of the messages."),
  time_zone: optional(
    timeZone(),
    "Of quiet hours and of times in messages. Default: platform.time_zone.",
    "# Asia/Shanghai",
  ),
  proxy: optional(proxy(), "Where messages only leave through a proxy.", { off: true }),
  daily: optional(
    daily(),
    "A message every day: readings, water, what guards did, who moved what, what is wrong.",
    { off: true },
  ),
  ways: withDefault(map(idKey(), way), {}, "Each under a name of yours, with one of the services.", {
    entry: "phone",
    each: "<way>",
  }),
});

export const keys = {
  notify: withDefault(notifySection, {}, "Where alarms go: phones, chats and mail.", { off: true }),
};

export type NotifySettings = Parsed<typeof notifySection>;
export type WaySettings = NotifySettings["ways"][string];
