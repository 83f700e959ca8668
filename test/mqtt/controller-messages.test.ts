import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { controllerMessages } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import {
  actuator,
  clientStatus,
  controller,
  controllerSettings,
  item,
  record,
  roofProblem,
} from "../support/builders.js";
import { after, registersRead, sensorsRead, start } from "../support/folding.js";

const topics = topicsUnder("greenhouse");
const settings = controllerSettings({
  actuators: [
    actuator(),
    actuator({ id: "side", address: "102", modeAddress: "201", positionAddress: "202" }),
  ],
  parameters: [{ id: "ec", address: "501", scale: 1 }],
});
const status = (value: string | number | null) => ({
  type: "statuses_read" as const,
  items: [{ name: "fan", number: statusNumber(16), value }],
  receivedAt: start,
  source: "poll" as const,
});
const noStatuses: ControllerEvent = {
  type: "statuses_read",
  items: [],
  receivedAt: start + 1_000,
};
const full = after(
  controller(settings),
  start,
  { type: "listed", record: record(), availability: "online" },
  sensorsRead([item({ measuredAt: start })]),
  status(1),
  registersRead({ "101": "45", "501": 3 }),
);
const published = (before: Controller | undefined, next: Controller | undefined) =>
  controllerMessages(topics, before, next).map(({ topic, payload }) => [
    topic.slice("greenhouse/gh-0001/".length),
    payload,
  ]);
const scalars = (before: Controller | undefined, next: Controller) =>
  published(before, next).filter(
    ([topic]) => !topic?.endsWith("json") && !["info", "problems", "tags"].includes(topic ?? ""),
  );

/** What a broker keeps of the messages. */
function kept(into: Map<string, string>, before: Controller | undefined, next: Controller | undefined) {
  for (const { topic, payload } of controllerMessages(topics, before, next)) {
    if (payload === "") into.delete(topic);
    else into.set(topic, payload);
  }
  return into;
}

describe("a controller's retained messages", () => {
  it("everything when there was none", () =>
    expect(scalars(undefined, full)).toEqual([
      ["availability", "online"],
      ["problem", "off"],
      ["sensor/air_temperature", "21.5"],
      ["sensor/air_temperature/quality", "good"],
      ["status/16_fan", "on"],
      ["actuator/roof/position", "45"],
      ["actuator/roof/value", "45"],
      ["actuator/roof/state", "position"],
      ...["roof", "side"].map((id) => [
        `actuator/${id}/allowed`,
        '{"words":["open","close","auto"],"degrees":{"min":0,"max":100},"because":[]}',
      ]),
      ["parameter/ec", "3"],
    ]));

  it.each<[string, ControllerEvent, [string, string][]]>([
    ["the same", { type: "time_passed" }, []],
    ["availability", { type: "unflagged" }, [["availability", "unknown"]]],
    ["a problem", { type: "problem", open: [roofProblem] }, [["problem", "on"]]],
    ["a running status", status(0), [["status/16_fan", "off"]]],
    ["a running status that is a raw value", status("自动"), [["status/16_fan", "自动"]]],
    ["a running status that is no longer told", status(null), [["status/16_fan", "unknown"]]],
    ["a running status that became empty", status(""), [["status/16_fan", "unknown"]]],
    [
      "a sensor",
      sensorsRead([item({ value: 22, raw: 22, measuredAt: start })]),
      [["sensor/air_temperature", "22"]],
    ],
    ["a parameter", registersRead({ "501": 4 }, { startedAt: 1 }), [["parameter/ec", "4"]]],
  ])("only what changed: %s", (_, event, expected) =>
    expect(scalars(full, after(full, start, event))).toEqual(expected),
  );

  it("problems says which command ended badly and why, and nothing when none did", () => {
    const raised = after(full, start, { type: "problem", open: [roofProblem] });
    const told = (from: Controller | undefined, to: Controller) =>
      new Map(published(from, to) as [string, string][]).get("problems");
    expect(JSON.parse(told(full, raised) ?? "")).toEqual({
      message: "roof open: Look.",
      problems: [{ ...roofProblem, at: "1970-01-01T00:00:00.000Z" }],
    });
    expect(told(raised, after(raised, start, { type: "problem", open: [] }))).toBe(
      '{"message":null,"problems":[]}',
    );
  });

  const infoAfter = (from: Controller, ...events: ControllerEvent[]): Record<string, unknown> => {
    const messages = new Map(published(from, after(from, start, ...events)) as [string, string][]);
    return JSON.parse(messages.get("info") ?? "{}") as Record<string, unknown>;
  };
  const listed = (over: Parameters<typeof record>[0]): ControllerEvent => ({
    ...{ type: "listed", record: record(over), availability: "online" },
  });

  it("info names what the list and the single-device status say, never shadowed by the platform's extension fields", () => {
    const extra = { type: "X", name: "Y", id: "9", tag: "t" };
    const said = { type: "C001", type_name: "sunlight greenhouse controller", station: "North farm" };
    expect(infoAfter(full, listed({ extra }))).toMatchObject({
      ...{ code: "GH-0001", id: "gh-0001", name: "East house", ...said, station_id: "7", version: "3" },
      ...{ platform_id: "9", extension_type: "X", tag: "t", brand: null, interface_version: null },
    });
    const told = { version: "2", description: "三号棚", lastOnlineAt: start };
    const online: ControllerEvent = { type: "connection", status: clientStatus("online", told) };
    // An offline device tells nothing of itself, so what is known stays.
    const offline: ControllerEvent = { type: "connection", status: clientStatus("offline") };
    expect(infoAfter(full, online, offline, listed({ name: "West" }))).toMatchObject({
      ...{ version: "3", interface_version: "2", description: "三号棚" },
      last_online_at: new Date(start).toISOString(),
    });
  });

  it.each([true, false])("info names the stream only where the configuration asks for it: %j", (stream) => {
    const hls = "https://user:password@video.example.com/1.flv";
    const info = infoAfter(controller(controllerSettings({ stream })), listed({ hls }));
    expect(info["stream"]).toBe(stream ? hls : undefined);
    expect(JSON.stringify(info).includes("password")).toBe(stream);
  });

  it("the JSON of a running status has the contract's fields", () => {
    const json = new Map(published(undefined, full) as [string, string][]).get("status/16_fan/json") ?? "";
    expect(JSON.parse(json)).toEqual({
      name: "fan",
      number: 16,
      value: 1,
      state: "on",
      read_at: new Date(start).toISOString(),
      changed_at: new Date(start).toISOString(),
      quality: "good",
    });
  });

  it("a running status that an answer leaves out is stale, its JSON first, and cleared after the third in a row", () => {
    const once = after(full, start + 1_000, noStatuses);
    const [json = [], ...rest] = published(full, once);
    expect(json[0]).toBe("status/16_fan/json");
    expect(JSON.parse(json[1] ?? "")).toMatchObject({ state: "on", quality: "stale" });
    expect(rest).toEqual([["status/16_fan", "stale"]]);
    const twice = after(once, start + 1_000, noStatuses);
    expect(published(once, twice)).toEqual([]);
    const gone = after(twice, start + 1_000, noStatuses);
    const [tags, ...others] = published(twice, gone);
    expect([tags?.[0], tags?.[1]?.includes("16_fan")]).toEqual(["tags", false]);
    expect(others).toEqual([
      ["status/16_fan", ""],
      ["status/16_fan/json", ""],
    ]);
    expect(published(twice, after(twice, start, status(1))).map(([topic]) => topic)).toEqual([
      "status/16_fan",
      "status/16_fan/json",
    ]);
  });

  it("a running status read again with the same value is not published for that; while the platform is away it is stale", () => {
    const of = (next: Controller) => published(full, next).filter(([topic]) => topic?.startsWith("status/"));
    const later = after(full, start + 60_000, { ...status(1), receivedAt: start + 60_000 });
    expect(of(later)).toEqual([]);
    expect(later.statuses.get("16_fan")).toMatchObject({ readAt: start + 60_000, changedAt: start });
    const told = of(after(full, start, { type: "platform", reachable: false }));
    expect(told.map(([topic]) => topic)).toEqual(["status/16_fan/json"]);
    expect(JSON.parse(told[0]?.[1] ?? "")).toMatchObject({ state: "on", quality: "stale" });
  });
});

