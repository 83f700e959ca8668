import type { IncomingMessage, ServerResponse } from "node:http";
import { tellIn, wordFiles } from "../language/languages.js";
import { documentText } from "../language/text.js";
import { systemClock } from "../runtime/clock.js";
import { repeatedKey } from "../commands/payload.js";

/* Answers to HTTP requests, and the reading of what requests bring. No other file writes or reads their bodies. */

export interface Answer {
  readonly status: number;
  /** Sent at once, or a piece at a time. */
  readonly body?: string | Buffer | AsyncIterable<string | Uint8Array>;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The body as a value, to write it again in another language. */
  readonly document?: unknown;
}

export const json = (value: unknown, status = 200, headers: Answer["headers"] = {}): Answer => ({
  status,
  headers,
  body: `${JSON.stringify(value)}\n`,
  document: value,
});

/** Puts the sentences of an answer into the language of `Accept-Language`; programs send none and get English. */
export async function toldTo({ headers }: IncomingMessage, answer: Answer): Promise<Answer> {
  const [language = ""] = (headers["accept-language"] ?? "").split(/[-,;]/);
  if (answer.document === undefined || !Object.hasOwn(wordFiles, language)) return answer;
  return { ...answer, body: `${documentText(answer.document, await tellIn(language))}\n` };
}

/** Lines of JSON that are sent as they come. */
export const jsonLines = (items: AsyncIterable<unknown>): Answer => ({
  status: 200,
  body: linesOf(items),
  headers: { "content-type": "application/x-ndjson" },
});

async function* linesOf(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}

export const failure = (
  status: number,
  error: string,
  message: string,
  headers?: Answer["headers"],
): Answer => json({ error, message }, status, headers);

export const badRequest = (message: string) => failure(400, "bad_request", message);
const givenTwice = (name: string) =>
  badRequest(`${name.slice(0, 100)}: given twice, and nobody can tell which one counts.`);
export const notFound = (what: string, id?: string) =>
  failure(404, "not_found", `There is no ${what}${id === undefined ? "" : ` "${id.slice(0, 100)}"`}.`);
export const busy = (message: string) => failure(503, "busy", message, { "retry-after": "5" });
/** Also ends the connection, since further requests on it would not be answered either. */
export const tooManyRequests = (waitMs: number) =>
  failure(429, "too_many_requests", "Requests come too fast; wait as many seconds as Retry-After says.", {
    "retry-after": String(Math.max(1, Math.ceil(waitMs / 1_000))),
    connection: "close",
  });
export const loginRequired = failure(
  401,
  "login_required",
  "Log in first, or send http.token as a bearer token.",
);

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

export async function send(response: ServerResponse, { status, body = "", headers }: Answer): Promise<void> {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": 'Bearer realm="greenhouse2mqtt"' }),
    ...headers,
  });
  if (typeof body === "object" && Symbol.asyncIterator in body) {
    for await (const piece of body) {
      if (response.destroyed) break;
      if (!response.write(piece)) await untilDrained(response);
    }
    response.end();
  } else response.end(body);
}

/** A reader that takes nothing for this long is disconnected. */
const mostStallMs = 60_000;

/**
 * Resolves once what was written has left or the reader is gone, so a slow reader costs one piece of memory at most.
 */
function untilDrained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const giveUp = systemClock.after(mostStallMs, () => void response.destroy());
    const done = () => {
      giveUp();
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
  });
}

const mostBodyBytes = 64 * 1024;
/** For an admin's request: it may hold a whole configuration, and JSON may write one character as six. */
export const mostBytesOfAdmin = 8 * 1024 * 1024;

/** Reads a header that holds JSON in URL encoding; null where it holds none. */
export function headerSaid(header: string | readonly string[] | undefined): unknown {
  try {
    return typeof header === "string" ? JSON.parse(decodeURIComponent(header)) : null;
  } catch {
    return null;
  }
}

/** The bytes of a request's body, or the refusal of more than `mostBytes`. */
export async function bodyOf(request: IncomingMessage, mostBytes: number): Promise<Buffer | Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes)
      return failure(413, "too_large", `At most ${mostBytes} bytes are read.`, { connection: "close" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The query of a GET or the JSON object of a POST, or the answer that says why it cannot be read. */
export async function inputOf(
  request: IncomingMessage,
  mostBytes = mostBodyBytes,
): Promise<{ readonly given: object } | Answer> {
  const [, query = ""] = request.url?.split(/\?(.*)/s) ?? [];
  const parameters = new URLSearchParams(query);
  const twice = [...parameters.keys()].find((name) => parameters.getAll(name).length > 1);
  if (twice !== undefined) return givenTwice(twice);
  if (request.method !== "POST") return { given: Object.fromEntries(parameters) };
  if (query !== "") return badRequest("A POST takes no query.");
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? ""))
    return failure(415, "media_type", "Send JSON, with the content type application/json.");
  const body = await bodyOf(request, mostBytes);
  if (!Buffer.isBuffer(body)) return body;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    const given: unknown = body.length === 0 ? {} : JSON.parse(text);
    // Throws for a value nested too deeply to be written again.
    JSON.stringify(given);
    if (typeof given !== "object" || given === null || Array.isArray(given))
      return badRequest("Send a JSON object.");
    const again = repeatedKey(text);
    return again === undefined ? { given } : givenTwice(again);
  } catch {
    return badRequest("This is no JSON in UTF-8; check quotes, commas and brackets.");
  }
}
