import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnreadableShape } from "../../../src/platform/decode/decoding.js";
import { measurement, sensorReader } from "../../../src/platform/decode/sensors.js";
import type { OperationShape } from "../../../src/platform/settings.js";
import { anyAnswer, decoding, scalarsOf } from "../support/decoding.js";

type Reading = [text: string, value: number | string | null, unit: string | null];

describe("the text of a value", () => {
  it.each<Reading>([
    ["23.5", 23.5, null],
    [" 23.5 ", 23.5, null],
    ["-0.4", -0.4, null],
    ["+3", 3, null],
    ["1e3", 1000, null],
    ["２３．５℃", 23.5, "℃"],
    ["－３", -3, null],
    ["３号风机", "３号风机", null],
    ["23.5℃", 23.5, "℃"],
    ["60 %RH", 60, "%RH"],
    ["250 μmol/m²/s", 250, "μmol/m²/s"],
    ["1,013.25 hPa", 1013.25, "hPa"],
    ["-12,345,678.5", -12345678.5, null],
    ...["1,013", "12,34.5", "23,5"].map((text): Reading => [text, text, null]),
    ["3.2米/秒", 3.2, "米/秒"],
    ["1.5 升每分钟", 1.5, "升每分钟"],
    ...["", "--", "N/A", "null", "NaN", "无"].map((text): Reading => [text, null, null]),
    ...["晴", "3号风机", "3 D", "12:30", "2026-03-01", "1.2.3", "0x32", "Infinity", "1e999"].map(
      (text): Reading => [text, text, null],
    ),
    ["23.5 or so", "23.5 or so", null],
  ])("%j is %j with unit %j", (text, value, unit) =>
    expect(measurement(text, null)).toEqual({ value, unit }),
  );

  it("a unit said elsewhere may be repeated behind the number", () => {
    expect(measurement("5 斤", "斤")).toEqual({ value: 5, unit: "斤" });
    expect(measurement("5 斤", null)).toEqual({ value: "5 斤", unit: null });
  });
});

const time = "2026-03-01 16:00:00";
const at = Date.parse("2026-03-01T08:00:00Z");

function read(answer: unknown, shape: OperationShape = {}) {
  const given = decoding();
  const items = sensorReader(shape)(answer, given);
  return { items, problems: given.problems };
}

const unnamed = { value: 23.5, unit: "℃", time };
const plain = { name: "空气温度", value: 23.5, unit: "℃", dateTime: time };
const expected = {
  ...{ name: "空气温度", factor: null, channel: null },
  ...{ value: 23.5, raw: 23.5, unit: "℃", measuredAt: at },
};

