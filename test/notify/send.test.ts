import { describe, expect, it } from "vitest";
import { secretValues } from "../../src/config/load.js";
import type { Message } from "../../src/notify/message.js";
import { senderOf } from "../../src/notify/send.js";
import { cutTo, dingtalkSignature } from "../../src/notify/services.js";
import { systemClock } from "../../src/runtime/clock.js";
import { withoutSecrets } from "../../src/runtime/redaction.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { mailServer, proxy, service, withNotify } from "./servers.js";

const message: Message = {
  ...{ kind: "alarm", severity: "error", title: "East: 限制动作未完成", text: "Go and look.\nSince 14:02." },
  ...{ alarms: [], over: [], at: "2026-11-26T14:02:00.000Z" },
};

const never = new AbortController().signal;

async function sentBy(
  way: string,
  options: { proxy?: string; message?: Message; clock?: VirtualClock } = {},
) {
  const through = options.proxy === undefined ? "" : `proxy: ${options.proxy}, `;
  const configuration = await withNotify(`{ ${through}ways: { phone: ${way} } }`);
  const { notify } = configuration;
  const { phone } = notify.ways;
  if (phone === undefined) throw new Error("no way");
  const redact = withoutSecrets(() => secretValues(configuration));
  const clock = options.clock ?? systemClock;
  return senderOf(phone, { clock, proxy: notify.proxy, redact }).send(options.message ?? message, never);
}

describe("a service gets what its interface asks for", () => {
  it("ntfy", async () => {
    const { url, got } = await service();
    expect(await sentBy(`{ ntfy: { url: ${url}/sub, topic: house, token: tk_abc } }`)).toEqual({ ok: true });
    expect(got).toMatchObject([
      {
        path: "/sub/",
        headers: { authorization: "Bearer tk_abc", "content-type": "application/json; charset=utf-8" },
        body: {
          topic: "house",
          title: message.title,
          message: message.text,
          priority: 5,
          tags: ["rotating_light"],
        },
      },
    ]);
  });

  it("Telegram", async () => {
    const { url, got } = await service();
    expect(
      await sentBy(`{ telegram: { url: ${url}, token: 123456:ABC-DEF1234, chat_id: -100123 } }`),
    ).toEqual({ ok: true });
    expect(got).toMatchObject([
      {
        path: "/bot123456:ABC-DEF1234/sendMessage",
        body: { chat_id: "-100123", disable_notification: false },
      },
    ]);
    expect(JSON.stringify(got[0]?.body)).toContain(message.title);
  });

  it("WeCom", async () => {
    const { url, got } = await service();
    expect(await sentBy(`{ wecom: { url: ${url}, key: 693a91f6-7xxx } }`)).toEqual({ ok: true });
    expect(got).toMatchObject([
      {
        path: "/cgi-bin/webhook/send?key=693a91f6-7xxx",
        body: { msgtype: "text", text: { content: `⚠️ ${message.title}\n${message.text}` } },
      },
    ]);
  });

  it("DingTalk, signed with the time", async () => {
    const { url, got } = await service();
    const clock = new VirtualClock(1_700_000_000_000);
    expect(
      await sentBy(`{ dingtalk: { url: ${url}, access_token: abc, secret: SECxyz } }`, { clock }),
    ).toEqual({ ok: true });
    const { searchParams, pathname } = new URL(got[0]?.path ?? "", url);
    expect([pathname, Object.fromEntries(searchParams)]).toEqual([
      "/robot/send",
      {
        access_token: "abc",
        timestamp: "1700000000000",
        sign: dingtalkSignature("SECxyz", 1_700_000_000_000),
      },
    ]);
  });

  it("a webhook", async () => {
    const { url, got } = await service([204, ""]);
    expect(await sentBy(`{ webhook: { url: ${url}/hook?a=b, headers: { X-Key: k1234 } } }`)).toEqual({
      ok: true,
    });
    const { title, text, kind, severity, at, alarms, over } = message;
    expect(got).toMatchObject([
      {
        path: "/hook?a=b",
        headers: { "x-key": "k1234" },
        body: { kind, severity, title, text, at, alarms, over },
      },
    ]);
  });

  it("through a proxy, with its login", async () => {
    const { url, got } = await service();
    const { url: through, asked } = await proxy("bridge:pass-word");
    const own = `{ url: ${through}, username: bridge, password: pass-word }`;
    expect(await sentBy(`{ ntfy: { url: ${url}, topic: house } }`, { proxy: own })).toEqual({ ok: true });
    expect([asked, got.length]).toEqual([[url.replace("http://", "")], 1]);
    const refused = await sentBy(`{ ntfy: { url: ${url}, topic: house } }`, {
      proxy: own.replace("pass-word", "wrong"),
    });
    expect([refused.ok, got.length]).toEqual([false, 1]);
  });
});

// As the Python example of the robot's documentation computes it for these two.
it("the signature of DingTalk is the HMAC of time and secret", () =>
  expect(dingtalkSignature("this is secret", 1_700_000_000_000)).toBe(
    "sSFWELbV2YwjdDQhWZwTcWlX5BWUx5J6TPpsZmuPii0=",
  ));

