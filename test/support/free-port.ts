import { once } from "node:events";
import type { Server } from "node:net";

/** Makes a test's server listen on a free port of this computer; returns the port. */
export async function portFor(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port given");
  return address.port;
}
