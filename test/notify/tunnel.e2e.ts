import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { describe, expect } from "vitest";
import { testCertificate } from "../broker/certificate.js";
import type { Stage } from "../end-to-end/support/stage.js";
import { it } from "../end-to-end/support/staged.js";

/*
 * Messages to services behind TLS and a proxy that knows CONNECT, by the built program: whatever either of them does, each message is
 * told as what became of it, within the deadline of a try.
 */

const deadlineMs = 20_000;
/** For the program to start, and to end. */
const aroundMs = 8_000;
const secret = "canary-of-the-way";
const login = { username: "bridge", password: "canary-of-the-proxy" };

async function listening(server: Server, stage: Stage): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  stage.keep({ close });
  return (server.address() as AddressInfo).port;
}

type Serve = (socket: Socket) => void;

/** Says it a byte at a time, and then the last byte for ever; `first` at once. */
function drip(socket: Socket, text: string, first = ""): void {
  socket.write(first);
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(text.slice(Math.min(at, text.length - 1), Math.min(at, text.length - 1) + 1));
    at += 1;
  }, 20);
  socket.once("close", () => clearInterval(timer));
}

function pour(socket: Socket, text: string, first = ""): void {
  socket.write(first);
  const much = text.repeat(Math.ceil(65_536 / text.length));
  const more = (): void => {
    while (!socket.destroyed && socket.write(much));
  };
  socket.on("drain", more);
  more();
}

/** A service behind TLS; `serve` in the place of an answer. */
async function service(stage: Stage, serve?: Serve) {
  const got: string[] = [];
  const server = createHttpsServer(testCertificate, (request, response) => {
    request.on("data", (chunk: Buffer) => got.push(chunk.toString()));
    request.on("end", () => {
      if (serve === undefined) response.end("{}");
      else serve(request.socket);
    });
  });
  return { got, port: await listening(server, stage) };
}

/** `serve` in the place of the way to the service; `says` before that. */
async function proxy(
  stage: Stage,
  {
    serve,
    says = "HTTP/1.1 200 OK\r\n\r\n",
    isSecure = false,
  }: { serve?: Serve; says?: string; isSecure?: boolean } = {},
) {
  const asked: string[] = [];
  const server = isSecure ? createHttpsServer(testCertificate) : createServer();
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    asked.push(request.url ?? "");
    client.on("error", () => client.destroy());
    const expected = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
    if (request.headers["proxy-authorization"] !== expected) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    if (serve !== undefined) {
      client.on("data", () => undefined);
      serve(client);
      return;
    }
    const target = connect(Number((request.url ?? "").split(":")[1]), "127.0.0.1", () => {
      client.write(says);
      target.pipe(client).pipe(target);
    });
    target.on("error", () => client.destroy());
    client.once("close", () => target.destroy());
  });
  return { asked, url: `${isSecure ? "https" : "http"}://127.0.0.1:${await listening(server, stage)}` };
}

interface Way {
  readonly url: string;
  readonly proxy: string;
  readonly trusts?: boolean;
  readonly password?: string;
}

/** What `notify --test` says of one message. */
async function told(stage: Stage, { url, proxy, trusts = true, password = login.password }: Way) {
  const ca = await stage.write("ca.pem", testCertificate.cert);
  await stage.write(
    "config.yaml",
    JSON.stringify({
      platform: { business_url: "http://127.0.0.1:9", realtime_url: "http://127.0.0.1:9", token: "t" },
      notify: {
        proxy: { url: proxy, ...login, password },
        ways: { phone: { webhook: { url, headers: { "X-Key": secret } } } },
      },
    }),
  );
  const from = performance.now();
  const program = stage.program(["notify", "--test"], { env: trusts ? { NODE_EXTRA_CA_CERTS: ca } : {} });
  const { code, stdout, stderr } = await program.ended;
  const said = `${stdout}\n${stderr}`;
  expect(said).not.toContain("canary-of");
  return { code, said, ms: performance.now() - from };
}

const patient = { timeout: 90_000 };

