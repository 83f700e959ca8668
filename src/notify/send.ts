import { msg, type Text, TextError, textOf, withTexts } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import type { Socket } from "node:net";
import { type Clock, systemClock, TooLate, within } from "../runtime/clock.js";
import { type Connected, connectorOver } from "../runtime/connecting.js";
import { Names } from "../runtime/names.js";
import { lines, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/receiving.js";
import type { Redact } from "../runtime/redaction.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import { type HttpReply, type Judged, judgeReply } from "./answers.js";
import type { NotifySettings } from "./section.js";
import type { HttpMessenger, HttpRequest, MailMessenger, Messenger } from "./service.js";
import { type Proxy, tunnelTo } from "./tunnel.js";

/* Where messages leave the house. The packages for it are loaded with the first one. */

export interface Sender {
  /** As people call the service. */
  readonly name: string;
  /** Whether what this reader did not get may still be sent to him. */
  isReader(address: string): boolean;
  /** Never rejects, and ends within the deadline whatever a service does; what it says holds no secret. `only`: those of several readers. */
  send(message: Message, stop: AbortSignal, only?: readonly string[]): Promise<Sent>;
}

/** From the first byte to the last, and until all is let go of. */
const deadlineMs = 20_000;
const { mostAnswerBytes } = receiving.messenger;
const mostProblem = 500;

export function senderOf(
  messenger: Messenger,
  clock: Clock,
  proxy: NotifySettings["proxy"],
  redact: Redact,
): Sender {
  // Cut only then: half a secret would not be known as one.
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

/** As the mail server is told it: without the name before it, and with a domain in small ASCII letters. */
function mailboxOf(address: string): string {
  const [, mailbox = address] = /<([^<>]*)>$/.exec(address) ?? [];
  const at = mailbox.lastIndexOf("@") + 1;
  const domain = `http://${mailbox.slice(at)}`;
  return mailbox.slice(0, at) + (URL.canParse(domain) ? new URL(domain).hostname : domain);
}

type Attempt = Sender["send"];

/** How this house reaches services. */
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

/** Where the answer says that the readers are elsewhere now, the message goes there at once, and so do the next ones. */
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

/** The innermost reason says what happened. */
function reasonOf(error: unknown): Text {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner instanceof Error ? reasonOf(inner) : textOf(error);
}

/** No redirect is followed: the secret is for this address alone. */
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

/** A connection for one exchange, and what ends it: a proxy that never answers, or a service that never closes, is asked nothing more. */
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

/** Keeps the sockets that are opened, to close them without their library's help. */
function heldIn(sockets: Set<Socket>): (socket: Socket) => void {
  return (socket) => void sockets.add(socket);
}

/** The bridge stops reading from a service that sends more than any service does, in the middle of an answer or not. */
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

/** As undici asks for a connection; behind TLS what a service says is counted once more. */
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
