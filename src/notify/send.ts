import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import { connectorOver } from "../runtime/connecting.js";
import { Names } from "../runtime/names.js";
import type { Redact } from "../runtime/redaction.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";
import { type HttpReply, type HttpRequest, judgeReply, serviceOf, type WaySettings } from "./services.js";

/* Where messages leave the house. The packages for it are loaded with the first one. */

export interface Sender {
  /** As people call the service. */
  readonly name: string;
  /** Never rejects; what it says holds no secret. */
  send(message: Message, stop: AbortSignal): Promise<Sent>;
}

interface SenderPorts {
  readonly clock: Clock;
  readonly proxy: Configuration["notify"]["proxy"];
  readonly redact: Redact;
}

/** From the first byte to the last, whatever a service does. */
const deadlineMs = 20_000;
const mostAnswerBytes = 16 * 1024;
const mostProblem = 300;

export function senderOf(way: WaySettings, ports: SenderPorts): Sender {
  const { clock, proxy, redact } = ports;
  const names = new Names(clock);
  // Cut only then: half a secret would not be known as one.
  const tellable = (problem: string) => redact(problem).slice(0, mostProblem);
  const service = serviceOf(way);
  const attempt = async (message: Message, signal: AbortSignal): Promise<Sent> => {
    if (service !== null)
      return judgeReply(
        service,
        await exchange(service.request(message, clock.now()), { proxy, names }, signal),
      );
    const { sendMail } = await import("./mail.js");
    return way.smtp ? sendMail(way.smtp, { proxy, names }, message, signal) : { ok: true };
  };
  const send = async (message: Message, stop: AbortSignal): Promise<Sent> => {
    const late = new AbortController();
    const takeBack = clock.after(deadlineMs, () => late.abort(new Error("no answer in time")));
    try {
      const sent = await attempt(message, AbortSignal.any([late.signal, stop]));
      return sent.ok ? sent : { ...sent, problem: tellable(sent.problem) };
    } catch (error) {
      const reason = late.signal.aborted ? "no answer within 20 s" : reasonOf(error);
      return { ok: false, problem: tellable(`it was not reached (${reason})`), isRefused: false };
    } finally {
      takeBack();
    }
  };
  return { name: service?.name ?? "mail", send };
}

/** The innermost reason says what happened. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner instanceof Error ? reasonOf(inner) : error.message;
}

/** No redirect is followed: the secret is for this address alone. */
async function exchange(
  { url, headers, body }: HttpRequest,
  { proxy, names }: { readonly proxy: SenderPorts["proxy"]; readonly names: Names },
  signal: AbortSignal,
): Promise<HttpReply> {
  const { Agent, buildConnector, Pool, ProxyAgent } = await import("undici");
  const once = { connections: 1, pipelining: 0 };
  const secure = buildConnector({ timeout: deadlineMs, allowH2: false, ...verifiedTls });
  const connect = connectorOver(secure, { names, connectMs: deadlineMs, signal });
  const dispatcher =
    proxy === undefined
      ? new Agent({ ...once, connect })
      : new ProxyAgent({
          ...once,
          uri: proxy.url,
          clientFactory: (origin) => new Pool(origin, { connect }),
          requestTls: verifiedTls,
          token: loginOf(proxy),
          proxyTunnel: true,
        });
  try {
    const { origin, pathname, search } = new URL(url);
    const path = pathname + search;
    const answer = await dispatcher.request({ origin, path, method: "POST", headers, body, signal });
    const retryAfter = answer.headers["retry-after"];
    return {
      status: answer.statusCode,
      retryAfter: typeof retryAfter === "string" ? retryAfter : null,
      body: await beginning(answer.body),
    };
  } finally {
    await dispatcher.destroy();
  }
}

/** As a proxy asks for it. */
function loginOf({ username, password }: NonNullable<SenderPorts["proxy"]>): string | undefined {
  if (username === undefined || password === undefined) return undefined;
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

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
