import { anyOf } from "../runtime/signals.js";
import { msg, Sentence, type Text, TextError, textOf } from "../language/text.js";
import { nullIfFailed } from "../runtime/failures.js";
import { request } from "node:http";
import type { Configuration } from "../config/schema.js";
import { holderOf, type LockHolder } from "../journal/lock.js";
import { errorCode } from "../runtime/file-system.js";
import { ownerSocket, socketPath } from "../runtime/socket-file.js";

/*
 * Asks the bridge that works in the data directory, at its own socket there. Nobody else can listen at it, and whoever
 * may open it needs no password, so nothing secret is sent.
 */

type Document = Readonly<Record<string, unknown>>;

interface SocketAnswer {
  readonly status: number;
  readonly document: Document;
}

/** Sends one request; resolves to its answer. */
export type AskSocket = (path: string, body?: Document) => Promise<SocketAnswer>;

/** Why the bridge was not asked at its socket. */
export class NotAtSocket {
  /** Null where no bridge works in the data directory, as far as this process can see. */
  readonly holder: LockHolder | null;
  readonly reason: Text;

  constructor(holder: LockHolder | null, reason: Text) {
    this.holder = holder;
    this.reason = reason;
  }
}

/** The connection broke during a request, so its outcome is unknown. */
export class SocketLost extends TextError {
  override name = "SocketLost" as const;
}

const longestMs = 30_000;
const mostAnswerBytes = 16 * 1024 * 1024;

const whyNot: Readonly<Record<string, Text>> = {
  ENOENT: msg`it has no socket in its data directory (yet): an older version, or a file system without sockets`,
  ECONNREFUSED: msg`nobody listens at its socket`,
  EACCES: msg`its socket is another user's: run this as the user that runs the bridge, with sudo -u`,
  EPERM: msg`its socket is another user's: run this as the user that runs the bridge, with sudo -u`,
};

/** Lets `work` ask the bridge. Rejects with SocketLost where the bridge goes away meanwhile. */
export async function atSocket<Answer>(
  { data_dir: dataDir }: Pick<Configuration, "data_dir">,
  work: (ask: AskSocket) => Promise<Answer>,
  stop: AbortSignal,
  language = "en",
): Promise<Answer | NotAtSocket> {
  const holder = await holderOf(dataDir);
  const place = await socketPath(dataDir, ownerSocket).catch(textOf);
  if (typeof place === "string" || place instanceof Sentence) return new NotAtSocket(holder, place);
  const ask = (path: string, body?: Document) => exchange(place.path, path, body, language, stop);
  try {
    const refused = await ask("/livez").then(
      () => null,
      (error: unknown) => whyNot[errorCode(error)] ?? String(error),
    );
    if (refused !== null) return new NotAtSocket(holder, refused);
    return await work(async (path, body) => {
      try {
        const { status, text } = await ask(path, body);
        return { status, document: documentIn(status, text) };
      } catch (error) {
        const why = stop.aborted ? msg`stopped` : msg`the bridge does not answer any more (${String(error)})`;
        throw new SocketLost(msg`${why}; it was asked, and what became of it is not known`);
      }
    });
  } finally {
    await place.release();
  }
}

function exchange(
  socketPath: string,
  path: string,
  body: Document | undefined,
  language: string,
  stop: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const signal = anyOf(stop, AbortSignal.timeout(longestMs));
  const method = body === undefined ? "GET" : "POST";
  const headers = {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(language !== "en" && { "accept-language": language }),
  };
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, path, method, headers, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > mostAnswerBytes) response.destroy(new TextError(msg`an answer of more than 16 MiB`));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    asking.on("error", reject);
    asking.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Parses an answer. Throws where one about something done cannot be read; for a refusal the status is enough. */
function documentIn(status: number, text: string): Document {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {};
  } catch (error) {
    if (status >= 400 || status === 204) return {};
    throw error;
  }
}

/**
 * Whether the running bridge's embedded broker listens at the configured port. The bridge says so itself, since
 * otherwise anybody could receive a password there.
 */
export async function isOwnBroker(configuration: Configuration, stop: AbortSignal): Promise<boolean> {
  const answer = await atSocket(configuration, (ask) => ask("/api/broker"), stop).catch(nullIfFailed);
  if (answer === null || answer instanceof NotAtSocket) return false;
  return answer.document["port"] === configuration.broker.port;
}
