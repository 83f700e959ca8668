import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReadingName } from "../../src/simulator/readings.js";
import { houseOf, type Result } from "./support/house.js";
import { whileRuns } from "./support/program.js";
import { configurationFor, createStage, mosquittoSection, type Configuration } from "./support/stage.js";
import { ask, until } from "./support/watch.js";

/*
 * Further readings of the interface, each seen from outside: what is told without its setting, and what holds with it. One greenhouse is
 * without the settings of actuators, another one with them; the others hold for all of the account.
 */

const still = { settle: "100ms", confirm_within: "12s" };
const quick = { ...still, travel_time: "1s" };

const plain: Readonly<Record<string, Configuration>> = {
  left_skylight: { kind: "skylight", address: "101", type_id: 2, ...quick },
  louvre: { kind: "positioner", address: "108", position_address: "109", ...quick },
  vent_motor: {
    kind: "motor",
    address: "300",
    values: { open: "00000001", close: "00000010" },
    ...quick,
    settle: "1s",
  },
  co2: { kind: "co2_supply", address: "310", ...still },
  mist: { kind: "mist_cooling", address: "330", ...still },
};

type Settings = Readonly<Record<string, Configuration>>;

async function installed(
  readings: readonly ReadingName[],
  settings: Settings = {},
  {
    push = {},
    shapes = {},
    sensors = {},
    averages = false,
    ...more
  }: Configuration &
    Readonly<Partial<Record<"push" | "shapes" | "sensors", Configuration>>> & {
      readonly averages?: boolean;
    } = {},
) {
  const stage = await createStage();
  const platform = await stage.platform({ controllers: 3, speed: 20, readings });
  const broker = await stage.mosquitto();
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const configured = Object.fromEntries(
    Object.entries(plain).map(([id, own]) => [id, { ...own, ...settings[id] }]),
  );
  const base = configurationFor(platform.url, mosquittoSection(broker.url), {
    mirror: "listed",
    homeassistant: { enabled: false },
    polling: { controllers: "2s", sensors: "1s", running_status: "1h", actuators: "1h", stale_after: "3h" },
    commands: { min_interval: "0s" },
    controllers: { "GH-0001": { actuators: plain }, "GH-0003": { actuators: configured, sensors, averages } },
    ...more,
  });
  const bridge = await stage.bridge({
    ...base,
    platform: { ...(base["platform"] as Configuration), push, shapes },
  });
  await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 60_000));
  const [without, having] = ["GH-0001", "GH-0003"].map((code) => houseOf(code, { platform, watch }));
  if (without === undefined || having === undefined) throw new Error("both are there");
  for (const house of [without, having])
    await watch.untilTrue(() => house.latest("left_skylight", "value") !== "", "a first read", 60_000);
  const printed = async (...args: string[]) => {
    const { stdout, stderr } = await stage.program(args).ended;
    return `${stdout}${stderr}`;
  };
  return { without, having, stage, platform, watch, printed };
}

