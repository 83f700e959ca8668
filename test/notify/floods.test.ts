import { expect, it } from "vitest";
import { mailServer, pouring, sentBy } from "./servers.js";

/*
 * Whoever takes messages may say what it likes, as fast as it likes: the try ends long before its deadline, and no more is read than a
 * socket's buffers hold.
 */

/** What the two ends of a connection of the loopback hold by themselves. */
const buffersBytes = 16 * 1024 * 1024;

it.each([
  ["a head that does not end", "HTTP/1.1 200 OK\r\n", "x-more: a\r\n"],
  ["answers before the answer", "", "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"],
  ["pieces of a byte", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\n \r\n"],
  [
    "what is said beside a piece of a body",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;",
    "a=b;",
  ],
])("a service that says without end: %s", async (_, head, again) => {
  const peer = await pouring(head, again);
  const sent = await sentBy(`{ webhook: { url: http://127.0.0.1:${peer.port}/ } }`);
  if (!sent.ok) expect(sent.problem).not.toContain("20 s");
  await expect.poll(() => peer.open()).toBe(0);
  expect(peer.written()).toBeLessThan(buffersBytes);
});

it.each([
  ["lines of a greeting", false, "220-more\r\n"],
  ["a line without end", false, "x"],
  ["lines behind encryption", true, "250-more\r\n"],
  ["a line without end behind encryption", true, "x"],
])("a mail server that says without end: %s", async (_, startTls, floods) => {
  const server = await mailServer({ startTls, floods });
  const encryption = startTls ? "encryption: starttls, reject_unauthorized: false" : "encryption: none";
  const own = `host: 127.0.0.1, port: ${server.port}, ${encryption}, from: a@example.com, to: [b@example.com]`;
  const sent = await sentBy(`{ smtp: { ${own} } }`);
  expect(sent).toMatchObject({ ok: false });
  if (!sent.ok) expect(sent.problem).not.toContain("20 s");
  await expect.poll(() => server.open()).toBe(0);
  expect(server.written()).toBeLessThan(buffersBytes);
});

const established = "HTTP/1.1 200 Connection established\r\n\r\n";

it.each([
  ["before its answer", "", "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"],
  ["in a head that does not end", "HTTP/1.1 200 Connection established\r\n", "x-more: a\r\n"],
  ["in a line that does not end", "", "x"],
  ["behind its answer", `${established}HTTP/1.1 200 OK\r\n`, "x-more: a\r\n"],
])("a proxy that says without end, %s", async (_, head, again) => {
  const ways = (port: number) => [
    `{ webhook: { url: http://127.0.0.1:${port}/ } }`,
    `{ ntfy: { url: https://ntfy.example.com, topic: house } }`,
    `{ smtp: { host: mail.example.com, port: 25, encryption: none, from: a@example.com, to: [b@example.com] } }`,
  ];
  for (const at of [0, 1, 2]) {
    const peer = await pouring(head, again);
    const sent = await sentBy(ways(peer.port)[at] ?? "", {
      proxy: `{ url: http://127.0.0.1:${peer.port} }`,
    });
    expect(sent).toMatchObject({ ok: false });
    if (!sent.ok) expect(sent.problem).not.toContain("20 s");
    await expect.poll(() => peer.open()).toBe(0);
    expect(peer.written()).toBeLessThan(buffersBytes);
  }
});