describe("sensor-data: where the items are", () => {
  it.each<[string, unknown]>([
    ["data", { code: 200, data: [plain] }],
    ["data.list", { code: 200, data: { list: [plain], total: 1 } }],
    ["data.records", { code: 200, data: { records: [plain], size: 10, current: 1 } }],
    ["rows", { code: 200, rows: [plain], total: 1 }],
    ["list", { code: 200, data: null, list: [plain] }],
    ["result.items", { result: { items: [plain] } }],
    ["the answer itself", [plain]],
    ["data.data", { data: { data: [plain] } }],
    ["under the device code", { data: { "GH-1": [plain], "GH-2": [{ ...plain, value: 9 }] } }],
    ["under the device code in data.list", { data: { list: { "GH-1": { list: [plain] } } } }],
    ["beside other fields", { traceId: "0", data: [{ ...plain, remark: null, ext: { by: "x" } }] }],
    ["one object", { data: plain }],
    ["with an instant in parts", { data: [{ ...plain, dateTime: [2026, 3, 1, 16, 0, 0, 5_000_000] }] }],
    ["with an instant in parts, without seconds", { data: [{ ...plain, dateTime: [2026, 3, 1, 16, 0] }] }],
    ["with the time outside", { data: { dateTime: time, list: [{ ...plain, dateTime: undefined }] } }],
  ])("%s", (_name, answer) => expect(read(answer)).toEqual({ items: [expected], problems: [] }));

  it.each<[string, unknown, object]>([
    ["keyed by name", { 空气温度: unnamed }, {}],
    ["keyed by factor code", { airTemp: unnamed }, { name: "", factor: "airTemp" }],
    ["keyed by factor code, with a name inside", { airTemp: plain }, { factor: "airTemp" }],
    ["keyed by channel", { "3": plain }, { channel: "3" }],
    ["lists keyed by channel", { "3": [plain] }, { channel: "3" }],
    ["lists keyed by sensor", { 温湿度传感器: [plain] }, { channel: "温湿度传感器" }],
    ["lists keyed by factor, nameless inside", { airTemp: [unnamed] }, { name: "", factor: "airTemp" }],
    ["one entry per channel", [{ channel: 3, sensors: [plain] }], { channel: "3" }],
    ["one entry per sensor", [{ sensorName: "温湿度1", data: [plain] }], { channel: "温湿度1" }],
    ["the reading inside the item", [{ name: "空气温度", value: unnamed }], {}],
    ["the reading inside the item, whatever it is called", [{ name: "空气温度", sensorValue: unnamed }], {}],
    ["numbers under their names", { 空气温度: 23.5, dateTime: time }, { unit: null }],
    ["numbers beside an empty list", { 空气温度: 23.5, dateTime: time, alarms: [] }, { unit: null }],
    [
      "numbers beside an object that only describes them",
      { 空气温度: 23.5, dateTime: time, location: { lat: 36.6, lng: 117.1 } },
      { unit: null },
    ],
    ["numbers beside an empty object", { 空气温度: 23.5, dateTime: time, ext: {} }, { unit: null }],
    [
      "numbers with an instant in parts",
      { 空气温度: 23.5, dateTime: [2026, 3, 1, 16, 0, 0] },
      { unit: null },
    ],
    [
      "numbers under factor codes, per channel",
      [{ channel: 2, lp: 23.5, dateTime: time }],
      { name: "", factor: "lp", channel: "2", unit: null },
    ],
  ])("%s", (_name, data, over) =>
    expect(read({ code: 200, data })).toEqual({ items: [{ ...expected, ...over }], problems: [] }),
  );

  it("beside numbers under their names one that holds something else is told", () => {
    const data = { 空气温度: 23.5, 空气湿度: { state: "fault" }, dateTime: time };
    expect(read({ code: 200, data })).toEqual({
      items: [{ ...expected, unit: null }],
      problems: ["an item without the fields it needs"],
    });
  });

  it("a list of numbers that are no instant is no value", () =>
    expect(read({ code: 200, data: [{ ...plain, value: [2100, 2050, 1980, 1975, 1990] }] }).items).toEqual(
      [],
    ));

  it.each([null, [], {}, "", undefined])("data %j is no items, and nothing to complain of", (data) =>
    expect(read({ code: 200, data })).toEqual({ items: [], problems: [] }),
  );

  it.each(["ok", 7, true])("data %j is a shape nobody knows", (data) =>
    expect(() => read({ code: 200, data })).toThrow(UnreadableShape),
  );

  it.each([{ error: "Forbidden" }, { foo: "bar" }, { detail: "Not found.", status: 404 }])(
    "%j is a shape nobody knows",
    (answer) => expect(() => read(answer)).toThrow(UnreadableShape),
  );

  it.each([
    [],
    {},
    { data: null },
    { code: 200 },
    { code: 200, msg: "ok" },
    { list: [] },
    { timestamp: at, success: true },
    { total: 0, dataList: [] },
    { total: 0, page: {}, remark: "" },
  ])("%j is no items, and nothing to complain of", (answer) =>
    expect(read(answer)).toEqual({ items: [], problems: [] }),
  );

  it("items of other devices are left out", () => {
    const data = ["GH-2", "GH-1"].map((deviceCode) => ({ ...plain, deviceCode }));
    expect(read({ data })).toEqual({ items: [expected], problems: [] });
  });
});

describe("sensor-data: a page of a longer list", () => {
  it.each<[string, object]>([
    ["by its own count", { code: 200, data: { list: [plain], total: 14 } }],
    ["by the number of pages", { code: 200, data: { records: [plain], pages: 2 } }],
    ["beside the list", { code: 200, rows: [plain], total: 2 }],
  ])("is told: %s", (_, answer) => {
    const { items, problems } = read(answer);
    expect(items).toEqual([expected]);
    expect(problems).toEqual([expect.stringMatching(/^only a page of a longer list/)]);
  });

  it.each<[string, object]>([
    ["all of it", { code: 200, data: { list: [plain], total: 1, pages: 1 } }],
    ["a quantity that is called so", { code: 200, data: { total: 120, lp: 0.3, dateTime: time } }],
  ])("is no page: %s", (_, answer) => expect(read(answer).problems).toEqual([]));
});

