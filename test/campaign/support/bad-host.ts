import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { deflateSync, gzipSync } from "node:zlib";
import type { History } from "../history.js";
import { portFor } from "../../support/free-port.js";

/* A host that answers every request badly, and notes every control value that reaches it: it does none of them. */

export type BadManner =
  | "drip"
  | "endless"
  | "oversized"
  | "gzip_bomb"
  | "chained_encodings"
  | "deep_json"
  | "stalled_headers"
  | "redirected_to";

export interface BadHost {
  readonly port: number;
  readonly posts: History["posts"];
  manner(manner: BadManner): void;
  close(): Promise<void>;
}

const json = { "content-type": "application/json;charset=UTF-8" };
const zeros = (megabytes: number) => Buffer.alloc(megabytes * 1024 * 1024, "0");

const answers: Record<BadManner, (response: ServerResponse) => void> = {
  stalled_headers: () => undefined,
  drip: (response) => {
    response.writeHead(200, { ...json, "content-length": 1_000 });
    const drip = setInterval(() => response.write(" "), 700);
    response.on("close", () => clearInterval(drip));
  },
  endless: (response) => {
    response.writeHead(200, json);
    const pour = setInterval(() => response.write(zeros(0.0625)), 20);
    response.on("close", () => clearInterval(pour));
  },
  oversized: (response) => {
    response.writeHead(200, json);
    response.end(`{"code":200,"data":"${zeros(6).toString("latin1")}"}`);
  },
  gzip_bomb: (response) => {
    response.writeHead(200, { ...json, "content-encoding": "gzip" });
    response.end(bomb());
  },
  chained_encodings: (response) => {
    response.writeHead(200, { ...json, "content-encoding": "gzip, deflate, gzip" });
    response.end(gzipSync(deflateSync(bomb())));
  },
  deep_json: (response) => {
    response.writeHead(200, json);
    response.end(`{"code":200,"data":${"[".repeat(50_000)}${"]".repeat(50_000)}}`);
  },
  redirected_to: (response) => {
    response.writeHead(200, json);
    response.end('{"code":200,"data":null}');
  },
};

let made: Buffer | null = null;
const bomb = (): Buffer => (made ??= gzipSync(zeros(64)));

export async function startBadHost(): Promise<BadHost> {
  const posts: History["posts"][number][] = [];
  let manner: BadManner = "stalled_headers";
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    // Half a body, where the caller hung up.
    const body = text(request).catch(() => "");
    void body.then((whole) => {
      if (request.method === "POST") note(whole, posts);
      answers[manner](response);
    });
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  const port = await portFor(server);
  return {
    port,
    posts,
    manner: (next) => {
      manner = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function note(body: string, posts: History["posts"][number][]): void {
  try {
    const { deviceCode, address, value } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    posts.push({
      at: Date.now(),
      code: String(deviceCode),
      address: String(address),
      value: String(value),
      effect: "met_a_bad_host",
    });
  } catch {
    // A sign-in, or half a body.
  }
}
