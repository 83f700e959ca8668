import { once } from "node:events";
import net from "node:net";
import { portFor } from "./free-port.js";

/** A server that answers the first bytes of each connection, such as a CONNECT, and closes it; null for no answer. */
export async function answersOnce(answer: (first: Buffer, nth: number) => Buffer | null) {
  let met = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.once("data", (first) => {
      const bytes = answer(first, met++);
      if (bytes === null) socket.destroy();
      else socket.end(bytes);
    });
  });
  return {
    port: await portFor(server),
    /** The number of connections answered so far. */
    met: () => met,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), "close");
    },
  };
}
