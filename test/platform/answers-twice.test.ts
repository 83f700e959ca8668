import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { never, rawHosted } from "./support/client-under-test.js";

/* A server, or something on the way, that answers more than it is asked. */

const answerWith = (data: unknown) => {
  const body = JSON.stringify({ code: 200, data });
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};

const deviceIn = (text: string) => /deviceCode=([\w-]+)/.exec(text)?.[1] ?? "";
const readingOf = (device: string) => [{ name: "空气温度", value: Number(device.slice(3)) }];

/** Answers GH-1 a second time once the next request of that connection is there, and only then that one. */
function twiceForTheFirst() {
  const pending = new Map<Socket, string>();
  return (socket: Socket, text: string) => {
    const device = deviceIn(text);
    const second = pending.get(socket);
    if (second !== undefined) {
      pending.delete(socket);
      socket.write(second);
      // The other answer comes when the first is read, and the connection idle.
      setImmediate(() => setTimeout(() => socket.write(answerWith(readingOf(device))), 20));
      return;
    }
    const answer = answerWith(readingOf(device));
    if (device === "GH-1") pending.set(socket, answer);
    socket.write(answer);
  };
}

describe("a server that answers twice on a kept connection", () => {
  it("has what was read over it told as another's, perhaps, and is asked over a connection each from then on", async () => {
    const mixedUp: string[] = [];
    const { host, client } = await rawHosted(
      twiceForTheFirst(),
      { concurrency: 1 },
      { onMixedUp: (request, device) => mixedUp.push(`${request} ${device ?? ""}`) },
    );
    expect((await client.sensors("GH-1", never))[0]?.value).toBe(1);
    expect((await client.sensors("GH-2", never))[0]?.value).toBe(1);
    await expect.poll(() => mixedUp).toEqual(["GET /api/sensor-data GH-2"]);
    const before = host.accepted;
    for (const code of ["GH-2", "GH-1", "GH-2"])
      expect((await client.sensors(code, never))[0]?.value).toBe(Number(code.slice(3)));
    expect(host.accepted).toBe(before + 3);
    expect(mixedUp).toHaveLength(1);
  });

  it("does no harm where the connection is idle when the answer comes that nobody asked for", async () => {
    const mixedUp: string[] = [];
    const { client } = await rawHosted(
      (socket, text) => {
        const answer = answerWith(readingOf(deviceIn(text)));
        socket.write(answer + answer);
      },
      { concurrency: 1 },
      { onMixedUp: (request) => mixedUp.push(request) },
    );
    for (const code of ["GH-1", "GH-2", "GH-3"])
      expect((await client.sensors(code, never))[0]?.value).toBe(Number(code.slice(3)));
    expect(mixedUp).toEqual([]);
  });

  it("what a command is judged by comes over a connection of its own", async () => {
    const { host, client } = await rawHosted((socket) => socket.write(answerWith({ 101: "10010" })));
    for (let n = 0; n < 3; n += 1) await client.value("GH-1", "101", true, never);
    expect(host.accepted).toBe(3);
  });
});
