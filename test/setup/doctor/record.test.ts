import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordCheck, scrub, scrubBook } from "../../../src/setup/doctor/recording.js";
import type { RawAnswer } from "../../../src/setup/doctor/context.js";
import {
  decodedAnswer,
  type DecodedOperation,
  decoders,
  readingsIn,
} from "../../../src/setup/doctor/shape-suggestion.js";
import { profileNames } from "../../../src/simulator/dialects.js";
import { canaries, examined, loaded, plainConfiguration, platform } from "./support/bench.js";
import { folder } from "../../cli/in-process.js";

const nowhere = { url: "mqtt://127.0.0.1:1" };
const zone = "Asia/Shanghai";

/** What comes of a recording, and the folder it is in. */
async function recorded(profile: (typeof profileNames)[number], into?: string) {
  const directory = into ?? join(await folder(), "recorded");
  const section = plainConfiguration(await platform({ profile }), nowhere);
  const { scene, of } = await examined(await loaded(section, await folder()), {}, [recordCheck(directory)]);
  return { directory, scene, finding: of("record") };
}

async function fixturesIn(directory: string): Promise<readonly RawAnswer[]> {
  const names = (await readdir(directory)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return texts.map((text) => {
    const fixture = JSON.parse(text) as Record<string, string> &
      Pick<RawAnswer, "operation" | "query" | "body">;
    expect(fixture).toMatchObject({ format: "greenhouse2mqtt answer 1", time_zone: zone });
    const { operation, query, body } = fixture;
    return { operation, query, body, receivedAt: Date.parse(String(fixture["received_at"])) };
  });
}

/** How many things of each operation the bridge's decoders find in answers. */
function countsOf(answers: readonly RawAnswer[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const { operation } = answer;
    if (!Object.hasOwn(decoders, operation)) continue;
    const { found } = decodedAnswer(answer, operation as DecodedOperation, {}, zone);
    counts[operation] = (counts[operation] ?? 0) + found.length;
  }
  return counts;
}

const valuesOf = (answers: readonly RawAnswer[]) =>
  answers
    .filter(({ operation }) => operation === "sensor-data")
    .flatMap((answer) => readingsIn(answer, {}, zone))
    .map(({ value, unit, measuredAt }) => `${value ?? ""} ${unit ?? ""} ${measuredAt ?? ""}`)
    .sort();

describe("recorded answers", () => {
  it.each(profileNames.filter((name) => name !== "odd"))(
    "of the dialect %s say the same to the decoders as the real ones, value for value",
    async (profile) => {
      const { directory, scene, finding } = await recorded(profile);
      expect(String(finding.summary)).toMatch(/answers are in/);
      const replayed = await fixturesIn(directory);
      expect(countsOf(replayed)).toEqual(countsOf([...scene.answers.values()]));
      expect(valuesOf(replayed)).toEqual(valuesOf([...scene.answers.values()]));
      expect(countsOf(replayed)["sensor-data"]).toBeGreaterThan(10);
    },
  );

  it("hold no device code, name, token or configured name, and only their owner can read them", async () => {
    const { directory, scene } = await recorded("default");
    const names = await readdir(directory);
    const text = (await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")))).join("\n");
    const { controllers, devices } = scene.evidence;
    const own = [...controllers, ...devices].flatMap((one) => [one.code, one.name, one.stationName]);
    expect(own.length).toBeGreaterThan(10);
    for (const secret of [...own, canaries.token, "East roof"])
      if (secret !== null) expect(text).not.toContain(secret);
    for (const name of names) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
  });

  it("name one device the same in every file", async () => {
    const answers = await fixturesIn((await recorded("default")).directory);
    const list = answers.find(({ operation }) => operation === "control/mqtt");
    if (list === undefined) throw new Error("no list");
    const codes = new Set(
      decodedAnswer(list, "control/mqtt", {}, zone).found.map((one) => (one as { code: string }).code),
    );
    const asked = answers.flatMap(({ query }) => query["deviceCode"] ?? []);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((code) => !codes.has(code))).toEqual([]);
  });

  it("never replace a file that is there", async () => {
    const directory = await folder();
    await writeFile(join(directory, "sensor-data.json"), "mine");
    const { finding } = await recorded("default", directory);
    expect(finding).toMatchObject({ status: "failed", remedy: "name another folder" });
    expect(await readFile(join(directory, "sensor-data.json"), "utf8")).toBe("mine");
    expect(await readdir(directory)).toEqual(["sensor-data.json"]);
  });
});

describe("scrubbing", () => {
  it.each([
    ["a value", { value: "23.5℃", val: 12 }],
    ["a time", { dateTime: "2026-11-21 15:32:15" }],
    ["a field whose name only looks like a secret's", { voltage: 5, humid: 3 }],
    ["a control address", { address: "101", data: { "101": "10010" } }],
  ])("%s stays", (_, given) => expect(scrub(given, "sensor-data", scrubBook())).toEqual(given));

  it.each([
    ["a token", { token: "abc" }, { token: "TOKEN-1" }],
    ["an id", { id: 77, stationId: "78" }, { id: 900_001, stationId: "900002" }],
    ["a whereabout", { lat: 31.2, lng: "121.5" }, { lat: 0, lng: "0" }],
    ["an address of a machine", { note: "at 10.1.2.3 or a@b.example" }, { note: "at HOST-1 or MAIL-1" }],
    ["an address of a video", { url: "rtsp://u:p@cam.example/1" }, { url: "URL-1" }],
  ])("%s is replaced", (_, given, expected) =>
    expect(scrub(given, "sensor-data", scrubBook())).toEqual(expected),
  );
});
