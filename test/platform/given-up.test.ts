import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import https from "node:https";
import { describe, expect, it, onTestFinished } from "vitest";
import Pool from "undici/lib/dispatcher/pool.js";
import buildConnector from "undici/lib/core/connect.js";
import { Exchange } from "../../src/platform/http.js";
import { connectorOver } from "../../src/runtime/connecting.js";
import { Names } from "../../src/runtime/host-names.js";
import { testCertificate } from "../broker/certificate.js";
import { portFor } from "../support/free-port.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { never, rawHosted } from "./support/client-under-test.js";

/** A port that leads to another one, and how connections end that were made to it. */
async function front(port: number) {
  const ends: string[] = [];
  const server = createServer((socket) => {
    const far = connect(port, "127.0.0.1");
    far.on("error", () => socket.destroy());
    socket.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? error.message));
    socket.on("end", () => ends.push("end"));
    socket.on("close", () => far.destroy());
    socket.pipe(far).pipe(socket);
  });
  const url = `127.0.0.1:${await portFor(server)}`;
  onTestFinished(() => void server.close());
  return { url, ends };
}

/** How the platform sees connections end. */
function endsOf(ends: string[]) {
  return (socket: Socket) => {
    socket.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? error.message));
    socket.on("end", () => ends.push("end"));
  };
}

it("an answer that is read after its deadline, because the process stood still, says nothing of now", async () => {
  const clock = new VirtualClock();
  let peer: Socket | null = null;
  const { client } = await rawHosted((socket) => (peer = socket), {}, { clock });
  const read = client.value("GH-1", "101", true, never).catch(String);
  await expect.poll(() => peer).not.toBeNull();
  clock.stall(120_000);
  const body = JSON.stringify({ code: 200, data: [{ address: "101", value: "1010" }] });
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  (peer as Socket | null)?.write(answer);
  expect(await read).toContain("the bridge stood still and read the answer after");
});

describe("a POST that is given up", () => {
  it.each(["its time is over", "the program ends"])(
    "is reset, so that the operating system does not send it later: %s",
    async (why) => {
      const clock = new VirtualClock();
      const ends: string[] = [];
      let came = (): void => undefined;
      const arrived = new Promise<void>((resolve) => (came = resolve));
      const note = endsOf(ends);
      const { client } = await rawHosted(
        (socket) => {
          note(socket);
          came();
        },
        {},
        { clock },
      );
      const outcome = client.write("GH-1", "101", "1010", never).catch(() => "given up");
      await arrived;
      if (why === "the program ends") await client.close();
      else await clock.advance(5_000);
      expect(await outcome).toBe("given up");
      await expect.poll(() => ends).toEqual(["ECONNRESET"]);
    },
  );

  it("is reset below TLS too", async () => {
    const server = https.createServer(testCertificate, () => undefined);
    const arrived = once(server, "request");
    const { url, ends } = await front(await portFor(server));
    onTestFinished(() => void server.close());
    const secure = buildConnector({ ca: testCertificate.cert });
    const connector = connectorOver(secure, { names: new Names(), connectMs: 5_000, resets: true });
    const pool = new Pool(`https://${url}`, { connect: connector });
    const limits = {
      clock: new VirtualClock(),
      deadlineMs: 5_000,
      maxBytes: 0,
      signal: never,
      mayBegin: () => true,
      isRead: false,
      onEnd: () => undefined,
    };
    const exchange = new Exchange(limits);
    const answer = exchange.answer.catch(() => "given up");
    pool.dispatch({ method: "POST", path: "/", body: "{}" }, exchange);
    await arrived;
    await pool.destroy();
    expect(await answer).toBe("given up");
    await expect.poll(() => ends).toEqual(["ECONNRESET"]);
  });
});
