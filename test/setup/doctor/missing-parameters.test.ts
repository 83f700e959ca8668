import { describe, expect, it } from "vitest";
import { meaningOf, missingNames } from "../../../src/setup/doctor/missing-parameters.js";
import { shapeChecks } from "../../../src/setup/doctor/shape-checks.js";
import type { Query } from "../../../src/greenhouse/ports.js";
import type { DoctorContext } from "../../../src/setup/doctor/context.js";
import { platformError } from "../../support/scripted-platform.js";
import { VirtualClock } from "../../support/virtual-clock.js";

describe("a refusal names the parameters that it misses", () =>
  it.each<[string, readonly string[]]>([
    ["Required request parameter 'startTime' for method parameter type String is not present", ["startTime"]],
    ["Bad Request: Required String parameter 'startTime' is not present", ["startTime"]],
    ["缺少参数: startTime", ["startTime"]],
    ["缺少必填参数：startTime,endTime", ["startTime", "endTime"]],
    ["startTime不能为空", ["startTime"]],
    ["参数[begin_date]必填", ["begin_date"]],
    ["begin_date is required", ["begin_date"]],
    ["missing parameter: facility", ["facility"]],
    ['"deviceSn" is required', ["deviceSn"]],
    ["please provide stime", ["stime"]],
    ["startTime must not be null; endTime must not be null", ["startTime", "endTime"]],
    ["设备不存在", []],
    ["device GH-0001 is offline", []],
    ["开始时间不能为空", []],
    ["Required parameter is missing", []],
    ["Failed: java.lang.IllegalArgumentException: parameter expected", []],
  ])("%s", (message, names) => expect(missingNames(message)).toEqual(names)));

describe("what a parameter stands for is told by the words of its name", () =>
  it.each<[string, string | null]>([
    ["startTime", "{since}"],
    ["begin_date", "{since}"],
    ["dateFrom", "{since}"],
    ["stime", "{since}"],
    ["endTime", "{until}"],
    ["END_DATE", "{until}"],
    ["deviceSn", "{deviceCode}"],
    ["code", "{deviceCode}"],
    ["pageSize", "500"],
    ["pageNum", "1"],
    ["flush", "0"],
    ["token", null],
    ["interval", null],
  ])("%s: %s", (name, value) => expect(meaningOf(name)).toBe(value)));

/** A platform that refuses what lacks one of these, and takes a window in one form only. */
async function advised(
  operation: string,
  needs: Readonly<Record<string, RegExp>>,
  refusal: (name: string) => string,
  answer: unknown,
) {
  const clock = new VirtualClock();
  const asked: Query[] = [];
  const get = (_: string, query: Query) => {
    asked.push(query);
    const missing = Object.keys(needs).find((name) => query[name] === undefined);
    if (missing !== undefined)
      return Promise.reject(platformError({ kind: "rejected", platformMessage: refusal(missing) }));
    const wrong = Object.entries(needs).find(([name, form]) => !form.test(query[name] ?? ""));
    if (wrong !== undefined)
      return Promise.reject(platformError({ kind: "rejected", platformMessage: `${wrong[0]}格式错误` }));
    return Promise.resolve({ code: 200, data: answer });
  };
  const device = { code: "GH-1", online: true, stationId: "7", extra: { customerId: "1680236549218304003" } };
  const context = {
    ...{ ports: { clock }, limits: {}, answers: new Map(), platform: { get } },
    configuration: {
      platform: { shapes: {}, time_zone: "Asia/Shanghai" },
      controllers: {
        "GH-1": { averages: true, actuators: { roof: { kind: "skylight", address: "101" } } },
      },
      http: { past_readings: true },
    },
    evidence: { controllers: [device], devices: [] },
  } as unknown as DoctorContext;
  const check = shapeChecks.find((one) => one.id === `shapes.${operation}`);
  const found = await check?.run(context, new AbortController().signal);
  return { asked, said: `${found?.status ?? ""}: ${String(found?.summary)}; ${String(found?.remedy ?? "")}` };
}

const spring = (name: string) =>
  `Required request parameter '${name}' for method parameter type String is not present`;
const words = (name: string) => `缺少参数: ${name}`;
const local = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const averages = [{ name: "空气温度", value: 20, unit: "℃", dateTime: "2026-01-01 00:00:00" }];

describe("the doctor asks once more with what a refusal names, and advises what was answered", () => {
  it.each([spring, words])("a window under the platform's own names", async (refusal) => {
    const { said } = await advised(
      "weather-data/avg",
      { startTime: local, endTime: local },
      refusal,
      averages,
    );
    expect(said).toMatch(/^warning: .*further parameters/);
    expect(said).toContain('params: { startTime: "{since}", endTime: "{until}" }');
  });

  it.each([
    ["ms", /^\d{13}$/],
    ["s", /^\d{10}$/],
    ["date", /^\d{4}-\d\d-\d\d$/],
    ["iso", /^\d{4}-\d\d-\d\dT.*\+08:00$/],
  ])("a window whose ends are written otherwise: %s", async (form, look) => {
    const { said } = await advised("weather-data/avg", { begin: look, finish: look }, words, averages);
    expect(said).toContain(`params: { begin: "{since:${form}}", finish: "{until:${form}}" }`);
  });

  it("a device under another name, whatever the refusal looks like", async () => {
    for (const name of ["facility", "sn", "anything"]) {
      const { said } = await advised("sensor-data", { [name]: /^GH-1$/ }, spring, averages);
      expect(said).toContain(`{ sensor-data: { query: { deviceCode: ${name} } } }`);
    }
  });

  it("never takes a time for a device", async () => {
    const { asked } = await advised(
      "weather-data/avg",
      { startTime: local, endTime: local },
      words,
      averages,
    );
    expect(asked.filter((query) => query["startTime"] === "GH-1" || "request" in query)).toEqual([]);
  });

  it("what all controllers of the account say alike is given back", async () => {
    const { said } = await advised("weather-data/avg", { customerId: /^168/ }, words, averages);
    expect(said).toContain('params: { customerId: "1680236549218304003" }');
  });

  it("a read that has to say whether it is fresh", async () => {
    const { said } = await advised("get-value", { flush: /^[01]$/ }, words, { "101": "10010" });
    expect(said).toContain('{ get-value: { params: { flush: "0" } } }');
  });

  it("no device under another name, where the interface says how it is called", async () => {
    const { said, asked } = await advised("get-value", { tenant: /./ }, words, { "101": "10010" });
    expect(said).toMatch(/it misses tenant: add that to platform\.shapes\.get-value\.params/);
    expect(asked).toHaveLength(1);
  });

  it("what nobody here knows a value of is named", async () => {
    const { said } = await advised("weather-data/avg", { interval: /^1h$/ }, words, averages);
    expect(said).toMatch(/it misses interval: add that to platform\.shapes\.weather-data\/avg\.params/);
  });
});
