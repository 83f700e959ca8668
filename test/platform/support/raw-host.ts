import { once } from "node:events";
import net from "node:net";
import { onTestFinished } from "vitest";
import { portFor } from "../../support/free-port.js";

/** A host below HTTP: gets each connection and the bytes that come, for answers no HTTP server would give. */
export interface RawHost {
  readonly url: string;
  readonly accepted: number;
  readonly open: number;
  readonly closed: number;
}

/** `converse` is called once per request head that has come in whole. */
export async function startRawHost(converse: (socket: net.Socket, text: string) => void): Promise<RawHost> {
  let accepted = 0;
  let closed = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      closed += 1;
      sockets.delete(socket);
    });
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const request = text;
      text = "";
      converse(socket, request);
    });
  });
  const port = await portFor(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return {
    url: `http://127.0.0.1:${port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    get closed() {
      return closed;
    },
  };
}
