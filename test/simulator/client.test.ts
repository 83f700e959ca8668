import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { createPlatform } from "../../src/platform/client.js";
import type { ShapeSettings } from "../../src/platform/settings.js";
import { systemClock } from "../../src/runtime/clock.js";
import { plainProfileNames, type ProfileName, profiles } from "../../src/simulator/dialects.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { running } from "./running.js";

const code = "GH-0001";
const signal = AbortSignal.timeout(60_000);

/** The bridge's client, signed in at a simulator of this profile that checks credentials everywhere. */
async function connected(profile: ProfileName, shapes: ShapeSettings = {}) {
  const auth = { tokens: "known", checkRealtime: true, signIn: { account: "a", password: "p" } } as const;
  const simulator = await running({ profile, auth, controllers: 3, mix: "all" });
  const client = createPlatform(
    {
      business_url: simulator.businessUrl,
      realtime_url: simulator.realtimeUrl,
      sign_in: { body: { account: "a", password: "p" } },
      time_zone: "Asia/Shanghai",
      timeouts: { connect: 5000, read: 15_000, control: 30_000 },
      concurrency: 4,
      requests_per_minute: 0,
      shapes,
      push: { enabled: true, credential: "header", query_name: "token" },
    },
    {
      clock: systemClock,
      random: () => 0.5,
      log: pino({ level: "silent" }),
      dataDir: await tempFolder(),
      onLink: () => undefined,
    },
  );
  onTestFinished(() => client.close());
  return { simulator, client };
}

describe.each(plainProfileNames)("the bridge's client, told nothing about profile %s,", (profile) => {
  const gaps = profiles[profile].gaps === "none" ? 0 : 1;

  it("signs in and reads lists, sensors, statuses and registers; a command arrives", async () => {
    const { simulator, client } = await connected(profile);
    const controllers = await client.controllers(signal);
    expect(controllers.map((each) => each.code).slice(0, 3)).toEqual(["GH-0001", "FM-0002", "GH-0003"]);
    expect(controllers[0]).toMatchObject({ name: "1号日光温室", type: "C001", online: true });
    expect((await client.devices("TEXT", signal)).map((each) => each.type)).toContain("W001");
    expect(await client.stations(signal)).toEqual([{ id: "1", name: "寿光示范园" }]);
    expect(await client.connection(code, signal)).toMatchObject({ state: "online", version: "2" });
    const sensors = await client.sensors(code, signal);
    expect(sensors).toHaveLength(12);
    expect(sensors.filter((item) => item.value === null)).toHaveLength(gaps);
    for (const item of sensors) expect(systemClock.now() - (item.measuredAt ?? 0)).toBeLessThan(150_000);
    const statuses = await client.runningStatuses(code, signal);
    expect(statuses.map((status) => status.number)).toEqual([16, 17, 18, 19, 37, 49, 49]);
    expect(Number(await client.value(code, "101", true, signal))).toBe(10001);
    const group = await client.values(code, parameterGroup(212), signal);
    const own = [...group].filter(([address]) => address.length === 3);
    expect(own.map(([address, value]) => [address, Number(value)])).toEqual([
      ["501", 180],
      ["502", 250],
      ["503", 20],
    ]);
    expect(await client.write(code, "101", "10010", signal)).toMatchObject({ code: "200" });
    expect(simulator.control.trueState(code, "101").value).toBe("10010");
  });
});

describe("profile odd", () => {
  it("is read with the shapes of the configuration", async () => {
    const items = { items: "payload.points", name: "what", value: "now", unit: "scale", time: "dateTime" };
    const { client } = await connected("odd", {
      "sensor-data": { ...items, query: { deviceCode: "facility" } },
    });
    const [first, ...others] = await client.sensors(code, signal);
    expect(first).toMatchObject({ name: "空气温度", unit: "℃" });
    expect(others).toHaveLength(11);
  });

  it("is not read without", async () => {
    const { client } = await connected("odd");
    await expect(client.sensors(code, signal)).rejects.toThrow("facility");
  });
});
