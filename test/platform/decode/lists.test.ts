import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deviceType } from "../../../src/greenhouse/device-types.js";
import { UnreadableShape } from "../../../src/platform/decode/decoding.js";
import { deviceReader, stationReader } from "../../../src/platform/decode/lists.js";
import { connectionReader, runningStatusReader } from "../../../src/platform/decode/statuses.js";
import { anyAnswer, decoding } from "../support/decoding.js";

function devices(answer: unknown) {
  const given = decoding();
  return { list: deviceReader({})(answer, given), problems: given.problems };
}

/** As `GET /api/control/mqtt` documents it. */
const item = {
  ...{ id: 12, code: "GH-0001", name: "一号温室", deviceTypeId: "C001", deviceTypeName: "日光温室控制器" },
  ...{ stationId: 7, stationName: "北区", customerId: "1680236549218304003", sortOrder: 1, deviceBrand: "" },
  ...{ hls: "", channel: 1, number: 3, version: 2, tag: "", prefix: null, type: "", online: true },
};

describe("all controllers", () => {
  it("an item of the documented envelope is read with all its fields", () => {
    const answer = { requestId: "u", code: 200, data: [item], timestamp: 1_772_352_000, success: true };
    const device = {
      ...{ code: "GH-0001", name: "一号温室", type: deviceType("C001"), typeName: "日光温室控制器" },
      ...{ stationId: "7", stationName: "北区", brand: null, hls: null, version: "2", online: true },
      extra: { id: "12", customerId: "1680236549218304003", channel: "1", number: "3", sortOrder: "1" },
    };
    expect(devices(answer)).toEqual({ problems: [], list: [device] });
  });

  it.each([null, [], { total: 0, list: [] }, { total: 0, list: null }, { pageNum: 1, size: 0 }])(
    "an account without controllers: data %j is an empty list",
    (data) => expect(devices({ code: 200, data })).toEqual({ list: [], problems: [] }),
  );

  it.each([
    [true, [true, 1, "1", "true"]],
    [false, [false, 0, "0", "False"]],
    [null, [null, "", 2, "yes", []]],
  ])("the flag online is %j for %j", (expected, spellings) => {
    const read = (online: unknown) => devices({ code: 200, data: [{ ...item, online }] }).list[0]?.online;
    expect(spellings.map(read)).toEqual(spellings.map(() => expected));
  });

  it.each<[string, unknown]>([
    ["data.list", { code: 200, data: { list: [item], total: 1 } }],
    ["keyed by code", { code: 200, data: { "GH-0001": item } }],
    ["grouped by station", { code: 200, data: [{ stationName: "北区", devices: [item] }] }],
  ])("the items may stand under %s", (_name, answer) =>
    expect(devices(answer).list.map(({ code }) => code)).toEqual(["GH-0001"]),
  );

  it("numbers may be strings and the reverse", () => {
    const [device] = devices({ data: [{ code: 1001, stationId: "7", deviceTypeId: 1, name: 5 }] }).list;
    expect(device).toMatchObject({ code: "1001", stationId: "7", type: deviceType("1"), name: "5" });
  });

  it("items without a code are left out and reported; only such items are an unknown shape, never an empty account", () => {
    const { list, problems } = devices({ code: 200, data: [item, { name: "x" }, "y", { code: ["z"] }] });
    expect(list).toHaveLength(1);
    expect(problems).toHaveLength(3);
    expect(() => devices({ code: 200, data: [{ name: "x" }] })).toThrow(UnreadableShape);
  });

  it.each([
    { code: 200, data: "ok" },
    { code: 200, data: 5 },
    { error: "Forbidden", message: "Access Denied" },
  ])("%j is an unknown shape, never an empty account", (answer) =>
    expect(() => devices(answer)).toThrow(UnreadableShape),
  );

  it("a device that is listed with each of its channels counts once, and is no riddle", () => {
    const data = { list: [item, { ...item, id: 13, channel: 2, sortOrder: 2 }], total: 2 };
    const { list, problems } = devices({ code: 200, data });
    expect([list.map(({ code }) => code), list.isPage, problems]).toEqual([["GH-0001"], undefined, []]);
    expect(devices({ code: 200, data: { ...data, total: 3 } }).list.isPage).toBe(true);
    const other = { ...item, channel: 2, deviceTypeId: "V009" };
    expect(devices({ code: 200, data: [item, other] }).problems).toEqual([
      "a device code that is listed twice",
    ]);
  });

  it("a device listed twice counts once", () =>
    expect(devices({ data: [item, { ...item, name: "other" }] }).list).toHaveLength(1));

  const longer = { code: 200, data: { list: [item], total: 40 } };
  it.each<[string, unknown]>([
    ["its count in data", longer],
    ["its count as text", { code: 200, data: { list: [item], total: "40" } }],
    ["its count beside the rows", { code: 200, rows: [item], total: 40 }],
    ["its count beside data", { code: 200, data: [item], totalCount: 40 }],
    ["its count in a frame of its own", { code: 200, data: [item], page: { totalElements: 40, size: 1 } }],
    ["a count of pages", { code: 200, data: { records: [item], pages: 2, current: 1 } }],
    ["a next page", { code: 200, data: { content: [item], hasNext: true } }],
    ["a page of a longer list that is empty", { code: 200, data: { list: [], total: 40 } }],
  ])("a page of a longer list is known by %s, and reported", (_, answer) => {
    const { list, problems } = devices(answer);
    expect(list.isPage).toBe(true);
    expect(problems).toEqual([expect.stringContaining("only a page of a longer list")]);
  });

  it.each<[string, unknown]>([
    ["no count", { code: 200, data: { list: [item] } }],
    ["a count of what is there", { code: 200, data: { list: [item], total: 1, pages: 1, hasNext: false } }],
    ["items that cannot be read among them", { data: { list: [item, { name: "x" }], total: 2 } }],
    ["a size of pages only", { code: 200, data: { list: [item], pageSize: 20, size: 20, pageNum: 1 } }],
  ])("a whole list: %s", (_, answer) => expect(devices(answer).list.isPage).toBeUndefined());
});

