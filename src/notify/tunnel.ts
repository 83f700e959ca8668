import { msg, type Text, TextError } from "../language/text.js";
import type { Socket } from "node:net";
import { systemClock } from "../runtime/clock.js";
import { type Connection, endpointOf, openSocket, startTls } from "../runtime/connecting.js";
import type { Names } from "../runtime/host-names.js";
import { ignored } from "../runtime/failures.js";
import { lines, OwnReading, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import type { Receiving } from "../runtime/socket-limits.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { NotifySettings } from "./section.js";

/*
 * A tunnel through an HTTP proxy by CONNECT, for messengers and mail servers. It is made here, not by their libraries,
 * so that the proxy's bytes are counted first and the tunnel ends with the attempt.
 */

export type Proxy = NonNullable<NotifySettings["proxy"]>;

interface TunnelWay {
  readonly names: Names;
  /** Time-out of the connection to the proxy. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
  readonly receiving: Receiving;
  /** The problem where the other side sends too much. */
  readonly tooMuch: Text;
  /** Called with each socket that has to be closed in the end. */
  readonly onSocket?: (socket: Socket) => void;
}

/** The longest answer to CONNECT. */
const mostHeadBytes = 16 * 1024;

/** Opens a connection to a host through the proxy, and limits how fast and how much it may receive. */
export async function tunnelTo(
  { host, port }: { readonly host: string; readonly port: number },
  proxy: Proxy,
  { receiving, tooMuch, onSocket, ...way }: TunnelWay,
): Promise<Socket> {
  const { secure, ...at } = endpointOf(proxy.url);
  const plain = await openSocket({ ...at, ...way });
  onSocket?.(plain);
  const below = secure ? await untilSecure(startTls(plain, at.host, verifiedTls), way.signal) : plain;
  const tunnel = new OwnReading(below);
  const turns = new ReadingTurns(receiving, systemClock);
  new PacedReading(tunnel, turns, lines(), () => tunnel.destroy(new TextError(tooMuch)));
  // The reader of the tunnel, once there is one, hears of its end.
  tunnel.on("error", ignored);
  const end = () => tunnel.destroy(new Error("given up"));
  way.signal.addEventListener("abort", end, { once: true });
  tunnel.once("close", () => way.signal.removeEventListener("abort", end));
  tunnel.write(connectRequest(host, port, proxy));
  const status = await answerOf(tunnel);
  if (status < 200 || status > 299) {
    tunnel.destroy();
    throw new TextError(refusalOf(status));
  }
  // Its users need no other members of a socket.
  return tunnel as unknown as Socket;
}

const refusalOf = (status: number): Text =>
  status === 407
    ? msg`the proxy asks for another login (407): check notify.proxy`
    : msg`the proxy does not lead there: it answers ${status}`;

function connectRequest(host: string, port: number, { username, password }: Proxy): string {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const login =
    username === undefined || password === undefined
      ? []
      : [`Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`];
  return [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`, ...login, "", ""].join("\r\n");
}

const untilSecure = (socket: Connection, signal: AbortSignal): Promise<Connection> =>
  new Promise((resolve, reject) => {
    const end = () => socket.destroy(new Error("given up"));
    signal.addEventListener("abort", end, { once: true });
    socket.once("secureConnect", () => {
      signal.removeEventListener("abort", end);
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });

/** The final status of the answer to CONNECT; those below 200 are skipped. Bytes after the answer are put back. */
function answerOf(tunnel: OwnReading): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const lost = (error?: Error) => reject(error ?? new TextError(msg`the proxy closed the connection`));
    const closed = () => lost();
    const done = () => {
      tunnel.off("readable", look).off("error", lost).off("close", closed);
    };
    const look = (): void => {
      for (;;) {
        const chunk = tunnel.read() as Buffer | null;
        if (chunk === null) return;
        head = Buffer.concat([head, chunk]);
        for (let end = head.indexOf("\r\n\r\n"); end !== -1; end = head.indexOf("\r\n\r\n")) {
          const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(head.toString("latin1", 0, end))?.[1] ?? NaN);
          head = head.subarray(end + 4);
          if (status < 200) continue;
          done();
          if (Number.isNaN(status)) tunnel.destroy(new TextError(msg`the proxy does not answer as one`));
          else if (head.length > 0) tunnel.unshift(head);
          if (Number.isNaN(status)) reject(new TextError(msg`the proxy does not answer as one`));
          else resolve(status);
          return;
        }
        if (head.length > mostHeadBytes)
          tunnel.destroy(new TextError(msg`the proxy says more than an answer`));
      }
    };
    tunnel.on("readable", look).once("error", lost).once("close", closed);
  });
}
