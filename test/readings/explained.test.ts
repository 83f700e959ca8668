import { describe, expect, it } from "vitest";
import { linesAbout } from "../../src/cli/explain.js";
import type { Configuration } from "../../src/config/schema.js";
import { addressTable, type AddressRow } from "../../src/simulator/addresses.js";
import { actuatorKeys } from "../../src/simulator/printable-configuration.js";
import type { ReadingName } from "../../src/simulator/readings.js";
import { settingsFor } from "../support/reading-settings.js";
import { configured, PlayedBridge, PlayedPlatform, type Section } from "./played.js";

/*
 * What `check --explain` prints, against the platform's own log of what a real run asked: the same calls in the same order, for each word of
 * each kind, whatever the words of the interface are taken for.
 */

const code = "GH-0001";
const travelMs = 10_000;

const ownValues: Readonly<Record<string, Section>> = {
  motor: { open: "00000001", close: "00000010" },
  custom: { low: "0110", high: "1001" },
};

function actuatorOf(row: AddressRow): Section {
  const { kind, address, position_address } = actuatorKeys(row);
  return {
    ...{ kind, address, settle: "1s" },
    ...(row.travelMs >= 60_000 && { travel_time: `${travelMs}ms` }),
    ...(position_address !== null && { position_address }),
    ...(ownValues[kind] && { values: ownValues[kind] }),
    // The document has no value for it; any that is there will do to see what is sent.
    ...(kind === "skylight" && { stop: { address, value: "10100" } }),
  };
}

/** Every actuator of the simulated greenhouse and a parameter, with the settings of these readings. */
function house(readings: readonly ReadingName[], more: Section): Promise<Configuration> {
  const { kinds = {}, running_status = {}, commands = {} } = settingsFor(readings);
  const rows = [...addressTable("C001", { readings: new Set(readings) }).values()];
  const actuators = rows.flatMap((row) => (row.id === null ? [] : [[row.id, actuatorOf(row)] as const]));
  return configured({
    ...{ kinds, running_status, commands: { min_interval: "0s", ...commands } },
    controllers: {
      [code]: {
        actuators: Object.fromEntries(actuators),
        parameters: { target: { address: "502", scale: 0.1, writable: { min: 5, max: 40, step: 0.5 } } },
      },
    },
    ...more,
  });
}

interface Told {
  readonly call: string;
  /** Left out where it is not needed, and so is what proves it. */
  readonly isOptional: boolean;
  /** When it has had its time to move. */
  readonly isAgain: boolean;
}

/** The calls that are printed for each word of each actuator. */
function printed(lines: readonly string[]): ReadonlyMap<string, readonly Told[]> {
  const words = new Map<string, Told[]>();
  let target = "";
  let calls: Told[] | null = null;
  for (const line of lines) {
    const [, id] = /^GH-0001\/([\w-]+): /.exec(line) ?? [];
    const [, word] = /^ {2}([\w-]+)(?: \(any .*\))?:$/.exec(line) ?? [];
    if (id !== undefined) target = id;
    if (id !== undefined || /^ {2}\S/.test(line)) calls = null;
    if (word !== undefined) words.set(`${target} ${word}`, (calls = []));
    const [, call] = /^ {4,6}((?:GET|POST) \S+(?: \{.*?\})?)/.exec(line) ?? [];
    if (call === undefined || calls === null) continue;
    const isProof = /^ {6}/.test(line);
    const isOptional = line.includes("left out") || (isProof && calls.at(-1)?.isOptional === true);
    calls.push({ call, isOptional, isAgain: line.includes("once more") });
  }
  return words;
}

/** Without what was not needed, and what is asked again and again until it shows once. */
function asCalled(told: readonly Told[], log: readonly string[]): readonly string[] {
  let isLeftOut = false;
  const calls = told.filter(({ call, isOptional }) => {
    if (call.startsWith("POST")) isLeftOut = isOptional && !log.includes(call);
    return !(isLeftOut && isOptional);
  });
  return once(calls.map(({ call }) => call));
}

const once = (calls: readonly string[]): readonly string[] =>
  calls.filter((call, at) => call !== calls[at - 1]);

/** What a command asks for; what polls ask is not read from the device. */
const isOfCommand = (call: string): boolean =>
  call.startsWith("POST") || /mqtt-client-status|flush=1(?:&|$)/.test(call);

const cases: readonly (readonly [title: string, readings: readonly ReadingName[], more: Section])[] = [
  ["as the document has it", [], {}],
  [
    "where modes are only written, motors pulse, reads lag and modes restart",
    ["mode_write_only", "motors_pulse", "flush_orders", "mode_restarts"],
    {},
  ],
  ["where degrees have addresses of their own", ["degrees_apart", "one_at_a_time"], {}],
  ["where the mode stays and bits are combined", ["mode_stays", "combined_bits", "fan_automatic"], {}],
  ["where positions are actual ones, and types list more", ["actual_positions", "group_of_settings"], {}],
  [
    "where the platform calls its parameters otherwise",
    [],
    {
      platform: {
        shapes: { "get-value": { params: { tenant: "7" } }, "mqtt-client-status": { params: { v: "2" } } },
      },
    },
  ],
];

describe("what is explained is what is asked, in the order of the calls", () =>
  it.each(cases)("%s", async (_, readings, more) => {
    const platform = new PlayedPlatform({ readings });
    const configuration = await house(readings, more);
    const words = printed(linesAbout(configuration, code).map(String));
    const bridge = await PlayedBridge.started(platform, configuration);
    const called: Record<string, readonly string[]> = {};
    const told: Record<string, readonly string[]> = {};
    const late: Record<string, number> = {};
    for (const [name, calls] of words) {
      const [id = "", word = ""] = name.split(" ");
      if (id === "target") continue;
      const mark = platform.log.length;
      const { outcome } = await bridge.command(code, id, word, { force: true });
      // What is read once more when it has had time to move belongs to it.
      await platform.pass(15_000);
      const made = platform.log.slice(mark).filter(({ call }) => isOfCommand(call));
      const log = made.map(({ call }) => call);
      called[name] = once(log);
      told[name] = asCalled(calls, log);
      if (calls.some(({ isAgain }) => isAgain) && outcome === "confirmed")
        late[name] = (made.at(-1)?.at ?? 0) - (made.findLast(({ call }) => call.startsWith("POST"))?.at ?? 0);
    }
    await bridge.end();
    expect(Object.keys(called).length).toBeGreaterThan(40);
    expect(called).toEqual(told);
    expect(Object.entries(late).filter(([, ms]) => ms < travelMs)).toEqual([]);
    expect(Object.keys(late).length).toBeGreaterThan(5);
  }));
