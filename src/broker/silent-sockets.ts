import type { Socket } from "node:net";

/**
 * Sockets that have not sent a CONNECT yet. When there are too many, the oldest goes: whoever only holds sockets open
 * then holds none for long, while a newcomer that speaks at once, the bridge first of all, always gets in.
 */
export class SilentSockets {
  readonly #max: number;
  readonly #closed: () => void;
  readonly #sockets = new Map<string, Socket>();

  constructor(max: number, closed: () => void) {
    this.#max = max;
    this.#closed = closed;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once("close", () => this.#sockets.delete(key));
    if (this.#sockets.size <= this.#max) return;
    const [oldest] = this.#sockets;
    if (oldest === undefined) return;
    this.#sockets.delete(oldest[0]);
    oldest[1].destroy();
    this.#closed();
  }

  /** `socket` may also be the TLS socket on top of one that was added. */
  spoke(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress ?? ""} ${remotePort ?? 0} ${localPort ?? 0}`;
}
