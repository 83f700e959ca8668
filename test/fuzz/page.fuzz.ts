import { once } from "node:events";
import fc from "fast-check";
import net from "node:net";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { apiRoutes } from "../../src/http/routes.js";
import type { Program } from "../end-to-end/support/program.js";
import type { Stage } from "../end-to-end/support/stage.js";
import { it } from "../end-to-end/support/staged.js";
import { countFrom, rounded, tellFigures } from "../proof/figures.js";
import { probeEnvironment } from "../proof/probed.js";
import { freePort } from "../support/mosquitto.js";
import { type Chance, chanceFor } from "./chance.js";
import { errorsIn } from "./logged.js";
import { growthOf, watchMemory } from "./memory.js";
import { regularClient } from "./regular-client.js";
import { anyRequest } from "./requests.js";
import { frame } from "./sockets.js";

/*
 * Page and API of the built program over real sockets: any header bytes, upgrades with broken frames, and any JSON from a
 * user who is logged in, while a page that is open and an MQTT client are served all the time. FUZZ_SECONDS says how long
 * (10 min without it), FUZZ_SEED repeats a run, FUZZ_FROM and FUZZ_CASES play only some of its connections.
 */

const fullSeconds = 600;
const seconds = countFrom("FUZZ_SECONDS", fullSeconds);
const seed = countFrom("FUZZ_SEED", Math.trunc(Date.now() / 1_000));
const from = countFrom("FUZZ_FROM", 0);
const most = countFrom("FUZZ_CASES", Number.MAX_SAFE_INTEGER);
const atOnce = 16;
/** So many that none of them asks too fast. */
const users = Array.from({ length: 24 }, (_, n) => `user${n}`);
const answerWithinMs = 250;
/** The bridge says on each live connection every 4 s that it is there. */
const longestSilenceMs = 20_000;

it("whatever is sent to the page ends nothing, is no defect, and everybody else is served", async ({
  stage,
}) => {
  process.stdout.write(`page fuzz: FUZZ_SEED=${seed}, ${seconds} s\n`);
  const { program, broker, port } = await running(stage);
  const regular = await regularClient(`mqtt://127.0.0.1:${broker}`, 5);
  const cookies = await Promise.all(users.map((name) => login(port, name)));
  const page = await openPage(port, cookies[0] ?? "");
  const before = program.stderr.length;
  const startedAt = performance.now();
  const isFine = () => !program.hasEnded && regular.complaints.length === 0 && page.complaints.length === 0;
  const answers = new Map<string, number>();
  const state = { next: from, isOver: false as boolean };
  const playing = Array.from({ length: atOnce }, async () => {
    while (performance.now() - startedAt < seconds * 1_000 && isFine() && state.next < from + most) {
      const chance = chanceFor(seed, state.next++);
      const answer = await chance.from([anyBytes, anyBytes, brokenFrames, anyJson])(
        port,
        chance,
        chance.from(cookies),
      );
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  });
  const memory = watchMemory(program, stage.folder, seconds, () => !state.isOver && isFine());
  await Promise.all(playing);
  state.isOver = true;
  await memory.over;
  const lastOnes = `last connections: FUZZ_SEED=${seed} FUZZ_FROM=${Math.max(from, state.next - 200)} FUZZ_CASES=200`;
  await page.close();
  await regular.stop();
  const errors = errorsIn(program.stderr.slice(before));
  const growth = growthOf(memory.heap);
  await tellFigures("page-fuzz", seconds < fullSeconds, {
    seed,
    seconds,
    connections: state.next - from,
    "process exits": program.hasEnded ? 1 : 0,
    "errors logged": errors.length,
    "messages on the open page": page.received,
    "MQTT requests answered": regular.served,
    "slowest MQTT answer, ms": Math.round(regular.slowestMs),
    "RSS at the end, MB": rounded(memory.rss.at(-1)?.y ?? 0, 0),
    "heap at the end, MB": rounded(memory.heap.at(-1)?.y ?? 0, 0),
    "heap slope, MB/min": rounded(growth.value),
    answers: [...answers]
      .sort(([, one], [, other]) => other - one)
      .map((pair) => pair.join(" x "))
      .join(", "),
  });
  expect(program.hasEnded, `${lastOnes}\n${program.stderr.slice(-2_000)}`).toBe(false);
  expect(errors, lastOnes).toEqual([]);
  expect([...page.complaints, ...regular.complaints], lastOnes).toEqual([]);
  expect(regular.served).toBeGreaterThan(0);
  // A valid login, a known route and a sound upgrade are among what was sent, so the inner parts were reached.
  for (const status of ["101", "200", "400", "404"]) expect(answers.get(status), status).toBeGreaterThan(0);
  if (seconds >= fullSeconds) expect(growth.value).toBeLessThan(1.5);
  expect(memory.heap.at(-1)?.y).toBeLessThan(100);
  expect(await program.end("SIGTERM"), "it ends in order").toMatchObject({ code: 0 });
});

async function running(stage: Stage) {
  const platform = await stage.platform({ controllers: 3, speed: 20 });
  const broker = await freePort();
  const port = await freePort();
  const printed = /^platform:[\s\S]*/m.exec(platform.program.stdout)?.[0] ?? "";
  const configuration = [
    printed.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `broker: { port: ${broker} }`,
    `http: { port: ${port}, users: [${users.map((name) => `{ username: ${name}, password: operator-${name}, role: operator }`).join(", ")}] }`,
    "polling: { controllers: 5m, sensors: 2s, running_status: 5s, actuators: 2s }",
    "log: { level: error, format: json }",
    "",
  ].join("\n");
  await stage.write("config.yaml", configuration);
  const program = stage.program(["run"], { env: probeEnvironment(stage.folder) });
  await expect.poll(() => isReady(program, port), { timeout: 60_000 }).toBe(true);
  return { program, broker, port };
}

async function isReady(program: Program, port: number): Promise<boolean> {
  if (program.hasEnded) throw new Error(program.stderr);
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function login(port: number, username: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username, password: `operator-${username}` }),
  });
  const [cookie = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
  expect(cookie).not.toBe("");
  return cookie;
}

