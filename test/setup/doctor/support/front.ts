import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificates.js";
import { portFor } from "../../../support/free-port.js";

/** Passes a request on to the simulator. */
export const passer =
  (target: string): http.RequestListener =>
  (request, response) => {
    const { method, headers } = request;
    const onward = http.request(new URL(request.url ?? "/", target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  };

/** The port of a server on this computer, which is closed when the test ends. */
export async function portOf(server: http.Server | https.Server): Promise<number> {
  const port = await portFor(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return port;
}

/** An https host before the simulator. */
export async function httpsFront(target: string, certificate: Certificate): Promise<string> {
  const server = https.createServer({ ...certificate }, passer(target));
  // A client that refuses the certificate breaks off.
  server.on("tlsClientError", () => undefined);
  return `https://127.0.0.1:${await portOf(server)}`;
}

/** A host before the simulator that forbids every path it does not know, instead of saying that there is none. */
export async function forbiddingFront(target: string, knows: RegExp): Promise<string> {
  const pass = passer(target);
  const server = http.createServer((request, response) => {
    if (knows.test(request.url ?? "")) {
      pass(request, response);
      return;
    }
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: "Forbidden", message: "Access Denied" }));
  });
  return `http://127.0.0.1:${await portOf(server)}`;
}
