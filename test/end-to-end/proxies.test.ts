import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { freePort, ownProcess } from "../support/mosquitto.js";
import { configurationFor, createStage, type Stage } from "./support/stage.js";

/*
 * The page behind a real nginx and a real Caddy: with the examples of docs/page.md, at the root and below a path, everything works;
 * with a proxy as it comes, the answer names the header that it leaves out.
 */

const guide = readFileSync(new URL("../../docs/page.md", import.meta.url), "utf8");
const chinese = readFileSync(new URL("../../docs/zh/page.md", import.meta.url), "utf8");
const examplesOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map(([, code = ""]) => code);

const name = "greenhouse.example.com";

let stage: Stage;
let page: number;
beforeAll(async () => {
  stage = await createStage();
  const platform = await stage.platform({ controllers: 1 });
  page = await freePort();
  const bridge = await stage.bridge(
    configurationFor(
      platform.url,
      { broker: { port: await freePort() } },
      {
        http: {
          port: page,
          allowed_hosts: [name],
          users: [{ username: "anna", password: "operator-anna-1", role: "operator" }],
        },
      },
    ),
  );
  const lives = () =>
    fetch(`http://127.0.0.1:${page}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await vi.waitUntil(lives, { timeout: 40_000, interval: 200 });
  expect(bridge.hasEnded).toBe(false);
}, 90_000);
afterAll(() => stage.clear());

interface Kind {
  readonly command: string;
  readonly version: readonly string[];
  /** The text of a configuration, with the ports of this test in the place of the usual ones. */
  readonly file: (example: string, port: number) => string;
  readonly start: (file: string) => readonly string[];
}

const ours = (example: string): string => example.replaceAll("127.0.0.1:8099", `127.0.0.1:${page}`);

const nginx: Kind = {
  command: "nginx",
  version: ["-v"],
  file: (example, port) => {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (one) => `${one}_temp_path ${stage.folder}/${one};`,
    );
    // Without TLS, which changes nothing of what is passed on.
    const plain = ours(example)
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
      .replace(/^ *ssl_.*\n/gm, "");
    return `daemon off; master_process off; pid ${stage.folder}/nginx-${port}.pid; error_log stderr notice; events {}\nhttp { access_log off; ${temporary.join(" ")}\n${plain}\n}\n`;
  },
  start: (file) => ["-c", file],
};

const caddy: Kind = {
  command: "caddy",
  version: ["version"],
  file: (example, port) =>
    `{\n  admin off\n  auto_https off\n}\n${ours(example).replace(name, `http://${name}:${port}, http://127.0.0.1:${port}`)}`,
  start: (file) => ["run", "--adapter", "caddyfile", "--config", file],
};

function isThere({ command, version }: Kind): boolean {
  const found = spawnSync(command, version).status === 0;
  if (!found) console.log(`NOT RUN: the page behind ${command}, which is not installed here`);
  return found;
}

/** Starts it with this configuration, until the end of the test's `work`. */
async function behind(kind: Kind, example: string, work: (port: number) => Promise<void>): Promise<void> {
  const port = await freePort();
  const file = await stage.write(`${kind.command}-${port}.conf`, kind.file(example, port));
  // What it would keep of its own goes with the rest.
  const homes = ["XDG_CONFIG_HOME", "XDG_DATA_HOME"].map((one) => `${one}=${stage.folder}`);
  const started = /event method|serving initial configuration/;
  const proxy = await ownProcess("env", [...homes, kind.command, ...kind.start(file)], started);
  try {
    await expect
      .poll(
        () =>
          asked(port, "/livez").then(
            ({ status }) => status > 0,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    await work(port);
  } finally {
    await proxy.quit();
  }
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** As a browser asks that has opened the page under its name. */
function asked(port: number, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const origin =
    body === undefined ? {} : { origin: `http://${name}:${port}`, "content-type": "application/json" };
  const options = { port, path, method: body === undefined ? "GET" : "POST" };
  return new Promise<Answered>((resolve, reject) => {
    const call = request(
      { host: "127.0.0.1", ...options, headers: { host: `${name}:${port}`, ...origin, ...headers } },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
        );
      },
    );
    call.on("error", reject).end(body && JSON.stringify(body));
  });
}