/** A page as somebody has it open. */
async function openPage(port: number, cookie: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/live`, { headers: { cookie } });
  const complaints: string[] = [];
  const state = { received: 0, at: performance.now(), closes: false };
  socket.on("message", () => {
    state.received += 1;
    const silent = performance.now() - state.at;
    if (silent > longestSilenceMs)
      complaints.push(`the open page heard nothing for ${Math.round(silent)} ms`);
    state.at = performance.now();
  });
  socket.on("error", (error) => complaints.push(`the open page: ${error.message}`));
  socket.on("close", (code) => {
    if (!state.closes) complaints.push(`the open page was closed with ${code}`);
  });
  await once(socket, "open");
  socket.send(JSON.stringify({ subscribe: ["overview", "controller/gh-0001"] }));
  return {
    complaints,
    get received() {
      return state.received;
    },
    close: async () => {
      state.closes = true;
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close();
      await once(socket, "close");
    },
  };
}

/** Sends and waits for an answer, an end, or nothing for a while; the status that was answered. */
function spoken(port: number, chance: Chance, first: Buffer, then: readonly Buffer[] = []): Promise<string> {
  // Each from an address of its own, or they would soon all be told to ask less often.
  const localAddress = `127.${1 + chance.upTo(250)}.${chance.upTo(250)}.${1 + chance.upTo(250)}`;
  const socket = net.connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
  return new Promise((resolve) => {
    let status = "no answer";
    const over = () => {
      socket.destroy();
      resolve(status);
    };
    socket.on("error", over).on("close", over).setTimeout(answerWithinMs, over);
    socket.once("connect", () => socket.write(first));
    socket.once("data", (data) => {
      status = /^HTTP\/1.1 (\d+)/.exec(data.toString("latin1"))?.[1] ?? "no HTTP";
      for (const piece of then) if (socket.writable) socket.write(piece);
      if (then.length === 0) over();
    });
  });
}

function anyBytes(port: number, chance: Chance): Promise<string> {
  const [text = ""] = fc.sample(anyRequest, { numRuns: 1, seed: chance.upTo(2 ** 31) });
  return spoken(port, chance, Buffer.from(text, "latin1"));
}

const frameTexts = [
  '{"subscribe":["overview","controller/gh-0001","journal","alarms","groups","log"]}',
  '{"subscribe":["controller/__proto__","controller/","constructor",""]}',
  '{"subscribe":[1]}',
  "[]",
  "{",
  "",
];

/** A live connection of the user, on which any frame is sent. */
function brokenFrames(port: number, chance: Chance, cookie: string): Promise<string> {
  const upgrade = [
    "GET /api/live HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Cookie: ${cookie}`,
  ].join("\r\n");
  const piece = () =>
    Buffer.from(chance.oneIn(3) ? chance.bytes(chance.upTo(200)) : Buffer.from(chance.from(frameTexts)));
  const frames = Array.from({ length: 1 + chance.upTo(5) }, () => frame(piece(), chance.oneIn(2), chance));
  return spoken(port, chance, Buffer.from(`${upgrade}\r\n\r\n`), frames);
}

/** Those that would end what is needed for the rest. */
const left = new Set(["/api/logout"]);
const paths = Object.keys(apiRoutes).filter((path) => !left.has(path));
const ids = [
  "gh-0001",
  "GH-0001",
  "__proto__",
  "constructor",
  "health",
  "lock",
  "read",
  "release",
  "%00",
  "%E4",
  "a/b",
  "",
];
const words = fc.constantFrom(
  "gh-0001",
  "left_skylight",
  "open",
  "45",
  "anna",
  "__proto__",
  "constructor",
  "",
);
const document = fc.dictionary(
  fc.constantFrom(
    "controller",
    "actuator",
    "command",
    "id",
    "for",
    "hold",
    "by",
    "transaction",
    "username",
    "password",
    "speed",
    "x",
  ),
  fc.oneof(words, fc.jsonValue()),
);

/** A request with a known path of the API, and any JSON where a document is expected. */
async function anyJson(port: number, chance: Chance, cookie: string): Promise<string> {
  const [body] = fc.sample(fc.oneof(document, fc.jsonValue()), { numRuns: 1, seed: chance.upTo(2 ** 31) });
  const path = chance.from(paths);
  const target = path.endsWith("/") ? `${path}${chance.from(ids)}` : path;
  const text = Buffer.from(JSON.stringify(body));
  const isPost = chance.oneIn(2);
  const head = [
    `${isPost ? "POST" : "GET"} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Cookie: ${cookie}`,
    "Connection: close",
    ...(isPost ? ["Content-Type: application/json", `Content-Length: ${text.length}`] : []),
  ].join("\r\n");
  return spoken(
    port,
    chance,
    Buffer.concat([Buffer.from(`${head}\r\n\r\n`), isPost ? text : Buffer.alloc(0)]),
  );
}
