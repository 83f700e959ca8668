import { once } from "node:events";
import net from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { knownReaches, reachesHost } from "../../src/cluster/probe.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** A host that treats connections like this. */
async function host(meet: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    meet(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

/** A fatal alert, by which a TLS server refuses the hello. */
const alert = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

const manners: Readonly<Record<string, (socket: net.Socket) => void>> = {
  "answers that it is nothing it knows": (socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 400\r\n")),
  closes: (socket) => socket.once("data", () => socket.end()),
  resets: (socket) => socket.once("data", () => socket.resetAndDestroy()),
  "refuses a hello": (socket) => socket.once("data", () => socket.write(alert)),
  "takes connections and says nothing": (socket) => socket.resume(),
};

describe("a member that stands by reaches a host that", () => {
  it.each([
    ["answers that it is nothing it knows", "http", true],
    ["answers that it is nothing it knows", "ws", true],
    ["closes", "mqtt", true],
    // As Mosquitto does.
    ["resets", "mqtt", true],
    ["resets", "http", false],
    ["resets", "https", false],
    ["refuses a hello", "https", true],
    ["refuses a hello", "mqtts", true],
    ["takes connections and says nothing", "http", false],
    ["takes connections and says nothing", "mqtt", false],
    ["takes connections and says nothing", "https", false],
  ])("%s, over %s: %s", async (manner, scheme, isReached) => {
    const clock = new VirtualClock();
    let isMet: () => void = () => undefined;
    const met = new Promise<void>((resolve) => (isMet = resolve));
    const address = await host((socket) => {
      socket.once("data", () => isMet());
      manners[manner]?.(socket);
    });
    const reached = reachesHost(`${scheme}://${address}`, clock);
    await met;
    if (manner.includes("says nothing")) await clock.advance(3_000);
    expect(await reached).toBe(isReached);
    expect(clock.pendingTimers).toBe(0);
  });

  it("is not there: no", async () => {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as net.AddressInfo;
    server.close();
    await once(server, "close");
    expect(await reachesHost(`mqtt://127.0.0.1:${port}`)).toBe(false);
  });

  it("has been asked a moment ago, for another account, is not asked again", async () => {
    const clock = new VirtualClock();
    const asked: string[] = [];
    const reaches = knownReaches((url) => {
      asked.push(url);
      return Promise.resolve(asked.length === 1);
    }, clock);
    expect([await reaches("mqtt://a"), await reaches("mqtt://a"), await reaches("mqtt://b")]).toEqual([
      true,
      true,
      false,
    ]);
    await clock.advance(5_000);
    expect(await reaches("mqtt://a")).toBe(false);
    expect(asked).toEqual(["mqtt://a", "mqtt://b", "mqtt://a"]);
  });
});
