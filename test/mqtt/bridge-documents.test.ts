import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import { newController } from "../../src/greenhouse/reduce.js";
import { PublishError, type PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { connectionSettings } from "../../src/mqtt/connection/settings.js";
import { announceOnline } from "../../src/mqtt/outputs.js";
import { controllersDocument, eventDocument, stationsDocument } from "../../src/mqtt/projection.js";
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

  it("above 256 KiB, counted in bytes, only says how many there are", () => {
    const document = (count: number, name: string): unknown => {
      const listed: ControllerEvent = { type: "listed", record: record({ name }), availability: "online" };
      const all = Array.from({ length: count }, (_, n) => newController(`GH-${n}`, `gh-${n}`, null, true));
      const text = controllersDocument(all.map((one) => after(one, start, listed)));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256 * 1024);
      return JSON.parse(text);
    };
    expect(document(0, "")).toEqual([]);
    expect(document(1_000, "House")).toHaveLength(1_000);
    expect(document(10_000, "House")).toEqual({ count: 10_000, truncated: true });
    expect(document(1_000, "温".repeat(60))).toEqual({ count: 1_000, truncated: true });
  });
});

describe("bridge/stations", () => {
  const at = (code: string, stationId: string | null, stationName: string | null) =>
    after(newController(code, code.toLowerCase(), null, true), start, {
      type: "listed",
      record: record({ code, stationId, stationName }),
      availability: "online",
    });

  it("lists each station of the lists with its controllers, in the order of the ids", () => {
    const all = [at("B", "8", "South"), at("A", "7", null), at("C", "8", "South"), at("D", null, null)];
    expect(JSON.parse(stationsDocument([...all, newController("E", "e", null, true)]))).toEqual([
      { id: "7", name: null, controllers: ["a"] },
      { id: "8", name: "South", controllers: ["b", "c"] },
    ]);
  });

  it("above 256 KiB only says how many there are", () => {
    const many = Array.from({ length: 9_000 }, (_, n) => at(`GH-${n}`, String(n), "站".repeat(20)));
    expect(JSON.parse(stationsDocument(many))).toEqual({ count: 9_000, truncated: true });
  });
});

it("bridge/event is type, severity, message and time, and facts that never stand for these", () => {
  const own = { type: "changed_elsewhere", severity: "warning", message: "moved" } as const;
  const facts = { controller: "east", type: "C001", at: 0, message: "x", severity: "none" };
  expect(eventDocument({ ...own, at: start, facts })).toEqual({
    ...own,
    at: "2026-03-01T08:00:00.000Z",
    controller: "east",
  });
});

/** Ends one attempt after the other as told, then succeeds: what is said, in how many attempts, after how many waits. */
const announcing = async (...ends: (PublishErrorKind | "ending" | Error)[]) => {
  let attempts = 0;
  let waits = 0;
  const isSaid = await announceOnline(
    () => {
      const end = ends[attempts++];
      if (end === undefined || end === "ending") return Promise.resolve();
      return Promise.reject(end instanceof Error ? end : new PublishError(end, end));
    },
    () => {
      waits++;
      return Promise.resolve();
    },
    () => attempts > 0 && ends[attempts] === "ending",
    silentLog,
  );
  return `${isSaid} ${attempts} ${waits}`;
};

describe("that the bridge is online", () => {
  it.each<[string, readonly (PublishErrorKind | "ending")[], expected: string]>([
    ["is said once", [], "true 1 0"],
    ["is said again until the broker acknowledges it", ["unacknowledged", "unacknowledged"], "true 3 0"],
    ["is not said again behind the last words", ["unacknowledged", "ending"], "false 1 0"],
    ["waits for room", ["busy"], "true 2 1"],
    ["is left to the next link when this one goes", ["unacknowledged", "offline"], "false 2 0"],
    ["holds nothing else up where the broker refuses it", ["refused"], "true 1 0"],
  ])("%s", async (_, ends, expected) => expect(await announcing(...ends)).toEqual(expected));

  it("fails as whatever is no answer of the broker fails", async () => {
    await expect(announcing(new TypeError("a mistake of ours"))).rejects.toThrow("a mistake of ours");
  });
});

it("messages larger than 256 KiB are taken from command topics only, for every command has an outcome", async () => {
  const { configuration } = await loaded(platform);
  const settings = connectionSettings(configuration.mqtt, topicsUnder("greenhouse"), null, [], {});
  const taken = ["greenhouse/a/actuator/b/set", "greenhouse/a/parameter/b/set", "greenhouse/a/address/1/set"];
  const others = ["greenhouse/bridge/request/read", "homeassistant/status", "other/a/actuator/b/set"];
  expect([...taken, ...others].filter((topic) => settings.anySize?.(topic))).toEqual(taken);
});
