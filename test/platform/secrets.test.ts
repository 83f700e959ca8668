import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { makeClient, never, settingsFor, folder } from "./support/client-under-test.js";
import { type Answerer, type SeenRequest, startFakeHost } from "./support/fake-host.js";
import { startRawHost } from "./support/raw-host.js";

const canary = "CANARY/tok+en=0123456789";
const password = "CANARY-password-987";

/** Answers with what is made of the credential it was sent, as careless servers do. */
const echo =
  (body: (bearer: string, request: SeenRequest) => unknown, status = 200): Answerer =>
  (request) => ({ status, body: body(request.headers.authorization ?? "", request) });

const echoes: readonly (readonly [string, Answerer])[] = [
  ["body code and message", echo((bearer) => ({ code: bearer, message: `bad ${bearer}` }))],
  ["401 with the token", echo((bearer) => ({ error: bearer, message: bearer }), 401)],
  ["403 naming the token", echo((message) => ({ code: 403, message: { code: "X", message } }), 403)],
  ["requestId", echo((requestId) => ({ code: 500, message: "x", requestId }))],
  ["an encoded token", echo((bearer) => ({ code: 500, message: encodeURIComponent(bearer) }))],
  [
    "a redirect",
    ({ headers }) => ({
      status: 302,
      headers: { location: `https://evil.example/?t=${encodeURIComponent(headers.authorization ?? "")}` },
    }),
  ],
  ["a web page", echo((bearer) => `<html>${bearer}</html>`)],
  ["broken JSON", echo((bearer) => `{"token":"${bearer}`)],
  ["a long message that ends in it", echo((bearer) => ({ code: 500, message: "x".repeat(290) + bearer }))],
  ["an unreadable shape", echo((secret) => ({ code: 200, data: [{ secret }] }))],
  ["a scalar", echo((data) => ({ code: 200, data }))],
  ["the sign-in's body", echo((_, { body }) => ({ code: 400, message: `wrong: ${body}` }), 400)],
  ["a cut connection", (_request, response) => (response.socket?.destroy(), null)],
  [
    "an encoding nobody knows",
    ({ headers }) => ({ headers: { "content-encoding": `x-${headers.authorization ?? ""}` }, body: "x" }),
  ],
];

async function credentials(): Promise<readonly Partial<PlatformSettings>[]> {
  const path = join(await folder(), "token");
  await writeFile(path, canary);
  return [
    { token: canary },
    { token_file: path },
    { sign_in: { body: { account: "grower", password, token: canary } } },
  ];
}

/** Everything a failing client shows: errors with causes, log lines, link facts, shape reports. */
async function shownBy(url: string, credential: Partial<PlatformSettings>): Promise<string> {
  const settings = settingsFor(url, credential);
  const { client, lines, links } = makeClient(settings, { dataDir: await folder() });
  const ends = await Promise.allSettled([
    client.controllers(never),
    client.sensors("GH-1", never),
    client.value("GH-1", "101", true, never),
    client.write("GH-1", "101", "1010", never),
    client.get("weather-data/list", { deviceCode: "GH-1" }, never).then(() => null),
  ]);
  const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  for (const error of errors) expect(error).toBeInstanceOf(PlatformError);
  const shown = [errors, links, client.shapeReports(), client.counters()];
  const stacks = errors.map((error) => (error instanceof Error ? error.stack : ""));
  return [inspect(shown, { depth: 12, showHidden: true }), ...lines, ...stacks].join("\n");
}

async function showNothing(url: string): Promise<void> {
  for (const credential of await credentials())
    expect(await shownBy(url, credential)).not.toContain("CANARY");
}

describe("secrets", () => {
  it.each(echoes)("a server that echoes them in %s makes none appear", async (_name, answerer) =>
    showNothing((await startFakeHost(answerer)).url),
  );

  it("an answer that is not HTTP and repeats the request makes none appear", async () =>
    showNothing((await startRawHost((socket, text) => socket.end(text))).url));

  it("a host that is not there makes none appear, in user names of URLs either", () =>
    showNothing(`http://user:${password}@127.0.0.1:1`));
});
