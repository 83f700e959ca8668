import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { type AnswerName, answers, hostilePlatform } from "../canary/hostile-platform.js";
import { failureOf, folder, hosted, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { ok, startRawHost } from "./support/hosts.js";

const clientWith = (data: unknown) => hosted(() => ok(data));

describe("what cannot be read", () => {
  it("is counted, logged once per shape, and shown by names only", async () => {
    const good = { name: "空气温度", value: 1 };
    const { client, lines } = await clientWith([good, { mystery: "secret-1" }, { mystery: "secret-2" }]);
    for (let n = 0; n < 10; n += 1) expect(await client.sensors("GH-1", never)).toHaveLength(1);
    const problem = "an item without the fields it needs";
    const report = { operation: "sensor-data", problem, sample: ["mystery"], count: 20 };
    expect(client.shapeReports()).toMatchObject([report]);
    expect(lines).toHaveLength(1);
    expect(lines.join("")).toContain("platform.shapes.sensor-data");
    expect(lines.join("") + JSON.stringify(client.shapeReports())).not.toContain("secret");
  });

  it("stays bounded, whatever the platform invents", async () => {
    let n = 0;
    const { client, lines } = await hosted(() =>
      ok(Array.from({ length: 50 }, () => ({ [`x${(n += 1)}`.repeat(30)]: 1 }))),
    );
    for (let round = 0; round < 10; round += 1) await client.runningStatuses("GH-1", never);
    expect(client.shapeReports()).toHaveLength(200);
    expect(lines).toHaveLength(201);
    const names = client.shapeReports().flatMap(({ sample }) => sample);
    expect(Math.max(...names.map((name) => name.length))).toBe(41);
  });

  it("of an answer that is all wrong the first ones are looked at, and what can be read is read", async () => {
    const wrong = Array.from({ length: 5_000 }, () => ({ mystery: "x" }));
    const { client } = await clientWith([...wrong, { name: "空气温度", value: 1 }]);
    expect(await client.sensors("GH-1", never)).toHaveLength(1);
    expect(client.shapeReports()).toMatchObject([{ count: 100 }]);
  });

  it("an answer that is unreadable as a whole is an error that names the setting, and no failure of the host", async () => {
    const { client } = await clientWith("ok");
    const error = await failureOf(client.controllers(never));
    expect(error.facts).toMatchObject({ kind: "protocol", operation: "GET /api/control/mqtt" });
    expect(error.message).toContain("platform.shapes.control/mqtt.items");
    expect(client.link("business")).toMatchObject({ failures: 0 });
  });
});

describe("get", () => {
  it("hands back no names that could change a prototype", async () => {
    const { client } = await hosted(() => ({
      body: '{"code":200,"__proto__":{"polluted":1},"data":[{"a":1,"constructor":{"prototype":{"polluted":1}}}]}',
    }));
    const answer = await client.get("video-data/list", {}, never);
    expect(JSON.stringify(answer)).toBe('{"code":200,"data":[{"a":1}]}');
  });
});

const canary = "CANARY/tok+en=0123456789";
const password = "CANARY-password-987";

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
  for (const credential of [
    { token: canary },
    { sign_in: { body: { account: "grower", password, token: canary } } },
  ])
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
