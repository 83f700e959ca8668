import { once } from "node:events";
import net from "node:net";
import { portFor } from "../../support/free-port.js";

/** A broker that answers every CONNECT with a refusal: code 3 and 5 of MQTT 3.1.1, 0x88 and 0x97 of MQTT 5 by turns. */
export async function startRefusingBroker(): Promise<{
  readonly port: number;
  readonly refused: () => number;
  close(): Promise<void>;
}> {
  let refused = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    client.once("data", (connect) => {
      const level = connect[connect.indexOf("MQTT") + 4] ?? 4;
      const codes = level === 5 ? [0x88, 0x97] : [3, 5];
      const code = codes[refused++ % 2] ?? 3;
      client.end(Buffer.from(level === 5 ? [0x20, 0x03, 0x00, code, 0x00] : [0x20, 0x02, 0x00, code]));
    });
  });
  const port = await portFor(server);
  return {
    port,
    refused: () => refused,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