describe.concurrent("a message to a service behind TLS and a proxy", patient, () => {
  it.for([
    ["a proxy as it comes", {}],
    [
      "a proxy that says 102 first, and a header",
      { says: "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.0 200 Connected\r\nX: y\r\n\r\n" },
    ],
    ["a proxy that is reached over TLS itself", { isSecure: true }],
  ] as const)("gets there by %s", async ([, how], { stage }) => {
    const { got, port } = await service(stage);
    const { asked, url } = await proxy(stage, how);
    const { code, said, ms } = await told(stage, { url: `https://localhost:${port}/hook`, proxy: url });
    expect({ code, said, asked }).toMatchObject({ code: 0, asked: [`localhost:${port}`] });
    expect(got.join("")).toContain('"kind":');
    expect(ms).toBeLessThan(deadlineMs);
  });

  it.for<readonly [string, { serve: Serve }, RegExp]>([
    ["never answers CONNECT", { serve: () => undefined }, /no answer within 20 s/],
    [
      "drips its answer to CONNECT",
      { serve: (socket) => drip(socket, "HTTP/1.1 200 OK\r\nX: y") },
      /no answer within 20 s/,
    ],
    [
      "says that it works on it for ever",
      { serve: (socket) => drip(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(2_000)) },
      /no answer within 20 s/,
    ],
    [
      "pours answers that are none",
      { serve: (socket) => pour(socket, "HTTP/1.1 102 Processing\r\n\r\n") },
      /it says more than an answer/,
    ],
    ["pours a head without end", { serve: (socket) => pour(socket, "x") }, /more than an answer/],
    [
      "refuses",
      { serve: (socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n") },
      /does not lead there: it answers 403/,
    ],
    [
      "answers what is no HTTP",
      { serve: (socket) => socket.end("SSH-2.0-x\r\n\r\n") },
      /does not answer as one/,
    ],
    ["hangs up", { serve: (socket) => socket.destroy() }, /proxy closed the connection|ECONNRESET/],
    [
      "leads to what never says a word of TLS",
      { serve: (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n") },
      /no answer within 20 s/,
    ],
    [
      "leads to what drips TLS",
      {
        serve: (socket) =>
          drip(socket, "\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03", "HTTP/1.1 200 OK\r\n\r\n"),
      },
      /no answer within 20 s/,
    ],
    [
      "leads to what speaks no TLS",
      { serve: (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n") },
      /not reached/,
    ],
  ])("is told as not sent, in time, where the proxy %s", async ([, how, why], { stage }) => {
    const { url } = await proxy(stage, how);
    const { code, said, ms } = await told(stage, { url: "https://localhost:9/hook", proxy: url });
    expect(said).toMatch(why);
    expect(code).toBe(1);
    expect(ms).toBeLessThan(deadlineMs + aroundMs);
  });

  it.for<readonly [string, Serve, RegExp]>([
    ["never answers", () => undefined, /no answer within 20 s/],
    ["drips its answer", (socket) => drip(socket, "HTTP/1.1 200 OK\r\nX: y"), /no answer within 20 s/],
    [
      "drips its body",
      (socket) =>
        drip(
          socket,
          "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".concat("1\r\n \r\n".repeat(5_000)),
        ),
      /no answer within 20 s/,
    ],
    [
      "pours its body",
      (socket) => pour(socket, "1\r\nx\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
      /says more than an answer/,
    ],
    ["hangs up", (socket) => socket.destroy(), /not reached/],
    [
      "points elsewhere",
      (socket) =>
        socket.write(
          "HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:9/?k=canary-of-x\r\ncontent-length: 0\r\n\r\n",
        ),
      /points to another address/,
    ],
  ])("ends in time, with one truth, where the service %s", async ([, serve, why], { stage }) => {
    const { port } = await service(stage, serve);
    const { url } = await proxy(stage);
    const { said, ms } = await told(stage, { url: `https://localhost:${port}/hook`, proxy: url });
    expect(said).toMatch(why);
    expect(ms).toBeLessThan(deadlineMs + aroundMs);
  });

  it.for<readonly [string, string, boolean]>([
    ["is for another name", "other.localhost", true],
    ["nobody has signed", "localhost", false],
  ])("says nothing to a service whose certificate %s", async ([, host, trusts], { stage }) => {
    const { got, port } = await service(stage);
    const { url } = await proxy(stage);
    const { code, said } = await told(stage, { url: `https://${host}:${port}/hook`, proxy: url, trusts });
    expect({ code, got }).toEqual({ code: 1, got: [] });
    expect(said).toMatch(/certificate|altnames/i);
  });

  it("does not show its login to a proxy whose certificate nobody has signed", async ({ stage }) => {
    const { asked, url } = await proxy(stage, { isSecure: true });
    const { code } = await told(stage, { url: "https://localhost:9/", proxy: url, trusts: false });
    expect({ code, asked }).toEqual({ code: 1, asked: [] });
  });

  it("names the setting where the proxy wants another login", async ({ stage }) => {
    const { url } = await proxy(stage);
    const { code, said } = await told(stage, {
      url: "https://localhost:9/",
      proxy: url,
      password: "canary-of-old",
    });
    expect(code).toBe(1);
    expect(said).toContain("notify.proxy");
  });
});
