import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { startProcess } from "../bridge/support/program.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import type { SimulatorOptions } from "../../src/simulator/simulator.js";

const codes = Array.from({ length: 8 }, (_, n) => `GH-000${n + 1}`);
const accountOf = (code: string) => code.toLowerCase();

/** An account for each controller of one platform, all with one login; `start` starts the program. */
async function manyAccounts(options: SimulatorOptions = {}) {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  const client = await brokerAndClient();
  const simulator = await platform({ controllers: codes.length, ...options });
  const { businessUrl: business_url, realtimeUrl: realtime_url } = simulator;
  const write = (name: string, content: object) =>
    writeFile(join(folder, name), JSON.stringify(content), { mode: 0o600 });
  const fleet = (homeassistant: object) => ({
    platform: { requests_per_minute: 0 },
    defaults: {
      platform: { business_url, realtime_url, token: "simulator", requests_per_minute: 0 },
      mqtt: { url: client.url },
      polling: { controllers: "2s", sensors: "1s", running_status: "1h", actuators: "1h" },
      mirror: "listed",
      http: false,
      homeassistant,
    },
  });
  for (const code of codes) await write(`accounts/${accountOf(code)}.yaml`, { controllers: { [code]: {} } });
  const newest = (topic: string) => client.seen.findLast((one) => one.topic === topic)?.text;
  const start = async (homeassistant: object, shown = codes) => {
    await write("fleet.yaml", fleet(homeassistant));
    const program = startProcess({ folder, args: ["fleet"] });
    const shows = (topic: string, wanted: (text: string | undefined) => boolean) =>
      until(() => wanted(newest(topic)), topic, [program.stderr]);
    for (const code of shown)
      await shows(
        `greenhouse/${accountOf(code)}/${accountOf(code)}/availability`,
        (text) => (text ?? "") !== "",
      );
    const stop = async () => {
      program.signal("SIGTERM");
      await program.ended;
    };
    return { program, shows, stop };
  };
  return { ...client, newest, write, start };
}

describe("accounts at one host", () => {
  it("are read on while two of them are over their own quota", async () => {
    const quota = (controller: string) =>
      ({ fault: "throttle", operation: "sensor-data", controller, chance: 1, retry_after: 60_000 }) as const;
    const { seen, start } = await manyAccounts({ faults: [quota("GH-0001"), quota("GH-0002")] });
    const { stop } = await start({ enabled: false });
    const readOf = (code: string) =>
      seen.filter(({ topic }) => topic.startsWith(`greenhouse/${accountOf(code)}/${accountOf(code)}/sensor/`))
        .length;
    const others = codes.slice(2, 5);
    // Each has been read, and so has each that is refused been asked.
    for (const code of others) await until(() => readOf(code) > 0, `readings of ${code}`);
    for (let round = 0; round < 3; round += 1) {
      const before = others.map(readOf);
      for (const [at, code] of others.entries())
        await until(() => readOf(code) > (before[at] ?? 0), `newer readings of ${code}`);
    }
    expect(codes.slice(0, 2).map(readOf)).toEqual([0, 0]);
    await stop();
  });
});

describe("the announcements of many accounts at one broker", () => {
  const announcement = (code: string) => `homeassistant/device/greenhouse2mqtt_${code}/config`;

  it("are read by their own account alone, and taken back of what a later run does not have", async () => {
    const { say, newest, write, start, json } = await manyAccounts();
    for (let n = 0; n < 300; n += 1) await say(`homeassistant/device/stranger_${n}/config`, "{}", true);
    const first = await start({ enabled: true });
    for (const code of codes) await first.shows(announcement(code), (text) => (text ?? "") !== "");
    await say("greenhouse/gh-0001/bridge/request/health", "{}");
    const answer = "greenhouse/gh-0001/bridge/response/health";
    await first.shows(answer, (text) => text !== undefined);
    const health = json(answer)[0] as { data: { broker: { received: number } } };
    expect(health.data.broker.received).toBeLessThan(100);
    await first.stop();
    await write("accounts/gh-0001.yaml", { controllers: { "GH-0001": { ignore: true } }, mirror: "all" });
    await write("accounts/gh-0002.yaml", {
      controllers: { "GH-0002": {} },
      homeassistant: { enabled: false },
    });
    const second = await start({ enabled: true }, codes.slice(2));
    for (const code of ["GH-0001", "GH-0002"]) await second.shows(announcement(code), (text) => text === "");
    expect(newest("homeassistant/device/stranger_7/config")).toBe("{}");
    expect(newest(announcement("GH-0003"))).not.toBe("");
    await second.stop();
  });
});