describe("sensor-data: when an item was measured", () => {
  const late = "2026-03-01 16:00:30";
  const inside = { name: "空气温度", value: 23.5 };
  const frame = (around: object, item: object) => ({ data: { ...around, list: [{ ...inside, ...item }] } });
  it.each<[string, object, number | null]>([
    ["its own time", frame({ dateTime: late }, { dateTime: time }), at],
    ["the frame's time, where it has none", frame({ dateTime: time }, {}), at],
    ["no time of the frame where its own is null", frame({ dateTime: time }, { dateTime: null }), null],
    ["nor where it is empty", frame({ dateTime: time }, { dateTime: "" }), null],
    ["nor when the answer was made", frame({ timestamp: at }, {}), null],
    ["nor that where its own is null", frame({ timestamp: at, ts: at }, { dateTime: null }), null],
    ["the frame's other time", frame({ timestamp: at + 30_000, updateTime: time }, {}), at],
    [
      "no time of its group where its own is null",
      { data: [{ channel: 3, time, sensors: [{ ...inside, time: null }] }] },
      null,
    ],
    ["the time of its group", { data: [{ channel: 3, time, sensors: [inside] }] }, at],
    [
      "none where its group has an empty one",
      { data: { time, list: [{ channel: 3, time: null, sensors: [inside] }] } },
      null,
    ],
    ["numbers under their names: beside them", { data: { lp: 23.5, timestamp: at } }, at],
    ["and not where it is null", { data: { timestamp: at, list: [{ lp: 23.5, dateTime: null }] } }, null],
    ["keyed by device: the device's own", { data: { "GH-1": { timestamp: at, list: [inside] } } }, at],
    ["the same a level deeper", { data: { "GH-1": { data: { ts: at, list: [inside] } } } }, at],
    ["that of a frame which names the device", frame({ deviceCode: "GH-1", timestamp: at }, {}), at],
  ])("%s", (_name, answer, measuredAt) => {
    const { items, problems } = read(answer);
    expect(items.map((item) => item.measuredAt)).toEqual([measuredAt]);
    expect(problems).toEqual([]);
  });

  it("a path of the configuration is followed in the frame too", () => {
    const { items } = read(frame({ timestamp: at }, {}), { time: "timestamp" });
    expect(items[0]?.measuredAt).toBe(at);
  });
});

