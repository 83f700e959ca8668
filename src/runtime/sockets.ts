import type { Socket } from "node:net";
import { readText } from "./file-system.js";

/** Whether a host name or address can only mean this computer. Brackets of IPv6 URLs are allowed. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (name === "::1" || name === "0:0:0:0:0:0:0:1") return true;
  return /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(name);
}

/**
 * The silent sockets of a listener. If there are too many, the one silent for longest is closed: a client that only
 * holds sockets open loses them soon, while a newcomer that speaks at once always gets in.
 */
export class SilentSockets {
  readonly #max: number;
  readonly #closed: () => void;
  readonly #sockets = new Map<string, Socket>();
  readonly #known = new WeakSet<Socket>();

  constructor(max: number, closed: () => void) {
    this.#max = max;
    this.#closed = closed;
  }

  /** Adds a new socket, or one that has just spoken and may be silent from now on. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    if (!this.#known.has(socket)) socket.once("close", () => this.#sockets.delete(key));
    this.#known.add(socket);
    this.#sockets.delete(key);
    this.#sockets.set(key, socket);
    if (this.#sockets.size <= this.#max) return;
    const [oldest] = this.#sockets;
    if (oldest === undefined) return;
    this.#sockets.delete(oldest[0]);
    oldest[1].destroy();
    this.#closed();
  }

  /** The socket is no longer silent. `socket` may also be the TLS socket on top of one that was added. */
  spoke(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress ?? ""} ${remotePort ?? 0} ${localPort ?? 0}`;
}

/**
 * Options of every TLS connection of ours. By default Node lets the environment variable NODE_TLS_REJECT_UNAUTHORIZED=0
 * turn verification off, and a token would go to any server that answers.
 */
export const verifiedTls = { rejectUnauthorized: true } as const;

/** The warning if the environment turns verification of certificates off; null if it does not. */
export const ignoredTlsEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
): string | null =>
  environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
    ? "NODE_TLS_REJECT_UNAUTHORIZED=0 is set and changes nothing: certificates are verified all the same. For a private authority set NODE_EXTRA_CA_CERTS, for the broker mqtt.tls.ca; take the variable away"
    : null;

/** All authorities that a computer trusts take a quarter of this. */
const mostPemBytes = 1024 * 1024;

/**
 * PEM text as it is, or the content of the file that it names. Rejects with the file system's error, led by the key.
 */
export async function pem(textOrPath: string, key: string): Promise<string> {
  if (textOrPath.includes("-----BEGIN ")) return textOrPath;
  try {
    return await readText(textOrPath, mostPemBytes);
  } catch (error) {
    if (error instanceof Error) error.message = `${key}: ${error.message}`;
    throw error;
  }
}
