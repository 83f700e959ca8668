import { msg } from "../../language/text.js";
import { optional, required, section, webUrl, withDefault, writtenText } from "../../settings/values.js";
import { jsonFields, noAnswer, sent } from "../answers.js";
import { plainText, post, secretExample, secretText, service } from "../service.js";

export const telegram = service({
  key: optional(
    section({
      url: withDefault(webUrl("https://api.telegram.org"), "https://api.telegram.org", "The Bot API's host."),
      token: required(
        secretText(msg`a bot's token such as 123456:ABC-DEF`, /^\d{1,20}:[A-Za-z0-9_-]{10,200}$/),
        "The bot's token, from @BotFather.",
        secretExample("telegram_token"),
      ),
      chat_id: required(
        writtenText(msg`a chat id such as 12345678, -100123456789 or @channel`, /^(?:-?\d{1,20}|@\w{1,64})$/),
        "Where it writes: a person, a group or a channel.",
        "12345678",
      ),
    }),
    "Or a message of a Telegram bot.",
    { off: true },
  ),
  messenger: ({ url, token, chat_id: chat }) => ({
    name: "Telegram",
    url,
    private: { users: [chat] },
    whereabouts: (movedTo) =>
      msg`the group is a supergroup now: write chat_id: "${movedTo}" under telegram of this way`,
    request: (message, _, movedTo) =>
      post(`${url}/bot${token}/sendMessage`, {
        chat_id: movedTo ?? chat,
        text: plainText(message).slice(0, 4_000),
        disable_notification: message.severity === "info",
        link_preview_options: { is_disabled: true },
      }),
    judge: (body) => (jsonFields(body)?.["ok"] === true ? sent : noAnswer),
  }),
});