describe("sensor-data: the fields of an item", () => {
  it.each([
    { sensorName: "空气温度", sensorValue: 23.5, sensorUnit: "℃", updateTime: time },
    { factorName: "空气温度", val: "23.5", unitName: "℃", time: "2026/03/01 16:00:00" },
    { title: "空气温度", v: "23.5℃", data_time: "2026-03-01T16:00:00+08:00" },
    { label: "空气温度", currentValue: "23.5 ", unit: "℃", timestamp: at },
    { Name: "空气温度", Value: 23.5, Unit: "℃", DateTime: "1772352000" },
    { NAME: "空气温度", VALUE: "23.50", UNIT: "℃", datetime: 1_772_352_000 },
  ])("spellings: %j", (fields) => {
    const [item] = read({ data: [fields] }).items;
    expect(item).toMatchObject({ name: "空气温度", value: 23.5, unit: "℃", measuredAt: at });
  });

  it.each([
    [
      { factorName: "空气温度", factorCode: "t", data: 23.5 },
      { factor: "t", unit: null },
    ],
    [{ name: "空气温度", data: 23.5 }, { unit: null }],
    [{ name: "空气温度", data: 23.5, remark: null, ext: { createBy: "admin" } }, { unit: null }],
    [{ name: "空气温度", data: 23.5, alarm: 0, ext: { name: "admin", phone: "1" } }, { unit: null }],
    [
      { name: "风向", data: "东北" },
      { name: "风向", value: "东北", raw: "东北", unit: null },
    ],
  ])("what stands alone beside name and unit or factor is the value: %j", (fields, over) => {
    const { items, problems } = read({ data: [{ ...fields, dateTime: time }] });
    expect({ items, problems }).toEqual({ items: [{ ...expected, ...over }], problems: [] });
  });

  const named = { name: "空气温度", code: "t1", dateTime: time };

  it("a lone field hides neither the value inside its item nor the items of its group", () => {
    const value = { value: 23.5, unit: "℃" };
    expect(read({ data: [{ ...named, value, alarm: 0 }] }).items).toEqual([{ ...expected, factor: "t1" }]);
    const factors = [{ factorName: "空气温度", factorCode: "t", data: 23.5, unit: "℃", dateTime: time }];
    for (const inside of [factors, factors.map(({ data, ...one }) => ({ ...one, value: data }))])
      expect(read({ data: [{ name: "采集器1", code: "C1", sn: "123", factors: inside }] }).items).toEqual([
        { ...expected, factor: "t", channel: "采集器1" },
      ]);
    const zone = { name: "采集器1", code: "C1", sn: "123", 一区: { temperature: 23.5 } };
    expect(read({ data: [zone] }).items).toMatchObject([{ factor: "temperature", value: 23.5 }]);
    expect(read({ data: [{ name: "采集器1", code: "C1", sn: "123", factors: [] }] }).items).toEqual([]);
  });

  it.each<[string, object[]]>([
    ["others have a value", [plain, { name: "土壤温度", unit: "℃", shuju: 0 }]],
    ["all is without a value", [{ name: "土壤温度", unit: "℃", alarm: 0 }]],
    ["one alone has a name that nobody knows", [{ name: "土壤温度", unit: "℃", rawX: 0 }]],
    [
      "what all have left is a word",
      [
        { name: "空气温度", unit: "℃", location: "East" },
        { name: "土壤温度", unit: "℃", location: "West" },
      ],
    ],
    [
      "another field is the lone one of another item",
      [
        { name: "空气温度", unit: "℃", shuju: 23.5 },
        { name: "土壤温度", unit: "℃", jingbao: 0 },
      ],
    ],
  ])("where a value is left out, no other field is the reading: %s", (_name, data) =>
    expect(read({ data }).items.filter(({ name, value }) => name === "土壤温度" && value !== null)).toEqual(
      [],
    ),
  );

  it("a name that nobody knows is that of the values where several items agree", () => {
    const data = [
      { factorName: "空气温度", shuju: "23.5", unit: "℃" },
      { factorName: "风向", shuju: "东北", unit: "" },
    ];
    expect(read({ data }).items).toMatchObject([{ name: "空气温度", value: 23.5 }, { name: "风向" }]);
  });

  it("an item that leaves out the lone value takes it from no other", () => {
    const [one] = read({
      data: [
        { ...named, data: 23.5 },
        { name: "土壤温度", code: "t2" },
      ],
    }).items;
    expect(one).toEqual({ ...expected, factor: "t1", unit: null });
  });

  it.each<[string, object[]]>([
    ["one that names a quantity", [{ tagName: "at", tagDesc: "空气温度", tagValue: "23.5", tagUnit: "℃" }]],
    [
      "several that names tell apart",
      [
        { pointName: "A1", pointData: 23.5 },
        { pointName: "A2", pointData: 16 },
      ],
    ],
  ])("items under field names that nobody knows are no rows of one reading: %s", (_, data) => {
    const { items, problems } = read({ data: data.map((one) => ({ ...one, dateTime: time })) });
    expect(items).toEqual([]);
    expect(new Set(problems)).toEqual(new Set(["a reading without name, factor or channel"]));
  });

  it.each<[string, object[]]>([
    ["of a known quantity", [{ stationName: "空气温度", temperature: 23.5 }]],
    ["alone, beside the name of its place", [{ stationName: "North", wx7: 23.5 }]],
    ["of one quantity at several times", [{ wx7: 23.5, dateTime: time }, { wx7: 16 }]],
    [
      "alone, beside the name of a device that sounds like a quantity",
      [{ deviceName: "土壤温度", t7: 23.5 }],
    ],
  ])("a row of one reading is one: %s", (_, data) =>
    expect(read({ data }).items[0]).toMatchObject({ value: 23.5 }),
  );

  it("rows are in the order of the answer, however many readings each has", () => {
    const { items } = read({ data: [{ temperature: 20 }, { temperature: 21, humidity: 60 }] });
    expect(items.map(({ value }) => value)).toEqual([20, 21, 60]);
  });

  it("a word under the name of a quantity is its reading, also in a row of numbers", () => {
    const { items, problems } = read({ data: { 风速: 3.1, 风向: "东北", 室外温度: 9, dateTime: time } });
    expect(items.map(({ name, value }) => [name, value])).toEqual([
      ["风速", 3.1],
      ["风向", "东北"],
      ["室外温度", 9],
    ]);
    expect(problems).toEqual([]);
  });

  it("a quantity's own name is the name, and the sensor's is its place", () => {
    const [item] = read({ data: [{ name: "探头1", code: "p1", temperature: 23.5 }] }).items;
    expect(item).toMatchObject({ factor: "temperature", channel: "探头1", value: 23.5 });
  });

  it.each([
    ...["factor", "factorCode", "code", "key", "eName", "factor_code"].map(
      (field) => [field, "factor"] as const,
    ),
    ...["channel", "channelNum", "channelNo", "channel_no"].map((field) => [field, "channel"] as const),
  ])("%s is read as the %s", (field, key) =>
    expect(read({ data: [{ ...plain, [field]: "a7" }] }).items[0]?.[key]).toBe("a7"),
  );

  it.each<[unknown, number | string | null, unknown, string | null]>([
    ["23.5℃", 23.5, "23.5℃", "℃"],
    [null, null, null, null],
    [true, "true", true, null],
  ])("a value %j is %j", (value, read_, raw, unit) => {
    const [item] = read({ data: [{ name: "x", value }] }).items;
    expect(item).toMatchObject({ value: read_, raw, unit });
  });

  it("the unit of the item wins over the one behind the number", () =>
    expect(read({ data: [{ name: "x", value: "23.5℃", unit: "°C" }] }).items[0]?.unit).toBe("°C"));

  it("a time that cannot be read is none, and is reported", () => {
    const { items, problems } = read({ data: [{ name: "x", value: 1, dateTime: "soon" }] });
    expect(items[0]?.measuredAt).toBeNull();
    expect(problems).toEqual(["a time that cannot be read"]);
  });

  it.each([
    { value: 1 },
    { name: "x" },
    {},
    { name: ["x"], value: 1 },
    { name: { a: 1 }, factor: [], value: 1 },
    { what: "空气温度", now: 23.5, scale: "℃" },
    ...[7, "x", null, [1, 2]],
  ])("%j is left out and reported, the others are read", (odd) => {
    const { items, problems } = read({ data: [odd, plain] });
    expect(items).toEqual([expected]);
    expect(problems.length).toBeGreaterThan(0);
  });

  it("page numbers and ids are never readings", () =>
    expect(
      read({ data: { total: 3, pageNum: 1, pageSize: 10, deviceId: 5, version: 2 } }).items,
    ).toHaveLength(0));
});

