import { once } from "node:events";
import net from "node:net";
import { portFor } from "../support/free-port.js";

/* A broker that refuses everybody and repeats their CONNECT, password included, wherever MQTT has room for a text. */

const text = (value: string) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
};
const packet = (first: number, body: Buffer) =>
  Buffer.concat([
    Buffer.from(
      body.length < 128 ? [first, body.length] : [first, (body.length & 127) | 128, body.length >> 7],
    ),
    body,
  ]);
const reasonString = (echo: string) => {
  const property = Buffer.concat([Buffer.from([0x1f]), text(echo)]);
  const length =
    property.length < 128 ? [property.length] : [(property.length & 127) | 128, property.length >> 7];
  return Buffer.concat([Buffer.from(length), property]);
};

export const refusals = {
  "a refused CONNACK with a reason": (echo: string) =>
    packet(0x20, Buffer.concat([Buffer.from([0, 0x87]), reasonString(echo)])),
  "a banned CONNACK": (echo: string) =>
    packet(0x20, Buffer.concat([Buffer.from([0, 0x8a]), reasonString(echo)])),
  "an HTTP answer": (echo: string) =>
    Buffer.from(`HTTP/1.1 400 Bad Request\r\nX-Echo: ${echo}\r\n\r\n${echo}`),
  "a DISCONNECT with a reason": (echo: string) =>
    Buffer.concat([
      packet(0x20, Buffer.from([0, 0, 0])),
      packet(0xe0, Buffer.concat([Buffer.from([0x87]), reasonString(echo)])),
    ]),
  "the same bytes": (echo: string) => Buffer.from(echo),
} as const;

export type RefusalName = keyof typeof refusals;

export interface HostileBroker {
  readonly port: number;
  /** CONNECTs refused so far. */
  readonly refused: number;
  close(): Promise<void>;
}

export async function hostileBroker(name: RefusalName): Promise<HostileBroker> {
  let refused = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.once("data", (data) => {
      refused += 1;
      // What can be printed of a CONNECT: client id, user name, password.
      socket.end(
        refusals[name](
          data
            .toString("latin1")
            .replace(/[^\x20-\x7e]+/g, " ")
            .slice(-200),
        ),
      );
    });
  });
  const port = await portFor(server);
  return {
    port,
    get refused() {
      return refused;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
