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
  /** Of the `Location`. */
  readonly location?: string | null;
  readonly body: string;
}

export interface Service {
  /** As messages and the log call it. */
  readonly name: string;
  /** `movedTo`: where the service said that its readers are now. */
  readonly request: (message: Message, now: number, movedTo: string | null) => HttpRequest;
  /** Reads an answer of 200; others are the same everywhere. */
  readonly judge: (body: string) => Sent;
  /** How to write where the readers are now. */
  readonly whereabouts?: (movedTo: string) => string;
}

/** What an answer means, and where it says that the message has to go. */
export type Judged = Sent & { readonly movedTo?: string };

const sent: Sent = { ok: true };

/** At most so many bytes, without half a character. */
export function cutTo(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, bytes - 3));
  return `${kept.replace(/\ufffd+$/, "")}…`;
}

const marks = {
  alarm: "⚠️",
  flood: "🚨",
  cleared: "✅",
  missed: "🕑",
  test: "🔔",
  happened: "ℹ️",
  daily: "📋",
} as const;
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
    const problem = `the robot refuses it (${errcode}: ${typeof errmsg === "string" ? quote(errmsg) : "no reason given"})`;
    return { ok: false, problem, isRefused: !busy.has(errcode), retryAfterMs: askedMs(body) ?? 0 };
  };

/** Of foreign words as they may stand in a line. */
export const quote = (text: string): string => text.replace(/[\p{C}\s]+/gu, " ").trim();

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** How long to wait, where words say it: `try again in 300 seconds`. */
export function askedMs(text: string): number | undefined {
  const found = /(?:again|retry|wait|later|after)\D{0,40}?(\d{1,6})\s*(s|m|h)/i.exec(text);
  const ms = Number(found?.[1]) * (unitMs[found?.[2]?.toLowerCase() ?? ""] ?? NaN);
  return ms > 0 ? ms : undefined;
}

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
  whereabouts: (movedTo) =>
    `the group is a supergroup now: write chat_id: "${movedTo}" under telegram of this way`,
  request: (message, _, movedTo) =>
    post(`${url}/bot${token}/sendMessage`, {
      chat_id: movedTo ?? chat,
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
  request: ({ kind, severity, title, text, alarms, over, missed, at }) =>
    post(url, { kind, severity, title, text, at, alarms, over, missed }, headers),
  judge: judgeHook,
});

/** Many take a message with 200 and say in JSON that they did not: `{"ok": false}`, or a robot's code. */
function judgeHook(body: string): Sent {
  const fields = fieldsOf(body) ?? {};
  const { ok, success, status, errcode, code } = fields;
  const isCode = (value: unknown): value is number => typeof value === "number" && value !== 0;
  // Of those that only say a code it may be that of HTTP.
  const isOdd = isCode(code) && !(code >= 200 && code < 300) && reasonIn(fields) !== null;
  const isNo = ok === false || success === false || /^(?:error|fail(?:ed|ure)?)$/i.test(String(status));
  if (!isNo && !isCode(errcode) && !isOdd) return sent;
  const number = [errcode, code].find(isCode);
  const words = [...(number === undefined ? [] : [String(number)]), reasonIn(fields) ?? "no reason given"];
  const problem = `it answers that it did not take it (${words.join(": ")})`;
  return { ok: false, problem, isRefused: true, retryAfterMs: askedMs(body) };
}

/** The words in which services say what is wrong, wherever they stand. */
function reasonIn(fields: Fields): string | null {
  const inner = typeof fields["error"] === "object" && fields["error"] !== null ? { ...fields["error"] } : {};
  const all: Fields = { ...inner, ...fields };
  const names = ["description", "error", "errmsg", "message", "detail", "msg", "title"];
  const words = names.map((name) => all[name]).find((one) => typeof one === "string" && one !== "");
  return typeof words === "string" ? quote(words) : null;
}

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

/** What a service's answer means. Its own words are quoted, as they say the most, and what it asks for is done where that is safe. */
export function judgeReply({ judge }: Pick<Service, "judge">, reply: HttpReply, now: number): Judged {
  const { status, body } = reply;
  if (status === 207)
    return { ok: false, problem: `only some have it (HTTP 207${wordsOf(body)})`, isRefused: true };
  if (status >= 200 && status < 300) return judge(body);
  if (status >= 300 && status < 400) {
    const place = placeOf(reply.location ?? null);
    const where = place === null ? "" : `: ${place}; where that is right, write it as url`;
    const problem = `it points to another address (HTTP ${status}), which is not followed${where}`;
    return { ok: false, problem, isRefused: true };
  }
  const { movedTo, waitMs } = parametersIn(body);
  return {
    ok: false,
    problem: `it refuses the message (HTTP ${status}${wordsOf(body)})`,
    isRefused: status < 500 && !passing.has(status),
    retryAfterMs: waitMs ?? retryAfterMs(reply.retryAfter, now) ?? askedMs(wordsOf(body)),
    ...(movedTo === null ? {} : { movedTo }),
  };
}

/** In the service's own words, with the page that says more. */
function wordsOf(body: string): string {
  const fields = fieldsOf(body);
  const plain = fields === null && !/^\s*[<{[]/.test(body) ? quote(body).slice(0, 200) : "";
  const reason = fields === null ? plain : (reasonIn(fields) ?? "");
  const link = fields?.["link"];
  const more = typeof link === "string" && /^https?:/.test(link) ? [`see ${quote(link)}`] : [];
  const words = [...(reason === "" ? [] : [reason]), ...more].join("; ");
  return words === "" ? "" : `: ${words}`;
}

/** Without a query, which may hold a secret. */
function placeOf(location: string | null): string | null {
  if (location === null || !URL.canParse(location)) return null;
  const { origin, pathname } = new URL(location);
  return `${origin}${pathname === "/" ? "" : pathname}`;
}

/** What Telegram says in a form for programs, and others at the top. */
function parametersIn(body: string): {
  readonly movedTo: string | null;
  readonly waitMs: number | undefined;
} {
  const fields = fieldsOf(body) ?? {};
  const { parameters } = fields;
  const inner: Fields = typeof parameters === "object" && parameters !== null ? { ...parameters } : {};
  const moved = JSON.stringify(inner["migrate_to_chat_id"] ?? "").replaceAll('"', "");
  const seconds = Number(inner["retry_after"] ?? fields["retry_after"] ?? NaN);
  return {
    movedTo: /^-?\d{1,20}$/.test(moved) ? moved : null,
    waitMs: seconds > 0 ? seconds * 1_000 : undefined,
  };
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms > 0 ? ms : undefined;
}