describe("sensor-data: what the configuration says", () => {
  it("paths replace the guesses", () => {
    const point = { what: "空气温度", now: { v: 23.5 }, scale: "℃", when: time, no: 4, id: "t1" };
    const where = { items: "payload.points", name: "what", value: "now.v", unit: "scale" };
    const shape = { ...where, time: "when", channel: "no", code: "id" };
    const items = [{ ...expected, factor: "t1", channel: "4" }];
    expect(read({ payload: { points: [point] } }, shape)).toEqual({ items, problems: [] });
  });

  it("where the path to a value leads nowhere, no other field is the value", () => {
    const points = [{ name: "空气温度", unit: "℃", rawValue: 512 }];
    const { items } = read({ data: points }, { value: "calibrated" });
    expect(items.filter(({ name }) => name === "空气温度")).toEqual([]);
  });

  it("a path that leads nowhere is an unknown shape, not an empty answer", () =>
    expect(() => read({ data: [plain] }, { items: "payload.points" })).toThrow(UnreadableShape));
});

describe("sensor-data, any answer", () =>
  it("never crashes, never invents a reading, never touches a prototype", () => {
    const reader = sensorReader({});
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const scalars = scalarsOf(answer);
        let items: ReturnType<typeof reader> = [];
        try {
          items = reader(answer, decoding());
        } catch (error) {
          if (!(error instanceof UnreadableShape)) throw error;
        }
        for (const { name, factor, channel, value, raw } of items) {
          expect(name !== "" || factor !== null || channel !== null).toBe(true);
          for (const text of [name, factor, channel])
            if (text !== null && text !== "") expect(scalars).toContain(text);
          if (raw !== null) expect(scalars).toContain(String(raw).trim());
          if (raw === null) expect(value).toBeNull();
          if (typeof value === "number") expect(Number.isFinite(value)).toBe(true);
        }
        expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
      }),
      { numRuns: 10_000 },
    );
  }));

describe("sensor-data: two readings that nothing tells apart", () => {
  const alike = expect.stringMatching(/^readings that nothing tells apart/) as unknown;

  it.each<[string, unknown]>([
    ["the same name", [plain, { ...plain, value: 9 }]],
    ["the same name and channel", [1, 2].map((value) => ({ ...plain, channel: 3, value }))],
    ["the same factor code", [1, 2].map((value) => ({ factor: "airTemp", value, time }))],
  ])("are reported once an answer, and no value is made of them: %s", (_, data) => {
    const { items, problems } = read({ code: 200, data });
    expect(problems).toEqual([alike]);
    expect(items).toHaveLength((data as readonly unknown[]).length);
  });

  it.each<[string, unknown]>([
    ["by name", [plain, { ...plain, name: "空气湿度" }]],
    ["by channel", [1, 2].map((channel) => ({ ...plain, channel }))],
    ["by factor code", ["t1", "t2"].map((factor) => ({ ...plain, factor }))],
  ])("is not what is told apart %s", (_, data) => expect(read({ code: 200, data }).problems).toEqual([]));
});
