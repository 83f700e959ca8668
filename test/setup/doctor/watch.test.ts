import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parameterGroup, statusNumber } from "../../../src/greenhouse/device-types.js";
import type { PlatformPush, PushListener, RawValue } from "../../../src/greenhouse/ports.js";
import { Sentence, type Text } from "../../../src/language/text.js";
import { watchMovement } from "../../../src/setup/doctor/watch.js";
import { adviceYaml, conclude, type WatchedActuator } from "../../../src/setup/doctor/watch-conclusions.js";
import { fileWith, greenhouse2mqtt } from "../../cli/in-process.js";
import { failure } from "../../support/counting-platform.js";
import { VirtualClock } from "../../support/virtual-clock.js";

const skylight: WatchedActuator = {
  code: "GH-0001",
  id: "roof",
  kind: "skylight",
  values: {},
  reads: {},
  readings: {},
  modeAddress: "101",
  positionAddress: "101",
  group: null,
  owned: ["101"],
  running: [],
  tolerance: 0,
  travelMs: 60_000,
};
const fan: WatchedActuator = { ...skylight, id: "fan", kind: "circulation_fan", travelMs: 0 };

/** What happens at the platform, by seconds after the person was asked to move it. */
interface Moment {
  readonly at: number;
  /** What get-value gives from then on. */
  readonly own?: RawValue;
  /** What the group gives from then on. */
  readonly group?: RawValue;
  readonly status?: number | string;
  readonly pushed?: readonly [address: string, raw: RawValue];
  /** What the group gives of another address from then on. */
  readonly beside?: RawValue;
}

interface Story {
  readonly actuator?: Partial<WatchedActuator>;
  readonly word: string;
  readonly begins?: RawValue;
  /** What the group gives of another address, 102, at first; none where absent. */
  readonly beside?: RawValue;
  readonly moments?: readonly Moment[];
}

