import { once } from "node:events";
import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DirectoryLock } from "../../src/journal/lock.js";
import { silentLog } from "../../src/runtime/log.js";
import { ownerSocket } from "../../src/runtime/socket-file.js";
import { platform, tokenEnv } from "../config/loading.js";
import type { Fields } from "./beside-bridge.js";
import { fileWith, folder, greenhouse2mqtt } from "./in-process.js";

type Answers = Readonly<Record<string, readonly [status: number, document: object | string]>>;
type Asked = readonly [path: string, body: Fields | null];

/** The socket of a bridge in its data directory, without anything behind it. */
async function socketOf(dataDir: string, answers: Answers): Promise<readonly Asked[]> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const [status, document] = { "/livez": [200, {}] as const, ...answers }[path] ?? [404, {}];
      if (path !== "/livez") asked.push([path, text === "" ? null : (JSON.parse(text) as Fields)]);
      response.writeHead(status).end(typeof document === "string" ? document : JSON.stringify(document));
    });
  });
  await once(server.listen(join(dataDir, ownerSocket)), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return asked;
}

/** Any program that listens; everything that it is sent. */
async function eavesdropper() {
  const heard: string[] = [];
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined).on("data", (bytes) => heard.push(bytes.toString("latin1")));
    // As a broker that refuses, so that nobody waits.
    socket.once("data", () => socket.end(Buffer.from([0x20, 2, 0, 5])));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { heard, port: (server.address() as AddressInfo).port };
}

const password = "a-password-of-hers";

/** A data directory in which a bridge works, and a configuration with passwords whose ports are somebody else's. */
async function scene(
  answers: Answers | null,
  { runs = true, broker = "" }: { runs?: boolean; broker?: string } = {},
) {
  const dataDir = await folder({});
  const lock = new DirectoryLock(dataDir, {
    boot: "0123456789abcdef",
    at: "2026-11-26T08:00:00Z",
    pid: process.pid,
    log: silentLog,
  });
  if (runs) await lock.take();
  onTestFinished(() => lock.release());
  const asked = answers === null ? [] : await socketOf(dataDir, answers);
  const [atHttp, atBroker] = [await eavesdropper(), await eavesdropper()];
  const anna = `{ username: anna, password: ${password}`;
  const lines = [
    platform.trimEnd(),
    `data_dir: ${dataDir}`,
    `http: { port: ${atHttp.port}, token: ${password}, users: [${anna}, role: operator }] }`,
    broker === "" ? `broker: { port: ${atBroker.port}, users: [${anna} }] }` : broker,
    "controllers: { GH-0001: { id: east, actuators: { roof: { kind: skylight, address: 101 } } } }",
    "",
  ];
  const config = await fileWith(lines.join("\n"));
  const run = async (
    [name = "", ...words]: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) => {
    const ended = await greenhouse2mqtt([name, "-c", config, ...words], { env: { ...tokenEnv, ...env } });
    return { ...ended, err: ended.err.replace(/^.*plain password;.*\n/gm, "") };
  };
  const heard = () => [...atHttp.heard, ...atBroker.heard].join("");
  return { asked, run, heard, brokerPort: atBroker.port };
}

const locked = { controller: "east", actuators: ["roof"], by: "anna", until: null };

