import { msg, type Text, TextError, row, withStrings } from "../language/text.js";
import { gunzipSync } from "node:zlib";
import { PlatformError, type PlatformErrorFacts } from "../greenhouse/ports.js";
import type { Redact } from "../runtime/redaction.js";
import { retryAfterMs } from "../runtime/retry-after.js";
import type { Blank } from "./session/credential.js";
import {
  type Envelope,
  envelopeOf,
  isComplaint,
  isFields,
  messageOf,
  own,
  parseJson,
  UnreadableJson,
} from "./decode/decoding.js";
import type { HttpAnswer, TransportFailure } from "./http.js";
import type { Operation } from "./operations.js";

export interface GoodAnswer {
  readonly body: unknown;
  readonly envelope: Envelope;
}

/**
 * The body of an answer, or the error of a failed one. The body's `code` decides where there is one, otherwise the HTTP
 * status; a refusal of the credential counts in either place. `blank` removes our tokens before the body is parsed.
 */
export function judgeAnswer(
  answer: HttpAnswer,
  context: RequestContext,
  nowAt: number,
  blank: Blank = (bytes) => bytes,
): GoodAnswer | PlatformError {
  const { status } = answer;
  if (status >= 300 && status < 400) {
    const text = msg`${redirectReason(answer.headers.location, context)}; redirects are not followed`;
    return failure(answer, "protocol", text, null, context, nowAt);
  }
  const read = readBody(answer, context, blank);
  if (read.problem !== null) {
    const kind = status >= 400 ? refusedKind(status, null, context) : "protocol";
    const text = status >= 400 && !read.isPage ? null : read.problem;
    return failure(answer, kind, text, null, context, nowAt);
  }
  const envelope = envelopeOf(read.body);
  const isSuccess = envelope.code === "200" || (envelope.code === null && status < 300);
  if (isSuccess && !envelope.isRefusal) {
    // A sign-in or command may be answered in words alone; its own reader judges them.
    const isWords = envelope.code === null && context.operation.method === "GET" && isComplaint(read.body);
    if (!isWords) return { body: read.body, envelope };
    const said = oneLine(context.redact(messageOf(read.body) ?? ""), 300);
    const text = msg`words instead of data: ${JSON.stringify(said)}`;
    return failure(answer, "protocol", text, read.body, context, nowAt);
  }
  const kind = isSuccess ? "rejected" : refusedKind(status, envelope.code, context);
  return failure(answer, kind, null, read.body, context, nowAt);
}

function refusedKind(
  status: number,
  code: string | null,
  { refusedCodes }: Pick<RequestContext, "refusedCodes">,
): PlatformErrorFacts["kind"] {
  const codes = [code, String(status)];
  if (codes.includes("401") || codes.includes("403")) return "unauthorized";
  if (codes.some((one) => one !== null && refusedCodes.has(one))) return "unauthorized";
  if (codes.includes("429")) return "throttled";
  return code === null ? "server" : "rejected";
}

type Body =
  | { readonly problem: null; readonly body: unknown }
  /** `problem` says what came and what to do about it. */
  | { readonly problem: Text; readonly isPage: boolean };

function readBody(answer: HttpAnswer, { operation }: RequestContext, blank: Blank): Body {
  const { status, headers } = answer;
  const check = () => msg`check that ${urlKey(operation)} is the platform's address`;
  try {
    const encoding = headers["content-encoding"];
    const plain =
      encoding === undefined ? answer.body : inflate(answer.body, encoding, operation.maxAnswerMiB);
    const start = plain.toString("utf8", 0, 64).trimStart();
    if (start === "" && plain.length < 64)
      return { problem: msg`HTTP ${status} without a body; ${check()}`, isPage: false };
    if (!start.startsWith("<")) return { problem: null, body: parseJson(blank(plain)) };
    const page =
      status >= 500
        ? msg`HTTP ${status} with a web page; the platform is down or under maintenance, it is tried again by itself`
        : msg`a web page instead of data (HTTP ${status}); a maintenance page, or ${urlKey(operation)} is not the platform's address`;
    return { problem: page, isPage: true };
  } catch (error) {
    if (error instanceof UndecodableBody)
      return { problem: msg`the answer cannot be unpacked: ${error.text}; ${check()}`, isPage: false };
    if (error instanceof UnreadableJson)
      return { problem: msg`the answer is ${error.text}; ${check()}`, isPage: false };
    throw error;
  }
}

