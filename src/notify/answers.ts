import { joined, msg, row, type Text } from "../language/text.js";
import { retryAfterMs } from "../runtime/retry-after.js";
import type { Sent } from "./plan.js";
import type { HttpMessenger } from "./service.js";

/* What the answers of messaging services mean. */

export interface HttpReply {
  readonly status: number;
  /** The header `Retry-After`; null where absent. */
  readonly retryAfter: string | null;
  /** The header `Location`. */
  readonly location?: string | null;
  readonly body: string;
}

/** The meaning of an answer; `movedTo` is the address that it names for the next messages. */
export type Judged = Sent & { readonly movedTo?: string };

export const sent: Sent = { ok: true };

type Fields = Readonly<Record<string, unknown>>;

export function jsonFields(body: string): Fields | null {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? { ...read } : null;
  } catch {
    return null;
  }
}

/** Not the service, so it has refused nothing; whatever stands before it may be gone with the next try. */
export const noAnswer: Sent = {
  ok: false,
  problem: msg`it answers what the service does not answer; a portal or proxy may be in between`,
  isRefused: false,
};

/**
 * Judges the answer of a robot, which is 200 whatever became of the message. `busy`: error codes that mean too many
 * messages.
 */
export const judgeRobot =
  (busy: ReadonlySet<number>): HttpMessenger["judge"] =>
  (body) => {
    const { errcode, errmsg } = jsonFields(body) ?? {};
    if (typeof errcode !== "number") return noAnswer;
    if (errcode === 0) return sent;
    const problem = msg`the robot refuses it (${errcode}: ${typeof errmsg === "string" ? quote(errmsg) : msg`no reason given`})`;
    return { ok: false, problem, isRefused: !busy.has(errcode), retryAfterMs: askedMs(body) ?? 0 };
  };

/** Makes foreign text safe for one line: control characters and line breaks become spaces. */
export const quote = (text: string): string => text.replace(/[\p{C}\s]+/gu, " ").trim();

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** The pause that a text asks for, in ms: `try again in 300 seconds`. */
export function askedMs(text: string): number | undefined {
  const found = /(?:again|retry|wait|later|after)\D{0,40}?(\d{1,6})\s*(s|m|h)/i.exec(text);
  const ms = Number(found?.[1]) * (unitMs[found?.[2]?.toLowerCase() ?? ""] ?? NaN);
  return ms > 0 ? ms : undefined;
}

/** The explanation in an answer, under whichever key the service puts it. */
export function reasonIn(fields: Fields): string | null {
  const inner = typeof fields["error"] === "object" && fields["error"] !== null ? { ...fields["error"] } : {};
  const all: Fields = { ...inner, ...fields };
  const names = ["description", "error", "errmsg", "message", "detail", "msg", "title"];
  const words = names.map((name) => all[name]).find((one) => typeof one === "string" && one !== "");
  return typeof words === "string" ? quote(words) : null;
}

/** Codes that mean too many requests or a service that is away, so that another try may succeed. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/** Codes that mean another address for good; the others are also how a portal asks for a login. */
const movedForGood: ReadonlySet<number> = new Set([301, 308]);

/**
 * What a service's answer means. The service's own words are quoted, and a wait or move that it asks for is passed on.
 */
export function judgeReply({ judge }: Pick<HttpMessenger, "judge">, reply: HttpReply, now: number): Judged {
  const { status, body } = reply;
  if (status === 207)
    return { ok: false, problem: msg`only some have it (HTTP 207${wordsOf(body)})`, isRefused: true };
  if (status >= 200 && status < 300) return judge(body);
  if (status >= 300 && status < 400) {
    const place = placeOf(reply.location ?? null);
    const where = place === null ? "" : msg`: ${place}; where that is right, write it as url`;
    const problem = msg`it points to another address (HTTP ${status}), which is not followed${where}`;
    return { ok: false, problem, isRefused: movedForGood.has(status) };
  }
  const { movedTo, waitMs } = parametersIn(body);
  const asked = retryAfterMs(reply.retryAfter, undefined, now);
  return {
    ok: false,
    problem: msg`it refuses the message (HTTP ${status}${wordsOf(body)})`,
    isRefused: status < 500 && !passing.has(status),
    retryAfterMs: waitMs ?? (asked || askedMs(String(wordsOf(body)))),
    ...(movedTo === null ? {} : { movedTo }),
  };
}

/** The service's own words, with its link to more. */
function wordsOf(body: string): Text {
  const fields = jsonFields(body);
  const plain = fields === null && !/^\s*[<{[]/.test(body) ? quote(body).slice(0, 200) : "";
  const reason = fields === null ? plain : (reasonIn(fields) ?? "");
  const link = fields?.["link"];
  const more = typeof link === "string" && /^https?:/.test(link) ? [msg`see ${quote(link)}`] : [];
  const words = [...(reason === "" ? [] : [reason]), ...more];
  return words.length === 0 ? "" : row`: ${joined(words, "; ")}`;
}

/** The address without its query, which may hold a secret. */
function placeOf(location: string | null): string | null {
  if (location === null || !URL.canParse(location)) return null;
  const { origin, pathname } = new URL(location);
  return `${origin}${pathname === "/" ? "" : pathname}`;
}

/** New address and wait, which Telegram puts into `parameters` and others at the top level. */
function parametersIn(body: string): {
  readonly movedTo: string | null;
  readonly waitMs: number | undefined;
} {
  const fields = jsonFields(body) ?? {};
  const { parameters } = fields;
  const inner: Fields = typeof parameters === "object" && parameters !== null ? { ...parameters } : {};
  const moved = JSON.stringify(inner["migrate_to_chat_id"] ?? "").replaceAll('"', "");
  const seconds = Number(inner["retry_after"] ?? fields["retry_after"] ?? NaN);
  return {
    movedTo: /^-?\d{1,20}$/.test(moved) ? moved : null,
    waitMs: seconds > 0 ? seconds * 1_000 : undefined,
  };
}
