import { msg } from "../../language/text.js";
import { optional, required, section, webUrl, withDefault } from "../../settings/values.js";
import { judgeRobot } from "../answers.js";
import { cutTo, plainText, post, secretExample, secretText, service } from "../service.js";

export const wecom = service({
  key: optional(
    section({
      url: withDefault(webUrl("https://qyapi.weixin.qq.com"), "https://qyapi.weixin.qq.com", "WeCom's host."),
      key: required(
        secretText(msg`the key of a group robot`, /^[A-Za-z0-9-]{1,200}$/),
        "What follows `key=` in the address of the group's robot.",
        secretExample("wecom_key"),
      ),
    }),
    "Or a group robot of WeCom.",
    { off: true },
  ),
  messenger: ({ url, key }) => ({
    name: "WeCom",
    url,
    private: {},
    request: (message) =>
      post(`${url}/cgi-bin/webhook/send?key=${encodeURIComponent(key)}`, {
        msgtype: "text",
        text: { content: cutTo(plainText(message), 2_000) },
      }),
    judge: judgeRobot(new Set([-1, 45_009])),
  }),
});
