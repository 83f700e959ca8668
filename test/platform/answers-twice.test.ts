import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { factsOf, hosted, never, rawHosted } from "./support/client-under-test.js";
import { ok } from "./support/hosts.js";

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

describe("an answer about another device than was asked about", () => {
  const about = (device: string, data: unknown) => () => ({ body: { code: 200, deviceCode: device, data } });
  const reading = [{ name: "空气温度", value: 20 }];

  it.each([
    ["beside the data", { code: 200, deviceCode: "GH-2", data: reading }],
    ["in the data", { code: 200, data: { deviceCode: "GH-2", list: reading } }],
    ["as a serial number", { code: 200, data: { deviceSn: "GH-2", list: reading } }],
  ])("named %s is not taken for it", async (_where, body) => {
    const { client } = await hosted(() => ({ body }));
    const asked = [
      client.sensors("GH-1", never),
      client.runningStatuses("GH-1", never),
      client.value("GH-1", "101", true, never),
      client.values("GH-1", parameterGroup(10), never),
      client.connection("GH-1", never),
    ];
    for (const { kind, sent } of await Promise.all(asked.map(factsOf)))
      expect([kind, sent]).toEqual(["protocol", true]);
  });

  it("is taken where it is the one, leading zeros lost", async () => {
    const { client } = await hosted(about("12", reading));
    expect(await client.sensors("0012", never)).toHaveLength(1);
  });

  it("in an item costs that item", async () => {
    const { client } = await hosted(() => ok([{ ...reading[0], deviceCode: "GH-2" }, ...reading]));
    expect(await client.sensors("GH-1", never)).toHaveLength(1);
  });

  it("to a POST says nothing of that POST", async () => {
    const { client } = await hosted(about("GH-2", null));
    const { kind, sent, code } = await factsOf(client.write("GH-1", "101", "1010", never));
    expect([kind, sent, code]).toEqual(["protocol", true, undefined]);
  });
});
