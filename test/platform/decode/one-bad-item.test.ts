import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decode } from "../../../src/platform/decode/decoding.js";
import { parseJson, UnreadableShape } from "../../../src/platform/decode/decoding.js";
import { deviceReader, stationReader, videoReader } from "../../../src/platform/decode/lists.js";
import { manyValuesReader } from "../../../src/platform/decode/registers.js";
import { averageReader, sensorReader } from "../../../src/platform/decode/sensors.js";
import { runningStatusReader } from "../../../src/platform/decode/statuses.js";
import { decoding } from "../support/decoding.js";

/* Of a list what can be read is read: one bad item, or one bad value, costs itself. */

const at = "2026-03-01 08:00:00";
const reading = (n: number) => ({ name: `s${n}`, factor: `f${n}`, value: n, unit: "℃", dateTime: at });

interface Kind {
  readonly read: Decode<Iterable<unknown>>;
  readonly item: (n: number) => Readonly<Record<string, unknown>>;
  /** The field whose value may be bad. */
  readonly value: string;
}

const kinds: Readonly<Record<string, Kind>> = {
  "sensor data": { read: sensorReader({}), item: reading, value: "value" },
  averages: { read: averageReader({}), item: reading, value: "value" },
  "running statuses": {
    read: runningStatusReader({}),
    item: (n) => ({ name: `r${n}`, deviceTypeNumber: n, status: n % 2 }),
    value: "status",
  },
  registers: {
    read: manyValuesReader({}),
    item: (n) => ({ address: String(100 + n), value: `100${n}` }),
    value: "value",
  },
  devices: {
    read: deviceReader({}),
    item: (n) => ({ code: `GH-${n}`, name: `House ${n}`, deviceTypeId: "C001", online: 1 }),
    value: "online",
  },
  videos: {
    read: videoReader({}),
    item: (n) => ({ code: `V-${n}`, name: `Camera ${n}`, hls: `https://cam.example/${n}` }),
    value: "hls",
  },
  stations: { read: stationReader({}), item: (n) => ({ id: n + 1, name: `Station ${n}` }), value: "name" },
};

const bad = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, 1e308, -1, "", "null", "--", "[object Object]", "\0", [], {}, [[]]),
  fc.constantFrom<unknown>(
    [null],
    [1],
    { a: {} },
    { value: {} },
    { toString: 1 },
    { length: 3 },
    { then: 1 },
  ),
  fc.constantFrom<unknown>("9".repeat(400), { __proto__: null }, "NaN", "Infinity", [{}, {}]),
);
const layouts: Readonly<Record<string, (items: readonly unknown[]) => unknown>> = {
  "data: […]": (items) => ({ code: 200, data: items }),
  "data.list: […]": (items) => ({ code: 200, data: { list: items } }),
  "rows: […]": (items) => ({ code: 200, rows: items }),
};

/** As it would come over the wire. */
const read = ({ read: decode }: Kind, answer: unknown): readonly string[] => {
  const body = parseJson(Buffer.from(JSON.stringify(answer)));
  try {
    return [...decode(body, decoding())].map((one) => JSON.stringify(one));
  } catch (error) {
    if (error instanceof UnreadableShape) return [];
    throw error;
  }
};

describe.each(Object.entries(kinds))("of %s", (_name, kind) => {
  const items = [0, 1, 2, 3].map((n) => kind.item(n));

  it.each(Object.entries(layouts))("in %s every other one is read beside a bad item", (_layout, answerOf) => {
    fc.assert(
      fc.property(bad, fc.nat(3), (junk, place) => {
        const others = items.filter((_, n) => n !== place);
        const spoilt = items.map((item, n) => (n === place ? junk : item));
        expect(read(kind, answerOf(spoilt))).toEqual(
          expect.arrayContaining([...read(kind, answerOf(others))]),
        );
      }),
      { numRuns: 60 },
    );
  });

  it.each(Object.entries(layouts))(
    "in %s every other one is read beside a bad value",
    (_layout, answerOf) => {
      fc.assert(
        fc.property(bad, fc.nat(3), (junk, place) => {
          const others = items.filter((_, n) => n !== place);
          const spoilt = items.map((item, n) => (n === place ? { ...item, [kind.value]: junk } : item));
          expect(read(kind, answerOf(spoilt))).toEqual(
            expect.arrayContaining([...read(kind, answerOf(others))]),
          );
        }),
        { numRuns: 60 },
      );
    },
  );
});

describe("of an object keyed by name", () => {
  it("every other value is read beside a bad one", () => {
    const values = { 101: "10010", 102: "10001", 103: "0" };
    const decode = manyValuesReader({});
    fc.assert(
      fc.property(bad, (junk) => {
        const body = parseJson(Buffer.from(JSON.stringify({ code: 200, data: { ...values, 104: junk } })));
        const found = decode(body, decoding());
        for (const [address, value] of Object.entries(values)) expect(found.get(address)).toBe(value);
      }),
    );
  });

  it("every other reading is read beside a bad one", () => {
    const byName = { s1: reading(1), s2: reading(2) };
    const decode = sensorReader({});
    fc.assert(
      fc.property(bad, (junk) => {
        const body = parseJson(Buffer.from(JSON.stringify({ code: 200, data: { ...byName, s3: junk } })));
        const names = decode(body, decoding()).map(({ name }) => name);
        expect(names).toEqual(expect.arrayContaining(["s1", "s2"]));
      }),
    );
  });
});
