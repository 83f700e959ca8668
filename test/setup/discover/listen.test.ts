import { describe, expect, it } from "vitest";
import type { PlatformPush, PushListener, RawValue } from "../../../src/greenhouse/ports.js";
import type { Text } from "../../../src/language/text.js";
import { knownFile } from "../../../src/setup/discover/given-file.js";
import { listenToAccount } from "../../../src/setup/discover/listen.js";
import { wholeFileText } from "../../../src/setup/discover/whole-file.js";
import { VirtualClock } from "../../support/virtual-clock.js";
import { loadedText } from "./support/account.js";
import { file, survey } from "./support/surveys.js";

const scanned = {
  stations: [],
  // A degree is no proof of a positioner while other addresses stand beside it.
  devices: [survey({}, { 2: { "101": "10001" }, 4: { "103": "0", "104": "7" } })],
};

/** Listens for ten minutes to channels that the test speaks on. */
function listening(forMs: number | null = 600_000) {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const ears: PushListener[] = [];
  const platform: PlatformPush = {
    listen: (_channel, ear, signal) => {
      ears.push(ear);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  const stop = new AbortController();
  const say = (line: Text) => lines.push(String(line));
  const parts = { platform, clock, say, language: "en" as const, forMs, timeZone: "UTC" };
  const done = listenToAccount(scanned, knownFile({}), parts, stop.signal);
  const push = async (values: Readonly<Record<string, RawValue>>, code = "GH-0001") => {
    await clock.advance(1_000);
    for (const ear of ears)
      if (ear.knows(code)) ear.news({ type: "registers", code, values: new Map(Object.entries(values)) });
  };
  const opened = () => {
    for (const ear of ears) ear.onOpen();
  };
  /** What is said beside the first line. */
  const told = () => lines.slice(1).map((line) => line.replace(/^[\d:]{8} /, ""));
  return { clock, ears, stop, done, push, opened, told };
}

describe("listening while somebody moves things", () => {
  it("tells each change with what was there before, names what the scan knows, and ends after its time", async () => {
    const { clock, push, opened, told, done } = listening();
    opened();
    await push({ "317": "1001" });
    await push({ "317": 1001, "101": "10010" });
    await push({ "317": "1010" });
    await push({ "999": "x", "a b": "1" }, "NOBODY");
    await clock.advance(600_000);
    const { devices } = await done;
    expect(told()).toEqual([
      "GH-0001 address 317: 1001, looks like a machine (on, off, automatic)",
      "GH-0001 left skylight (address 101): 10001 → 10010",
      "GH-0001 address 317: 1001 → 1010, looks like a machine (on, off, automatic)",
      "heard 2 addresses of 1 controller",
    ]);
    expect(devices[0]?.heard?.map(({ address, values }) => [address, values])).toEqual([
      ["101", ["10001", "10010"]],
      ["317", ["1001", "1010"]],
    ]);
  });

  it("what was heard stands in the file as actuators, what says too little as comments, and what a scan doubted is settled by it", async () => {
    const { push, opened, stop, done } = listening(null);
    opened();
    await push({ "317": "1010", "318": "45", "103": "10010" });
    stop.abort();
    const text = wholeFileText({ ...file, survey: await done });
    const head =
      "platform: { business_url: http://127.0.0.1:1, realtime_url: http://127.0.0.1:1, token: none }\n";
    const { actuators } = (await loadedText(head + text)).controllers["GH-0001"] ?? {};
    expect(Object.entries(actuators ?? {}).map(([id, { kind }]) => [id, kind])).toEqual([
      ["left_skylight", "skylight"],
      ["positioner_103", "positioner"],
      ["machine_317", "machine"],
    ]);
    expect(text).toMatch(/# address 318 was heard 45 at .*: looks like a number from 0 to 100/);
    expect(text).not.toMatch(/# address 103 /);
    expect(text).toMatch(/# right_skylight: \{ .*address: 104, .*# now 7:/);
  });

  it("a channel that does not open says why once; where nothing is heard that is said, with the reason", async () => {
    const shut = listening();
    for (let times = 0; times < 3; times += 1) for (const ear of shut.ears) ear.onClosed?.("HTTP 404");
    await shut.clock.advance(600_000);
    await shut.done;
    expect(shut.told()).toEqual([
      "ws/set-value is not open: HTTP 404; it is tried again",
      "ws/device-status is not open: HTTP 404; it is tried again",
      expect.stringMatching(/^no channel opened/),
    ]);
    const silent = listening();
    silent.opened();
    await silent.clock.advance(600_000);
    await silent.done;
    expect(silent.told()).toEqual([expect.stringMatching(/^nothing was heard: /)]);
  });
});
