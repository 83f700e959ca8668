import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificates.js";

/** An https host before the simulator; closed when the test ends. */
export async function httpsFront(target: string, certificate: Certificate): Promise<string> {
  const server = https.createServer({ ...certificate }, (request, response) => {
    const onward = http.request(
      new URL(request.url ?? "/", target),
      { method: request.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  // A client that refuses the certificate breaks off.
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `https://127.0.0.1:${address.port}`;
}
