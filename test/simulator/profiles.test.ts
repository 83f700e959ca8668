import { describe, expect, it } from "vitest";
import { type ProfileName, profileNames, profiles } from "../../src/simulator/dialects.js";
import { Asking, json, type Json, list, object } from "./asking.js";
import { anyNumber, anyText, matching } from "./matchers.js";

const code = "GH-0001";
const shanghai = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

const sensors = (profile: ProfileName): Json => {
  const asking = new Asking({ profile });
  return asking.get("/api/sensor-data", { [profiles[profile].sensorQuery]: code });
};
const values = (container: unknown): readonly unknown[] => Object.values(object(container));

/** How a person reading the raw answer of each profile would find the items. */
const itemsOf: Record<ProfileName, (body: Json) => readonly unknown[]> = {
  default: ({ data }) => list(data),
  list: ({ data }) => list(object(data).list),
  records: ({ data }) => list(object(data).records),
  rows: ({ rows }) => list(rows),
  keyed: ({ data }) => values(data),
  channels: ({ data }) => values(data).flatMap((group) => list(group)),
  text: ({ data }) => values(data),
  entries: ({ data }) => list(data).flatMap((entry) => list(entry.sensors)),
  mode_stays: ({ data }) => list(data),
  odd: ({ payload }) => list(object(payload).points),
};

describe("sensor data", () => {
  it.each(profileNames)("profile %s shows all twelve sensors, each with its dateTime", (profile) => {
    const items = itemsOf[profile](sensors(profile)).map(object);
    expect(items).toHaveLength(12);
    for (const item of items) expect(item.dateTime).toBeDefined();
  });

  it.each<[ProfileName, Json]>([
    ["default", { name: "空气温度", value: anyNumber, unit: "℃", dateTime: matching(shanghai) }],
    [
      "list",
      {
        sensorName: "空气温度",
        sensorValue: matching(/^\d+\.\d$/),
        dateTime: matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/),
      },
    ],
    [
      "records",
      {
        factorName: "空气温度",
        factorCode: "airtemp",
        value: matching(/^\d+\.\d℃$/),
        dateTime: matching(/^\d{4}\/\d\d\/\d\d /),
      },
    ],
    ["rows", { code: "airtemp", value: anyNumber, dateTime: anyNumber }],
    ["keyed", { factor: "airtemp", value: anyNumber, dateTime: anyNumber }],
    ["channels", { label: "空气温度", val: anyText, dateTime: matching(/T.*Z$/) }],
    ["text", { name: "空气温度", value: anyText, channel: "1" }],
    ["entries", { name: "空气温度", value: matching(/℃$/) }],
    ["odd", { what: "空气温度", now: anyNumber, scale: "℃" }],
  ])("profile %s writes an item as %o", (profile, shape) => {
    const body = sensors(profile);
    const found = object(itemsOf[profile](body)[0]);
    expect(found).toMatchObject(shape);
  });

  it("epoch times are seconds in one profile and milliseconds in another", () => {
    const time = (profile: ProfileName) => Number(object(itemsOf[profile](sensors(profile))[0]).dateTime);
    expect(String(time("keyed"))).toHaveLength(10);
    expect(String(time("rows"))).toHaveLength(13);
  });

  it.each<[ProfileName, unknown]>([
    ["default", anyNumber],
    ["records", "--"],
    ["keyed", null],
    ["text", "--"],
    ["entries", null],
  ])("profile %s shows a sensor without a reading as %o", (profile, shown) => {
    const item = itemsOf[profile](sensors(profile)).map(object)[6] ?? {};
    expect(item.value).toEqual(shown);
  });

  it("a value somebody set is written as it stands in every profile", () => {
    for (const profile of profileNames) {
      const asking = new Asking({ profile });
      asking.control.setSensor(code, "空气温度", "Err!");
      const body = asking.decide({
        path: "/api/sensor-data",
        query: { [profiles[profile].sensorQuery]: code },
      }).body;
      expect(body).toContain('"Err!"');
    }
  });
});

