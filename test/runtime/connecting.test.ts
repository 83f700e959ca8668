import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { errors } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectorOver, endpointOf, openSocket } from "../../src/runtime/connecting.js";
import { type Found, NameError } from "../../src/runtime/host-names.js";
import { silentPort } from "../support/silent-port.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** A port on which somebody listens, and on the other addresses nobody. */
async function listener(address: string, port = 0): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined)).listen(port, address);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function namesWith(found: Found) {
  const proven: string[] = [];
  return {
    proven,
    find: () => found,
    connected: (_host: string, address: string) => void proven.push(address),
  };
}

const open = (
  port: number,
  names: ReturnType<typeof namesWith>,
  clock?: VirtualClock,
  signal?: AbortSignal,
) =>
  openSocket({
    host: "platform.example",
    port,
    names,
    connectMs: 5_000,
    signal,
    ...(clock && { clock }),
  }).then(
    (socket) => {
      onTestFinished(() => void socket.destroy());
      return socket.remoteAddress;
    },
    (error: unknown) => (error instanceof Error && "code" in error ? error.code : String(error)),
  );

describe("a connection to a host", () => {
  it("of two families one of which is silent comes about over the other, which is then known to be good", async () => {
    const port = await silentPort("::1");
    await listener("127.0.0.1", port);
    const names = namesWith({ kept: ["::1", "127.0.0.1"], newer: null });
    expect(await open(port, names)).toBe("127.0.0.1");
    expect(names.proven).toEqual(["127.0.0.1"]);
  });

  it("may be one of many that one signal ends, without a warning of a leak", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => void warnings.push(name);
    process.on("warning", note);
    onTestFinished(() => void process.off("warning", note));
    const port = await listener("127.0.0.1");
    const { signal } = new AbortController();
    const names = namesWith({ kept: ["127.0.0.1"], newer: null });
    await Promise.all(Array.from({ length: 20 }, () => open(port, names, undefined, signal)));
    // Warnings come in a turn of their own.
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  });

  it("goes to the next address at once where one refuses", async () => {
    const port = await listener("127.0.0.1");
    const names = namesWith({ kept: ["::1", "127.0.0.1"], newer: null });
    expect(await open(port, names, new VirtualClock())).toBe("127.0.0.1");
  });

  it("an address that is slow is not given up for the next one", async () => {
    const clock = new VirtualClock();
    const port = await silentPort("127.0.0.1");
    await silentPort("::1", port);
    let isOver = false;
    const opened = open(port, namesWith({ kept: ["127.0.0.1", "::1"], newer: null }), clock);
    void opened.then(() => (isOver = true));
    await clock.advance(4_900);
    expect(isOver).toBe(false);
    await clock.advance(200);
    expect([await opened, clock.pendingTimers]).toEqual(["ETIMEDOUT", 0]);
  });

  it("over kept addresses does not wait for the newer look-up", async () => {
    const port = await listener("127.0.0.1");
    const names = namesWith({ kept: ["127.0.0.1"], newer: new Promise(() => undefined) });
    expect(await open(port, names)).toBe("127.0.0.1");
  });

  it("a host that has moved is found as soon as the newer look-up says so", async () => {
    const port = await silentPort("127.0.0.1");
    await listener("127.0.0.2", port);
    const names = namesWith({ kept: ["127.0.0.1"], newer: Promise.resolve(["127.0.0.2"]) });
    expect(await open(port, names)).toBe("127.0.0.2");
  });

  it("where kept addresses refuse, newer ones are waited for no longer than a second", async () => {
    const clock = new VirtualClock();
    const port = await listener("127.0.0.2");
    let outcome: unknown = null;
    void open(port, namesWith({ kept: ["127.0.0.1"], newer: new Promise(() => undefined) }), clock).then(
      (code) => (outcome = code),
    );
    while (outcome === null) await clock.advance(100);
    expect([outcome, clock.monotonic() >= 1_000]).toEqual(["ECONNREFUSED", true]);
  });

  it("the time for it begins with the address: a look-up may take longer", async () => {
    const clock = new VirtualClock();
    const port = await listener("127.0.0.1");
    const newer = clock.wait(8_000).then(() => ["127.0.0.1"]);
    const opened = open(port, namesWith({ kept: [], newer }), clock);
    await clock.advance(8_000);
    expect(await opened).toBe("127.0.0.1");
  });

  it("without any address it fails as the look-up did", async () => {
    const newer = Promise.reject(new NameError("EAI_AGAIN", "platform.example"));
    expect(await open(1, namesWith({ kept: [], newer }))).toBe("EAI_AGAIN");
  });

  it("is given up at once by its caller, and leaves nothing behind", async () => {
    const clock = new VirtualClock();
    const given = new AbortController();
    const port = await silentPort("127.0.0.1");
    const names = namesWith({ kept: ["127.0.0.1"], newer: new Promise(() => undefined) });
    const opened = open(port, names, clock, given.signal);
    given.abort();
    expect([await opened, clock.pendingTimers]).toEqual(["Error: given up", 0]);
  });
});

describe("a connection for undici", () => {
  const connected = async (): Promise<Socket> => {
    const port = String(await listener("127.0.0.1"));
    const names = namesWith({ kept: ["127.0.0.1"], newer: null });
    const connect = connectorOver(() => undefined, { names, connectMs: 5_000 });
    return new Promise((resolve, reject) => {
      const target = { hostname: "platform.example", port, protocol: "http:" };
      connect(target, (...[error, socket]) => (error === null ? resolve(socket) : reject(error)));
    });
  };

  it.each([
    ["no text of a stack is made where it is only no longer wanted", errors.InformationalError, "reset"],
    ["any other error keeps its stack", Error, expect.stringContaining("connecting.test")],
  ])("%s", async (_, Ending, stack) => {
    const socket = await connected();
    const ended = once(socket, "error");
    const error = new Ending("reset");
    socket.destroy(error);
    await ended;
    expect(error.stack).toEqual(stack);
  });
});

it.each([
  ["https://platform.example/api", { host: "platform.example", port: 443, secure: true }],
  ["wss://[2001:db8::1]:8443", { host: "2001:db8::1", port: 8443, secure: true }],
  ["mqtt://broker", { host: "broker", port: 1883, secure: false }],
])("%s leads to its host and port", (url, expected) => {
  expect(endpointOf(url)).toEqual(expected);
});
