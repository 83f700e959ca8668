import { msg, type Text, TextError } from "../language/text.js";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import net, { type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { tcpKeepAliveMs } from "../runtime/connecting.js";
import type { Logger } from "../runtime/log.js";
import { AnswersDue, type PacedReading, PacedUpgrades } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import { isLoopback, pem } from "../runtime/sockets.js";
import { type BrokerLimits, type BrokerSettings, BrokerStartError } from "./settings.js";
import type { Clock } from "../runtime/clock.js";

type Files = Pick<NonNullable<BrokerSettings["tls"]>, "cert" | "key">;

interface TlsServer {
  readonly server: tls.Server;
  /** Never rejects: unusable files are logged, and the certificate in use stays. */
  readonly renewCertificate: (log: Logger) => Promise<void>;
}

/** Rejects with a BrokerStartError. */
async function tlsServer(
  files: Files,
  handshakeTimeoutMs: number,
  stream: (stream: Duplex) => void,
): Promise<TlsServer> {
  let inUse = await readCertificate(files).catch((error: unknown) => {
    const message = msg`the certificate or key cannot be used: ${reasonOf(error)}`;
    throw new BrokerStartError("broker.tls", message, { cause: error });
  });
  const options = { ...inUse, handshakeTimeout: handshakeTimeoutMs, noDelay: true };
  const server = tls.createServer(options, (socket) => stream(socket));
  // Failed handshakes are only the client's problem.
  server.on("tlsClientError", () => undefined);
  const renewCertificate = async (log: Logger) => {
    try {
      const read = await readCertificate(files);
      if (read.cert === inUse.cert && read.key === inUse.key) return;
      server.setSecureContext(read);
      inUse = read;
      const { validTo } = new X509Certificate(read.cert);
      log.info({ validTo }, "broker.tls: certificate and key read again; new connections get them");
    } catch (error) {
      const what = "broker.tls: the certificate in use stays, because the files cannot be used";
      log.error(`${what}: ${reasonOf(error)}; put this right, then reload again`);
    }
  };
  return { server, renewCertificate };
}

/**
 * Reads and checks certificate and key before a server gets them: a renewal may be half done, and an empty file would
 * make a server without a certificate.
 */
async function readCertificate(files: Files): Promise<Files> {
  const cert = await pem(files.cert, "broker.tls.cert");
  const key = await pem(files.key, "broker.tls.key");
  const names = { cert: nameOf(files.cert, "broker.tls.cert"), key: nameOf(files.key, "broker.tls.key") };
  const certificate = parseOrExplain(names.cert, "certificate", () => new X509Certificate(cert));
  const privateKey = parseOrExplain(names.key, "usable key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new TextError(msg`${names.key} is not the key of ${names.cert}`);
  // Checks the rest of the chain.
  parseOrExplain(names.cert, "usable certificate", () => tls.createSecureContext({ cert, key }));
  return { cert, key };
}

function parseOrExplain<T>(name: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${name} is no ${what} in PEM: ${reasonOf(error)}`, { cause: error });
  }
}

/** A name for messages; never the text itself, which may be a key. */
function nameOf(textOrPath: string, key: string): string {
  return textOrPath.includes("-----BEGIN ") ? key : `${key} (${textOrPath})`;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * Whether a WebSocket upgrade may go on. Without users the broker trusts this machine, but not foreign web pages in a
 * local browser, neither by their origin nor by a host name that they resolve to loopback. With users, the password
 * decides.
 */
export function mayUpgrade(headers: { origin?: string; host?: string }, needsLogin: boolean): boolean {
  if (needsLogin) return true;
  if (headers.host === undefined || !isLoopback(hostOf(`http://${headers.host}`))) return false;
  return headers.origin === undefined || isLoopback(hostOf(headers.origin));
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, "");
  } catch {
    return "";
  }
}

/** The WebSocket of a stream: its request, the answers due for its frames, and what reads them. */
export interface WebSocketFacts {
  readonly request: IncomingMessage;
  readonly due: AnswersDue;
  readonly frames: PacedReading;
}

interface ListenerHooks {
  /** Called for a new TCP connection, before any TLS or WebSocket handshake. */
  readonly connection: (socket: Socket) => void;
  /** Called for a byte stream that is to carry MQTT. */
  readonly stream: (stream: Duplex, over?: WebSocketFacts) => void;
  readonly clock: Clock;
}

export interface Listeners {
  readonly port: number;
  readonly tlsPort: number | null;
  readonly webSocketPort: number | null;
  /** Reads the certificate again: a renewed one has the same file name, so no setting changes. */
  renewCertificate(log: Logger): Promise<void>;
  close(): Promise<void>;
}

