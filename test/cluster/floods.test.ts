import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { joinNats } from "../../src/cluster/nats.js";
import { silentLog } from "../support/builders.js";

const info = (more = "") =>
  `INFO {"server_id":"S","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576${more}}\r\n`;

/** A server that sends `head`, and then `again` repeatedly, as fast as it is read. */
async function pouring(head: string, again: string) {
  const sockets: Socket[] = [];
  const much = again.repeat(Math.ceil(65_536 / again.length));
  const server = createServer((socket) => {
    sockets.push(socket);
    const more = () => {
      while (!socket.destroyed && socket.write(much));
    };
    socket
      .on("error", () => socket.destroy())
      .on("data", () => undefined)
      .on("drain", more);
    socket.write(head);
    more();
  });
  server.listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const writtenBy = (socket: Socket | undefined) =>
    (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
  return { port: (server.address() as AddressInfo).port, sockets, first: () => writtenBy(sockets[0]) };
}

function joining(port: number): void {
  const stop = new AbortController();
  const settings = { nats: [`nats://127.0.0.1:${port}`], name: "test", replicas: 1 };
  const joined = joinNats(settings, "m", silentLog, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await joined.catch(() => null);
  });
}

/** What the two ends of a loopback connection buffer by themselves, and one message. */
const buffersBytes = 24 * 1024 * 1024;

it.each([
  ["a greeting that does not end", "INFO {", "x"],
  ["a line that does not end", `${info()}-ERR '`, "x"],
  ["a message larger than any of the program", `${info()}MSG a 1 999999999\r\n`, "x"],
])("a NATS server that says %s is left", async (_, head, again) => {
  const server = await pouring(head, again);
  joining(server.port);
  await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  expect(server.first()).toBeLessThan(buffersBytes);
});

it("a NATS server that says very much is read in turn with all else", async () => {
  const server = await pouring(info(), "PING\r\n");
  joining(server.port);
  await expect.poll(() => server.first()).toBeGreaterThan(100_000);
  // Each turn of the loop is short, however much data waits in the socket.
  let longest = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    const before = performance.now();
    await new Promise((done) => setImmediate(done));
    longest = Math.max(longest, performance.now() - before);
  }
  expect(longest).toBeLessThan(500);
});
