import { describe, expect, it } from "vitest";
import { failureOf, hosted, never } from "./support/client-under-test.js";
import { ok } from "./support/fake-host.js";

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
