import { once } from "node:events";
import { createServer, request } from "node:http";
import { onTestFinished } from "vitest";
import type { Simulator } from "../../../../src/simulator/simulator.js";

export interface SeenRequest {
  /** Monotonic ms. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

export interface WatchedPlatform {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly seen: readonly SeenRequest[];
  /** Called for each request, before it is passed on. */
  onRequest: (seen: SeenRequest) => void;
}

/** A way to a simulated platform on which every request can be seen, whatever the platform makes of it. */
export async function watched(simulator: Simulator): Promise<WatchedPlatform> {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const one = { at: performance.now(), method: incoming.method ?? "", target: incoming.url ?? "" };
    seen.push(one);
    platform.onRequest(one);
    const { method, headers } = incoming;
    const passed = request(new URL(one.target, simulator.businessUrl), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    const lost = () => {
      outgoing.destroy();
    };
    passed.on("error", lost);
    outgoing.on("close", () => {
      passed.destroy();
    });
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port given");
  const url = `http://127.0.0.1:${address.port}`;
  const platform: WatchedPlatform = { businessUrl: url, realtimeUrl: url, seen, onRequest: () => undefined };
  return platform;
}

export const isFlush = ({ target }: SeenRequest): boolean => target.startsWith("/api/set-value/flush");
