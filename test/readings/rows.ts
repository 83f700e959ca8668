import { expect } from "vitest";
import type { PlatformOptions } from "../../src/simulator/platform.js";
import type { ReadingName } from "../../src/simulator/readings.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { discovered, doctorSays, type Installed, installed, journalSays, watchSays } from "./installed.js";
import type { Section } from "./played.js";

/*
 * The readings R15 to R26, each without and with its setting: what happens, who names the setting, and what holds with it. The table of
 * docs/inside/readings.md is made from these rows, so that what it says has been played.
 */

export const code = "GH-0001";

export interface Row {
  /** Null where it only shows itself end to end. */
  readonly reading: ReadingName | null;
  readonly may: string;
  readonly options?: PlatformOptions;
  /** Of both houses. */
  readonly both?: Section;
  /** Keys of actuators, by id, and of the whole file. */
  readonly settings?: { readonly actuators?: Readonly<Record<string, Section>>; readonly file?: Section };
  /** As the table has them. */
  readonly without: string;
  readonly named: string;
  readonly having: string;
  readonly playsWithout?: (house: Installed) => Promise<void>;
  readonly playsWith?: (house: Installed) => Promise<void>;
}

const told = ({ outcome, reason, message }: CommandResult) =>
  [outcome, reason ?? "", String(message ?? "")].join(" ");

const levels = ({ platform }: Installed, address: string) => platform.control.trueState(code, address).levels;

const modesSent = ({ platform }: Installed) =>
  platform.control.posts().filter(({ address, value }) => address === "101" && value === "10100").length;

const both = ({ bridge, platform }: Installed) => {
  for (const id of ["co2", "mist"]) bridge.send(code, id, { command: "on" });
  return platform.pass(60_000).then(() => bridge.results.map(told).toSorted());
};

/** Of those that the type of the left skylight lists beside it. */
const setPoints: Readonly<
  Record<string, { readonly address: string; readonly type_id: number; readonly unit?: string }>
> = {
  p_900203: { address: "900203", type_id: 2 },
  p_900204: { address: "900204", type_id: 2, unit: "%" },
  p_900205: { address: "900205", type_id: 2, unit: "s" },
};

/** As long as it travels, and long enough in the mode to be seen on its way home. */
const slow = { travel_time: "100s", settle: "5s" };
const travelling = { controllers: { [code]: { actuators: { left_skylight: slow } } } };

const window = { startTime: "{since}", endTime: "{until}" };

