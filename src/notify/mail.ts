import type { Socket } from "node:net";
import { createTransport } from "nodemailer";
import { type Connection, openSocket } from "../runtime/connecting.js";
import { systemClock } from "../runtime/clock.js";
import type { Names } from "../runtime/names.js";
import { lines, OwnReading, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/receiving.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import { askedMs, quote } from "./answers.js";
import type { NotifySettings } from "./section.js";
import type { MailSettings } from "./service.js";

/* Mail. The one part that needs nodemailer, and loaded only where a way is one. */

/** Of each step; the whole has a deadline of its own. */
const patienceMs = 15_000;

const refusals: ReadonlySet<unknown> = new Set(["EAUTH", "ENOAUTH", "EENVELOPE", "ETLS"]);

/** What is wrong with the message or the login another try does not change; what is answered with 400 to 499 passes. */
function isRefusal(error: object): boolean {
  const code = "responseCode" in error && typeof error.responseCode === "number" ? error.responseCode : null;
  return code === null ? "code" in error && refusals.has(error.code) : code >= 500;
}

/** A proxy's login stands in its address. Where its certificate is not for its name, the name is looked up here. */
async function proxyAddress(proxy: Proxy, names: Names): Promise<string | undefined> {
  if (proxy === undefined) return undefined;
  const url = new URL(proxy.url);
  if (url.protocol === "http:") url.hostname = bracketed((await names.addresses(url.hostname))[0]);
  url.username = encodeURIComponent(proxy.username ?? "");
  url.password = encodeURIComponent(proxy.password ?? "");
  return url.href;
}

const bracketed = (address = ""): string => (address.includes(":") ? `[${address}]` : address);

type Proxy = NotifySettings["proxy"];

/** Either over a connection that stands, or through a proxy. */
function transportFor(
  settings: MailSettings,
  way: { readonly connection: Socket } | { readonly proxy: string },
) {
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
    ...way,
    // What a message holds is text: nothing in it may name a file or an address to be fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** A server that says more than any mail server is not listened to for long: all of it would be kept until a line ends. */
function paced(below: Connection): Socket {
  const connection = new OwnReading(below);
  const turns = new ReadingTurns(receiving.mail, systemClock);
  const tooMuch = new Error("it says more than a mail server does");
  new PacedReading(connection, turns, lines(), () => connection.destroy(tooMuch));
  // Of a socket nodemailer needs no more than this.
  return connection as unknown as Socket;
}

interface Mail {
  readonly message: Message;
  /** Those of the readers that it goes to; all where absent. */
  readonly only: readonly string[] | undefined;
}

export async function sendMail(
  settings: MailSettings,
  { proxy: given, names }: { readonly proxy: Proxy; readonly names: Names },
  { message, only }: Mail,
  signal: AbortSignal,
): Promise<Sent> {
  const { from, to, host, port } = settings;
  const proxy = await proxyAddress(given, names);
  const way =
    proxy === undefined
      ? { connection: paced(await openSocket({ host, port, names, connectMs: patienceMs, signal })) }
      : { proxy };
  const transport = transportFor(settings, way);
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
    const problem = `the mail server: ${quote(error.message)}${remedy}`;
    // Of who had refused it before: that says nothing of the others.
    const missing = "rejected" in error && only !== undefined ? only : undefined;
    return { ok: false, problem, isRefused: isRefusal(error), retryAfterMs: askedMs(error.message), missing };
  } finally {
    transport.close();
  }
}

/** The server has taken it for some of the readers alone. */
function notForAll(rejected: readonly string[], errors: readonly Error[]): Sent {
  const whys = rejected.map((address, at) => {
    const error = errors[at];
    return `${address}${error === undefined ? "" : ` (${quote(error.message)})`}`;
  });
  return {
    ok: false,
    problem: `the mail server does not take it for ${whys.join(", ")}; the others have it`,
    isRefused: errors.every(isRefusal),
    retryAfterMs: askedMs(errors.map(({ message }) => message).join(" ")),
    missing: rejected,
  };
}

/** Where the server's words name the line of the configuration that is missing. */
function remedyFor(words: string, { encryption, username }: MailSettings): string {
  if (/STARTTLS/i.test(words) && encryption === "none") return "; write encryption: starttls";
  const asksLogin = /\b(?:530|authentication required|auth(?:entication)? needed)\b/i.test(words);
  return asksLogin && username === undefined ? "; write username and password" : "";
}