describe("registers", () => {
  const read = (profile: ProfileName, address = "140") =>
    object(new Asking({ profile }).get("/api/get-value", { deviceCode: code, address, flush: "1" }).data);

  it.each<[ProfileName, unknown]>([
    ["default", "00000"],
    ["list", 0],
    ["records", { value: "00000" }],
    ["rows", "00000"],
    ["keyed", 0],
    ["channels", { value: "00000" }],
    ["text", "00000"],
    ["entries", { value: "00000" }],
    ["odd", "00000"],
  ])("profile %s reads the value 00000 as %o under its address", (profile, shown) =>
    expect(read(profile)["140"]).toEqual(shown),
  );

  it.each<[ProfileName, Json]>([
    ["default", { code: 200, data: {} }],
    ["list", { code: 200, data: { "999": null } }],
    ["records", { code: 404, data: null }],
    ["rows", { code: 200, data: { "999": null } }],
    ["text", { code: "404", data: null }],
  ])("profile %s answers an unknown address with %o", (profile, shown) =>
    expect(new Asking({ profile }).get("/api/get-value", { deviceCode: code, address: "999" })).toMatchObject(
      shown,
    ),
  );

  it.each<[ProfileName, (body: Json) => unknown, unknown]>([
    ["default", ({ data }) => data, { "101": "10001" }],
    ["list", ({ data }) => data, [{ address: 101, value: 10001 }]],
    ["records", ({ data }) => object(data).records, [{ address: "101", value: "10001" }]],
    ["rows", ({ rows }) => list(rows)[6], { address: "101", value: "10001" }],
    ["rows", ({ rows }) => list(rows).length, 13],
    ["keyed", ({ data }) => data, { "101": 10001 }],
    ["channels", ({ data }) => object(data).list, [{ address: "101", value: "10001" }]],
    [
      "text",
      ({ data }) => data,
      [{ address: "101", value: "10001", remark: null, ext: { createBy: "admin" } }],
    ],
  ])("profile %s flushes a parameter group its own way", (profile, part, shown) => {
    const body = new Asking({ profile }).get("/api/set-value/flush", { deviceCode: code, deviceTypeId: "2" });
    expect(part(body)).toEqual(shown);
  });

  it.each<[ProfileName, "data" | "flat"]>([
    ["default", "data"],
    ["list", "flat"],
    ["records", "data"],
    ["rows", "flat"],
    ["text", "flat"],
  ])("profile %s answers a POST with its echo: %s", (profile, place) => {
    const body = json(new Asking({ profile }).post(code, 101, "10010").body);
    const echo = place === "data" ? object(body.data) : body;
    expect(echo).toMatchObject({ address: "101", deviceCode: code, value: "10010" });
    expect(String(body.code)).toBe("200");
  });
});

describe("signing in", () =>
  it.each<[ProfileName, (body: Json) => unknown]>([
    ["default", ({ data }) => object(data).token],
    ["list", ({ token }) => token],
    ["records", ({ data }) => data],
    ["rows", (body) => body.access_token],
    ["keyed", ({ data }) => object(data).accessToken],
    ["channels", ({ data }) => object(data).access_token],
    ["text", ({ accessToken }) => accessToken],
  ])("profile %s gives the token in its own place", (profile, tokenOf) => {
    const body = new Asking({ profile }).decide({
      path: "/api/account/sign-in",
      method: "POST",
      body: "{}",
    }).body;
    expect(tokenOf(json(body))).toMatch(/^[0-9a-f]{32}$/);
  }));

describe("what differs besides shapes", () => {
  it.each<[ProfileName, boolean]>([
    ["default", false],
    ["records", true],
    ["keyed", true],
  ])("profile %s lists weather stations and cameras among the controllers: %s", (profile, everything) => {
    const { data } = new Asking({ profile }).get("/api/control/mqtt");
    expect(list(data).some((item) => item.deviceTypeId === "W001")).toBe(everything);
  });

  it.each<[ProfileName, number]>([
    ["default", 200],
    ["rows", 500],
  ])("profile %s puts HTTP status %i beside a body code of 500", (profile, status) => {
    const asking = new Asking({ profile });
    asking.control.setOnline(code, false);
    const decision = asking.post(code, "101", "10010");
    expect(decision.status).toBe(status);
    expect(json(decision.body).code).toBe(500);
  });

  it.each<[ProfileName, boolean]>([
    ["default", false],
    ["keyed", true],
    ["text", true],
  ])("profile %s accepts a POST to an offline device, which never does it: %s", (profile, accepted) => {
    const asking = new Asking({ profile });
    asking.control.setOnline(code, false);
    expect(String(json(asking.post(code, "101", "10010").body).code) === "200").toBe(accepted);
    asking.control.setOnline(code, true);
    expect(asking.control.trueState(code, "101").value).toBe("10001");
    expect(asking.control.posts().at(-1)).toMatchObject({ effect: "offline", accepted });
  });

  it("profile text writes every number as text and adds hostile field names", () => {
    const { body } = new Asking({ profile: "text" }).decide({ path: "/api/control/mqtt" });
    expect(body).not.toMatch(/:\s*-?\d/);
    expect(body).toContain('"__proto__":{"polluted":true}');
  });

  it("no profile changes the documented list of controllers but for numbers as text", () => {
    for (const profile of profileNames) {
      const body = new Asking({ profile }).get("/api/control/mqtt");
      expect(body).toMatchObject({ requestId: anyText, success: true });
      expect(list(body.data)[0]).toMatchObject({
        code,
        name: "1号日光温室",
        deviceTypeId: "C001",
        online: true,
      });
    }
  });

  it("every profile says in a sentence what it is", () => {
    const summaries = profileNames.map((name) => profiles[name].summary);
    expect(new Set(summaries).size).toBe(profileNames.length);
  });
});
