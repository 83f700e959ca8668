import { once } from "node:events";
import net from "node:net";
import { portFor } from "../../support/free-port.js";

/** A door before a broker that, like brokers of before MQTT 5, refuses every CONNECT of another level than 4. */
export async function oldBroker(brokerPort: number): Promise<{
  readonly port: number;
  /** Protocol levels asked for, in order. */
  readonly levels: readonly number[];
  close(): Promise<void>;
}> {
  const levels: number[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    client.once("data", (connect) => {
      // Fixed header (type and a length of 1 or 2 bytes), the name's length, "MQTT", then the level.
      const level = connect[connect.indexOf("MQTT") + 4] ?? 0;
      levels.push(level);
      if (level !== 4) {
        client.end(Buffer.from([0x20, 0x02, 0x00, 0x01]));
        return;
      }
      const broker = net.connect({ port: brokerPort, host: "127.0.0.1" });
      sockets.add(broker);
      broker.on("error", () => client.destroy());
      broker.on("close", () => client.destroy());
      client.on("close", () => broker.destroy());
      broker.write(connect);
      client.pipe(broker).pipe(client);
    });
  });
  const port = await portFor(server);
  return {
    port,
    levels,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