/** Opens every port of the settings or none. Rejects with a BrokerStartError that names the key. */
export async function openListeners(
  settings: BrokerSettings,
  limits: BrokerLimits,
  hooks: ListenerHooks,
): Promise<Listeners> {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const open = async (server: Server, port: number, key: string) => {
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      // Finds vanished clients, even those without an MQTT keep-alive.
      socket.setKeepAlive(true, tcpKeepAliveMs);
      hooks.connection(socket);
    });
    servers.push(server);
    return listen(server, settings.host, port, key);
  };
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.filter((server) => server.listening).map(closeServer));
  };
  const { tls: files, websocketPort } = settings;
  try {
    const plain = net.createServer({ noDelay: true }, (socket) => hooks.stream(socket));
    const port = await open(plain, settings.port, "broker.port");
    const secure = files ? await tlsServer(files, limits.connectTimeoutMs, hooks.stream) : null;
    const tlsPort = files && secure ? await open(secure.server, files.port, "broker.tls.port") : null;
    const webSocketPort =
      websocketPort === undefined
        ? null
        : await open(await webServer(settings, limits, hooks), websocketPort, "broker.websocket_port");
    const renewCertificate = secure?.renewCertificate ?? (() => Promise.resolve());
    return { port, tlsPort, webSocketPort, renewCertificate, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function webServer(
  settings: BrokerSettings,
  limits: BrokerLimits,
  hooks: ListenerHooks,
): Promise<Server> {
  const { WebSocketServer, createWebSocketStream } = await import("ws");
  const server = http.createServer(
    { headersTimeout: limits.connectTimeoutMs, requestTimeout: limits.connectTimeoutMs, noDelay: true },
    (_, response) => {
      response.writeHead(426, { connection: "close" }).end("This port speaks MQTT over WebSocket.\n");
    },
  );
  const readings = new PacedUpgrades(receiving.pageHttp, receiving.broker, hooks.clock);
  server.on("connection", (socket) => void readings.onOpen(socket));
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: 2 * limits.packetBytes + 64 * 1024,
    handleProtocols: (offered) => ["mqtt", "mqttv3.1"].find((name) => offered.has(name)) ?? false,
  });
  server.on("upgrade", (request, socket, head) => {
    // Node has removed its own listener here; without one, a client that hangs up early would end the process.
    socket.on("error", () => undefined);
    if (!mayUpgrade(request.headers, settings.users.length > 0)) {
      socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
      return;
    }
    const due = new AnswersDue();
    const frames = readings.onUpgrade(request.socket, { due });
    sockets.handleUpgrade(request, socket, head, (webSocket) =>
      hooks.stream(createWebSocketStream(webSocket), { request, due, frames }),
    );
  });
  return server;
}

async function listen(server: Server, host: string, port: number, key: string): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    const options = { portInUse: code === "EADDRINUSE", cause: error };
    throw new BrokerStartError(key, listenFailure(code, host, port), options);
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new BrokerStartError(key, "no port was opened");
  return address.port;
}

function listenFailure(code: unknown, host: string, port: number): Text {
  switch (code) {
    case "EADDRINUSE":
      return msg`port ${port} at ${host} is taken; perhaps a broker runs already: name it in mqtt.url, or choose another port`;
    case "EACCES":
      return msg`this user may not open port ${port}; choose one above 1023`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return msg`this machine has no address ${host}: correct broker.host`;
    default:
      return msg`cannot listen on ${host} port ${port}: ${String(code)}`;
  }
}

async function closeServer(server: Server): Promise<void> {
  const done = once(server, "close");
  server.close();
  await done;
}

type Waiter = (error: Error | null, client: unknown) => void;

/** The part of an aedes client that decides how long a full socket is awaited. */
export interface Drainable {
  readonly conn: Duplex;
  waitForDrain: (done: Waiter) => void;
}

/**
 * aedes holds back the publisher, and thereby all subscribers, until the slowest one has room. Here the others continue
 * after `stallGraceMs`. A frozen subscriber's messages pile up in its socket to `bufferedBytes`; after `drainTimeoutMs`
 * without a byte taken it is disconnected.
 */
export function limitDrainWait(
  client: Drainable,
  limits: BrokerLimits,
  clock: Clock,
  stuck: () => void,
): void {
  const wait = new DrainWait(client, limits, clock, stuck);
  client.waitForDrain = (done) => wait.add(done);
}

class DrainWait {
  readonly #client: Drainable;
  readonly #limits: BrokerLimits;
  readonly #clock: Clock;
  readonly #stuck: () => void;
  #waiters: Waiter[] = [];
  #isStalled = false;
  #goOn = false;

  /** `stuck`: called before the client is disconnected. */
  constructor(client: Drainable, limits: BrokerLimits, clock: Clock, stuck: () => void) {
    this.#client = client;
    this.#limits = limits;
    this.#clock = clock;
    this.#stuck = stuck;
  }

  add(done: Waiter): void {
    const { conn } = this.#client;
    this.#waiters.push(done);
    if (conn.destroyed) this.#release(new Error("connection closed"));
    else if (conn.writableLength > this.#limits.bufferedBytes) this.#disconnect();
    else if (this.#goOn) this.#release(null);
    else if (!this.#isStalled) void this.#watch();
  }

  async #watch(): Promise<void> {
    this.#isStalled = true;
    const { conn } = this.#client;
    const { stallGraceMs, drainTimeoutMs } = this.#limits;
    const stall = new AbortController();
    const over = () => stall.abort();
    conn.once("drain", over).once("close", over);
    try {
      await this.#clock.wait(stallGraceMs, stall.signal);
      this.#goOn = true;
      this.#release(null);
      await this.#clock.wait(Math.max(0, drainTimeoutMs - stallGraceMs), stall.signal);
      this.#disconnect();
    } catch {
      // The socket drained or closed in time; only the waiters have to be released.
    }
    conn.off("drain", over).off("close", over);
    this.#isStalled = false;
    this.#goOn = false;
    this.#release(conn.destroyed ? new Error("connection closed") : null);
  }

  #release(error: Error | null): void {
    for (const done of this.#waiters.splice(0)) setImmediate(done, error, this.#client);
  }

  #disconnect(): void {
    this.#stuck();
    this.#client.conn.destroy();
    this.#release(new Error("the subscriber reads too slowly"));
  }
}
