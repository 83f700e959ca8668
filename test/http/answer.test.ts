import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { send } from "../../src/http/answer.js";

/** Asks for an answer of many pieces and reads none of it yet. */
async function asked(count: number, size: number) {
  const seen = { made: 0, hasEnded: false };
  let most = 0;
  async function* pieces(response: ServerResponse) {
    try {
      for (; seen.made < count; seen.made += 1) {
        most = Math.max(most, response.writableLength);
        yield Promise.resolve(Buffer.alloc(size));
      }
    } finally {
      seen.hasEnded = true;
    }
  }
  const server = createServer((_, response) => void send(response, { status: 200, body: pieces(response) }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { seen, response, most: () => most };
}

const count = 500;
const size = 64 * 1024;

it("an answer in pieces holds no more of them in memory than a slow reader takes", async () => {
  const { response, most } = await asked(count, size);
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) bytes += piece.length;
  expect(bytes).toBe(count * size);
  expect(most()).toBeLessThan(4 * size);
});

it("an answer in pieces ends with the reader who goes in the middle of it", async () => {
  const { seen, response } = await asked(count, size);
  response.destroy();
  await expect.poll(() => seen.hasEnded).toBe(true);
  expect(seen.made).toBeLessThan(count);
});
