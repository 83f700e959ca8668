import { once } from "node:events";
import net from "node:net";

/*
 * Paho's clients know no user name. This stands between: it writes one into their CONNECT, whose payload ends with user
 * name and password, and passes everything else on as it is.
 */

export interface LoginProxy {
  readonly port: number;
  close(): Promise<void>;
}

export async function startLoginProxy(
  brokerPort: number,
  login: { readonly username: string; readonly password: string },
): Promise<LoginProxy> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true }, (client) => {
    const broker = net.connect({ port: brokerPort, host: "127.0.0.1", noDelay: true });
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    broker.pipe(client);
    let opening: Buffer = Buffer.alloc(0);
    const collect = (data: Buffer) => {
      opening = Buffer.concat([opening, data]);
      const sent = withLogin(opening, login);
      if (sent === null) return;
      client.off("data", collect);
      broker.write(sent);
      client.pipe(broker);
    };
    client.on("data", collect);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port given");
  return {
    port: address.port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The bytes with the login in their CONNECT; null while it is not whole; as they are when they are no CONNECT. */
function withLogin(
  bytes: Buffer,
  { username, password }: { readonly username: string; readonly password: string },
): Buffer | null {
  if (bytes.length > 0 && bytes[0] !== 0x10) return bytes;
  let [length, at] = [0, 1];
  for (let factor = 1; ; factor *= 128, at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return null;
    length += (byte & 127) * factor;
    if (byte < 128) break;
  }
  const start = at + 1;
  if (bytes.length < start + length) return null;
  const body = Buffer.from(bytes.subarray(start, start + length));
  // Behind the protocol's name and level.
  const flagsAt = 2 + body.readUInt16BE(0) + 1;
  body[flagsAt] = (body[flagsAt] ?? 0) | 0xc0;
  const longer = Buffer.concat([body, text(username), text(password)]);
  return Buffer.concat([
    Buffer.from([0x10, ...lengthBytes(longer.length)]),
    longer,
    bytes.subarray(start + length),
  ]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

const lengthBytes = (length: number): number[] =>
  length < 128 ? [length] : [(length & 127) | 128, ...lengthBytes(length >> 7)];
