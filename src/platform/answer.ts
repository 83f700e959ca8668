import type { PlatformErrorFacts } from "../greenhouse/platform-error.js";
import { envelopeOf, type Envelope } from "./decode/envelope.js";
import type { HttpAnswer } from "./http/exchange.js";
import { inflated, UndecodableBody } from "./http/inflate.js";
import { parseJson, UnreadableJson } from "./http/json.js";
import { retryAfterMs } from "./http/retry-after.js";
import type { Blank } from "../runtime/redaction.js";

export interface GoodAnswer {
  readonly ok: true;
  readonly body: unknown;
  readonly envelope: Envelope;
}

/** An answer that is no success. `what` says what came where the platform itself said nothing. */
export interface BadAnswer {
  readonly ok: false;
  readonly kind: PlatformErrorFacts["kind"];
  readonly what: "code" | "status" | "html" | "redirect" | "empty" | "json" | "encoding";
  readonly detail: string | null;
  readonly envelope: Envelope;
  readonly retryAfterMs: number | null;
}

const nothing: Envelope = { code: null, message: null, requestId: null };

/**
 * Whether an answer is a success. The body's `code` decides when the body parses and has one, the HTTP status when not;
 * a refusal of the credential counts wherever it is said. `blank` is asked before anything is read from the body.
 */
export function judgeAnswer(
  answer: HttpAnswer,
  url: URL,
  nowAt: number,
  maxMiB: number,
  blank: Blank = asItIs,
): GoodAnswer | BadAnswer {
  const { status } = answer;
  if (status >= 300 && status < 400)
    return bad(answer, nowAt, "protocol", "redirect", redirectTarget(answer, url));
  const read = readBody(answer, maxMiB, blank);
  if (read.problem !== null) {
    const kind = status >= 400 ? kindOfStatus(status) : "protocol";
    return bad(
      answer,
      nowAt,
      kind,
      status >= 400 && read.problem !== "html" ? "status" : read.problem,
      read.detail,
    );
  }
  const envelope = envelopeOf(read.body);
  if (envelope.code === "200" || (envelope.code === null && status < 300)) {
    return { ok: true, body: read.body, envelope };
  }
  const what = envelope.code === null ? "status" : "code";
  return bad(answer, nowAt, refusedKind(status, envelope.code), what, null, envelope);
}

function bad(
  answer: HttpAnswer,
  nowAt: number,
  plainKind: BadAnswer["kind"],
  what: BadAnswer["what"],
  detail: string | null,
  envelope = nothing,
): BadAnswer {
  const retryAfter = retryAfterMs(answer.headers["retry-after"], answer.headers.date, nowAt);
  const isBusy = retryAfter !== null && (answer.status === 503 || envelope.code === "503");
  const kind = isBusy ? "throttled" : plainKind;
  return { ok: false, kind, what, detail, envelope, retryAfterMs: kind === "throttled" ? retryAfter : null };
}

function refusedKind(status: number, code: string | null): BadAnswer["kind"] {
  const codes = [code, String(status)];
  if (codes.includes("401") || codes.includes("403")) return "unauthorized";
  if (codes.includes("429")) return "throttled";
  return code === null ? "server" : "rejected";
}

const kindOfStatus = (status: number): BadAnswer["kind"] => refusedKind(status, null);

const asItIs: Blank = (bytes) => bytes;

type Body =
  | { readonly problem: null; readonly body: unknown }
  | { readonly problem: "html" | "empty" | "json" | "encoding"; readonly detail: string | null };

function readBody(answer: HttpAnswer, maxMiB: number, blank: Blank): Body {
  try {
    const plain = inflated(answer.body, answer.headers["content-encoding"], maxMiB);
    if (isBlank(plain)) return { problem: "empty", detail: null };
    if (looksLikeMarkup(plain)) return { problem: "html", detail: null };
    return { problem: null, body: parseJson(blank(plain)) };
  } catch (error) {
    if (error instanceof UndecodableBody) return { problem: "encoding", detail: error.message };
    if (error instanceof UnreadableJson) return { problem: "json", detail: error.message };
    throw error;
  }
}

const isBlank = (body: Buffer): boolean => body.length < 64 && body.toString("latin1").trim() === "";

const looksLikeMarkup = (body: Buffer): boolean =>
  body
    .toString("utf8", 0, 64)
    .replace(/^\uFEFF/, "")
    .trimStart()
    .startsWith("<");

/** Scheme and host a redirect points to; never its path or query, which may carry a secret. */
function redirectTarget(answer: HttpAnswer, url: URL): string | null {
  const { location } = answer.headers;
  if (location === undefined || !URL.canParse(location, url.href)) return null;
  return new URL(location, url).origin;
}
