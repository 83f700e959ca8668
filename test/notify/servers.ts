import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { text } from "node:stream/consumers";
import { createSecureContext, TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { loaded, platform } from "../config/loading.js";
import { testCertificate } from "../broker/certificate.js";
import { startClinging } from "../support/clinging.js";
import { secretValues } from "../../src/config/load.js";
import type { Message } from "../../src/notify/message.js";
import { senderOf } from "../../src/notify/send.js";
import { messengersOf } from "../../src/notify/services.js";
import { systemClock } from "../../src/runtime/clock.js";
import { withoutSecrets } from "../../src/runtime/redaction.js";
import type { VirtualClock } from "../support/virtual-clock.js";

/* Servers that take messages as the real ones do, and what they got. */

interface Got {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string>];

interface Service {
  readonly url: string;
  readonly got: Got[];
  answer: Answer | null;
  /** In the place of `answer`. */
  answerOf?: (got: Got) => Answer | null;
}

/** `answer` is looked at anew for each request; null: none ever. */
export async function service(given: Answer | null = [200, { id: "x", ok: true, errcode: 0 }]) {
  const got: Got[] = [];
  const here: Service = { url: "", got, answer: given };
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      got.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(sent) });
      const [newest] = got.slice(-1);
      const answered = newest && here.answerOf ? here.answerOf(newest) : here.answer;
      if (answered === null) return;
      const [status, body, headers = {}] = answered;
      response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  const port = await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return Object.assign(here, { url: `http://127.0.0.1:${port}` });
}

/** A proxy that knows CONNECT and asks for a login. */
export async function proxy(login: string) {
  const asked: string[] = [];
  const server = createServer();
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    asked.push(request.url ?? "");
    if (request.headers["proxy-authorization"] !== `Basic ${Buffer.from(login).toString("base64")}`) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const target = connect(Number(port), host, () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    target.pipe(client).pipe(target);
    for (const one of [target, client])
      one.on("error", () => [target, client].forEach((each) => each.destroy()));
  });
  return { asked, url: `http://127.0.0.1:${await listening(server)}` };
}

/** Until the test ends. */
export async function clinging(says?: string) {
  const peer = await startClinging(says);
  onTestFinished(() => peer.close());
  return peer;
}

interface MailServer extends Tally {
  readonly port: number;
  /** What was said to it, line by line. */
  readonly said: string[];
  /** The whole messages. */
  readonly mails: string[];
}

/** Says it as fast as it is taken, until the other side closes. */
function pour(socket: Socket, what: string): void {
  const much = what.repeat(Math.ceil(65_536 / what.length));
  const more = (): void => {
    while (!socket.destroyed && socket.write(much));
  };
  socket.on("drain", more);
  socket.on("data", () => undefined);
  more();
}

/** A peer that takes whatever it is sent, and says without end. */
export async function pouring(head: string, again: string) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => socket.destroy());
    socket.write(head);
    pour(socket, again);
  });
  return { port: await listening(server), ...tallyOf(sockets) };
}

interface Tally {
  /** Bytes that have left this end. */
  readonly written: () => number;
  readonly open: () => number;
}

const tallyOf = (sockets: readonly Socket[]): Tally => ({
  written: () =>
    sockets.reduce((sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength, 0),
  open: () => sockets.filter(({ destroyed }) => !destroyed).length,
});

/** Speaks SMTP as far as a client of one message needs it. `refuse`: the answer to a command that begins so. */
export async function mailServer({
  startTls = false,
  floods = null,
  refuse = {},
}: {
  readonly startTls?: boolean;
  /** Said again and again in the place of any answer, once it is encrypted where it can be. */
  readonly floods?: string | null;
  /** Looked at anew for each line; an empty one: no answer ever. */
  readonly refuse?: Readonly<Record<string, string>>;
} = {}): Promise<MailServer> {
  const [said, mails]: [string[], string[]] = [[], []];
  const serve = (socket: Socket, isSecure: boolean): void => {
    if (floods !== null && isSecure === startTls) {
      socket.on("error", () => socket.destroy());
      pour(socket, floods);
      return;
    }
    let [rest, mail]: [string, string | null] = ["", null];
    const answer = (line: string) => {
      const [refused] = Object.entries(refuse).flatMap(([word, reply]) =>
        line.startsWith(word) ? [reply] : [],
      );
      if (refused !== undefined) return refused;
      if (line.startsWith("EHLO"))
        return ["250-here", ...(startTls && !isSecure ? ["250-STARTTLS"] : []), "250 AUTH PLAIN"].join(
          "\r\n",
        );
      if (line.startsWith("AUTH")) return "235 welcome";
      if (line === "DATA") return "354 go on";
      return line === "QUIT" ? "221 bye" : "250 well";
    };
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      const lines = `${rest}${chunk.toString()}`.split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (mail !== null && line !== ".") mail += `${line}\n`;
        else if (mail !== null) {
          mails.push(mail);
          mail = null;
          socket.write("250 taken\r\n");
        } else {
          said.push(line);
          if (line === "STARTTLS") {
            socket.removeAllListeners("data");
            socket.write("220 go on\r\n");
            const secureContext = createSecureContext(testCertificate);
            serve(new TLSSocket(socket, { isServer: true, secureContext }), true);
            return;
          }
          if (line === "DATA") mail = "";
          const answered = answer(line);
          if (answered !== "") socket.write(`${answered}\r\n`);
        }
      }
    });
  };
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.write("220 here\r\n");
    serve(socket, false);
  });
  return { said, mails, port: await listening(server), ...tallyOf(sockets) };
}

/** A configuration with this `notify`, as YAML in one line. */
export const withNotify = async (notify: string) =>
  (await loaded(`${platform}notify: ${notify}\n`)).configuration;

export const testMessage: Message = {
  ...{ kind: "alarm", severity: "error", title: "East: 限制动作未完成", text: "Go and look.\nSince 14:02." },
  ...{ alarms: [], over: [], missed: [], at: "2026-11-26T14:02:00.000Z" },
};

const never = new AbortController().signal;

/** What becomes of a message by this way. */
export async function sentBy(
  way: string,
  options: {
    proxy?: string;
    message?: Message;
    clock?: VirtualClock;
    stop?: AbortSignal;
    only?: string[];
  } = {},
) {
  const through = options.proxy === undefined ? "" : `proxy: ${options.proxy}, `;
  const configuration = await withNotify(`{ ${through}ways: { phone: ${way} } }`);
  const { notify } = configuration;
  const { phone = {} } = notify.ways;
  const [[, messenger] = []] = messengersOf(phone);
  if (messenger === undefined) throw new Error("no way");
  const redact = withoutSecrets(() => secretValues(configuration));
  const clock = options.clock ?? systemClock;
  const sender = senderOf(messenger, clock, notify.proxy, redact);
  return sender.send(options.message ?? testMessage, options.stop ?? never, options.only);
}
