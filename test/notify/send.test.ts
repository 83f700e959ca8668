import { describe, expect, it } from "vitest";
import { judgeReply } from "../../src/notify/answers.js";
import { cutTo } from "../../src/notify/service.js";
import { dingtalkSignature } from "../../src/notify/services/dingtalk.js";
import type { Text } from "../../src/language/text.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { clinging, mailServer, proxy, sentBy, service, testMessage as message } from "./servers.js";

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
    expect(refused).toMatchObject({ problem: expect.stringContaining("check notify.proxy") as string });
  });

  it.each([false, true])("mail through a proxy, encrypted there: %s", async (startTls) => {
    const server = await mailServer({ startTls });
    const { url: through, asked } = await proxy("bridge:pass-word");
    const encryption = startTls ? "encryption: starttls, reject_unauthorized: false" : "encryption: none";
    const own = `host: 127.0.0.1, port: ${server.port}, ${encryption}, from: a@example.com, to: [b@example.com]`;
    const options = { proxy: `{ url: ${through}, username: bridge, password: pass-word }` };
    expect(await sentBy(`{ smtp: { ${own} } }`, options)).toEqual({ ok: true });
    expect([asked, server.mails.length]).toEqual([[`127.0.0.1:${server.port}`], 1]);
    await expect.poll(() => server.open()).toBe(0);
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
    ["a portal that answers for it, for a time", ntfy, [200, "<html>Log in</html>"], false, /portal/],
    [
      "a portal that redirects to its login, for a time",
      ntfy,
      [302, "", { location: "http://127.0.0.1:9/" }],
      false,
      /another address/,
    ],
    [
      "a service that moved for good",
      ntfy,
      [308, "", { location: "http://127.0.0.1:9/" }],
      true,
      /another address/,
    ],
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

describe("a peer that never lets go ends with the deadline of the try, and no socket to it is kept", () => {
  const head = "HTTP/1.1 200 OK\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const body = "HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n{";
  const hook = (port: number) => `{ webhook: { url: http://127.0.0.1:${port}/ } }`;
  const mail = (port: number, encryption = "none") =>
    `{ smtp: { host: 127.0.0.1, port: ${port}, encryption: ${encryption}, from: a@example.com, to: [b@example.com] } }`;
  const away = (scheme: string) => `{ webhook: { url: "${scheme}://service.example/" } }`;
  type Row = [what: string, way: (port: number) => string, isProxy: boolean, says: string];
  const rows: Row[] = [
    ["a service that takes the message and says nothing", hook, false, ""],
    ["a service whose head drips", hook, false, head],
    ["a service whose body drips", hook, false, body],
    [
      "a service behind TLS that does not shake hands",
      (port) => hook(port).replace("http:", "https:"),
      false,
      "",
    ],
    ["a proxy that never answers CONNECT", () => away("https"), true, ""],
    ["a proxy that never answers CONNECT, to a service without TLS", () => away("http"), true, ""],
    ["a proxy whose answer to CONNECT drips", () => away("https"), true, head],
    ["a mail server that does not greet", (port) => mail(port), false, ""],
    ["a mail server that drips", (port) => mail(port), false, "220-slow"],
    ["a mail server whose greeting never ends", (port) => mail(port), false, "220-a\r\n220-b\r\n"],
    ["a mail server behind TLS that does not shake hands", (port) => mail(port, "tls"), false, ""],
    ["a proxy before a mail server that never answers CONNECT", () => mail(25), true, ""],
    ["a proxy before a mail server whose answer drips", () => mail(25), true, head],
  ];
  const begun = async (way: Row[1], isProxy: boolean, says: string, stop?: AbortSignal) => {
    const peer = await clinging(says);
    const clock = new VirtualClock();
    const proxy = isProxy ? `{ url: ${peer.url} }` : undefined;
    const options = { clock, ...(proxy && { proxy }), ...(stop && { stop }) };
    const sending = sentBy(way(peer.port), options);
    await expect.poll(() => peer.accepted).toBeGreaterThan(0);
    return { peer, clock, sending };
  };

  it.each(rows)("%s", async (_, way, isProxy, says) => {
    const { peer, clock, sending } = await begun(way, isProxy, says);
    await clock.advance(19_900);
    expect(await Promise.race([sending, Promise.resolve("under way")])).toBe("under way");
    await clock.advance(200);
    expect(await sending).toMatchObject({
      ok: false,
      isRefused: false,
      problem: expect.stringContaining("no answer within 20 s") as string,
    });
    await expect.poll(() => peer.open, { timeout: 8_000 }).toBe(0);
  });

  it.each(rows.slice(3, 9))("also where the bridge stops: %s", async (_, way, isProxy, says) => {
    const stop = new AbortController();
    const { sending } = await begun(way, isProxy, says, stop.signal);
    stop.abort();
    expect(await sending).toMatchObject({ ok: false });
  });

  it.each(["EHLO", "MAIL", "RCPT", "DATA", "AUTH"])("a mail server that says nothing to %s", async (word) => {
    const { port, said } = await mailServer({ refuse: { [word]: "" } });
    const clock = new VirtualClock();
    const own = mail(port).replace("from:", "username: a, password: mail-pass, from:");
    const sending = sentBy(own, { clock });
    await expect.poll(() => said.some((line) => line.startsWith(word))).toBe(true);
    await clock.advance(20_100);
    expect(await sending).toMatchObject({ ok: false, isRefused: false });
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

describe("a mail that some readers cannot get", () => {
  const mailTo = (port: number, to: readonly string[]) =>
    `{ smtp: { host: 127.0.0.1, port: ${port}, encryption: none, from: house@example.com, to: [${to.join(", ")}] } }`;
  const way = (port: number) =>
    mailTo(port, ["anna@example.com", "Ben <ben@example.com>", "Chen <chen@example.com>"]);
  const ben = "RCPT TO:<ben@example.com>";

  it.each([
    ["550 5.1.1 no such user here", true, undefined],
    ["452 4.2.2 mailbox full, try again in 10 minutes", false, 600_000],
  ])("is not sent, and says to whom not: %s", async (reply, isRefused, retryAfterMs) => {
    const { port, mails } = await mailServer({ refuse: { [ben]: reply } });
    const sent = await sentBy(way(port));
    expect(sent).toMatchObject({ ok: false, isRefused, missing: ["ben@example.com"] });
    expect(sent).toHaveProperty("retryAfterMs", retryAfterMs);
    expect(sent).toHaveProperty("problem", expect.stringContaining(`ben@example.com (`));
    expect(sent).toHaveProperty("problem", expect.stringContaining(reply));
    expect(mails).toHaveLength(1);
  });

  it("names the first five of many readers, and says how many more there are", async () => {
    const to = Array.from({ length: 8 }, (_, n) => `reader${n}@example.com`);
    const refuse = Object.fromEntries(to.slice(1).map((one) => [`RCPT TO:<${one}>`, "550 no"]));
    const { port } = await mailServer({ refuse });
    const sent = await sentBy(mailTo(port, to));
    expect(sent).toMatchObject({ ok: false, missing: to.slice(1) });
    const { problem } = sent as { readonly problem: Text };
    expect(String(problem).match(/reader\d/g)).toEqual([1, 2, 3, 4, 5].map((n) => `reader${n}`));
    expect(String(problem)).toMatch(/ and 2 more; the others have it$/);
  });

  it("goes to these alone once it can, and says nothing of the others while it cannot", async () => {
    const refuse: Record<string, string> = { [ben]: "550 no" };
    const { port, said } = await mailServer({ refuse });
    const only = ["ben@example.com"];
    expect(await sentBy(way(port), { only })).toMatchObject({ ok: false, missing: only });
    Reflect.deleteProperty(refuse, ben);
    expect(await sentBy(way(port), { only })).toEqual({ ok: true });
    expect(said.filter((line) => line.startsWith("RCPT"))).toEqual([ben, ben]);
  });

  it.each([
    ["MAIL", "530 5.7.0 Must issue a STARTTLS command first", /STARTTLS.*; write encryption: starttls$/],
    ["MAIL", "530 5.7.1 Authentication required", /required; write username and password$/],
    ["RCPT", "451 4.7.1 Greylisted, come again later, in 300 seconds", /Greylisted/, 300_000],
  ] as const)(
    "is told with the line that is missing: %s %s",
    async (word, reply, problem, retryAfterMs?: number) => {
      const { port } = await mailServer({ refuse: { [word]: reply } });
      const sent = await sentBy(way(port));
      expect(sent).toMatchObject({ ok: false, problem: expect.stringMatching(problem) as string });
      expect(sent).toHaveProperty("retryAfterMs", retryAfterMs);
    },
  );
});

describe("what an answer asks for is done, or told", () => {
  const telegram = (url: string) =>
    `{ telegram: { url: ${url}, token: 123456:ABC-DEF1234, chat_id: -100123 } }`;
  const moved = {
    ok: false,
    error_code: 400,
    description: "Bad Request: group chat was upgraded to a supergroup chat",
    parameters: { migrate_to_chat_id: -1001234567890 },
  };

  it("of a Telegram group that is another one now the message goes there at once, and the line to write is told", async () => {
    const here = await service([400, moved]);
    here.answerOf = ({ body }) =>
      String((body as { chat_id: unknown }).chat_id) === "-1001234567890" ? [200, { ok: true }] : here.answer;
    expect(await sentBy(telegram(here.url))).toEqual({
      ok: true,
      advice: expect.stringContaining('write chat_id: "-1001234567890"') as string,
    });
    expect(here.got.map(({ body }) => (body as { chat_id: string }).chat_id)).toEqual([
      "-100123",
      "-1001234567890",
    ]);
  });

  it("of one that is sent on and on only once", async () => {
    const { url, got } = await service([400, moved]);
    expect(await sentBy(telegram(url))).toHaveProperty("problem", expect.stringContaining("upgraded"));
    expect(got).toHaveLength(2);
  });

  const now = Date.parse("2026-03-01T08:00:00Z");
  const reply = (status: number, body: object | string, more: object = {}) => ({
    ...{ status, retryAfter: null, body: typeof body === "string" ? body : JSON.stringify(body) },
    ...more,
  });
  type Judge = Parameters<typeof judgeReply>[1];
  it.each<[string, Judge, Record<string, unknown>]>([
    ["seconds to wait", reply(429, "", { retryAfter: "120" }), { isRefused: false, retryAfterMs: 120_000 }],
    [
      "a date to wait for",
      reply(503, "", { retryAfter: "Sun, 01 Mar 2026 08:05:00 GMT" }),
      { isRefused: false, retryAfterMs: 300_000 },
    ],
    ["a wait in the body", reply(429, { message: "slow down", retry_after: 3 }), { retryAfterMs: 3_000 }],
    ["a wait in words", reply(429, "Too many requests, try again in 2 minutes"), { retryAfterMs: 120_000 }],
    [
      "a page that says more",
      reply(507, { error: "attachment too large", link: "https://ntfy.sh/docs/publish/#limitations" }),
      { isRefused: false, problem: /attachment too large; see https:\/\/ntfy\.sh\/docs/ },
    ],
    [
      "where it is now, without what may be secret there",
      reply(308, "", { location: "https://new.example.com/hook?key=abc" }),
      {
        isRefused: true,
        problem: /https:\/\/new\.example\.com\/hook; where that is right, write it as url$/,
      },
    ],
    [
      "words that are no JSON",
      reply(410, "This hook was deleted; make a new one."),
      { problem: /make a new one/ },
    ],
    ["an inner error", reply(400, { error: { message: "no field text" } }), { problem: /no field text/ }],
    ["RFC 9457", reply(403, { title: "Forbidden", detail: "IP not allowed" }), { problem: /IP not allowed/ }],
    ["a page of HTML", reply(502, "<html>Bad</html>"), { problem: /\(HTTP 502\)/ }],
    [
      "that only some have it",
      reply(207, { message: "1 of 2" }),
      { isRefused: true, problem: /only some.*1 of 2/ },
    ],
  ])("%s", (_, given, expected) => {
    const judged = judgeReply({ judge: () => ({ ok: true }) }, given, now);
    for (const [key, value] of Object.entries<unknown>({ ok: false, ...expected }))
      expect(judged).toHaveProperty(key, value instanceof RegExp ? expect.stringMatching(value) : value);
  });

  it.each<[object | string, boolean]>([
    ["", true],
    ["taken", true],
    [{ ok: true }, true],
    [{ code: 0, msg: "success" }, true],
    [{ code: 200, msg: "OK" }, true],
    [{ status: "ok", errcode: 0 }, true],
    [{ id: 12, code: 5 }, true],
    [{ ok: false, error: "channel_not_found" }, false],
    [{ success: false, message: "no such key" }, false],
    [{ code: 19_002, msg: "params error, msg_type need" }, false],
    [{ errcode: 93_000, errmsg: "invalid webhook url" }, false],
    [{ status: "error", detail: "disabled" }, false],
  ])("a hook's 200 that says %j is a message: %s", async (answer, isSent) => {
    const { url } = await service([200, answer]);
    const sent = await sentBy(`{ webhook: { url: ${url} } }`);
    expect(sent.ok).toBe(isSent);
    if (!sent.ok) expect(String(sent.problem)).toMatch(/channel|key|msg_type|invalid|disabled/);
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