type Installed = Awaited<ReturnType<typeof installed>>;
/** Waits for open channels, and for more frames than these; gives how many there were. */
async function heardOf({ watch }: Installed, than: number): Promise<number> {
  for (;;) {
    const { data } = await ask(watch, "health");
    const { open, frames } = (data as { platform: { push: { open: number; frames: number } } }).platform.push;
    if (open >= 2 && frames > than) return frames;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const told = (result: Result) => `${String(result["outcome"])} ${String(result["message"])}`;

let settings: Installed;
let pulsing: Installed;
let lagging: Installed;
let paced: Installed;
let unpaced: Installed;
beforeAll(async () => {
  [settings, pulsing, lagging, paced, unpaced] = await Promise.all([
    installed(
      ["mode_write_only", "mode_restarts", "twin_sensors"],
      { louvre: { mode_reads: "never" }, left_skylight: { mode_again: "when_needed" } },
      { sensors: { second: { from: "空气温度#2" } } },
    ),
    // What is pushed during a pulse would show the value itself, and confirm it.
    installed(["motors_pulse"], { vent_motor: { pulse: true } }, { push: { enabled: false } }),
    installed(["flush_orders"], { co2: { flush_lag: "5s" } }),
    installed(
      ["one_at_a_time", "channels_ask", "windows_asked"],
      {},
      {
        averages: true,
        shapes: {
          "weather-data/avg": {
            params: { deviceCode: "{deviceCode}", startTime: "{since}", endTime: "{until}" },
          },
        },
        commands: { min_interval: "0s", controller_interval: "3s" },
        push: { subscribe: { "/ws/set-value": "subscribe", "/ws/device-status": "subscribe" } },
      },
    ),
    installed(["one_at_a_time", "channels_ask", "windows_asked"], {}, { averages: true }),
  ]);
}, 200_000);
afterAll(() => Promise.all([settings, pulsing, lagging, paced, unpaced].map(({ stage }) => stage.clear())));

const rows: Readonly<Record<string, () => Promise<void>>> = {
  mode_write_only: async () => {
    const { without, having, platform, printed } = settings;
    expect(told(await without.command("louvre", "45"))).toMatch(/^refused .*set mode_reads: never/);
    expect(await having.command("louvre", "45")).toMatchObject({ outcome: "confirmed", read_back: "45" });
    expect(await platform.register("GH-0003", "109")).toBe("45");
    expect(having.latest("louvre", "position")).toBe("45");
    expect(await printed("doctor")).toMatch(
      /louvre \(108\) of GH-0001 gives no value.*set mode_reads: never/,
    );
  },
  motors_pulse: async () => {
    const { without, having, platform, printed } = pulsing;
    const result = await without.command("vent_motor", "open");
    expect(told(result)).toMatch(/^unconfirmed .*set pulse: true/);
    expect(told(result)).not.toContain("reads:");
    expect(await having.command("vent_motor", "open")).toMatchObject({
      outcome: "confirmed",
      proof: "pulse",
    });
    expect(JSON.parse(having.latest("vent_motor", "json"))).toMatchObject({
      state: "open",
      quality: "uncertain",
    });
    expect(await having.command("vent_motor", "stop")).toMatchObject({
      outcome: "confirmed",
      proof: "pulse",
    });
    expect((await platform.levels("GH-0003", "300"))[0]).toBeGreaterThan(0);
    expect(await printed("doctor")).toMatch(
      /vent_motor \(300\) of GH-0001 is idle \(00000000\).*set pulse: true/,
    );
  },
  mode_restarts: async () => {
    const { without, having, platform } = settings;
    for (const house of [without, having])
      for (const degree of ["60", "70"])
        expect(await house.command("left_skylight", degree)).toMatchObject({ outcome: "confirmed" });
    const modes = async (code: string) =>
      (await platform.posts()).filter(
        (post) => post.code === code && post.value === "10100" && post.address === "101",
      ).length;
    expect([await modes("GH-0001"), await modes("GH-0003")]).toEqual([2, 1]);
  },
  offline_queues: async () => {
    const { without, platform, watch } = settings;
    const there = { controller: "GH-0001", address: "330", count: 1 };
    await platform.fault({ fault: "late", ...there, delay: "16s" });
    await platform.fault({ fault: "body_code", operation: "set-value", when: "after", code: 500, ...there });
    const result = await without.command("mist", { command: "on", id: "late one" });
    expect(result).toMatchObject({ outcome: "rejected" });
    await watch.untilTrue(() => without.events("late_execution").length > 0, "it is carried out", 60_000);
    expect(without.events("late_execution")[0]).toMatchObject({ id: "late one", actuator: "mist", to: "on" });
    expect(without.events("changed_elsewhere").filter(({ actuator }) => actuator === "mist")).toEqual([]);
  },
  flush_orders: async () => {
    const { without, having, platform } = lagging;
    const before = await heardOf(lagging, -1);
    await platform.tell("move_by_hand", { controller: "GH-0001", address: "310", value: "1010" });
    // Pushed within a second; a fresh read still gives what was before.
    await heardOf(lagging, before);
    expect(await without.command("co2", "off")).toMatchObject({ outcome: "confirmed" });
    expect(await platform.register("GH-0001", "310")).toBe("1001");
    await platform.tell("move_by_hand", { controller: "GH-0003", address: "310", value: "1010" });
    expect(await having.command("co2", "off")).toMatchObject({ outcome: "confirmed" });
    expect(await platform.register("GH-0003", "310")).toBe("1001");
  },
  one_at_a_time: async () => {
    const both = ({ without }: Installed) =>
      Promise.all([without.command("co2", "on"), without.command("mist", "on")]);
    expect((await both(paced)).map(told)).toEqual(["confirmed null", "confirmed null"]);
    const [taken, refused] = (await both(unpaced)).map(told).sort();
    expect([taken, refused]).toEqual([
      "confirmed null",
      expect.stringMatching(/^rejected .*commands\.controller_interval/),
    ]);
  },
  channels_ask: async () => {
    const { having, platform, watch } = paced;
    await platform.tell("move_by_hand", { controller: "GH-0003", address: "310", value: "1010" });
    await watch.untilTrue(() => having.latest("co2", "state") === "on", "what was pushed is read", 30_000);
    await unpaced.platform.tell("move_by_hand", { controller: "GH-0003", address: "310", value: "1010" });
    await ask(unpaced.watch, "refresh");
    const { data } = await ask(unpaced.watch, "health");
    expect((data as { platform: { push: { frames: number } } }).platform.push.frames).toBe(0);
  },
  windows_asked: async () => {
    const line = async ({ printed }: Installed) =>
      /^(\w+) +shapes\.weather-data\/avg +(.*)$/m.exec(await printed("doctor"))?.slice(1);
    expect(await line(unpaced)).toEqual([
      "warning",
      expect.stringMatching(/startTime: "\{since\}", endTime: "\{until\}"/),
    ]);
    expect(await line(paced)).toEqual(["ok", expect.stringContaining("understood")]);
    const sensors = ({ watch }: Installed) => watch.current(/^greenhouse\/gh-0003\/sensor\/[^/]+$/).size;
    await paced.watch.untilTrue(() => sensors(paced) > sensors(unpaced), "averages are shown");
  },
  twin_sensors: async () => {
    const { watch } = settings;
    const value = (code: string, id: string) => watch.latest(`greenhouse/${code}/sensor/${id}`);
    await watch.untilTrue(() => value("gh-0003", "second") !== null, "the second is shown");
    const shown = [...watch.current(/^greenhouse\/gh-000[13]\/sensor\/[^/]+$/).keys()];
    const of = (code: string) => shown.filter((one) => one.startsWith(`greenhouse/${code}/`)).length;
    expect(of("gh-0003")).toBe(of("gh-0001") + 1);
    expect(await settings.printed("doctor")).toMatch(
      /warning +twins +.*空气温度#2 \(GH-0001\).*from: "空气温度#2"/,
    );
  },
};

describe("a further reading of the interface", () => {
  it.concurrent.each(Object.entries(rows))(
    "%s: told without its setting, holds with it",
    (_, seen) => seen(),
    150_000,
  );
});