const raw = fc.constantFrom("10010", "10001", "10100", "45", "0", "777", "", "x");
const event: fc.Arbitrary<ControllerEvent> = fc.oneof(
  fc.constantFrom<ControllerEvent>(
    { type: "listed", record: record(), availability: "online" },
    { type: "listed", record: record({ name: "West" }), availability: "offline" },
    { type: "problem", open: [roofProblem] },
    { type: "problem", open: [] },
    { type: "platform", reachable: false },
    { type: "platform", reachable: true },
  ),
  fc
    .array(
      fc.record({
        name: fc.constantFrom("空气温度", "神秘", "/", "x#"),
        value: fc.constantFrom(1, 22.5, -99, null, "text"),
        measuredAt: fc.constantFrom(null, start, start - 1, start - 3_600_000),
      }),
      { maxLength: 4 },
    )
    .map((items) => sensorsRead(items.map((over) => item({ ...over, raw: over.value })))),
  fc.constantFrom(1, 0, null, "自动").map(status),
  fc
    .tuple(fc.dictionary(fc.constantFrom("101", "201", "202", "501"), raw), fc.nat({ max: 9 }))
    .map(([values, startedAt]) => registersRead(values, { startedAt })),
);

describe("whatever happened to a controller", () => {
  it("the differences leave the broker as a full publish would, and clearing it leaves no retained topic", () =>
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const broker = new Map<string, string>();
        let shown = controller(settings);
        kept(broker, undefined, shown);
        for (const one of events) {
          const next = after(shown, start, one);
          kept(broker, shown, next);
          shown = next;
        }
        const scalar = (all: Map<string, string>) =>
          [...all].filter(([topic]) => !topic.endsWith("/json")).sort();
        expect(scalar(broker)).toEqual(scalar(kept(new Map(), undefined, shown)));
        kept(broker, shown, undefined);
        expect([...broker]).toEqual([]);
      }),
      { numRuns: 1_000 },
    ));

  it("clearing empties every topic of an actuator and a parameter, those that others publish too, and never `set`", () => {
    const cleared = controllerMessages(topics, controller(settings), undefined);
    const things = cleared.map(({ topic }) => topic).filter((topic) => topic.split("/").length > 3);
    const root = "greenhouse/gh-0001";
    const leaves = ["state", "position", "value", "json", "allowed", "lock", "lease", "run_time", "command"];
    expect(things).toEqual([
      ...["roof", "side"].flatMap((id) => leaves.map((leaf) => `${root}/actuator/${id}/${leaf}`)),
      ...["", "/json", "/command"].map((leaf) => `${root}/parameter/ec${leaf}`),
    ]);
    expect(new Set(cleared.map(({ payload }) => payload))).toEqual(new Set([""]));
    expect(controllerMessages(topics, undefined, undefined)).toEqual([]);
  });
});
