import { PlatformError, type PlatformErrorFacts } from "../greenhouse/ports.js";
import type { Blank, Redact } from "../runtime/redaction.js";
import { isNotHttp, troubleCode, troubleOf } from "./connection-trouble.js";
import { type Envelope, envelopeOf } from "./decode/decoding.js";
import { inflated, parseJson, UndecodableBody, UnreadableJson } from "./http/body.js";
import { type HttpAnswer, retryAfterMs, type TransportFailure } from "./http/exchange.js";
import type { Operation } from "./operations.js";

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
  blank: Blank = (bytes) => bytes,
): GoodAnswer | BadAnswer {
  const { status } = answer;
  if (status >= 300 && status < 400)
    return bad(answer, nowAt, "protocol", "redirect", redirectTarget(answer, url));
  const read = readBody(answer, maxMiB, blank);
  if (read.problem !== null) {
    if (status < 400) return bad(answer, nowAt, "protocol", read.problem, read.detail);
    const what = read.problem === "html" ? "html" : "status";
    return bad(answer, nowAt, refusedKind(status, null), what, read.detail);
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

/** One line that fits into a log: at most `max` characters, control characters become blanks. */
export function oneLine(text: string, max: number): string {
  const line = text.slice(0, max).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return text.length > max ? `${line}…` : line;
}

/** What an error has to know about where it happened. */
export interface Scene {
  readonly operation: Operation;
  readonly url: URL;
  /** The configuration key of the credential: `platform.token`, `platform.token_file` or `platform.sign_in`. */
  readonly credentialKey: string;
  readonly redact: Redact;
}

const urlKey = (operation: Operation): string =>
  operation.host === "business" ? "platform.business_url" : "platform.realtime_url";

/** The error of a request to which no whole answer came. */
export function transportError(failure: TransportFailure, scene: Scene, deadlineMs: number): PlatformError {
  const { sent, status, cause } = failure;
  const facts = { sent, ...(status === 0 ? {} : { status }) };
  const seconds = deadlineMs / 1000;
  switch (failure.reason) {
    case "timeout":
      return sent
        ? errorAt(scene, `no whole answer within ${seconds} s; the platform is slow or the line is bad`, {
            ...facts,
            kind: "timeout",
          })
        : errorAt(scene, `no connection within ${seconds} s; check this machine's network and router`, {
            ...facts,
            kind: "unreachable",
          });
    case "aborted":
      return errorAt(scene, "given up by the caller", { ...facts, kind: "interrupted" });
    case "too_large": {
      const { operation } = scene;
      const text = `the answer is larger than ${operation.maxAnswerMiB} MiB; check that ${urlKey(operation)} is the platform's address`;
      return errorAt(scene, text, { ...facts, kind: "protocol" });
    }
    case "connection": {
      const code = troubleCode(cause);
      const { what, remedy } = troubleOf(code, sent);
      const kind = !sent ? "unreachable" : isNotHttp(code) ? "protocol" : "interrupted";
      const text = `${what}; ${remedy.replace("{key}", urlKey(scene.operation))}`;
      return errorAt(scene, text, { ...facts, kind }, plainCause(cause, scene.redact));
    }
  }
}

/** The error of an answer that is no success. */
export function answerError(answer: BadAnswer, status: number, scene: Scene): PlatformError {
  const { code, message, requestId } = answer.envelope;
  const { redact } = scene;
  const facts = {
    kind: answer.kind,
    status,
    sent: true,
    ...(code === null ? {} : { code: oneLine(redact(code), 64) }),
    ...(message === null ? {} : { platformMessage: oneLine(redact(message), 300) }),
    ...(requestId === null ? {} : { requestId: oneLine(redact(requestId), 100) }),
    ...(answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }),
  };
  return errorAt(scene, remedyOf(answer, facts, scene), facts);
}

type Facts = Omit<PlatformErrorFacts, "host" | "operation">;

/** An error about this operation; `text` says what happened and what to do. */
export function errorAt(
  { operation, url, redact }: Scene,
  text: string,
  facts: Facts,
  cause?: unknown,
): PlatformError {
  const { host, label } = operation;
  const message = redact(`${label} at the ${host} host (${url.host}): ${text}`);
  return new PlatformError(
    message,
    { host, operation: label, ...facts },
    cause === undefined ? undefined : { cause },
  );
}

/** Name, code and message only: the original may hold headers, sockets and pieces of the answer. */
function plainCause(cause: unknown, redact: Redact): Error | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = troubleCode(cause);
  const plain = new Error(oneLine(redact(code === "" ? cause.message : `${code}: ${cause.message}`), 300));
  delete plain.stack;
  return plain;
}