describe("an answer that is none of the service's, or says no, is no message", () => {
  const ntfy = (url: string) => `{ ntfy: { url: ${url}, topic: house-of-cards } }`;
  it.each([
    ["a token that it does not know", ntfy, [401, { error: "unauthorized" }], true, /HTTP 401: unauthorized/],
    ["too many messages", ntfy, [429, "", { "retry-after": "120" }], false, /HTTP 429/],
    ["a service that is away", ntfy, [503, ""], false, /HTTP 503/],
    ["a portal that answers for it", ntfy, [200, "<html>Log in</html>"], true, /portal/],
    ["a redirect", ntfy, [302, "", { location: "http://127.0.0.1:9/" }], true, /another address/],
    [
      "words with its own secret in them",
      ntfy,
      [403, { error: "no topic house-of-cards" }],
      true,
      /no topic \[hidden\]/,
    ],
    [
      "a robot that is gone",
      (url: string) => `{ wecom: { url: ${url}, key: abc } }`,
      [200, { errcode: 93_000, errmsg: "invalid webhook url" }],
      true,
      /93000: invalid webhook url/,
    ],
    [
      "a robot that was asked too often",
      (url: string) => `{ wecom: { url: ${url}, key: abc } }`,
      [200, { errcode: 45_009, errmsg: "freq" }],
      false,
      /45009/,
    ],
    [
      "a signature that does not fit",
      (url: string) => `{ dingtalk: { url: ${url}, access_token: abc } }`,
      [200, { errcode: 310_000, errmsg: "sign not match" }],
      true,
      /310000: sign not match/,
    ],
    [
      "a chat that is not there",
      (url: string) => `{ telegram: { url: ${url}, token: 123456:ABC-DEF1234, chat_id: 1 } }`,
      [400, { ok: false, description: "Bad Request: chat not found" }],
      true,
      /chat not found/,
    ],
  ] as const)("%s", async (_, way, answer, isRefused, problem) => {
    const { url } = await service(answer);
    expect(await sentBy(way(url))).toMatchObject({
      ok: false,
      isRefused,
      problem: expect.stringMatching(problem) as string,
    });
  });

  it("Telegram says how long to wait", async () => {
    const { url } = await service([
      429,
      { ok: false, description: "Too Many Requests", parameters: { retry_after: 34 } },
    ]);
    const sent = await sentBy(`{ telegram: { url: ${url}, token: 123456:ABC-DEF1234, chat_id: 1 } }`);
    expect(sent).toMatchObject({ isRefused: false, retryAfterMs: 34_000 });
  });

  it("nobody there", async () =>
    expect(await sentBy("{ ntfy: { url: http://127.0.0.1:1, topic: house } }")).toMatchObject({
      ok: false,
      isRefused: false,
    }));

  it("an answer that never comes is waited for 20 s", async () => {
    const { url, got } = await service(null);
    const clock = new VirtualClock();
    const sending = sentBy(`{ ntfy: { url: ${url}, topic: house } }`, { clock });
    await expect.poll(() => got.length).toBe(1);
    await clock.advance(20_000);
    expect(await sending).toMatchObject({ ok: false, problem: expect.stringContaining("20 s") as string });
  });
});

describe("a mail", () => {
  const way = (port: number, more = "encryption: none") =>
    `{ smtp: { host: 127.0.0.1, port: ${port}, ${more}, from: house@example.com, to: [anna@example.com, Ben <ben@example.com>] } }`;

  it("goes to each of its readers, its subject in any script", async () => {
    const { port, said, mails } = await mailServer();
    expect(await sentBy(way(port))).toEqual({ ok: true });
    expect(said.filter((line) => /^(?:MAIL|RCPT)/.test(line))).toEqual([
      "MAIL FROM:<house@example.com>",
      "RCPT TO:<anna@example.com>",
      "RCPT TO:<ben@example.com>",
    ]);
    expect(mails[0]).toMatch(/^Subject: =\?UTF-8\?/m);
    expect(mails[0]).toMatch(/^Auto-Submitted: auto-generated$/m);
  });

  it("goes encrypted, and logs in behind that", async () => {
    const { port, said } = await mailServer({ startTls: true });
    const own = "encryption: starttls, reject_unauthorized: false, username: house, password: mail-pass";
    expect(await sentBy(way(port, own))).toEqual({ ok: true });
    expect(said.map((line) => line.split(" ")[0])).toEqual([
      "EHLO",
      "STARTTLS",
      "EHLO",
      "AUTH",
      "MAIL",
      "RCPT",
      "RCPT",
      "DATA",
    ]);
  });

  it("does not go where the server offers no encryption, or a certificate that nobody signed", async () => {
    const [plain, own] = [await mailServer(), await mailServer({ startTls: true })];
    for (const { port } of [plain, own]) {
      expect(await sentBy(way(port, "encryption: starttls"))).toMatchObject({ ok: false });
    }
    expect([...plain.said, ...own.said].filter((line) => /^(?:MAIL|AUTH)/.test(line))).toEqual([]);
  });

  it.each([
    ["AUTH", "535 no such login", true],
    ["AUTH", "535 mail-pass is wrong", true, "[hidden] is wrong"],
    ["RCPT", "550 nobody here", true],
    ["MAIL", "451 come later", false],
  ] as const)("that is refused at %s: %s", async (word, reply, isRefused, said: string = reply.slice(4)) => {
    const { port } = await mailServer({ refuse: { [word]: reply } });
    const own = "encryption: none, username: house, password: mail-pass";
    const sent = await sentBy(way(port, own));
    expect(sent).toMatchObject({
      ok: false,
      isRefused,
      problem: expect.stringContaining(said) as string,
    });
  });
});

it.each([
  ["short", 20, "short"],
  ["一二三四五", 10, "一二…"],
  ["🚨🚨🚨", 9, "🚨…"],
])("%s in %i bytes is %s", (text, bytes, cut) => {
  expect(cutTo(text, bytes)).toBe(cut);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
});