export const rows: Readonly<Record<string, Row>> = {
  R15: {
    reading: "degrees_apart",
    may: "the degree has an address of its own",
    settings: { actuators: { left_skylight: { position_address: "1101" } } },
    without: "a degree ends `unconfirmed`, nothing moves",
    named: "result, `doctor` (`values`), `discover`: `position_address`",
    having: "`confirmed`, and the window is there",
    playsWithout: async (house) => {
      const result = told(await house.bridge.command(code, "left_skylight", "45"));
      expect(result).toMatch(/^unconfirmed .*1101 \(0\).*Set position_address/);
      expect(result).not.toContain("position_reads");
      expect(levels(house, "101")).toEqual([0]);
      expect(await doctorSays(house, "values")).toMatch(/^warning: .*1101 \(0\).*set position_address/);
      expect(await discovered(house)).toMatch(/# position_address: 1101 # now 0/);
    },
    playsWith: async (house) => {
      const result = await house.bridge.command(code, "left_skylight", "45");
      expect(result).toMatchObject({ outcome: "confirmed", read_back: "45" });
      await house.platform.pass(100_000);
      expect(levels(house, "101")).toEqual([0.45]);
    },
  },
  R16: {
    reading: "mode_write_only",
    may: "a mode address can only be written",
    settings: { actuators: { louvre: { mode_reads: "never" } } },
    without: "`refused` (`no_read_back`), nothing is sent",
    named: "result, `doctor` (`values`): `mode_reads: never`",
    having: "`confirmed` by the degree alone",
    playsWithout: async (house) => {
      const result = told(await house.bridge.command(code, "louvre", "45"));
      expect(result).toMatch(/^refused no_read_back .*mode_reads: never/);
      expect(house.platform.control.posts()).toEqual([]);
      expect(await doctorSays(house, "values")).toMatch(/louvre \(108\).*set mode_reads: never/);
    },
    playsWith: async (house) => {
      const result = await house.bridge.command(code, "louvre", "45");
      expect(result).toMatchObject({ outcome: "confirmed", read_back: "45" });
      await house.platform.pass(100_000);
      expect(levels(house, "109")).toEqual([0.45]);
    },
  },
  R17: {
    reading: null,
    may: "an expired token is refused with any code",
    options: {
      auth: { tokens: "known", checkRealtime: true, refusal: "body", refusalCode: 40101 },
    },
    both: {
      platform: { sign_in: { body: { account: "grower", password: "plain-password" } } },
      polling: { controllers: "5m", sensors: "1m", running_status: "5m", actuators: "5m" },
    },
    settings: { file: { platform: { sign_in: { refused_codes: ["40101"] } } } },
    without: "one sign-in by itself, after the second read that is refused so",
    named: "the log: `sign_in.refused_codes`, which nothing needs; of a fixed token `doctor` (`token`)",
    having: "a sign-in after the first",
    playsWithout: async (house) => {
      expect(await refusedUntilRenewed(house)).toBeGreaterThan(1);
      expect(house.platform.warned).toContainEqual(
        expect.stringMatching(/code 40101 .*platform\.sign_in\.refused_codes/),
      );
      // A token that nobody signs in for is renewed by nobody.
      const fixed = await installed(house.options, code);
      expect(await doctorSays(fixed, "token")).toMatch(/^failed: .*if code 40101 .*into platform\.token$/);
      await fixed.bridge.end();
    },
    playsWith: async (house) => {
      expect([1, 2, 3, 4]).toContain(await refusedUntilRenewed(house));
      house.platform.control.expireTokens();
      expect(await doctorSays(house, "token")).toMatch(/^ok: /);
    },
  },
  R18: {
    reading: "flush_orders",
    may: "`flush=1` orders a read and answers the value before",
    settings: { actuators: { co2: { flush_lag: "5s" } } },
    without: "`already` is false after a wall switch that neither poll nor push has shown",
    named: "`doctor` (`fresh_reads`), which reads twice: `flush_lag`",
    having: "the second read decides: it is sent, and `confirmed`",
    playsWithout: async (house) => {
      const { platform, bridge } = house;
      platform.control.moveByHand(code, "310", "1010");
      expect(await doctorSays(house, "fresh_reads")).toMatch(/^warning: .*co2 \(310\).*flush_lag: 5s/);
      await bridge.command(code, "co2", "off", { force: true });
      await platform.pass(10_000);
      platform.control.moveByHand(code, "310", "1010");
      await platform.pass(400_000);
      expect(await bridge.command(code, "co2", "off")).toMatchObject({ outcome: "already" });
    },
    playsWith: async ({ platform, bridge }) => {
      platform.control.moveByHand(code, "310", "1010");
      await platform.pass(400_000);
      expect(await bridge.command(code, "co2", "off")).toMatchObject({ outcome: "confirmed" });
      expect(platform.control.trueState(code, "310").levels).toEqual([0]);
    },
  },
  R19: {
    reading: "one_at_a_time",
    may: "a controller takes one value at a time",
    settings: { file: { commands: { min_interval: "0s", controller_interval: "3500ms" } } },
    without: "all but the first end `rejected`",
    named: "result: `commands.controller_interval`",
    having: "all `confirmed`, one after the other",
    playsWithout: async (house) =>
      expect(await both(house)).toEqual([
        expect.stringMatching(/^confirmed/),
        expect.stringMatching(/^rejected .*commands\.controller_interval/),
      ]),
    playsWith: async (house) =>
      expect(await both(house)).toEqual([
        expect.stringMatching(/^confirmed/),
        expect.stringMatching(/^confirmed/),
      ]),
  },
  R20: {
    reading: "motors_pulse",
    may: "a motor's register is a pulse",
    settings: { actuators: { vent_motor: { pulse: true } } },
    without: "`unconfirmed` although it moved",
    named: "result, `doctor` (`values`): `pulse: true`",
    having: '`confirmed` with `proof: "pulse"`, the state stays `uncertain`',
    playsWithout: async (house) => {
      const result = told(await house.bridge.command(code, "vent_motor", "open"));
      expect(result).toMatch(/^unconfirmed .*set pulse: true/);
      expect(result).not.toContain("reads:");
      expect(levels(house, "300")).not.toEqual([0]);
      expect(await doctorSays(house, "values")).toMatch(/vent_motor \(300\).*set pulse: true/);
    },
    playsWith: async (house) => {
      const { bridge } = house;
      const result = await bridge.command(code, "vent_motor", "open");
      expect(result).toMatchObject({ outcome: "confirmed", proof: "pulse" });
      expect(JSON.parse(bridge.shown("gh-0001/actuator/vent_motor/json"))).toMatchObject({
        ...{ state: "open", quality: "uncertain" },
      });
    },
  },
  R21: {
    reading: null,
    may: "channels want a first message",
    without: "an open channel stays silent; polling reads the same, later",
    named: "`doctor` (`push`): `push.subscribe`",
    having: "what is pushed is read within a second",
  },
  R22: {
    reading: "set_points_in_groups",
    may: "a type lists set points beside its actuators",
    without: "nothing of them is taken for an actuator",
    settings: { file: { controllers: { [code]: { parameters: setPoints } } } },
    named: "`discover` offers them as parameters, each with its reason and a guess of its unit",
    having: "mirrored as parameters",
    playsWithout: async (house) => {
      const text = await discovered(house);
      for (const [id, { address, unit }] of Object.entries(setPoints)) {
        const own = `address: ${address}, type_id: 2${unit === undefined ? "" : `, unit: "?${unit}"?`}`;
        const guessed = unit === undefined ? "" : ", unit guessed";
        expect(text).toMatch(new RegExp(`^ +# {3}${id}: \\{ ${own} \\} # now [-\\d]+${guessed}: `, "m"));
      }
      expect(text.match(/^ {6}left_skylight\w*:/gm)).toHaveLength(1);
    },
    playsWith: ({ bridge, platform }) => {
      const tags = JSON.parse(bridge.shown("gh-0001/tags")) as readonly {
        readonly topic: string;
        readonly unit?: string;
      }[];
      for (const [id, { address, unit }] of Object.entries(setPoints)) {
        const topic = `greenhouse/gh-0001/parameter/${id}`;
        expect(bridge.shown(`gh-0001/parameter/${id}`)).toBe(platform.control.trueState(code, address).value);
        expect(tags.find((tag) => tag.topic === topic)?.unit).toBe(unit);
      }
      return Promise.resolve();
    },
  },
  R23: {
    reading: "windows_asked",
    may: "past values want a device and a window",
    both: { controllers: { [code]: { averages: true } } },
    settings: { file: { platform: { shapes: { "weather-data/avg": { params: window } } } } },
    without: "no averages",
    named:
      "`doctor` (`shapes.weather-data/avg`) asks with what the refusal names, and tells the line that was answered",
    having: "averages are shown",
    playsWithout: async (house) => {
      expect(averages(house)).toBe(0);
      const said = await doctorSays(house, "shapes.weather-data/avg");
      expect(said).toContain('params: { startTime: "{since}", endTime: "{until}" }');
    },
    playsWith: async (house) => {
      expect(averages(house)).toBeGreaterThan(0);
      expect(await doctorSays(house, "shapes.weather-data/avg")).toMatch(/^ok: /);
    },
  },
  R24: {
    reading: "twin_sensors",
    may: "sensors differ by their place in the list alone",
    settings: { file: { controllers: { [code]: { sensors: { second: { from: "空气温度#2" } } } } } },
    without: "the second one is left out",
    named: '`doctor` (`twins`): `from: "name#2"`',
    having: "both are shown",
    playsWithout: async (house) => {
      expect(house.bridge.shown("gh-0001/sensor/second")).toBe("");
      const said = await doctorSays(house, "twins");
      expect(said).toMatch(house.hasTwins ? /^warning: .*空气温度#2.*from: "空气温度#2"/ : /^ok: /);
    },
    playsWith: ({ bridge, hasTwins }) => {
      expect(bridge.shown("gh-0001/sensor/second") !== "").toBe(hasTwins);
      return Promise.resolve();
    },
  },
  R25: {
    reading: "mode_restarts",
    may: "`10100` again restarts the positioner",
    settings: { actuators: { left_skylight: { mode_again: "when_needed" } } },
    without: "`confirmed`; the window goes home before each degree",
    named: "`doctor --watch`, where the platform shows how far it is: `mode_again`; else who looks at it",
    having: "`confirmed`, and the mode is sent once",
    playsWithout: async (house) => {
      for (const degree of ["60", "70"])
        expect(await house.bridge.command(code, "left_skylight", degree)).toMatchObject({
          outcome: "confirmed",
        });
      expect(modesSent(house)).toBe(2);
      // What was set is read from the first to the last.
      expect(await watchSays(house, `${code}/left_skylight`, "80")).toMatch(
        /^reads as expected: the degree 80/,
      );
      const dialect = { ...house.options.dialect, positionReads: "travelling" } as const;
      const seen = await installed({ ...house.options, dialect }, code, travelling);
      expect(await seen.bridge.command(code, "left_skylight", "60")).toMatchObject({ outcome: "confirmed" });
      const said = await watchSays(seen, `${code}/left_skylight`, "70");
      expect(said).toMatch(/^ +mode_again: when_needed$/m);
      await seen.bridge.end();
    },
    playsWith: async (house) => {
      for (const degree of ["60", "70"])
        expect(await house.bridge.command(code, "left_skylight", degree)).toMatchObject({
          outcome: "confirmed",
        });
      expect(modesSent(house)).toBe(1);
    },
  },
  R26: {
    reading: "offline_queues",
    may: "what is refused is carried out later",
    without: "`rejected`, and a minute later the event `late_execution` with the command's id",
    named: "the event, `doctor` (`last_run`)",
    having: "there is no setting: the opposite is to be sent where it is not wanted",
    playsWithout: async (house) => {
      const { platform, bridge } = house;
      const there = { controller: code, address: "330", count: 1 };
      platform.control.fault({ fault: "late", ...there, delay: 60_000 });
      platform.control.fault({
        fault: "body_code",
        operation: "set-value",
        when: "after",
        code: 500,
        ...there,
      });
      const result = await bridge.command(code, "mist", "on", { id: "late one" });
      expect(result).toMatchObject({ outcome: "rejected" });
      await platform.pass(120_000);
      await bridge.command(code, "mist", "on", { dry_run: true });
      const late = bridge.events.filter(({ type }) => type === "late_execution");
      expect(late).toMatchObject([{ facts: { id: "late one", actuator: "mist", to: "on" } }]);
      expect(bridge.events.filter(({ type }) => type === "changed_elsewhere")).toEqual([]);
      const said = await journalSays(house);
      expect(said).toMatch(/^warning: .*carried out late one of GH-0001\/mist/);
    },
  },
};

const averages = ({ bridge }: Installed): number =>
  [...bridge.retained.keys()].filter((topic) => /^greenhouse\/gh-0001\/sensor\/[^/]*avg[^/]*$/.test(topic))
    .length;

/** How many reads are refused, once the token has ended, until there is another one. */
async function refusedUntilRenewed({ platform }: Installed): Promise<number> {
  await platform.pass(120_000);
  const mark = platform.log.length;
  platform.control.expireTokens();
  await platform.pass(600_000);
  const since = platform.log.slice(mark);
  const renewal = since.findIndex(({ call }) => call.includes("sign-in"));
  expect(renewal).toBeGreaterThan(0);
  return since.slice(0, renewal).filter(({ answer }) => /"code":"?40101/.test(answer())).length;
}
