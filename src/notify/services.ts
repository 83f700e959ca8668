import { createHmac } from "node:crypto";
import type { Configuration } from "../config/schema.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";

/* What each service is sent over HTTP, and how its answer is read. Nothing is sent here. */

export type WaySettings = Configuration["notify"]["ways"][string];

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpReply {
  readonly status: number;
  /** Of the `Retry-After`; null where there is none. */
  readonly retryAfter: string | null;
  readonly body: string;
}

export interface Service {
  /** As messages and the log call it. */
  readonly name: string;
  readonly request: (message: Message, now: number) => HttpRequest;
  /** Reads an answer of 200; others are the same everywhere. */
  readonly judge: (body: string) => Sent;
}

const sent: Sent = { ok: true };

/** At most so many bytes, without half a character. */
export function cutTo(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, bytes - 3));
  return `${kept.replace(/\ufffd+$/, "")}…`;
}

const marks = { alarm: "⚠️", flood: "🚨", cleared: "✅", test: "🔔" } as const;
const plainText = (message: Message): string => `${marks[message.kind]} ${message.title}\n${message.text}`;

const post = (url: string, body: object, headers: HttpRequest["headers"] = {}): HttpRequest => ({
  url,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body),
});

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(body: string): Fields | null {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? { ...read } : null;
  } catch {
    return null;
  }
}

const noAnswer: Sent = {
  ok: false,
  problem: "it answers what the service does not answer; a portal or proxy may be in between",
  isRefused: true,
};

/** Both robots answer 200 whatever became of a message. `busy`: codes of too many messages. */
const judgeRobot =
  (busy: ReadonlySet<number>): Service["judge"] =>
  (body) => {
    const { errcode, errmsg } = fieldsOf(body) ?? {};
    if (typeof errcode !== "number") return noAnswer;
    if (errcode === 0) return sent;
    const problem = `the robot refuses it (${errcode}: ${quote(errmsg)})`;
    return { ok: false, problem, isRefused: !busy.has(errcode), retryAfterMs: 0 };
  };

const quote = (text: unknown): string =>
  typeof text === "string" ? text.replace(/\p{Cc}+/gu, " ").trim() : "no reason given";

type Of<Name extends keyof WaySettings> = NonNullable<WaySettings[Name]>;

const ntfyLooks = {
  error: { priority: 5, tags: ["rotating_light"] },
  warning: { priority: 3, tags: ["warning"] },
  info: { priority: 2, tags: ["white_check_mark"] },
} as const;

const ntfy = ({ url, topic, token }: Of<"ntfy">): Service => ({
  name: "ntfy",
  request: ({ title, text, severity }) =>
    post(
      `${url}/`,
      { topic, title: cutTo(title, 250), message: cutTo(text, 3_900), ...ntfyLooks[severity] },
      token === undefined ? {} : { authorization: `Bearer ${token}` },
    ),
  judge: (body) => (typeof fieldsOf(body)?.["id"] === "string" ? sent : noAnswer),
});

const telegram = ({ url, token, chat_id: chat }: Of<"telegram">): Service => ({
  name: "Telegram",
  request: (message) =>
    post(`${url}/bot${token}/sendMessage`, {
      chat_id: chat,
      text: plainText(message).slice(0, 4_000),
      disable_notification: message.severity === "info",
      link_preview_options: { is_disabled: true },
    }),
  judge: (body) => (fieldsOf(body)?.["ok"] === true ? sent : noAnswer),
});

const wecom = ({ url, key }: Of<"wecom">): Service => ({
  name: "WeCom",
  request: (message) =>
    post(`${url}/cgi-bin/webhook/send?key=${encodeURIComponent(key)}`, {
      msgtype: "text",
      text: { content: cutTo(plainText(message), 2_000) },
    }),
  judge: judgeRobot(new Set([-1, 45_009])),
});

/** DingTalk's signature: of the time and the secret, by the secret. */
export function dingtalkSignature(secret: string, now: number): string {
  return createHmac("sha256", secret).update(`${now}\n${secret}`).digest("base64");
}

const dingtalk = ({ url, access_token: token, secret }: Of<"dingtalk">): Service => ({
  name: "DingTalk",
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
});

const webhook = ({ url, headers }: Of<"webhook">): Service => ({
  name: "webhook",
  request: ({ kind, severity, title, text, alarms, over, at }) =>
    post(url, { kind, severity, title, text, at, alarms, over }, headers),
  judge: () => sent,
});

const shortestPart = 8;

/** What of a way lets a message in beside what the configuration calls secret: of an address and of a header also a part does. */
export function secretParts({ webhook }: WaySettings): readonly string[] {
  if (webhook === undefined) return [];
  const { pathname, search } = new URL(webhook.url);
  const words = [pathname + search, pathname, ...`${pathname}${search}`.split(/[/?&=]/)];
  const values = Object.values(webhook.headers ?? {}).flatMap((value) => value.split(" "));
  return [...words, ...values].filter(({ length }) => length >= shortestPart);
}

/** Of a way that speaks HTTP; null for mail. */
export function serviceOf(way: WaySettings): Service | null {
  if (way.ntfy) return ntfy(way.ntfy);
  if (way.telegram) return telegram(way.telegram);
  if (way.wecom) return wecom(way.wecom);
  if (way.dingtalk) return dingtalk(way.dingtalk);
  return way.webhook ? webhook(way.webhook) : null;
}

/** Too much asked, or the service is away: another try may do. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/** What a service's answer means. Its own words are quoted, as they say the most. */
export function judgeReply({ judge }: Pick<Service, "judge">, { status, retryAfter, body }: HttpReply): Sent {
  if (status >= 200 && status < 300) return judge(body);
  if (status >= 300 && status < 400)
    return {
      ok: false,
      problem: `it points to another address (HTTP ${status}), which is not followed`,
      isRefused: true,
    };
  const fields = fieldsOf(body) ?? {};
  const reason = fields["description"] ?? fields["error"] ?? fields["errmsg"];
  const words = typeof reason === "string" ? `: ${quote(reason)}` : "";
  const parameters = fields["parameters"];
  const asked =
    typeof parameters === "object" && parameters !== null && "retry_after" in parameters
      ? Number(parameters.retry_after)
      : Number(retryAfter ?? NaN);
  return {
    ok: false,
    problem: `it refuses the message (HTTP ${status}${words})`,
    isRefused: status < 500 && !passing.has(status),
    retryAfterMs: Number.isFinite(asked) && asked > 0 ? asked * 1_000 : undefined,
  };
}
