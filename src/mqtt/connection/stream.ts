import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { pem } from "../../runtime/sockets.js";
import type { ConnectionSettings, OpenStream, TlsSettings } from "./settings.js";

interface Endpoint {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
}

const defaultPorts: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};
// Mosquitto and others put several packets into one frame, so this is well above our packet limit.
const maxFrameBytes = 16 * 1024 * 1024;
const tcpKeepAliveMs = 60_000;

/** `mqtt://host:port`: where a URL leads, fit for logs (no credentials, no path, no query). */
export function brokerName(url: string): string {
  try {
    const { protocol, host, port } = endpointOf(url);
    return `${protocol}//${host.includes(":") ? `[${host}]` : host}:${port}`;
  } catch {
    return "the broker";
  }
}

/** Opens a socket as `url` says. Rejects or throws when the URL, a certificate or a key cannot be used. */
export function streamFrom(settings: Pick<ConnectionSettings, "url" | "tls">, timeoutMs: number): OpenStream {
  return async (opened) => {
    const endpoint = endpointOf(settings.url);
    const isWebSocket = endpoint.protocol.startsWith("ws");
    const files = endpoint.protocol === "mqtt:" ? {} : await material(settings.tls);
    if (isWebSocket) return webSocket(settings.url, files, timeoutMs, opened);
    return plainOrSecure(endpoint, files, opened);
  };
}

function endpointOf(url: string): Endpoint {
  const { protocol, hostname, port } = new URL(url);
  const standard = defaultPorts[protocol];
  if (standard === undefined)
    throw new Error(`mqtt.url must begin with mqtt:, mqtts:, ws: or wss:, not ${protocol}`);
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? standard : Number(port) };
}

async function material(settings: TlsSettings = {}) {
  const read = async (name: "ca" | "cert" | "key") => {
    const value = settings[name];
    return value ? await pem(value, `mqtt.tls.${name}`) : undefined;
  };
  const [ca, cert, key] = await Promise.all([read("ca"), read("cert"), read("key")]);
  return { ca, cert, key, rejectUnauthorized: settings.rejectUnauthorized ?? true };
}

type TlsMaterial = Partial<Awaited<ReturnType<typeof material>>>;

function plainOrSecure({ protocol, host, port }: Endpoint, files: TlsMaterial, opened: () => void): Duplex {
  const isSecure = protocol === "mqtts:";
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  const socket = isSecure
    ? tls.connect({ host, port, ...servername, ...files })
    : net.connect({ host, port });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, tcpKeepAliveMs);
  return socket.once(isSecure ? "secureConnect" : "connect", opened);
}

async function webSocket(
  url: string,
  files: TlsMaterial,
  timeoutMs: number,
  opened: () => void,
): Promise<Duplex> {
  // Loaded only when used: start-up time is a feature on a small computer.
  const { createWebSocketStream, WebSocket } = await import("ws");
  const target = new URL(url);
  // `ws` would turn these into an Authorization header for the web server; MQTT carries its own.
  target.username = "";
  target.password = "";
  const socket = new WebSocket(target, ["mqtt"], {
    ...files,
    handshakeTimeout: timeoutMs,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    followRedirects: false,
  });
  const stream = createWebSocketStream(socket);
  socket.once("open", opened);
  socket.once("close", () => stream.destroy());
  return stream;
}