describe("single-device status", () => {
  const online = { status: 1, type: 1, version: 3, description: null, latest_online_datetime: "" };
  const notFound = { code: "CLIENTID_NOT_FOUND", message: "客户端不在线" };
  it.each<[string, unknown, string]>([
    ["a String as message, five fields", { code: 200, message: "success", data: online }, "online"],
    ["an Object as message, two fields", { message: notFound, data: { status: 0, type: 1 } }, "offline"],
    ["status as text", { code: "200", data: { status: "1" } }, "online"],
    ["status as Boolean", { code: 200, data: { status: true } }, "online"],
    ["online instead of status", { code: 200, data: { online: false } }, "offline"],
    ["not found without data", { code: 200, message: notFound }, "offline"],
    ["online and not found at once", { code: 200, message: notFound, data: { status: 1 } }, "unknown"],
    ["another status", { code: 200, data: { status: 2 } }, "unknown"],
    ["no status", { code: 200, message: "success", data: {} }, "unknown"],
    ["null data", { code: 200, data: null }, "unknown"],
    ["an Object that says something else", { code: 200, message: { code: "BUSY" }, data: null }, "unknown"],
  ])("%s: %j is %s", (_name, answer, expected) =>
    expect(connectionReader({})(answer, decoding()).state).toBe(expected),
  );

  it("a status at a path of the configuration", () =>
    expect(connectionReader({ value: "r.up" })({ r: { up: 1 } }, decoding()).state).toBe("online"));

  it("an online device tells interface version, description and when it was last online", () => {
    const data = { ...online, description: "三号棚", latest_online_datetime: "2026-03-01 12:00:00" };
    expect(connectionReader({})({ code: 200, message: "success", data }, decoding())).toEqual({
      state: "online",
      version: "3",
      description: "三号棚",
      lastOnlineAt: Date.parse("2026-03-01T04:00:00Z"),
      marker: "1",
    });
  });
});

describe("running statuses", () => {
  const read = (answer: unknown) => {
    const given = decoding();
    return { items: runningStatusReader({})(answer, given), problems: given.problems };
  };
  const fan = { name: "一级风机", number: 16, value: 1 };

  it.each<[string, unknown]>([
    ["a list", [{ name: "一级风机", deviceTypeNumber: 16, status: 1 }]],
    ["data.list, numbers as text", { list: [{ name: "一级风机", deviceTypeNumber: "16", status: 1 }] }],
    ["keyed by name", { 一级风机: { deviceTypeNumber: 16, status: 1 } }],
    ["keyed by number", { "16": { name: "一级风机", status: 1 } }],
  ])("%s", (_name, data) => expect(read({ code: 200, data })).toEqual({ items: [fan], problems: [] }));

  it("a status is handed on as it came", () => {
    const values = [1, 0, "1", "on", true, false, null, 3, "运行"];
    const { items } = read({
      data: values.map((status, n) => ({ name: `x${n}`, deviceTypeNumber: 49, status })),
    });
    expect(items.map(({ value }) => value)).toEqual(values);
  });

  it("switches under names or numbers", () =>
    expect(read({ data: { 湿帘: 0, "16": true, total: 1, remark: "x" } }).items).toEqual([
      { name: "", number: 16, value: true },
      { name: "湿帘", number: null, value: 0 },
    ]));

  it("an item without status, or without name and number, is left out and reported", () => {
    const { items, problems } = read({ data: [{ name: "x" }, { status: 1 }, { name: "y", status: 1 }] });
    expect(items).toEqual([{ name: "y", number: null, value: 1 }]);
    expect(problems).toHaveLength(2);
  });

  it("two with the same name and number are reported; a number may repeat under another name", () => {
    const item = (name: string, status: number) => ({ name, deviceTypeNumber: 16, status });
    expect(read({ data: [item("a", 1), item("b", 0), item("a", 0)] }).problems).toEqual([
      expect.stringMatching(/^running statuses that nothing tells apart/),
    ]);
    expect(read({ data: [item("a", 1), item("b", 0)] }).problems).toEqual([]);
  });
});

describe("stations", () =>
  it("are read from a list, or keyed; only unreadable items are an unknown shape", () => {
    const read = (data: unknown) => stationReader({})({ code: 200, data }, decoding());
    const north = { id: "7", name: "北区", device: null };
    expect(read({ list: [{ stationId: "7", stationName: "北区" }] })).toEqual([north]);
    expect(read({ 北区: { id: 7, name: "北区", address: "x" } })).toEqual([north]);
    expect(read([{ id: 7, name: "北区", code: "WS-1" }])).toEqual([{ ...north, device: "WS-1" }]);
    expect(read([{ deviceCode: "WS-1", code: "N" }])).toEqual([{ id: "N", name: null, device: "WS-1" }]);
    expect(read(null)).toEqual([]);
    expect(() => read([{ name: "x" }])).toThrow(UnreadableShape);
  }));

describe("lists, any answer", () => {
  const readers = [deviceReader({}), stationReader({}), runningStatusReader({}), connectionReader({})];

  it("never crash, and never touch a prototype", () =>
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        for (const reader of readers) {
          try {
            reader(answer, decoding());
          } catch (error) {
            if (!(error instanceof UnreadableShape)) throw error;
          }
        }
        expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
      }),
      { numRuns: 10_000 },
    ));
});
