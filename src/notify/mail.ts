import { joined, msg, type Text } from "../language/text.js";
import type { Socket } from "node:net";
import { createTransport } from "nodemailer";
import { type Connection, openSocket } from "../runtime/connecting.js";
import { systemClock } from "../runtime/clock.js";
import type { Names } from "../runtime/host-names.js";
import { lines, OwnReading, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import { askedMs, quote } from "./answers.js";
import type { MailSettings } from "./service.js";
import { type Proxy, tunnelTo } from "./tunnel.js";

/* Sends mail. Only this module needs nodemailer; it is loaded where a way is a mail server. */

/** The time-out of each step, in ms; the whole attempt has its own deadline. */
const patienceMs = 15_000;

const refusals: ReadonlySet<unknown> = new Set(["EAUTH", "ENOAUTH", "EENVELOPE", "ETLS"]);

/** Whether another try is useless, as message or login are wrong. Codes from 400 to 499 are temporary. */
function isRefusal(error: object): boolean {
  const code = "responseCode" in error && typeof error.responseCode === "number" ? error.responseCode : null;
  return code === null ? "code" in error && refusals.has(error.code) : code >= 500;
}

/** A transport over a connection that is already open. */
function transportFor(settings: MailSettings, connection: Socket) {
  const { host, port, encryption, username, password } = settings;
  return createTransport({
    host,
    port,
    secure: encryption === "tls",
    requireTLS: encryption === "starttls",
    ignoreTLS: encryption === "none",
    tls: { rejectUnauthorized: settings.reject_unauthorized },
    ...(username !== undefined && password !== undefined && { auth: { user: username, pass: password } }),
    connectionTimeout: patienceMs,
    greetingTimeout: patienceMs,
    socketTimeout: patienceMs,
    connection,
    // A message is text: nothing in it may name a file or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** A server that sends too much is cut off, as nodemailer keeps everything until a line ends. */
const tooMuch = "it says more than a mail server does";

function paceReading(below: Connection): Socket {
  const connection = new OwnReading(below);
  const turns = new ReadingTurns(receiving.mail, systemClock);
  new PacedReading(connection, turns, lines(), () => connection.destroy(new Error(tooMuch)));
  // nodemailer uses no other members of a socket.
  return connection as unknown as Socket;
}

interface Mail {
  readonly message: Message;
  /** The readers that it goes to; all where absent. */
  readonly only: readonly string[] | undefined;
}

export async function sendMail(
  settings: MailSettings,
  { proxy, names }: { readonly proxy: Proxy | undefined; readonly names: Names },
  { message, only }: Mail,
  signal: AbortSignal,
): Promise<Sent> {
  const { from, to, host, port } = settings;
  const way = { names, connectMs: patienceMs, signal };
  const connection =
    proxy === undefined
      ? paceReading(await openSocket({ host, port, ...way }))
      : await tunnelTo({ host, port }, proxy, { ...way, receiving: receiving.mail, tooMuch });
  const transport = transportFor(settings, connection);
  try {
    const { rejected, rejectedErrors = [] } = await transport.sendMail({
      from,
      to: [...to],
      ...(only && { envelope: { from, to: [...only] } }),
      subject: message.title,
      text: `${message.title}\n\n${message.text}\n`,
      headers: { "Auto-Submitted": "auto-generated" },
      ...(message.severity === "error" && { priority: "high" as const }),
      signal,
    });
    return rejected.length === 0 ? { ok: true } : notForAll(rejected, rejectedErrors);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const remedy = remedyFor(error.message, settings);
    const said = msg`the mail server: ${quote(error.message)}`;
    const problem = remedy === null ? said : msg`${said}; ${remedy}`;
    // Only readers who had refused it before were asked, so the others have it.
    const missing = "rejected" in error && only !== undefined ? only : undefined;
    return { ok: false, problem, isRefused: isRefusal(error), retryAfterMs: askedMs(error.message), missing };
  } finally {
    transport.close();
  }
}

const mostNamed = 5;

/** The server accepted the message for some readers only. */
function notForAll(rejected: readonly string[], errors: readonly Error[]): Sent {
  const whys = rejected.slice(0, mostNamed).map((address, at): Text => {
    const error = errors[at];
    return `${address}${error === undefined ? "" : ` (${quote(error.message)})`}`;
  });
  const more = rejected.length - whys.length;
  const named = joined([joined(whys, ", "), ...(more > 0 ? [msg`, and ${more} more`] : [])], "");
  return {
    ok: false,
    problem: msg`the mail server does not take it for ${named}; the others have it`,
    isRefused: errors.every(isRefusal),
    retryAfterMs: askedMs(errors.map(({ message }) => message).join(" ")),
    missing: rejected,
  };
}

/** The missing line of the configuration, where the server's words point to one. */
function remedyFor(words: string, { encryption, username }: MailSettings): Text | null {
  if (/STARTTLS/i.test(words) && encryption === "none") return msg`write encryption: starttls`;
  const asksLogin = /\b(?:530|authentication required|auth(?:entication)? needed)\b/i.test(words);
  return asksLogin && username === undefined ? msg`write username and password` : null;
}
