import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReadingName } from "../../src/simulator/readings.js";
import { houseOf, type Result } from "./support/house.js";
import { whileRuns } from "./support/program.js";
import { configurationFor, createStage, mosquittoSection, type Configuration } from "./support/stage.js";
import { ask, fields, until } from "./support/watch.js";

/*
 * The interface's words may be meant otherwise. Each other reading is seen from outside: what is told without the setting, and that
 * with it everything is confirmed; `doctor` or `doctor --watch` names it. One greenhouse is without the settings, another one with them.
 */

const quick = { settle: "100ms", confirm_within: "5s", travel_time: "1s" };
const still = { settle: "100ms", confirm_within: "5s" };

const plain: Configuration = {
  left_skylight: { kind: "skylight", address: "101", ...quick },
  right_skylight: { kind: "skylight", address: "103", ...quick },
  side_vent: { kind: "side_vent", address: "104", ...quick },
  inner_shade: { kind: "shade_curtain", address: "102", type_id: 3, ...quick },
  thermal_curtain: { kind: "thermal_curtain", address: "107", ...quick },
  fans: { kind: "fan_wet_curtain", address: "140", ...still },
  valve: { kind: "irrigation", address: "210", ...still },
  co2: { kind: "co2_supply", address: "310", ...still },
  nowhere: { kind: "machine", address: "999", ...still },
};

/** The settings of docs/inside/platform.md, by actuator. */
type Settings = Readonly<Record<string, Configuration>>;
const withSettings = (settings: Settings, base = plain): Configuration =>
  Object.fromEntries(
    Object.entries(base).map(([id, own]) => [id, { ...(own as Configuration), ...settings[id] }]),
  );

async function installed(
  readings: readonly ReadingName[],
  settings: Settings,
  more: Configuration = {},
  both: Settings = {},
) {
  const base = withSettings(both);
  const stage = await createStage();
  const platform = await stage.platform({ controllers: 3, speed: 120, readings });
  const broker = await stage.mosquitto();
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const configuration = configurationFor(platform.url, mosquittoSection(broker.url), {
    mirror: "listed",
    polling: { controllers: "2s", sensors: "1s", running_status: "1s", actuators: "1h", stale_after: "3h" },
    controllers: {
      "GH-0001": { actuators: base },
      "GH-0003": { actuators: withSettings(settings, base) },
      "WS-0001": {},
      "PM-0001": {},
    },
    ...more,
  });
  const bridge = await stage.bridge(configuration);
  await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 60_000));
  const [without, having] = ["GH-0001", "GH-0003"].map((code) => houseOf(code, { platform, watch }));
  if (without === undefined || having === undefined) throw new Error("both are there");
  const houses = { without, having };
  for (const house of Object.values(houses))
    await watch.untilTrue(() => house.latest("left_skylight", "value") !== "", "a first read", 60_000);
  /** What `doctor` prints, or any other command. */
  const printed = async (...args: string[]) => {
    const { stdout, stderr } = await stage.program(args).ended;
    return `${stdout}${stderr}`;
  };
  const info = (id: string) => fields(watch.latest(`greenhouse/${id}/info`) ?? "{}");
  return { ...houses, stage, platform, watch, printed, info };
}

type Installed = Awaited<ReturnType<typeof installed>>;

const reads = { open: ["10010", "100"], close: ["10001", "0"], auto: ["11000", "11010", "11001"] };
const positions = [
  ...(["actual_positions", "group_of_settings", "swapped_channels", "bare_echo", "fan_automatic"] as const),
  ...(["plans_end", "clients_are_controllers", "last_seen"] as const),
];
const modes = [
  ...(["mode_stays", "combined_bits", "curtains_spread", "flagged_refusals"] as const),
  ...(["unknown_types", "status_words"] as const),
];

let first: Installed;
let second: Installed;
let third: Installed;
beforeAll(async () => {
  [first, second, third] = await Promise.all([
    installed(positions, {
      left_skylight: { reads },
      inner_shade: { reads, type_id: undefined },
      fans: { values: { auto: "11111" } },
    }),
    installed(
      modes,
      {
        left_skylight: { position_reads: "mode" },
        side_vent: { reads },
        inner_shade: { homeassistant: { inverted: true } },
        thermal_curtain: { homeassistant: { inverted: false } },
      },
      { running_status: { reads: { on: ["1010"], off: ["1001"] } } },
      { right_skylight: { type_id: 4 } },
    ),
    installed(
      ["degrees_apart"],
      { left_skylight: { position_address: "1101" }, right_skylight: { position_reads: "mode" } },
      {},
      { left_skylight: { type_id: 2 }, right_skylight: { type_id: 4 } },
    ),
  ]);
}, 120_000);
afterAll(() => Promise.all([first, second, third].map(({ stage }) => stage.clear())));

