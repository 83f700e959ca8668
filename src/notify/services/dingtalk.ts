import { msg } from "../../language/text.js";
import { createHmac } from "node:crypto";
import { optional, required, section, webUrl, withDefault } from "../../settings/values.js";
import { judgeRobot } from "../answers.js";
import { cutTo, plainText, post, secretExample, secretText, service } from "../service.js";

/** The signature of a message: an HMAC of time and secret, keyed by the secret. */
export function dingtalkSignature(secret: string, now: number): string {
  return createHmac("sha256", secret).update(`${now}\n${secret}`).digest("base64");
}

export const dingtalk = service({
  key: optional(
    section({
      url: withDefault(webUrl("https://oapi.dingtalk.com"), "https://oapi.dingtalk.com", "DingTalk's host."),
      access_token: required(
        secretText(msg`the access token of a custom robot`, /^[A-Za-z0-9]{1,200}$/),
        "What follows `access_token=` in the robot's address.",
        secretExample("dingtalk_token"),
      ),
      secret: optional(
        secretText(msg`the robot's secret, which begins with SEC`),
        "Of a robot whose messages are signed. One with a keyword instead needs it in `notify.name`.",
        secretExample("dingtalk_secret"),
      ),
    }),
    "Or a custom robot of DingTalk.",
    { off: true },
  ),
  messenger: ({ url, access_token: token, secret }) => ({
    name: "DingTalk",
    url,
    private: {},
    request: (message, now) => {
      const query = new URLSearchParams({ access_token: token });
      if (secret !== undefined) {
        query.set("timestamp", String(now));
        query.set("sign", dingtalkSignature(secret, now));
      }
      return post(`${url}/robot/send?${query.toString()}`, {
        msgtype: "text",
        text: { content: cutTo(plainText(message), 15_000) },
      });
    },
    judge: judgeRobot(new Set([-1, 90_018, 130_101, 130_102])),
  }),
});