/** What a live view first brings, or the answer to the upgrade. */
function live(port: number, path: string, cookie = ""): Promise<string> {
  const origin = `http://${name}:${port}`;
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { host: `${name}:${port}`, cookie },
    origin,
  });
  return new Promise((resolve) => {
    socket.on("open", () => socket.send(JSON.stringify({ subscribe: ["bridge"] })));
    socket.on("message", (data) => {
      resolve((data as Buffer).toString());
      socket.terminate();
    });
    socket.on("unexpected-response", (_, answer) => {
      let text = `${answer.statusCode ?? 0} `;
      answer.setEncoding("utf8").on("data", (part: string) => (text += part));
      answer.on("end", () => resolve(text));
    });
    socket.on("error", (error) => resolve(String(error)));
  });
}

const login = { username: "anna", password: "operator-anna-1" };

/** Page, login, data, live values and a command's refusal, as anybody uses them. */
async function everythingWorks(port: number, path: string): Promise<void> {
  const front = await asked(port, path);
  expect(front).toMatchObject({
    status: 200,
    body: expect.stringContaining("<title>Greenhouse</title>") as string,
  });
  const [, script = ""] = /src="\.\/([^"]+\.js)"/.exec(front.body) ?? [];
  expect((await asked(port, `${path}${script}`)).status).toBe(200);
  const { status, headers } = await asked(port, `${path}api/login`, login);
  expect(status).toBe(204);
  const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
  expect((await asked(port, `${path}api/overview`, undefined, { cookie })).status).toBe(200);
  expect(await live(port, `${path}api/live`, cookie)).toMatch(/^\{"view":"bridge","kind":"snapshot"/);
  const noSuch = { controller: "none", actuator: "none", command: "on" };
  expect((await asked(port, `${path}api/commands`, noSuch, { cookie })).status).toBe(409);
}

const [whole = "", inner = ""] = examplesOf(guide, "nginx");
/** The second example is the head of a place; the other lines stay as they are. */
const below = whole.replace(/ {2}location \/ \{\n.*\n/, inner);
const asItComes = (location: string) => `server { listen 443 ssl; location ${location} }`;

describe.runIf(isThere(nginx))("behind nginx", () => {
  it("with the example of the documentation everything works", () =>
    behind(nginx, whole, (port) => everythingWorks(port, "/")));

  it("below a path too", () => {
    expect(below).toContain("location /greenhouse/ {");
    return behind(nginx, below, (port) => everythingWorks(port, "/greenhouse/"));
  });

  it("as it comes, without Host, a login and an upgrade are told which header is missing", () =>
    behind(nginx, asItComes("/ { proxy_pass http://127.0.0.1:8099; }"), async (port) => {
      const refused = await asked(port, "/api/login", login);
      expect(refused).toMatchObject({
        status: 403,
        body: expect.stringContaining("foreign_origin") as string,
      });
      expect(refused.body).toMatch(/pass on the header Host .*proxy_set_header Host \$http_host/);
      // Without Upgrade nothing of an upgrade comes here, and what comes names no page.
      expect(await live(port, "/api/live")).toMatch(/^403 .*header Host/);
      expect(await asked(port, "/api/live")).toMatchObject({ status: 426 });
    }));

  it("with Host alone, the upgrade is told which headers are missing", () =>
    behind(
      nginx,
      asItComes("/ { proxy_pass http://127.0.0.1:8099; proxy_set_header Host $http_host; }"),
      async (port) => {
        expect((await asked(port, "/api/login", login)).status).toBe(204);
        expect(await live(port, "/api/live")).toMatch(/^426 .*headers Upgrade and Connection/);
      },
    ));

  it("under a name that is not allowed, the name and the key are told", () =>
    behind(nginx, whole, async (port) => {
      const other = await asked(port, "/", undefined, { host: `other.example.com:${port}` });
      expect(other).toMatchObject({
        status: 421,
        body: expect.stringContaining("http.allowed_hosts") as string,
      });
      expect(other.body).toContain("other.example.com");
    }));
});

describe.runIf(isThere(caddy))("behind Caddy", () => {
  const [root = "", path = ""] = examplesOf(guide, "caddy");
  it("with the example of the documentation everything works", () =>
    behind(caddy, root, (port) => everythingWorks(port, "/")));
  it("below a path too", () => behind(caddy, path, (port) => everythingWorks(port, "/greenhouse/")));
});

it("the Chinese page shows the same examples", () => {
  for (const language of ["nginx", "caddy"])
    expect(examplesOf(chinese, language)).toEqual(examplesOf(guide, language));
});
