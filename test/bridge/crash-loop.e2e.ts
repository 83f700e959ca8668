import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { journalDirectory } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import { brokerAndClient, platform } from "./support/bridge.js";
import type { Program } from "../end-to-end/support/program.js";
import { linesOf, says, startProcess } from "./support/program.js";

/** Where the token stands. */
type Credential = (folder: string) => Readonly<Record<string, string>>;
const inTheConfiguration: Credential = () => ({ token: "canary-token-77" });
const inAFile: Credential = (folder) => ({ token_file: join(folder, "token.txt") });

const quick = { settle: "100ms", confirm_within: "3s" };

/** A folder with a configuration, and a client that sees what the bridge says. */
async function scene(
  credential = inTheConfiguration,
  { actuators = {}, ...more }: Readonly<Record<string, object>> = {},
) {
  const folder = await tempFolder();
  const { url, seen, texts, say } = await brokerAndClient();
  const { businessUrl } = await platform();
  const configuration = {
    platform: { business_url: businessUrl, realtime_url: businessUrl, ...credential(folder) },
    mqtt: { url },
    http: false,
    ...more,
    controllers: {
      "GH-0001": { actuators: { fan: { kind: "circulation_fan", address: "150", ...quick }, ...actuators } },
    },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  await writeFile(join(folder, "token.txt"), "canary-token-77\n", { mode: 0o600 });
  const newest = (topic: string) => texts(`greenhouse/${topic}`).at(-1);
  /** Until the bridge of this process is online. */
  const online = async (one: Program) => {
    const from = seen.length;
    await until(() => seen.slice(from).some(({ topic }) => topic === "greenhouse/bridge/info"), "online", [
      one.stderr,
    ]);
  };
  const records = () =>
    newestRecords(journalDirectory(join(folder, "data")), { limit: Number.POSITIVE_INFINITY });
  return { folder, say, seen, texts, newest, online, records };
}

const uncaught = "process.on('SIGUSR2', () => { throw new Error('boom canary-token-77'); });";
const rejected = "process.on('SIGUSR2', () => { void Promise.reject(new Error('boom canary-token-77')); });";

describe("an error that nobody caught", () =>
  it.each([
    ["uncaught", uncaught, inTheConfiguration],
    ["rejected", rejected, inTheConfiguration],
    ["with a token that only the running bridge knows", uncaught, inAFile],
  ])(
    "%s: ends the process with code 1, is in the log, on disk, and in the journal of the next start, without the token",
    async (_, before, credential) => {
      const { folder, newest, online, records } = await scene(credential);
      const first = startProcess({ folder, before });
      await online(first);
      await until(() => newest("bridge/platform") === "online", "the token was used", [first.stderr]);
      first.signal("SIGUSR2");
      expect(await first.ended).toMatchObject({ code: 1, signal: null });
      const fatal = linesOf(first).find(({ level }) => level === 60);
      expect(fatal?.["msg"]).toContain("an error that nobody caught");
      expect(JSON.stringify(fatal)).toContain("boom");
      const left = await readFile(join(folder, "data", "last-error.json"), "utf8");
      expect(left).toContain("boom");
      expect(left + first.stderr).not.toContain("canary-token");
      const second = startProcess({ folder });
      await online(second);
      const noted = (await records()).find((record) => record.type === "event");
      expect(noted).toMatchObject({ event: "uncaught_error", severity: "error" });
      expect(JSON.stringify(noted)).toContain("boom");
      await expect(readFile(join(folder, "data", "last-error.json"))).rejects.toThrow("ENOENT");
      second.signal("SIGTERM");
      expect(await second.ended).toMatchObject({ code: 0, signal: null });
    },
    60_000,
  ));

describe("a crash loop", () =>
  it("starts read-only after five runs that ended badly, says so, and is over after a clean stop", async () => {
    const { folder, say, seen, newest, online } = await scene();
    for (let life = 0; life < 5; life += 1) {
      const crashing = startProcess({ folder });
      await online(crashing);
      expect(says(crashing, "read-only")).toBe(false);
      crashing.signal("SIGKILL");
      await crashing.ended;
    }
    const careful = startProcess({ folder });
    await online(careful);
    await until(() => newest("bridge/health")?.includes('"read_only":true') ?? false, "said in health");
    expect(says(careful, "this one is read-only")).toBe(true);
    await until(
      () => newest("bridge/info")?.includes('"read_only_because":"crash_loop"') ?? false,
      "said in info",
    );
    expect(JSON.parse(newest("bridge/info") ?? "{}")).toMatchObject({
      read_only_because: "crash_loop",
      settings: { commands: { read_only: true } },
    });
    expect(JSON.parse(newest("bridge/health") ?? "{}")).toMatchObject({ read_only_because: "crash_loop" });
    await say("greenhouse/gh-0001/actuator/fan/set", "on");
    await until(() => seen.some(({ topic }) => topic.endsWith("/fan/result")), "answered");
    expect(JSON.parse(newest("gh-0001/actuator/fan/result") ?? "{}")).toMatchObject({
      outcome: "refused",
      reason: "read_only",
    });
    careful.signal("SIGTERM");
    expect(await careful.ended).toMatchObject({ code: 0, signal: null });
    const usual = startProcess({ folder });
    await online(usual);
    expect(says(usual, "read-only")).toBe(false);
    await until(() => newest("bridge/info")?.includes('"read_only_because":null') ?? false, "said in info");
    expect(JSON.parse(newest("bridge/info") ?? "{}")).toMatchObject({
      read_only_because: null,
      settings: { commands: { read_only: false } },
    });
  }, 120_000));

/** Past the deadline of the lease that the first life begins. */
const leaseS = 45;

it("a lease of an earlier run ends by itself in a run that is read-only after a crash loop, and a guard acts", async () => {
  const { folder, say, seen, texts, newest, online } = await scene(inTheConfiguration, {
    weather: { wind: { topic: "weather/wind", field: "speed", stale_after: "60s" } },
    actuators: {
      roof: {
        ...{ kind: "skylight", address: "101", ...quick, travel_time: "200ms" },
        limits: {
          guards: {
            wind: { sensor: "weather/wind", above: 12, clear_at: 9, allow: ["close"], then: "close" },
          },
        },
      },
    },
  });
  const result = (actuator: string) =>
    JSON.parse(newest(`gh-0001/actuator/${actuator}/result`) ?? "{}") as Record<string, unknown>;
  for (let life = 0; life < 5; life += 1) {
    const crashing = startProcess({ folder, before: uncaught });
    await online(crashing);
    if (life === 0) {
      await say("weather/wind", '{"speed": 3}');
      await say("greenhouse/gh-0001/actuator/roof/set", "open");
      await until(() => result("roof")["outcome"] === "confirmed", "opened");
      await say("greenhouse/gh-0001/actuator/fan/set", `{"command": "on", "for": "${leaseS}s"}`);
      await until(() => result("fan")["outcome"] === "confirmed", "switched on");
    }
    crashing.signal("SIGUSR2");
    expect(await crashing.ended).toMatchObject({ code: 1 });
  }
  const careful = startProcess({ folder });
  await online(careful);
  expect(says(careful, "this one is read-only")).toBe(true);
  await until(() => newest("alarm/crash_loop")?.includes('"active"') ?? false, "alarmed");
  expect(newest("alarm/crash_loop")).toMatch(/The last 5 runs \(version \d.*boom .*at process/);
  expect(newest("alarm/crash_loop")).not.toContain("canary-token");
  await say("greenhouse/gh-0001/actuator/roof/set", "20");
  await until(() => result("roof")["reason"] === "read_only", "refused");
  const from = seen.length;
  await say("weather/wind", '{"speed": 14}');
  await until(
    () =>
      seen.slice(from).some(({ text }) => text.includes('"by":"rule wind"') && text.includes('"confirmed"')),
    "the guard acted",
  );
  const ended = () =>
    texts("greenhouse/gh-0001/actuator/fan/result").find((text) => text.includes('"by":"lease '));
  await until(() => ended() !== undefined, "the lease ended");
  expect(JSON.parse(ended() ?? "{}")).toMatchObject({ command: "off", outcome: "confirmed" });
}, 180_000);
