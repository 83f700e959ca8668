import { once } from "node:events";
import net from "node:net";
import { portFor } from "../support/free-port.js";

/* A pipe to the broker that can be cut and stay cut for a while; it remembers nothing of what passes. */

export interface FlappingLink {
  readonly port: number;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function flappingLink(targetPort: number): Promise<FlappingLink> {
  const sockets = new Set<net.Socket>();
  let isCut = false;
  const drop = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const server = net.createServer({ noDelay: true }, (client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const broker = net.connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const port = await portFor(server);
  return {
    port,
    cut: () => {
      isCut = true;
      drop();
    },
    mend: () => {
      isCut = false;
    },
    close: async () => {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}
