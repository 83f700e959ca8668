import { msg, type Text, TextError, textOf, withTexts } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import type { Socket } from "node:net";
import { type Clock, systemClock, TooLate, within } from "../runtime/clock.js";
import { type Connected, connectorOver } from "../runtime/connecting.js";
import { Names } from "../runtime/host-names.js";
import { lines, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import type { Redact } from "../runtime/redaction.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import { type HttpReply, type Judged, judgeReply } from "./answers.js";
import type { NotifySettings } from "./section.js";
import type { HttpMessenger, HttpRequest, MailMessenger, Messenger } from "./service.js";
import { type Proxy, tunnelTo } from "./tunnel.js";

/* Sends messages to services. The packages that it needs are loaded with the first message. */

export interface Sender {
  /** The service's name, as people say it. */
  readonly name: string;
  /** Whether a message that this reader missed may still be sent to them. */
  isReader(address: string): boolean;
  /**
   * Sends a message. Never rejects, and ends within the deadline whatever the service does; the problem holds no
   * secret. `only`: some of several readers.
   */
  send(message: Message, stop: AbortSignal, only?: readonly string[]): Promise<Sent>;
}

/** The deadline of a whole attempt, including the closing of its connections. */
const deadlineMs = 20_000;
const { mostAnswerBytes } = receiving.messenger;
const mostProblem = 500;

export function senderOf(
  messenger: Messenger,
  clock: Clock,
  proxy: NotifySettings["proxy"],
  redact: Redact,
): Sender {
  // Text is cut after secrets are removed: half a secret would not be recognised.
  const tellable = (problem: Text) => withTexts(problem, (text) => redact(text).slice(0, mostProblem));
  const outwards = { proxy, names: new Names(clock) };
  const attempt =
    "mail" in messenger ? mailAttempt(messenger, outwards) : httpAttempt(messenger, outwards, clock);
  const send: Sender["send"] = async (message, stop, only) => {
    try {
      const sent = await within(clock, deadlineMs, (signal) => attempt(message, signal, only), stop);
      return sent.ok ? sent : { ...sent, problem: tellable(sent.problem) };
    } catch (error) {
      const reason = error instanceof TooLate ? msg`no answer within 20 s` : reasonOf(error);
      return { ok: false, problem: tellable(msg`it was not reached (${reason})`), isRefused: false };
    }
  };
  const readers = new Set("mail" in messenger ? messenger.mail.to.map(mailboxOf) : []);
  return { name: messenger.name, isReader: (address) => readers.has(mailboxOf(address)), send };
}

/** The address as the mail server gets it: without the display name, the domain in lower-case ASCII. */
function mailboxOf(address: string): string {
  const [, mailbox = address] = /<([^<>]*)>$/.exec(address) ?? [];
  const at = mailbox.lastIndexOf("@") + 1;
  const domain = `http://${mailbox.slice(at)}`;
  return mailbox.slice(0, at) + (URL.canParse(domain) ? new URL(domain).hostname : domain);
}

type Attempt = Sender["send"];

/** How the bridge reaches services. */
interface Outwards {
  readonly proxy: NotifySettings["proxy"];
  readonly names: Names;
}

const mailAttempt =
  ({ mail }: MailMessenger, outwards: Outwards): Attempt =>
  async (message, signal, only) => {
    const { sendMail } = await import("./mail.js");
    return sendMail(mail, outwards, { message, only }, signal);
  };

/** Sends over HTTP. If the answer names a new address, this message and later ones go there. */
function httpAttempt(messenger: HttpMessenger, outwards: Outwards, clock: Clock): Attempt {
  const { request, whereabouts } = messenger;
  const known: { movedTo: string | null } = { movedTo: null };
  const once = async (message: Message, signal: AbortSignal): Promise<Judged> => {
    const reply = await exchange(request(message, clock.now(), known.movedTo), outwards, signal);
    return judgeReply(messenger, reply, clock.now());
  };
  return async (message, signal) => {
    const first = await once(message, signal);
    const isElsewhere = first.movedTo !== undefined && first.movedTo !== known.movedTo;
    if (isElsewhere) known.movedTo = first.movedTo;
    const sent = isElsewhere && whereabouts ? await once(message, signal) : first;
    const advice = known.movedTo === null ? undefined : whereabouts?.(known.movedTo);
    return sent.ok && advice !== undefined ? { ok: true, advice } : sent;
  };
}

/** The innermost error, which says what happened. */
function reasonOf(error: unknown): Text {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner instanceof Error ? reasonOf(inner) : textOf(error);
}

/** Sends one request and reads the answer. Redirects are not followed, as the secret is for this address only. */
async function exchange(
  { url, headers, body }: HttpRequest,
  way: Outwards,
  signal: AbortSignal,
): Promise<HttpReply> {
  const { dispatcher, letGo } = await connectionTo(way, signal);
  signal.addEventListener("abort", letGo, { once: true });
  try {
    const { origin, pathname, search } = new URL(url);
    const path = pathname + search;
    const answer = await dispatcher.request({ origin, path, method: "POST", headers, body, signal });
    const header = (name: string) => {
      const value = answer.headers[name];
      return typeof value === "string" ? value : null;
    };
    return {
      status: answer.statusCode,
      retryAfter: header("retry-after"),
      location: header("location"),
      body: await beginning(answer.body),
    };
  } finally {
    signal.removeEventListener("abort", letGo);
    letGo();
  }
}

/** A connection for one exchange. The signal ends it, even if the proxy never answers or the service never closes. */
async function connectionTo({ proxy, names }: Outwards, signal: AbortSignal) {
  const { Agent, buildConnector } = await import("undici");
  const sockets = new Set<Socket>();
  const onSocket = heldIn(sockets);
  const secure = buildConnector({ timeout: deadlineMs, allowH2: false, ...verifiedTls });
  const way = { names, connectMs: deadlineMs, signal, onSocket };
  const direct = connectorOver(secure, way);
  const connect: typeof direct =
    proxy === undefined
      ? (target, done) => direct(target, pacedThen(done))
      : connectorThrough(proxy, secure, way);
  const dispatcher = new Agent({ connections: 1, pipelining: 0, connect });
  const letGo = () => {
    dispatcher.destroy().catch(ignored);
    for (const socket of sockets) socket.destroy();
  };
  return { dispatcher, letGo };
}

/** Remembers opened sockets, so that they can be closed without their library. */
function heldIn(sockets: Set<Socket>): (socket: Socket) => void {
  return (socket) => void sockets.add(socket);
}

/** Ends a connection whose service sends more than any service does. */
const pacedThen =
  (done: Connected): Connected =>
  (...[error, socket]) => {
    if (error !== null) {
      done(error, null);
      return;
    }
    const turns = new ReadingTurns(receiving.messenger, systemClock);
    new PacedReading(socket, turns, lines(), () => socket.destroy(new TextError(tooMuch)));
    done(null, socket);
  };

const tooMuch = msg`it says more than an answer`;

interface TunnelTarget {
  readonly hostname: string;
  readonly port: string;
  readonly protocol: string;
}

/** A connector for undici that goes through the proxy; behind TLS the answer is counted once more. */
const connectorThrough =
  <Options extends TunnelTarget>(
    proxy: Proxy,
    secure: (target: Options & { readonly httpSocket: Socket }, done: Connected) => unknown,
    way: Pick<Parameters<typeof tunnelTo>[2], "names" | "connectMs" | "signal" | "onSocket">,
  ) =>
  (target: Options, done: Connected): void => {
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    const place = { host: target.hostname, port: Number(port) };
    tunnelTo(place, proxy, { ...way, receiving: receiving.messenger, tooMuch }).then(
      (socket) => {
        if (isSecure) secure({ ...target, port, httpSocket: socket }, pacedThen(done));
        else done(null, socket);
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), null),
    );
  };

async function beginning(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostAnswerBytes));
}