/** Watches a story; gives the lines, what follows, and the YAML. */
async function watched({ actuator = {}, word, begins = "10001", beside, moments = [] }: Story) {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const shown = { own: begins, group: begins, beside, status: 0 as number | string };
  let ear: PushListener | null = null;
  const push: PlatformPush = {
    listen: (_channel, listener, signal) => {
      ear ??= listener;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  const platform = {
    ...push,
    value: () => Promise.resolve(shown.own),
    values: () =>
      Promise.resolve(
        new Map<string, RawValue>([
          ["101", shown.group],
          ...(shown.beside === undefined ? [] : [["102", shown.beside] as const]),
        ]),
      ),
    runningStatuses: () => Promise.resolve([{ name: "风机", number: statusNumber(16), value: shown.status }]),
  };
  const one = { ...skylight, ...actuator };
  const say = (line: Text) => void lines.push(String(line));
  const stop = new AbortController();
  const movement = { actuator: one, word, patienceMs: 120_000 };
  const watching = watchMovement(platform, movement, { clock, say }, stop.signal);
  await clock.advance(0);
  for (const { at, own, group, status, pushed, beside: other } of moments) {
    await clock.advance(at * 1_000 - clock.monotonic());
    shown.own = own ?? shown.own;
    shown.group = group ?? own ?? shown.group;
    shown.status = status ?? shown.status;
    shown.beside = other ?? shown.beside;
    if (pushed)
      (ear as PushListener | null)?.news({ type: "registers", code: one.code, values: new Map([pushed]) });
  }
  await clock.advance(900_000);
  const record = await watching;
  expect(clock.pendingTimers).toBe(0);
  const conclusion = conclude(record);
  const yaml = adviceYaml(record, conclusion, ["head"]);
  const advised =
    yaml === ""
      ? null
      : (parse(yaml) as Record<string, Record<string, Record<string, Record<string, unknown>>>>);
  return {
    record,
    lines,
    findings: conclusion.findings,
    yaml,
    settings: advised?.["controllers"]?.["GH-0001"]?.["actuators"]?.[one.id] ?? null,
  };
}

describe("one watched movement", () => {
  it.each<[what: string, story: Story, settings: unknown, finding: RegExp]>([
    [
      "what was sent is read",
      { word: "open", moments: [{ at: 5, own: "10010" }] },
      null,
      /^reads as expected: 10010 means open/,
    ],
    [
      "the actual position is read",
      {
        word: "open",
        moments: [
          { at: 5, own: "30" },
          { at: 50, own: "100" },
        ],
      },
      { reads: { open: ["10010", "100"] } },
      /^open is not read as 10010 but as 100/,
    ],
    [
      "the bits are read as the number that they make",
      { actuator: fan, word: "on", begins: 9, moments: [{ at: 5, own: 10 }] },
      { reads: { on: ["1010", "10"] } },
      /^on is not read as 1010 but as 10/,
    ],
    [
      "another number is read than the bits make",
      { actuator: fan, word: "on", begins: 9, moments: [{ at: 5, own: 11 }] },
      null,
      /^on was sent, and the address reads 11, which may be anything/,
    ],
    [
      "a degree with a fraction is read where the degree was sent",
      { word: "45", begins: "10", moments: [{ at: 5, own: 44.7 }] },
      null,
      /^reads as expected: the degree 45/,
    ],
    [
      "a degree with a sign of percent is read beside the one that was sent",
      { word: "45", begins: "0%", moments: [{ at: 5, own: "43%" }] },
      { tolerance: 2 },
      /^45 was sent and 43 is read/,
    ],
    [
      "it goes the other way before it goes to the degree",
      {
        word: "70",
        begins: "60",
        moments: [
          { at: 5, own: "10100" },
          { at: 8, own: "41" },
          { at: 40, own: "70" },
        ],
      },
      { mode_again: "when_needed" },
      /^on its way from 60 to 70 it was at 41/,
    ],
    [
      "it goes the other way although the mode is left out where it is not needed",
      {
        actuator: { readings: { modeAgain: "when_needed" } },
        word: "70",
        begins: "60",
        moments: [
          { at: 8, own: "41" },
          { at: 40, own: "70" },
        ],
      },
      null,
      /^reads as expected: the degree 70/,
    ],
    [
      "automatic reads with what runs",
      {
        word: "auto",
        moments: [
          { at: 5, own: "11010" },
          { at: 20, own: "11001" },
        ],
      },
      { reads: { auto: ["11000", "11010", "11001"] } },
      /^auto is not read as 11000/,
    ],
    [
      "what is configured already is expected",
      { word: "auto", actuator: { reads: { auto: ["11010"] } }, moments: [{ at: 5, own: "11010" }] },
      null,
      /^reads as expected/,
    ],
    [
      "a register that shows what was sent and goes back to idle is a pulse",
      {
        word: "open",
        begins: "00000000",
        actuator: { kind: "motor", values: { open: "00000001" } },
        moments: [
          { at: 5, own: "00000001" },
          { at: 15, own: "00000000" },
        ],
      },
      { pulse: true },
      /^the register showed 00000001 at .* and went back to 00000000: it is a pulse/,
    ],
    [
      "the mode stays after a degree",
      { word: "45", moments: [{ at: 5, own: "10100" }] },
      { position_reads: "mode" },
      /reads the mode 10100 after a degree/,
    ],
    [
      "an address beside it may be its degree, so that no weaker proof is named",
      { word: "45", beside: "0", moments: [{ at: 5, own: "10100" }] },
      null,
      /its type also lists 102 \(0\), which belongs to nothing here/,
    ],
    [
      "also where the weaker proof is configured",
      {
        word: "45",
        beside: "0",
        actuator: { readings: { positionReads: "mode" } },
        moments: [{ at: 5, own: "10100" }],
      },
      null,
      /its type also lists 102 \(0\), which belongs to nothing here/,
    ],
    [
      "an address that came to the degree has it",
      {
        word: "45",
        beside: "0",
        moments: [
          { at: 5, own: "10100" },
          { at: 7, beside: "45" },
        ],
      },
      { position_address: "102" },
      /address 102 went to 45: the degree has that address/,
    ],
    [
      "also where the mode was there before",
      { word: "45", begins: "10100", beside: 0, moments: [{ at: 7, beside: 45 }] },
      { position_address: "102" },
      /address 102 went to 45: the degree has that address/,
    ],
    [
      "an address that is another actuator's or a parameter's is none",
      {
        word: "45",
        beside: "0",
        actuator: { owned: ["101", "102"] },
        moments: [
          { at: 5, own: "10100" },
          { at: 7, beside: "45" },
        ],
      },
      { position_reads: "mode" },
      /If it stood still, its degree has another address/,
    ],
    [
      "its type is not found",
      { word: "45", actuator: { modeAddress: "100" }, moments: [{ at: 5, own: "10100" }] },
      null,
      /look at what its type lists .* and set position_address/,
    ],
    [
      "a window that stood near before is no reason for a tolerance",
      {
        word: "45",
        begins: "43",
        moments: [
          { at: 5, own: "10100" },
          { at: 7, own: "43" },
        ],
      },
      null,
      /it stood at 43 before: watch once more/,
    ],
    [
      "a degree on the way is nothing that open means",
      {
        word: "open",
        moments: [
          { at: 5, own: "30" },
          { at: 20, own: "57" },
        ],
      },
      null,
      /reads 57, which may be anything/,
    ],
    [
      "neither is a value of another kind",
      { word: "open", moments: [{ at: 5, own: "11100" }] },
      null,
      /reads 11100, which may be anything/,
    ],
    [
      "a short way says nothing of how long a whole one lasts",
      {
        word: "45",
        actuator: { running: [16] },
        moments: [
          { at: 5, own: "45", status: 1 },
          { at: 15, status: 0 },
        ],
      },
      null,
      /^reads as expected/,
    ],
    [
      "that is configured already",
      { word: "45", actuator: { readings: { positionReads: "mode" } }, moments: [{ at: 5, own: 10100 }] },
      null,
      /^reads as expected: the address reads the mode/,
    ],
    [
      "a degree that is not reached exactly",
      {
        word: "45",
        moments: [
          { at: 5, own: "10100" },
          { at: 7, own: "43" },
        ],
      },
      { tolerance: 2 },
      /^45 was sent and 43 is read/,
    ],
    [
      "a degree far off is no matter of tolerance",
      { word: "45", moments: [{ at: 5, own: "90" }] },
      null,
      /did not arrive/,
    ],
    [
      "nothing changes, but another address is pushed",
      { word: "open", moments: [{ at: 5, pushed: ["317", "10010"] }] },
      null,
      /^address 317 was pushed meanwhile with 10010/,
    ],
    [
      "it goes on meaning something else",
      { word: "open", moments: [{ at: 5, own: "11000" }] },
      null,
      /reads 11000, which means auto: it was not taken/,
    ],
    [
      "the group differs for good",
      {
        word: "open",
        actuator: { group: parameterGroup(2) },
        moments: [{ at: 5, own: "10010", group: "10001" }],
      },
      null,
      /set-value\/flush says 10001, get-value 10010/,
    ],
    [
      "a status runs with it",
      { word: "on", actuator: fan, begins: "1001", moments: [{ at: 5, own: "1010", status: 1 }] },
      { running: [16] },
      /^running statuses changed with it: 16 风机 0 → 1 at/,
    ],
    [
      "a status of words nobody knows",
      { word: "on", actuator: fan, begins: "1001", moments: [{ at: 5, own: "1010", status: "1010" }] },
      { running: [16] },
      /16 风机 reads 1010, which is neither on nor off/,
    ],
    [
      "how long it runs says how long it travels",
      {
        word: "open",
        actuator: { running: [16] },
        moments: [
          { at: 5, own: "10010", status: 1 },
          { at: 95, status: 0 },
        ],
      },
      { travel_time: "110s" },
      /^it moved for 90 s, and travel_time is 60 s/,
    ],
    [
      "which way a curtain goes only a person sees",
      { word: "open", actuator: { kind: "shade_curtain" }, moments: [{ at: 5, own: "10010" }] },
      null,
      /inverted: true/,
    ],
  ])("%s", async (_, story, settings, finding) => {
    const seen = await watched(story);
    expect(seen.settings).toEqual(settings);
    expect(seen.findings).toContainEqual(expect.stringMatching(finding));
  });

  it("tells each change with its second and its way, and what the person is to do", async () => {
    const { lines } = await watched({
      word: "open",
      actuator: { group: parameterGroup(2) },
      moments: [{ at: 5, own: "10010", pushed: ["101", "10010"] }],
    });
    expect(lines.join("\n")).toMatch(/Now send "open" to roof, once[^]*set GH-0001 roof open/);
    expect(lines.slice(-4)).toEqual([
      "   +5 s  ws/set-value       101: 10001 → 10010",
      "   +6 s  get-value flush=1  101: 10001 → 10010",
      "   +6 s  get-value          101: 10001 → 10010",
      "   +6 s  set-value/flush    101: 10001 → 10010",
    ]);
  });

  it("ends after its patience where nothing happens, and else when the travel time and a pause are over", async () => {
    expect((await watched({ word: "open" })).record.endedMs).toBeLessThanOrEqual(122_000);
    const { record } = await watched({ word: "open", moments: [{ at: 5, own: "10010" }] });
    expect(record.endedMs).toBeGreaterThanOrEqual(95_000);
    expect(record.endedMs).toBeLessThanOrEqual(99_000);
  });

  it("a platform that refuses everything is told once a way, and nothing is concluded from it", async () => {
    const clock = new VirtualClock();
    const lines: string[] = [];
    const refused = () => Promise.reject(failure("rejected", "realtime"));
    const platform = {
      listen: (_: unknown, __: unknown, signal: AbortSignal) =>
        new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
      value: refused,
      values: refused,
      runningStatuses: refused,
    };
    const say = (line: Text) => void lines.push(String(line));
    const movement = { actuator: skylight, word: "open", patienceMs: 60_000 };
    const watching = watchMovement(platform, movement, { clock, say }, new AbortController().signal);
    await clock.advance(100_000);
    expect(conclude(await watching)).toMatchObject({
      advice: [],
      findings: ["address 101 gave no value at all", expect.any(Sentence)],
    });
    expect(lines.filter((line) => line.startsWith("get-value:"))).toHaveLength(1);
  });
});

it.each<[args: string[], said: RegExp]>([
  [["--watch", "gh-0001/roof"], /say with --command what you will send: open, close, auto, 0\.\.100/],
  [["--watch", "gh-0001/roof", "--command", "up"], /it does not take --command "up"/],
  [["--watch", "gh-0001/rof", "--command", "open"], /no actuator "rof", did you mean "roof"/],
  [["--watch", "roof", "--command", "open"], /takes CONTROLLER\/ACTUATOR/],
  [["--command", "open"], /belong to --watch/],
])("`doctor` %j is a usage error that says what to write", async (args, said) => {
  const file = await fileWith(
    [
      "platform: { business_url: http://127.0.0.1:1, realtime_url: http://127.0.0.1:1, token: none }",
      "controllers: { GH-0001: { actuators: { roof: { kind: skylight, address: 101 } } } }",
    ].join("\n"),
  );
  const { code, err, out } = await greenhouse2mqtt(["doctor", "-c", file, ...args]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(said);
});
