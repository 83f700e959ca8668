import fc from "fast-check";
import { expect, it } from "vitest";
import { historyIn } from "../../../src/platform/decode/history.js";
import { timeReader, zoneOffset } from "../../../src/platform/time.js";

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

it("what has no time, or no number, is no past reading", () => {
  for (const body of [
    null,
    "x",
    7,
    [],
    {},
    { data: [{ temperature: 3 }] },
    { data: [{ dateTime: "soon", t: 3 }] },
    { data: [{ dateTime: times[0], name: "fine" }] },
  ])
    expect(historyIn(body, readTime, now, "WS-1").points).toEqual([]);
});

it("of anything at all only finite numbers come out, oldest first, and no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const { points } = historyIn(
        { data: [{ dateTime: times[0], inner: body }, body] },
        readTime,
        now,
        "WS-1",
      );
      for (const { value } of points) expect(Number.isFinite(value)).toBe(true);
      expect(points.map(({ at }) => at)).toEqual(
        points.map(({ at }) => at).toSorted((one, other) => one - other),
      );
    }),
  );
});
