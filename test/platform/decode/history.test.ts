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
  const { points, truncated } = historyIn(body, readTime, now);
  const found = points.map(({ at, name, value }) => [at, name, value]);
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(truncated).toBe(false);
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
    expect(historyIn(body, readTime, now).points).toEqual([]);
});

it("of anything at all only finite numbers come out, oldest first, and no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const { points } = historyIn({ data: [{ dateTime: times[0], inner: body }, body] }, readTime, now);
      for (const { value } of points) expect(Number.isFinite(value)).toBe(true);
      expect(points.map(({ at }) => at)).toEqual(
        points.map(({ at }) => at).toSorted((one, other) => one - other),
      );
    }),
  );
});