/** What came and what to do about it, for one answer that is no success. */
function remedyOf(answer: BadAnswer, facts: Facts, scene: Scene): string {
  const key = urlKey(scene.operation);
  if (answer.kind === "unauthorized") return `${said(facts)}; ${credentialRemedy(scene)}`;
  if (answer.kind === "throttled") return `${said(facts)}; ${patience(facts)}`;
  switch (answer.what) {
    case "redirect":
      return `${redirected(answer, scene)}; redirects are not followed`;
    case "html":
      return facts.status !== undefined && facts.status >= 500
        ? `HTTP ${facts.status} with a web page; the platform is down or under maintenance, it is tried again by itself`
        : `a web page instead of data (HTTP ${facts.status ?? 200}); a maintenance page, or ${key} is not the platform's address`;
    case "empty":
      return `HTTP ${facts.status ?? 200} without a body; check that ${key} is the platform's address`;
    case "json":
      return `the answer is ${answer.detail ?? "broken JSON"}; check that ${key} is the platform's address`;
    case "encoding":
      return `the answer cannot be unpacked: ${answer.detail ?? "unknown encoding"}; check that ${key} is the platform's address`;
    case "code":
      return `the platform refused: ${said(facts)}`;
    case "status":
      return statusRemedy(facts, key);
  }
}

function statusRemedy(facts: Facts, key: string): string {
  const status = facts.status ?? 0;
  if (status === 404)
    return `${said(facts)}; the host does not know this path: check ${key} (are the two hosts swapped?)`;
  if (status >= 500) return `${said(facts)}; the platform has a fault, it is tried again by itself`;
  return said(facts);
}

/** "code 500, "device busy", request 8f…", as far as the platform said so. */
function said(facts: Facts): string {
  const parts = [
    facts.status === undefined || (facts.status === 200 && facts.code !== undefined)
      ? null
      : `HTTP ${facts.status}`,
    facts.code === undefined ? null : `code ${facts.code}`,
    facts.platformMessage === undefined ? null : JSON.stringify(facts.platformMessage),
    facts.requestId === undefined ? null : `request ${facts.requestId}`,
  ];
  return parts.filter((part) => part !== null).join(", ");
}

function credentialRemedy({ operation, credentialKey }: Scene): string {
  if (operation.name === "account/sign-in") return "check the account and password in platform.sign_in.body";
  return `the token is missing, wrong or expired (check ${credentialKey}), or the operator must first register this machine's address`;
}

function patience(facts: Facts): string {
  const { retryAfterMs } = facts;
  const wait = retryAfterMs === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfterMs / 1000)} s.`;
  return `the platform says there are too many requests; lower platform.requests_per_minute or lengthen the polling intervals.${wait}`;
}

function redirected(answer: BadAnswer, { operation, url }: Scene): string {
  const key = urlKey(operation);
  if (answer.detail === null) return `a redirect without a usable target; check ${key}`;
  const isUpgrade = url.protocol === "http:" && answer.detail.startsWith("https:");
  return isUpgrade
    ? `the host wants https: set ${key} to ${answer.detail}${url.pathname === "/" ? "" : url.pathname}`
    : `a redirect to ${answer.detail}: if that is the platform, set ${key} to it`;
}
