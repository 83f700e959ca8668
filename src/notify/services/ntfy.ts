import { msg } from "../../language/text.js";
import { optional, required, section, webUrl, withDefault, writtenText } from "../../settings/values.js";
import { jsonFields, noAnswer, sent } from "../answers.js";
import { cutTo, post, secretExample, secretText, service } from "../service.js";

const looks = {
  error: { priority: 5, tags: ["rotating_light"] },
  warning: { priority: 3, tags: ["warning"] },
  info: { priority: 2, tags: ["white_check_mark"] },
} as const;

export const ntfy = service({
  key: optional(
    section({
      url: withDefault(
        webUrl("https://ntfy.sh"),
        "https://ntfy.sh",
        "The server, your own or the public one.",
      ),
      topic: required(
        writtenText(msg`a topic of letters, digits, _ and -`, /^[A-Za-z0-9_-]{1,64}$/),
        "At the public server who knows the topic reads it: choose one that nobody guesses.",
        secretExample("ntfy_topic"),
      ),
      token: optional(secretText(msg`an access token without blanks`), "Access token, where one is needed.", {
        ...secretExample("ntfy_token"),
        off: true,
      }),
    }),
    "A push message by ntfy.",
  ),
  messenger: ({ url, topic, token }) => ({
    name: "ntfy",
    url,
    private: { urls: [url] },
    request: ({ title, text, severity }) =>
      post(
        `${url}/`,
        { topic, title: cutTo(title, 250), message: cutTo(text, 3_900), ...looks[severity] },
        token === undefined ? {} : { authorization: `Bearer ${token}` },
      ),
    judge: (body) => (typeof jsonFields(body)?.["id"] === "string" ? sent : noAnswer),
  }),
});
