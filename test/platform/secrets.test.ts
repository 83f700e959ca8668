import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { makeClient, never, settingsFor, Workshop } from "./support/client-under-test.js";
import { type Answerer, type SeenRequest, startFakeHost } from "./support/fake-host.js";
import { startRawHost } from "./support/raw-host.js";

const workshop = new Workshop();
afterEach(() => workshop.close());

const canary = "CANARY/tok+en=0123456789";
const password = "CANARY-password-987";

const bearer = ({ headers }: SeenRequest) => headers.authorization ?? "";

/** Answers that echo what they were sent, as careless servers do. */
const echoes: readonly (readonly [string, Answerer])[] = [
  [
    "body code and message",
    (request) => ({ body: { code: bearer(request), message: `bad ${bearer(request)}` } }),
  ],
  [
    "401 with the token",
    (request) => ({ status: 401, body: { error: bearer(request), message: bearer(request) } }),
  ],
  [
    "403 naming the token",
    (request) => ({ status: 403, body: { code: 403, message: { code: "X", message: bearer(request) } } }),
  ],
  ["requestId", (request) => ({ body: { code: 500, message: "x", requestId: bearer(request) } })],
  ["an encoded token", (request) => ({ body: { code: 500, message: encodeURIComponent(bearer(request)) } })],
  [
    "a redirect",
    (request) => ({
      status: 302,
      headers: { location: `https://evil.example/?t=${encodeURIComponent(bearer(request))}` },
    }),
  ],
  ["a web page", (request) => ({ body: `<html>${bearer(request)}</html>` })],
  ["broken JSON", (request) => ({ body: `{"token":"${bearer(request)}` })],
  [
    "a long message that ends in it",
    (request) => ({ body: { code: 500, message: "x".repeat(290) + bearer(request) } }),
  ],
  ["an unreadable shape", (request) => ({ body: { code: 200, data: [{ secret: bearer(request) }] } })],
  ["a scalar", (request) => ({ body: { code: 200, data: bearer(request) } })],
  [
    "the sign-in's body",
    (request) => ({ status: 400, body: { code: 400, message: `wrong: ${request.body}` } }),
  ],
  ["a cut connection", (_request, response) => (response.socket?.destroy(), null)],
  [
    "an encoding nobody knows",
    (request) => ({ headers: { "content-encoding": `x-${bearer(request)}` }, body: "x" }),
  ],
];

async function credentials(): Promise<readonly Partial<PlatformSettings>[]> {
  const path = join(await workshop.folder(), "token");
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
  const { client, lines, links } = makeClient(workshop, settings, { dataDir: await workshop.folder() });
  const ends = await Promise.allSettled([
    client.controllers(never),
    client.sensors("GH-1", never),
    client.value("GH-1", "101", true, never),
    client.write("GH-1", "101", "1010", never),
    client.get("weather-data/list", { deviceCode: "GH-1" }, never).then(() => null),
  ]);
  const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  for (const error of errors) expect(error).toBeInstanceOf(PlatformError);
  const shown = inspect([errors, links, client.shapeReports(), client.counters()], {
    depth: 12,
    showHidden: true,
  });
  return (
    shown + lines.join("\n") + errors.map((error) => (error instanceof Error ? error.stack : "")).join("\n")
  );
}

describe("secrets", () => {
  it.each(echoes)("a server that echoes them in %s makes none appear", async (_name, answerer) => {
    const host = workshop.keep(await startFakeHost(answerer));
    for (const credential of await credentials()) {
      const shown = await shownBy(host.url, credential);
      expect(shown).not.toContain("CANARY");
    }
  });

  it("an answer that is not HTTP and repeats the request makes none appear", async () => {
    const host = workshop.keep(await startRawHost((socket, text) => socket.end(text)));
    for (const credential of await credentials())
      expect(await shownBy(host.url, credential)).not.toContain("CANARY");
  });

  it("a host that is not there makes none appear, in user names of URLs either", async () => {
    const url = `http://user:${password}@127.0.0.1:1`;
    for (const credential of await credentials())
      expect(await shownBy(url, credential)).not.toContain("CANARY");
  });
});
