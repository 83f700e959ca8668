import fc from "fast-check";
import { expect, it } from "vitest";
import { historyIn } from "../../../src/platform/decode/history.js";
import { timeReader } from "../../../src/platform/time.js";
import { zoneOffset } from "../../../src/runtime/zone.js";

const readTime = timeReader(zoneOffset("Asia/Shanghai"));
const now = Date.UTC(2026, 2, 1, 8);
const [first, second] = [Date.UTC(2026, 2, 1, 0), Date.UTC(2026, 2, 1, 1)];
const times = ["2026-03-01 08:00:00", "2026-03-01 09:00:00"] as const;

const wide = [
  { deviceCode: "WS-1", dateTime: times[0], temperature: 12.5, humidity: "80 %", id: 7 },
  { deviceCode: "WS-1", dateTime: times[1], temperature: 13, humidity: "--", id: 8 },
];
const expected = [
  [first, "temperature", 12.5],
  [first, "humidity", 80],
  [second, "temperature", 13],
];

it.each<[shape: string, body: unknown]>([
  ["a list under data", { code: 200, data: wide }],
  ["a page", { code: 200, data: { total: 2, pageNum: 1, records: wide } }],
  ["newest first", { rows: wide.toReversed() }],
  [
    "keyed by time",
    { data: { [times[0]]: { temperature: 12.5, humidity: 80 }, [times[1]]: { temperature: 13 } } },
  ],
  [
    "a value each",
    {
      data: [
        { name: "temperature", value: "12.5", time: first },
        { name: "humidity", value: 80, time: first },
        { name: "temperature", value: 13, time: second },
      ],
    },
  ],
  [
    "a list for each quantity",
    {
      data: {
        temperature: [
          { dateTime: times[0], value: 12.5 },
          { dateTime: times[1], value: 13 },
        ],
        humidity: [{ dateTime: times[0], value: 80 }],
      },
    },
  ],
  [
    "quantities inside each moment",
    {
      data: [
        {
          dateTime: times[0],
          items: [
            { name: "temperature", value: 12.5 },
            { name: "humidity", value: 80 },
          ],
        },
        { dateTime: times[1], items: [{ name: "temperature", value: 13 }] },
      ],
    },
  ],
])("%s is read", (_, body) => {
  const { points, truncated } = historyIn(body, readTime, now, "WS-1");
  const found = points.map(({ at, name, value }) => [at, name, value]);
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(truncated).toBe(false);
});

const frame = { code: 200, success: true, requestId: "r-1", timestamp: Date.UTC(2026, 2, 1, 8) };

it.each<[where: string, body: unknown]>([
  ["data", { ...frame, data: { total: 2, pageNum: 1, pageSize: 10, pages: 1, records: wide } }],
  ["its frame", { ...frame, total: 2, current: 1, rows: wide }],
  ["a part that has a time", { data: { dateTime: times[1], size: 2, totalCount: 2, list: wide } }],
  ["an empty page", { ...frame, data: { total: 0, pageNum: 1, list: [] } }],
])("counts of pages in %s are no readings, and the time of the answer is none of a reading", (_, body) => {
  const { points } = historyIn(body, readTime, now, "WS-1");
  expect([...new Set(points.map(({ name }) => name))].sort()).toEqual(
    JSON.stringify(body).includes("temperature") ? ["humidity", "temperature"] : [],
  );
});

it("a number of its own may be called as a count is, outside a page", () => {
  const { points } = historyIn({ data: [{ dateTime: times[0], count: 12 }] }, readTime, now, "WS-1");
  expect(points.map(({ name, value }) => [name, value])).toEqual([["count", 12]]);
});

it.each<[shape: string, body: unknown, name: string]>([
  ["a value each", { data: [{ name: "风向", value: " 东北 ", time: first }] }, "风向"],
  [
    "a list for each quantity",
    { data: { windDirection: [{ dateTime: times[0], value: "东北" }] } },
    "windDirection",
  ],
  [
    "a field of a moment",
    { data: [{ dateTime: times[0], windDirection: "东北", deviceName: "一号站", remark: "x", 风速: "--" }] },
    "windDirection",
  ],
])("a word is a past reading, where it is that of a sensor: %s", (_, body, name) => {
  const { points } = historyIn(body, readTime, now, "WS-1");
  expect(points.map((point) => [point.name, point.value])).toEqual([[name, "东北"]]);
});

it("what names another device is left out, and whether all names the one that was asked for is told", () => {
  const of = (deviceCode: string, temperature: number) => ({ deviceCode, dateTime: times[0], temperature });
  const read = (body: unknown) => {
    const { points, isOwn } = historyIn(body, readTime, now, "WS-1");
    return [points.map(({ value }) => value), isOwn];
  };
  expect(read({ data: [of("WS-1", 1), of("WS-2", 2)] })).toEqual([[1], true]);
  expect(read({ data: { deviceCode: "WS-1", list: [{ dateTime: times[0], temperature: 3 }] } })).toEqual([
    [3],
    true,
  ]);
  expect(read({ data: { "WS-1": wide.slice(0, 1), "WS-2": [of("WS-2", 9)] } })).toEqual([[12.5, 80], true]);
  expect(read({ data: [{ dateTime: times[0], temperature: 4 }] })).toEqual([[4], false]);
  expect(read({ data: [{ dateTime: times[0], temperature: 4 }, of("WS-1", 1)] })).toEqual([
    expect.arrayContaining([1, 4]),
    false,
  ]);
});

it("what has no time, or neither number nor word, is no past reading", () => {
  for (const body of [
    null,
    "x",
    7,
    [],
    {},
    { data: [{ temperature: 3 }] },
    { data: [{ dateTime: "soon", t: 3 }] },
    { data: [{ dateTime: times[0], name: "fine" }] },
    { data: [{ dateTime: times[0], name: "风向", value: "--" }] },
    { data: [{ dateTime: times[0], name: "风向", value: times[1] }] },
    { data: [{ dateTime: times[0], name: "风向", value: "x".repeat(60) }] },
  ])
    expect(historyIn(body, readTime, now, "WS-1").points).toEqual([]);
});

it("of anything at all only finite numbers and short words come out, oldest first, and no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const { points } = historyIn(
        { data: [{ dateTime: times[0], inner: body }, body] },
        readTime,
        now,
        "WS-1",
      );
      for (const { value } of points)
        expect(typeof value === "string" ? value.length <= 40 : Number.isFinite(value)).toBe(true);
      expect(points.map(({ at }) => at)).toEqual(
        points.map(({ at }) => at).toSorted((one, other) => one - other),
      );
    }),
  );
});
