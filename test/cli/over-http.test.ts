import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { DirectoryLock } from "../../src/journal/lock.js";
import { silentLog } from "../../src/runtime/log.js";
import { platform, tokenEnv } from "../config/loading.js";
import type { Fields } from "./beside-bridge.js";
import { fileWith, folder, greenhouse2mqtt } from "./in-process.js";

const boot = "0123456789abcdef";
const operator = "users: [{ username: anna, password: correct-horse, role: operator }]";
const hash = "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA";
const hashed = `users: [{ username: anna, password: "${hash}", role: operator }]`;

type Answers = Readonly<Record<string, readonly [status: number, document: object]>>;

/** The HTTP port of a bridge, without anything behind it; `asked` is what it was asked, with the cookie. */
async function httpPort(answers: Answers, instance: string) {
  const asked: (readonly [path: string, body: Fields | null, cookie: string | undefined])[] = [];
  const standing: Answers = { "/api/health": [200, { instance }], "/api/logout": [204, {}] };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      asked.push([path, text === "" ? null : (JSON.parse(text) as Fields), request.headers.cookie]);
      if (path === "/api/login") return void response.writeHead(204, { "set-cookie": "c=1; HttpOnly" }).end();
      const [status, document] = { ...standing, ...answers }[path] ?? [404, { message: "none" }];
      response.writeHead(status).end(status === 204 ? undefined : JSON.stringify(document));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: (server.address() as AddressInfo).port };
}

/** A bridge that works in a data directory, and whose broker is away. */
async function withoutBroker(
  answers: Answers,
  {
    users = operator,
    runs = true,
    instance = boot,
  }: { users?: string; runs?: boolean; instance?: string } = {},
) {
  const dataDir = await folder({});
  const lock = new DirectoryLock(dataDir, {
    boot,
    at: "2026-11-26T08:00:00Z",
    pid: process.pid,
    log: silentLog,
  });
  if (runs) await lock.take();
  onTestFinished(() => lock.release());
  const { asked, port } = await httpPort(answers, instance);
  const text = `${platform}mqtt: { url: "mqtt://127.0.0.1:9" }\ndata_dir: ${dataDir}\nhttp: { port: ${port}, ${users} }\n`;
  const config = await fileWith(
    `${text}controllers: { GH-0001: { id: east, actuators: { roof: { kind: skylight, address: 101 } } } }\n`,
  );
  const run = async ([name = "", ...words]: readonly string[]) => {
    const ended = await greenhouse2mqtt([name, "-c", config, ...words], { env: tokenEnv });
    return { ...ended, err: ended.err.replace(/^.*plain password;.*\n/, "") };
  };
  return { asked, run };
}

const locked = { controller: "east", actuators: ["roof"], by: "anna", until: null };

describe("where the broker is away and the bridge runs", () => {
  it("a lock goes over HTTP, with the login of an operator that the configuration holds", async () => {
    const answers: Answers = { "/api/requests/lock": [200, { status: "ok", data: locked }] };
    const { asked, run } = await withoutBroker(answers);
    const { code, out, err } = await run(["lock", "east", "roof", "--by", "anna"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toEqual(locked);
    expect(asked).toEqual([
      ["/api/login", { username: "anna", password: "correct-horse" }, undefined],
      ["/api/health", null, "c=1"],
      ["/api/requests/lock", { controller: "GH-0001", actuator: "roof", by: "anna" }, "c=1"],
      ["/api/logout", {}, "c=1"],
    ]);
  });

  it("a refusal is the bridge's sentence, and alarms are listed as over the broker", async () => {
    const alarm = { id: "flood", since: "2026-11-22T20:00:00.000Z", state: "active" };
    const { run } = await withoutBroker({
      "/api/requests/lock": [400, { status: "error", error: 'Locked; unlock with "force": true.' }],
      "/api/alarms": [200, { flood: alarm }],
    });
    expect(await run(["lock", "east"])).toEqual({ code: 1, out: "", err: "Locked; unlock with --force.\n" });
    expect(await run(["alarms", "--json"])).toEqual({ code: 0, out: `${JSON.stringify(alarm)}\n`, err: "" });
  });

  it("a command goes over HTTP too, and ends with its result", async () => {
    const refused = {
      controller: "east",
      actuator: "roof",
      command: "open",
      outcome: "refused",
      reason: "x",
    };
    const { asked, run } = await withoutBroker({ "/api/commands": [409, refused] });
    const { code, out } = await run(["set", "east", "roof", "open", "--by", "anna", "--for", "20m"]);
    expect({ code, result: JSON.parse(out) as unknown }).toEqual({ code: 3, result: refused });
    expect(asked.find(([path]) => path === "/api/commands")?.[1]).toMatchObject({
      ...{ controller: "east", actuator: "roof", command: "open", by: "anna", for: "20m" },
    });
  });

  it.each<[string, Parameters<typeof withoutBroker>[1], string]>([
    ["there is no operator", { users: "users: []" }, "http.users names no operator"],
    [
      "there are hashes alone",
      { users: hashed },
      "the passwords of the operators under http.users are hashes",
    ],
    ["another program answers there", { instance: "ffff" }, "is another program"],
  ])("nobody is told to start a second one: %s", async (_, about, why) => {
    const { asked, run } = await withoutBroker({ "/api/requests/lock": [200, { status: "ok" }] }, about);
    const { code, err } = await run(["lock", "east"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^a bridge is running \(process \d+, since .* Do not start another one\./);
    expect(err).toContain("over the broker: mqtt://127.0.0.1:9: ");
    expect(err).toContain(`over HTTP: `);
    expect(err).toContain(why);
    expect(asked.map(([path]) => path)).not.toContain("/api/requests/lock");
  });
});

it("where the broker is away and no bridge works in the data directory, nobody claims to know whether one runs", async () => {
  const { asked, run } = await withoutBroker({}, { runs: false });
  for (const words of [["lock", "east"], ["alarms"]]) {
    const { code, err } = await run(words);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^the broker could not be reached, so nothing was done, and nobody knows .*\n {2}mqtt:/,
    );
  }
  expect(asked).toEqual([]);
});