describe("the command line asks the bridge of its own user at its socket, without a password", () => {
  it("a lock", async () => {
    const { asked, run, heard } = await scene({
      "/api/requests/lock": [200, { status: "ok", data: locked }],
    });
    const { code, out, err } = await run(["lock", "east", "roof", "--by", "anna"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toEqual(locked);
    expect(asked).toEqual([["/api/requests/lock", { controller: "GH-0001", actuator: "roof", by: "anna" }]]);
    expect(heard()).toBe("");
  });

  it("a lock by who reads Chinese, and says so", async () => {
    const { asked, run } = await scene({
      "/api/requests/lock": [400, { status: "error", error: '已锁定；加 "force": true 解锁。' }],
    });
    const { err } = await run(["lock", "east", "roof", "--by", "anna"], { LANG: "zh_CN.UTF-8" });
    expect(err).toMatch(/^已锁定；加 --force 解锁。$/m);
    const fields = { controller: "GH-0001", actuator: "roof", by: "anna", language: "zh" };
    expect(asked).toEqual([["/api/requests/lock", fields]]);
  });

  it("a refusal is the bridge's sentence, and alarms are listed as over the broker", async () => {
    const alarm = { id: "flood", since: "2026-11-22T20:00:00.000Z", state: "active" };
    const { run } = await scene({
      "/api/requests/lock": [400, { status: "error", error: 'Locked; unlock with "force": true.' }],
      "/api/alarms": [200, { flood: alarm }],
    });
    expect(await run(["lock", "east"])).toEqual({ code: 1, out: "", err: "Locked; unlock with --force.\n" });
    expect(await run(["alarms", "--json"])).toEqual({ code: 0, out: `${JSON.stringify(alarm)}\n`, err: "" });
  });

  it.each([
    [{ status: "error", error: "The bridge is being restored." }, [503, "The bridge is being restored.\n"]],
    [{}, [500, 'the bridge did not answer "alarms"; ask again\n']],
    ["no JSON", [200, expect.stringContaining("the bridge does not answer any more (SyntaxError") as string]],
  ] as const)(
    "alarms that it did not tell are a failure and not none: %j",
    async (document, [status, err]) => {
      const { run } = await scene({ "/api/alarms": [status, document] });
      expect(await run(["alarms"])).toEqual({ code: 1, out: "", err });
    },
  );

  it.each([
    ["roof", { actuator: "roof" }],
    ["address/300", { address: "300" }],
  ])("a command to %s, and ends with its result", async (name, target) => {
    const refused = {
      ...{ controller: "east", actuator: "roof", command: "open", outcome: "refused", reason: "x" },
    };
    const { asked, run } = await scene({ "/api/commands": [409, refused] });
    const { code, out } = await run(["set", "east", name, "open", "--by", "anna", "--for", "20m"]);
    expect({ code, result: JSON.parse(out) as unknown }).toEqual({ code: 3, result: refused });
    expect(asked[0]).toMatchObject([
      "/api/commands",
      { controller: "east", ...target, command: "open", by: "anna", for: "20m" },
    ]);
  });
});

describe("no password goes to whoever listens at a port of the bridge", () => {
  it.each([["lock", "east"], ["alarms"], ["set", "east", "roof", "open"], ["tags"]])(
    "%s %s: without the socket nothing is sent, and it is said why and what to do",
    async (...words) => {
      const { run, heard } = await scene(null);
      const { code, err } = await run(words);
      expect(code).toBe(1);
      expect(err).toMatch(/No password was sent to port \d+.*run this as the user that runs it/);
      expect(heard()).toBe("");
    },
  );

  it("a bridge that runs and is not reached is named, so that nobody starts a second one", async () => {
    const { run } = await scene(null);
    const { err } = await run(["lock", "east"]);
    expect(err).toMatch(/^a bridge is running \(process \d+, since .* Do not start another one\./);
    expect(err).toContain("at its socket: it has no socket");
  });

  it("that its broker listens there the bridge says itself; of another port nothing is believed", async () => {
    const answers: Record<string, [number, object]> = { "/api/broker": [200, { port: 1 }] };
    const { run, heard, brokerPort } = await scene(answers);
    await run(["tags"]);
    expect(heard()).toBe("");
    answers["/api/broker"] = [200, { port: brokerPort }];
    await run(["tags"]);
    expect(heard()).toContain(password);
  });
});

it("where the broker is away and no bridge works in the data directory, nobody claims to know whether one runs", async () => {
  const { run, heard } = await scene(null, {
    runs: false,
    broker: 'mqtt: { url: "mqtt://127.0.0.1:9" }',
  });
  for (const words of [["lock", "east"], ["alarms"]]) {
    const { code, err } = await run(words);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^the broker could not be reached, so nothing was done, and nobody knows .*\n {2}mqtt:/,
    );
  }
  expect(heard()).toBe("");
});
