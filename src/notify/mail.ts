import { createTransport } from "nodemailer";
import type { Configuration } from "../config/schema.js";
import { type Connection, openSocket } from "../runtime/connecting.js";
import type { Names } from "../runtime/names.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import type { WaySettings } from "./services.js";

/* Mail. The one part that needs nodemailer, and loaded only where a way is one. */

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

type MailSettings = NonNullable<WaySettings["smtp"]>;
type Proxy = Configuration["notify"]["proxy"];

/** Either over a connection that stands, or through a proxy. */
function transportFor(
  settings: MailSettings,
  way: { readonly connection: Connection } | { readonly proxy: string },
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

export async function sendMail(
  settings: MailSettings,
  { proxy: given, names }: { readonly proxy: Proxy; readonly names: Names },
  message: Message,
  signal: AbortSignal,
): Promise<Sent> {
  const { host, port } = settings;
  const proxy = await proxyAddress(given, names);
  const way =
    proxy === undefined
      ? { connection: await openSocket({ host, port, names, connectMs: patienceMs, signal }) }
      : { proxy };
  const transport = transportFor(settings, way);
  const end = () => transport.close();
  signal.addEventListener("abort", end, { once: true });
  try {
    await transport.sendMail({
      from: settings.from,
      to: [...settings.to],
      subject: message.title,
      text: `${message.title}\n\n${message.text}\n`,
      headers: { "Auto-Submitted": "auto-generated" },
      ...(message.severity === "error" && { priority: "high" as const }),
    });
    return { ok: true };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const problem = `the mail server: ${error.message.replace(/\p{Cc}+/gu, " ")}`;
    return { ok: false, problem, isRefused: isRefusal(error) };
  } finally {
    signal.removeEventListener("abort", end);
    transport.close();
  }
}
