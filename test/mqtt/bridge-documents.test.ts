import { describe, expect, it } from "vitest";
import { newController } from "../../src/greenhouse/reduce.js";
import { PublishError, type PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { connectionSettings } from "../../src/mqtt/connection/settings.js";
import { announceOnline } from "../../src/mqtt/outputs.js";
import { controllersDocument, eventDocument } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { loaded, platform } from "../config/loading.js";
import { controller, record, silentLog } from "../support/builders.js";
import { after, start } from "../support/folding.js";

describe("bridge/controllers", () => {
  it("lists code, id, name, type, type_name, station and station_id, null where unknown", () => {
    const listed = after(controller(), start, { type: "listed", record: record(), availability: "online" });
    const unseen = newController("GH-2", "gh-2", null, true);
    expect(JSON.parse(controllersDocument([listed, unseen]))).toEqual([
      {
        code: "GH-0001",
        id: "gh-0001",
        name: "East house",
        type: "C001",
        type_name: "sunlight greenhouse controller",
        station: "North farm",
        station_id: "7",
      },
      {
        code: "GH-2",
        id: "gh-2",
        name: "GH-2",
        type: null,
        type_name: null,
        station: null,
        station_id: null,
      },
    ]);
  });

  it("is an empty array without controllers", () => expect(controllersDocument([])).toBe("[]"));

  it("above 256 KiB, counted in bytes, only says how many there are", () => {
    const some = (count: number, name: string) =>
      Array.from({ length: count }, (_, n) =>
        after(newController(`GH-${n}`, `gh-${n}`, null, true), start, {
          type: "listed",
          record: record({ code: `GH-${n}`, name }),
          availability: "online",
        }),
      );
    expect(Buffer.byteLength(controllersDocument(some(1_000, "House")))).toBeLessThanOrEqual(256 * 1024);
    expect(JSON.parse(controllersDocument(some(1_000, "House")))).toHaveLength(1_000);
    expect(JSON.parse(controllersDocument(some(10_000, "House")))).toEqual({
      count: 10_000,
      truncated: true,
    });
    expect(JSON.parse(controllersDocument(some(1_000, "温".repeat(60))))).toEqual({
      count: 1_000,
      truncated: true,
    });
  });
});

it("bridge/event is type, severity, message and time, and facts that never stand for these", () => {
  const own = { type: "changed_elsewhere", severity: "warning", message: "moved" } as const;
  const facts = { controller: "east", type: "C001", at: 0, message: "x", severity: "none" };
  expect(JSON.parse(eventDocument({ ...own, at: start, facts }))).toEqual({
    ...own,
    at: "2026-03-01T08:00:00.000Z",
    controller: "east",
  });
});

/** Ends one attempt after the other as told, then succeeds. */
const announcing = async (...ends: (PublishErrorKind | "ending" | Error)[]) => {
  let attempts = 0;
  let waits = 0;
  const isSaid = await announceOnline({
    publish: () => {
      const end = ends[attempts++];
      if (end === undefined || end === "ending") return Promise.resolve();
      return Promise.reject(end instanceof Error ? end : new PublishError(end, end));
    },
    isEnding: () => attempts > 0 && ends[attempts] === "ending",
    ready: () => {
      waits++;
      return Promise.resolve();
    },
    log: silentLog,
  });
  return { isSaid, attempts, waits };
};

describe("that the bridge is online", () => {
  it.each<[string, readonly (PublishErrorKind | "ending")[], Awaited<ReturnType<typeof announcing>>]>([
    ["is said once", [], { isSaid: true, attempts: 1, waits: 0 }],
    [
      "is said again until the broker acknowledges it",
      ["unacknowledged", "unacknowledged"],
      { isSaid: true, attempts: 3, waits: 0 },
    ],
    [
      "is not said again behind the last words",
      ["unacknowledged", "ending"],
      { isSaid: false, attempts: 1, waits: 0 },
    ],
    ["waits for room", ["busy"], { isSaid: true, attempts: 2, waits: 1 }],
    [
      "is left to the next link when this one goes",
      ["unacknowledged", "offline"],
      { isSaid: false, attempts: 2, waits: 0 },
    ],
    [
      "holds nothing else up where the broker refuses it",
      ["refused"],
      { isSaid: true, attempts: 1, waits: 0 },
    ],
  ])("%s", async (_, ends, expected) => {
    expect(await announcing(...ends)).toEqual(expected);
  });

  it("fails as whatever is no answer of the broker fails", async () => {
    await expect(announcing(new TypeError("a mistake of ours"))).rejects.toThrow("a mistake of ours");
  });
});

describe("messages larger than 256 KiB", () =>
  it.each([
    ["greenhouse/east/actuator/roof/set", true],
    ["greenhouse/east/parameter/ec/set", true],
    ["greenhouse/east/address/101/set", true],
    ["greenhouse/bridge/request/read", false],
    ["greenhouse/bridge/self_test", false],
    ["homeassistant/status", false],
    ["homeassistant/device/x/config", false],
    ["other/east/actuator/roof/set", false],
  ])("are taken from command topics only, for every command has an outcome: %s %s", async (topic, taken) => {
    const { configuration } = await loaded(platform);
    const settings = connectionSettings(configuration.mqtt, topicsUnder("greenhouse"), null, [], {});
    expect(settings.anySize?.(topic)).toBe(taken);
  }));