const told = (result: Result) => `${String(result["outcome"])} ${String(result["message"])}`;
const forced = (command: string) => ({ command, force: true });

/** What is seen of each. */
const rows: Readonly<Partial<Record<ReadingName, () => Promise<void>>>> = {
  actual_positions: async () => {
    const { without, having, stage } = first;
    const [result, confirmed] = await Promise.all([
      without.command("left_skylight", "open"),
      having.command("left_skylight", "open"),
    ]);
    expect(told(result)).toMatch(/^unconfirmed .*add reads: \{ open: \["100"\] \}/);
    expect(told(confirmed)).toMatch(/^confirmed/);
    const watching = stage.program(["doctor", "--watch", "GH-0001/right_skylight", "--command", "open"]);
    await watching.untilPrinted(/Now send/, 30_000);
    await without.send("right_skylight", "open");
    expect((await watching.ended).stdout).toMatch(/reads:\s+\{?\s*open:\s*\[?\s*[^]*"?10010"?[^]*"?100"?/);
  },
  degrees_apart: async () => {
    const { without, having, platform, printed } = third;
    const [result, confirmed] = await Promise.all([
      without.command("left_skylight", "45"),
      having.command("left_skylight", "45"),
    ]);
    expect(told(result)).toMatch(/^unconfirmed .*1101 \(0\).*[Ss]et position_address/);
    expect(told(result)).not.toContain("position_reads");
    expect(await platform.levels("GH-0001", "101")).toEqual([0]);
    // What the advice leads to.
    expect(confirmed).toMatchObject({ outcome: "confirmed", read_back: "45" });
    expect(await platform.levels("GH-0003", "101")).toEqual([0.45]);
    const report = await printed("doctor");
    expect(report).toMatch(
      /warning +values +.*left_skylight \(101\) of GH-0001 reads the mode 10100 and no degree.*1101 \(0\).*set position_address/,
    );
    expect(report).toMatch(/right_skylight \(103\) of GH-0003 has position_reads: mode.*nothing moves/);
    const found = await printed("discover");
    expect(found).toMatch(
      /outer_shade:\n[^#]*# where one of these[^\n]*\n +# position_address: 1106 # now 100/,
    );
    expect(found).toMatch(/p_1101: .*where it follows 101, write position_address: 1101 there/);
  },
  group_of_settings: async () => {
    const { without, having, printed, watch } = first;
    const isTold = () => without.events("reads_differ").length > 0;
    // They have to differ for longer than anything travels, 30 s at least.
    for (let reads = 0; reads < 15 && !isTold(); reads += 1) {
      await ask(watch, "refresh", { controller: "GH-0001" });
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
    expect(without.events("reads_differ")[0]).toMatchObject({ address: "102", severity: "warning" });
    expect(having.events("reads_differ")).toEqual([]);
    expect(await printed("doctor")).toMatch(
      /both_reads +inner_shade \(102\) of GH-0001 is \d+ by set-value\/flush/,
    );
  },
  swapped_channels: async () => {
    const { without, platform, watch } = first;
    await platform.tell("move_by_hand", { controller: "GH-0001", address: "310", value: "1010" });
    await watch.untilTrue(() => without.latest("co2", "state") === "on", "what was pushed is read", 20_000);
  },
  bare_echo: async () => {
    const result = await first.having.command("co2", "on");
    expect(result).toMatchObject({ outcome: "confirmed", steps: [{ code: null, attempts: 1 }] });
  },
  fan_automatic: async () => {
    const { without, having } = first;
    expect(await without.command("fans", "auto")).toMatchObject({ reason: "unknown_command" });
    expect(await having.command("fans", "auto")).toMatchObject({ outcome: "confirmed", read_back: "11111" });
  },
  plans_end: async () => {
    const { without, watch, platform } = first;
    expect(await without.command("valve", "on")).toMatchObject({ outcome: "confirmed" });
    await watch.untilTrue(() => without.events("ended_by_itself").length > 0, "the plan ends", 60_000);
    expect(without.events("ended_by_itself")[0]).toMatchObject({ severity: "info" });
    expect(without.events("changed_elsewhere").filter(({ actuator }) => actuator === "valve")).toEqual([]);
    expect(await platform.register("GH-0001", "210")).toBe("1001");
  },
  clients_are_controllers: async () => {
    const { watch, printed } = first;
    await until(watch, "greenhouse/ws-0001/availability", "unknown", 30_000);
    await until(watch, "greenhouse/ws-0001/sensor/airtemp/quality", "good", 30_000);
    expect(await printed("doctor")).toMatch(/types +WS-0001.*: listed as online, and not found/);
  },
  last_seen: async () => {
    const { watch, info } = first;
    const before = String(info("gh-0001")["last_online_at"]);
    await watch.untilTrue(() => String(info("gh-0001")["last_online_at"]) > before, "it goes on", 30_000);
  },
  mode_stays: async () => {
    const { without, having, printed } = second;
    const [untyped, typed, confirmed] = await Promise.all([
      without.command("left_skylight", "45"),
      without.command("right_skylight", "45"),
      having.command("left_skylight", "45"),
    ]);
    expect(told(untyped)).toMatch(/^unconfirmed .*discover.*set position_address/);
    expect(told(untyped)).not.toContain("position_reads");
    expect(told(typed)).toMatch(
      /^unconfirmed .*position_address.*Only if you saw it go there, set position_reads: mode/,
    );
    expect(confirmed).toMatchObject({ outcome: "confirmed", read_back: "10100" });
    expect(await printed("doctor")).toMatch(
      /left_skylight \(101\) of GH-0001 reads the mode 10100.*position_reads: mode/,
    );
  },
  combined_bits: async () => {
    const { without, having, printed } = second;
    // What showed the same before is no sign that it was taken.
    expect(told(await without.command("side_vent", forced("auto")))).toMatch(
      /^unconfirmed .*before it was sent, too/,
    );
    await without.command("side_vent", "open");
    const [result, confirmed] = await Promise.all([
      without.command("side_vent", forced("auto")),
      having.command("side_vent", forced("auto")),
    ]);
    expect(told(result)).toMatch(/^unconfirmed .*add reads: \{ auto: \["110(?:10|01)"\] \}/);
    expect(told(confirmed)).toMatch(/^confirmed/);
    expect(await printed("doctor")).toMatch(
      /side_vent \(104\) of GH-0001 reads 110\d\d, which means nothing/,
    );
  },
  curtains_spread: async () => {
    const text = await second.printed("check");
    expect(text).toMatch(/GH-0001\.actuators\.inner_shade: .*homeassistant: \{ inverted: true \}/);
    expect(text).not.toMatch(/GH-0003\.actuators\.inner_shade/);
  },
  flagged_refusals: async () => {
    const result = await second.without.command("nowhere", forced("on"));
    expect(result).toMatchObject({ outcome: "rejected", request_id: expect.any(String) as string });
    expect(result["message"]).toContain("地址不存在");
  },
  unknown_types: async () => {
    const { without, watch, printed, info } = second;
    expect(info("gh-0001")).toMatchObject({ type: "W003" });
    expect(await without.command("co2", "on")).toMatchObject({ outcome: "confirmed" });
    await until(watch, "greenhouse/pm-0001/sensor/pestcount/quality", "good", 30_000);
    expect(await printed("doctor")).toMatch(
      /types +types that the interface does not name: .*W003 \(GH-0001\)/,
    );
  },
  status_words: async () => {
    const { watch, printed, stage } = second;
    const shown = () => new Set(watch.current(/^greenhouse\/gh-0001\/status\/[^/]+$/).values());
    await watch.untilTrue(() => shown().size > 0, "running statuses are there", 30_000);
    expect([...shown()].filter((state) => state !== "on" && state !== "off")).toEqual([]);
    expect(await printed("doctor")).toMatch(/ok +statuses +running statuses are on or off/);
    const text = JSON.stringify({ ...JSON.parse(await stage.read("config.yaml")), running_status: {} });
    await stage.write("plain.yaml", text);
    expect(await printed("doctor", "-c", "plain.yaml")).toMatch(
      /warning +statuses +running status 16 .* of GH-0001 reads 1001.*running_status: \{ reads:/,
    );
  },
};

describe("another reading of the interface", () => {
  it.concurrent.each(Object.entries(rows))(
    "%s: told without its setting, confirmed with it",
    (_, seen) => seen(),
    150_000,
  );
});