class UndecodableBody extends TextError {
  override name = "UndecodableBody" as const;
}

/**
 * Removes the content encoding, which is gzip as every request asks for it. Throws UndecodableBody for another
 * encoding, broken data or more than `maxMiB`. Being synchronous does no harm, as the output is bounded.
 */
function inflate(body: Buffer, encoding: string, maxMiB: number): Buffer {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity" || body.length === 0) return body;
  // A proxy may have unpacked the body and left the header.
  if (name.endsWith("gzip") && /^\s*[[{]/.test(body.toString("latin1", 0, 8))) return body;
  if (name !== "gzip" && name !== "x-gzip")
    throw new UndecodableBody(msg`content encoding ${JSON.stringify(name.slice(0, 40))} is not supported`);
  try {
    return gunzipSync(body, { maxOutputLength: maxMiB * 1024 * 1024 });
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    throw new UndecodableBody(
      isTooLarge ? msg`more than ${maxMiB} MiB when unpacked` : msg`broken gzip data`,
    );
  }
}

/** A text as one line for a log: at most `max` characters, with control characters replaced by blanks. */
export function oneLine(text: string, max: number): string {
  const line = text.slice(0, max).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return text.length > max ? `${line}…` : line;
}

/** What an error needs to know about its request. */
export interface RequestContext {
  readonly operation: Operation;
  readonly url: URL;
  /** The configuration key of the credential: `platform.token`, `platform.token_file` or `platform.sign_in`. */
  readonly credentialKey: string;
  /** Body codes, besides 401 and 403, that mean a refused token. */
  readonly refusedCodes: ReadonlySet<string>;
  /** Hides secrets in the platform's words. */
  readonly redact: Redact;
  /** Hides secrets in our own sentences. */
  readonly redactLine: Redact;
}

const urlKey = (operation: Operation): string =>
  operation.host === "business" ? "platform.business_url" : "platform.realtime_url";

/** The error of a request without a whole answer. */
export function transportError(
  failure: TransportFailure,
  context: RequestContext,
  deadlineMs: number,
): PlatformError {
  const { sent, status, cause } = failure;
  const facts = { sent, ...(status === 0 ? {} : { status }) };
  switch (failure.reason) {
    case "timeout": {
      const text = msg`no whole answer within ${deadlineMs / 1000} s; the platform is slow or the line is bad`;
      return errorAt(context, text, { ...facts, kind: "timeout" });
    }
    case "late": {
      const text = msg`the bridge stood still and read the answer after more than ${deadlineMs / 1000} s; it says nothing about now`;
      return errorAt(context, text, { ...facts, kind: "timeout" });
    }
    case "aborted":
      return errorAt(context, msg`given up by the caller`, { ...facts, kind: "interrupted" });
    case "withheld":
      return errorAt(context, msg`not sent; it was not wanted any more when its connection stood`, {
        ...facts,
        kind: "withheld",
      });
    case "too_large": {
      const { operation } = context;
      const text = msg`the answer is larger than ${operation.maxAnswerMiB} MiB; check that ${urlKey(operation)} is the platform's address`;
      return errorAt(context, text, { ...facts, kind: "protocol" });
    }
    case "connection": {
      const code = troubleCode(cause);
      const { what, remedy } = troubleOf(code, sent);
      const kind = !sent ? "unreachable" : isNotHttp(code) ? "protocol" : "interrupted";
      const text = row`${what}; ${remedy(urlKey(context.operation))}`;
      return errorAt(context, text, { ...facts, kind }, plainCause(cause, context.redact));
    }
  }
}

/**
 * The error of a failed answer. `text` is used where the platform gave no message; `body` is given where it could be
 * parsed.
 */
function failure(
  { status, headers }: HttpAnswer,
  plainKind: PlatformErrorFacts["kind"],
  text: Text | null,
  body: unknown,
  context: RequestContext,
  nowAt: number,
): PlatformError {
  const { redact, operation } = context;
  const { code, requestId, isRefusal } = envelopeOf(body);
  const message = messageOf(body);
  const retryAfter = retryAfterMs(headers["retry-after"], headers.date, nowAt);
  const isBusy = retryAfter !== null && (status === 503 || code === "503");
  const kind = isBusy ? "throttled" : plainKind;
  const facts = {
    kind,
    status,
    sent: true,
    ...(code === null ? {} : { code: oneLine(redact(code), 64) }),
    ...(message === null ? {} : { platformMessage: oneLine(redact(message), 300) }),
    ...(requestId === null ? {} : { requestId: oneLine(redact(requestId), 100) }),
    ...(kind === "throttled" && retryAfter !== null ? { retryAfterMs: retryAfter } : {}),
  };
  if (kind === "unauthorized")
    return errorAt(context, row`${quoteFacts(facts)}; ${credentialRemedy(context)}`, facts);
  if (kind === "throttled") return errorAt(context, row`${quoteFacts(facts)}; ${patience(facts)}`, facts);
  const refused = isRefusal
    ? msg`the platform refused with success: false: ${quoteFacts(facts)}`
    : msg`the platform refused: ${quoteFacts(facts)}`;
  const refusal = code === null && !isRefusal ? statusRemedy(facts, urlKey(operation)) : refused;
  return errorAt(context, text ?? refusal, facts);
}

type Facts = Omit<PlatformErrorFacts, "host" | "operation">;

/** An error about this operation; `text` says what happened and what to do. */
export function errorAt(
  { operation, url, redactLine }: RequestContext,
  text: Text,
  facts: Facts,
  cause?: unknown,
): PlatformError {
  const { host, label } = operation;
  const at =
    host === "business"
      ? msg`${label} at the business host (${url.host})`
      : msg`${label} at the realtime host (${url.host})`;
  const message = withStrings(row`${at}: ${text}`, redactLine);
  return new PlatformError(
    message,
    { host, operation: label, ...facts },
    cause === undefined ? undefined : { cause },
  );
}

/** Keeps only name, code and message: the original may hold headers, sockets and parts of the answer. */
function plainCause(cause: unknown, redact: Redact): Error | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = troubleCode(cause);
  const plain = new Error(oneLine(redact(code === "" ? cause.message : `${code}: ${cause.message}`), 300));
  delete plain.stack;
  return plain;
}

function statusRemedy(facts: Facts, key: string): Text {
  const status = facts.status ?? 0;
  if (status === 404)
    return msg`${quoteFacts(facts)}; the host does not know this path: check ${key} (are the two hosts swapped?)`;
  if (status >= 500) return msg`${quoteFacts(facts)}; the platform has a fault, it is tried again by itself`;
  return quoteFacts(facts);
}

/** The platform's facts in words: "code 500, "device busy", request 8f…". */
function quoteFacts(facts: Facts): string {
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

function credentialRemedy({ operation, credentialKey }: RequestContext): Text {
  if (operation.name === "account/sign-in")
    return msg`check the account and password in platform.sign_in.body`;
  return msg`the token is missing, wrong or expired (check ${credentialKey}), or the operator must first register this machine's address`;
}

function patience(facts: Facts): Text {
  const { retryAfterMs } = facts;
  const wait = retryAfterMs === undefined ? "" : msg` It asks to wait ${Math.ceil(retryAfterMs / 1000)} s.`;
  return msg`the platform says there are too many requests; lower platform.requests_per_minute or lengthen the polling intervals.${wait}`;
}

/** The scheme and host of a redirect; never its path or query, which may hold a secret. */
function redirectReason(location: string | undefined, { operation, url }: RequestContext): Text {
  const key = urlKey(operation);
  if (location === undefined || !URL.canParse(location, url.href))
    return msg`a redirect without a usable target; check ${key}`;
  const { origin } = new URL(location, url);
  const isUpgrade = url.protocol === "http:" && origin.startsWith("https:");
  return isUpgrade
    ? msg`the host wants https: set ${key} to ${origin}${url.pathname === "/" ? "" : url.pathname}`
    : msg`a redirect to ${origin}: if that is the platform, set ${key} to it`;
}

/** A network problem in words, with its remedy. */
export interface Trouble {
  readonly what: Text;
  readonly remedy: (key: Text) => Text;
}

const renewIt = (): Text =>
  msg`if this is the right host, its operator must renew or complete its certificate; a private authority is trusted with NODE_EXTRA_CA_CERTS`;
const network = (): Text => msg`check this machine's network and router; it is tried again by itself`;
const unknownAuthority = msg`the host's certificate comes from an unknown authority`;
const schemeAndPort = (key: Text): Text => msg`check scheme and port of ${key}`;
const noTls = [msg`that port does not speak TLS`, schemeAndPort] as const;
const cut = [
  msg`the connection ended before the whole answer had come`,
  () => msg`nothing to do unless it happens often: then check the network on the way`,
] as const;

/** Network problems by code, each with its remedy. */
const troubles: Readonly<Record<string, readonly [what: Text, remedy: (key: Text) => Text]>> = {
  ENOTFOUND: [msg`the host name does not exist`, (key) => msg`check ${key} and this machine's DNS`],
  EAI_AGAIN: [
    msg`the host name could not be looked up (no DNS answer)`,
    () =>
      msg`check this machine's name servers, \`doctor\` names those that do not answer; it is tried again by itself`,
  ],
  ECONNREFUSED: [msg`the host refuses connections on that port`, (key) => msg`check host and port of ${key}`],
  UND_ERR_CONNECT_TIMEOUT: [msg`no connection within the connect time-out`, network],
  ETIMEDOUT: [msg`no connection: the network did not answer`, network],
  ENETUNREACH: [msg`no route to the host`, network],
  EHOSTUNREACH: [msg`no route to the host`, network],
  CERT_HAS_EXPIRED: [msg`the host's certificate has expired (or this machine's clock is wrong)`, renewIt],
  CERT_NOT_YET_VALID: [msg`the host's certificate is not valid yet`, () => msg`set this machine's clock`],
  DEPTH_ZERO_SELF_SIGNED_CERT: [msg`the host's certificate is self-signed`, renewIt],
  SELF_SIGNED_CERT_IN_CHAIN: [unknownAuthority, renewIt],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [msg`the host's certificate chain is incomplete`, renewIt],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [unknownAuthority, renewIt],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    msg`the host's certificate is for another name`,
    (key) => msg`check the host name in ${key}`,
  ],
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ECONNRESET: cut,
  EPIPE: cut,
  UND_ERR_SOCKET: cut,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: cut,
  UND_ERR_DESTROYED: [msg`the program is stopping`, () => msg`nothing`],
  UND_ERR_HEADERS_OVERFLOW: [
    msg`the headers of the answer are too large`,
    (key) => msg`check that ${key} is the platform's address`,
  ],
};

/** The code of a network error, also inside the error with which Node wraps several attempts. */
export function troubleCode(cause: unknown): string {
  if (!isFields(cause)) return "";
  const code = own(cause, "code");
  if (typeof code === "string") return code;
  if (own(cause, "name") === "HTTPParserError") return "HPE_INVALID";
  const { errors } = cause;
  return Array.isArray(errors) ? troubleCode(errors[0]) : "";
}

/** `HPE_…` comes from the HTTP parser: what answers there is no web server. */
const isNotHttp = (code: string): boolean => code.startsWith("HPE_") || code === "UND_ERR_HEADERS_OVERFLOW";

/** The problem of a code. The remedy names the setting of the host's address. */
export function troubleOf(code: string, sent: boolean): Trouble {
  if (code.startsWith("HPE_")) return { what: msg`the answer is not HTTP`, remedy: schemeAndPort };
  const known = Object.hasOwn(troubles, code) ? troubles[code] : undefined;
  if (known === cut && !sent)
    return { what: msg`the connection was closed while it was being opened`, remedy: network };
  const [what, remedy] = known ?? [msg`the connection failed${code === "" ? "" : ` (${code})`}`, network];
  return { what, remedy };
}
