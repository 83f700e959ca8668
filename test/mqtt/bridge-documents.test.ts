import { describe, expect, it } from "vitest";
import { newController } from "../../src/greenhouse/reduce.js";
import { controllersDocument, eventDocument } from "../../src/mqtt/projection.js";
import { controller, record } from "../support/builders.js";
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

describe("bridge/event", () => {
  it("is type, severity, message, time and the facts", () => {
    const event = {
      type: "changed_elsewhere",
      severity: "warning",
      message: "moved",
      at: start,
      facts: { controller: "east", actuator: "roof" },
    } as const;
    expect(JSON.parse(eventDocument(event))).toEqual({
      type: "changed_elsewhere",
      severity: "warning",
      message: "moved",
      at: "2026-03-01T08:00:00.000Z",
      controller: "east",
      actuator: "roof",
    });
  });

  it("facts never stand for the event's own fields", () => {
    const facts = { type: "C001", at: 0, message: "x", severity: "none" };
    const event = { type: "account_empty", severity: "warning", message: "empty", at: start, facts } as const;
    expect(JSON.parse(eventDocument(event))).toMatchObject({
      type: "account_empty",
      severity: "warning",
      message: "empty",
      at: "2026-03-01T08:00:00.000Z",
    });
  });
});
