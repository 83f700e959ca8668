import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { makeClient, never, settingsFor, folder } from "./support/client-under-test.js";
import { type AnswerName, answers, hostilePlatform } from "../canary/hostile-platform.js";
import { startRawHost } from "./support/raw-host.js";

const canary = "CANARY/tok+en=0123456789";
const password = "CANARY-password-987";

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
  it.each(Object.keys(answers) as AnswerName[])(
    "a server that echoes them as %s makes none appear",
    async (name) => showNothing((await hostilePlatform(name, false)).url),
  );

  it("an answer that is not HTTP and repeats the request makes none appear", async () =>
    showNothing((await startRawHost((socket, text) => socket.end(text))).url));

  it("a host that is not there makes none appear, in user names of URLs either", () =>
    showNothing(`http://user:${password}@127.0.0.1:1`));
});
