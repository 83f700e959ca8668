import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/**
 * A peer that never lets go: it accepts every connection and closes none, even after the other side has. It answers
 * nothing, or a byte of `says` every 20 ms, the last one for ever.
 */
export async function startClinging(says = "") {
  /** The number of bytes sent to each. */
  const sockets = new Map<Socket, number>();
  const here = { port: 0, url: "", got: "", accepted: 0, open: 0 };
  const drip = setInterval(() => {
    for (const [socket, at] of sockets) {
      const byte = says[Math.min(at, says.length - 1)];
      if (byte !== undefined && socket.writable) socket.write(byte);
      sockets.set(socket, at + 1);
    }
  }, 20);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.set(socket, 0);
    here.accepted += 1;
    here.open += 1;
    socket.on("data", (chunk) => (here.got += String(chunk)));
    socket.on("error", () => undefined);
    let isOpen = true;
    const ended = () => {
      if (isOpen) here.open -= 1;
      isOpen = false;
    };
    socket.on("end", ended).on("close", ended);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  here.port = (server.address() as AddressInfo).port;
  here.url = `http://127.0.0.1:${here.port}`;
  const close = async () => {
    clearInterval(drip);
    server.close();
    for (const socket of sockets.keys()) socket.destroy();
    await once(server, "close");
  };
  return Object.assign(here, { close });
}
