import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { list, object } from "./asking.js";
import { bearer, call, failureOf, post, running } from "./running.js";
import { anyText, matching } from "./matchers.js";

const code = "GH-0001";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the business host", () => {
  it.each([
    "/api/station",
    "/api/device",
    "/api/control/mqtt",
    "/api/weather-data/avg",
    "/api/weather-data/list",
    "/api/video-data/list",
  ])("refuses %s without the header: 403, Forbidden, Access Denied", async (path) => {
    const { businessUrl } = await running();
    const reply = await call(businessUrl + path);
    expect(reply.status).toBe(403);
    expect(reply.json()).toEqual({ error: "Forbidden", message: "Access Denied" });
    expect((await call(businessUrl + path, { headers: bearer })).status).toBe(200);
  });

  it("lists all controllers in the documented envelope with the documented fields", async () => {
    const { businessUrl } = await running();
    const reply = await call(`${businessUrl}/api/control/mqtt`, { headers: bearer });
    const body = reply.json();
    expect(Object.keys(body).sort()).toEqual(["code", "data", "requestId", "success", "timestamp"]);
    expect(body).toMatchObject({ code: 200, success: true, requestId: matching(uuid) });
    expect(Number.isInteger(body.timestamp)).toBe(true);
    const [item] = list(body.data);
    expect(Object.keys(item ?? {}).sort()).toEqual([
      "channel",
      "code",
      "customerId",
      "deviceBrand",
      "deviceTypeId",
      "deviceTypeName",
      "hls",
      "id",
      "name",
      "number",
      "online",
      "prefix",
      "sortOrder",
      "stationId",
      "stationName",
      "tag",
      "type",
      "version",
    ]);
    expect(item).toMatchObject({ code, name: "1号日光温室", deviceTypeId: "C001", online: true });
    expect(reply.text).toContain('"customerId":1680236549218304003');
  });
});

describe("the realtime host", () => {
  it("says of an online device: status 1, five fields, message a String", async () => {
    const { realtimeUrl } = await running();
    const body = (await call(`${realtimeUrl}/api/mqtt-client-status?deviceCode=${code}`)).json();
    expect(body.code).toBe(200);
    expect(body.message).toBeTypeOf("string");
    expect(object(body.data)).toEqual({
      status: 1,
      type: 1,
      version: 2,
      description: null,
      latest_online_datetime: matching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
  });

  it("says the same of an offline and of an unknown device: code 200, status 0, message an Object", async () => {
    const { realtimeUrl, control } = await running();
    control.setOnline(code, false);
    const offline = (await call(`${realtimeUrl}/api/mqtt-client-status?deviceCode=${code}`)).json();
    expect(offline).toMatchObject({
      code: 200,
      message: { code: "CLIENTID_NOT_FOUND", message: anyText },
    });
    expect(object(offline.data)).toEqual({ status: 0, type: 1 });
    const unknown = (await call(`${realtimeUrl}/api/mqtt-client-status?deviceCode=NOPE`)).json();
    expect(unknown).toEqual(offline);
  });

  it.each([
    ["2", { "101": "10001" }],
    ["4", { "103": "10001" }],
    ["212", { "501": "180", "502": "250", "503": "020" }],
    ["41", {}],
    ["C001", {}],
  ])("flushes the addresses of system-2 type %s: %o; a system-1 value yields no data", async (type, data) => {
    const { realtimeUrl } = await running();
    const body = (
      await call(`${realtimeUrl}/api/set-value/flush?deviceCode=${code}&deviceTypeId=${type}`)
    ).json();
    expect(body).toEqual({ code: 200, message: "success", data });
  });

  it.each([
    "/api/sensor-data",
    "/api/mqtt-client-status",
    "/api/device_status",
    "/api/get-value?address=101",
    `/api/get-value?deviceCode=${code}`,
    "/api/set-value/flush?deviceTypeId=2",
    `/api/set-value/flush?deviceCode=${code}`,
  ])("answers %s with an error code, message and requestId: a parameter is missing", async (path) => {
    const { realtimeUrl } = await running();
    const body = (await call(realtimeUrl + path)).json();
    expect(body).toMatchObject({
      code: 400,
      message: anyText,
      requestId: matching(uuid),
    });
  });
});

describe("POST /api/set-value", () => {
  it.each([101, "101"])(
    "takes the address %o, Int or String, and echoes all three as Strings",
    async (address) => {
      const { realtimeUrl, control } = await running();
      const reply = await post(`${realtimeUrl}/api/set-value`, { address, value: "10010", deviceCode: code });
      expect(reply.json()).toMatchObject({
        code: 200,
        data: { address: "101", value: "10010", deviceCode: code },
      });
      expect(control.trueState(code, "101").value).toBe("10010");
    },
  );

  it.each<[string, unknown]>([
    ["a number as value", { address: 101, value: 10010, deviceCode: code }],
    ["no value", { address: 101, deviceCode: code }],
    ["no address", { value: "10010", deviceCode: code }],
    ["an address that is neither", { address: true, value: "10010", deviceCode: code }],
    ["no deviceCode", { address: 101, value: "10010" }],
    ["an array", []],
    ["broken JSON", '{"address":'],
    ["nothing", ""],
    ["an unknown device", { address: 101, value: "10010", deviceCode: "NOPE" }],
    ["an unknown address", { address: 999, value: "10010", deviceCode: code }],
  ])("refuses %s with a code, message and requestId", async (_what, body) => {
    const { realtimeUrl, control } = await running();
    const reply = (await post(`${realtimeUrl}/api/set-value`, body)).json();
    expect(reply.code).not.toBe(200);
    expect(reply).toMatchObject({ message: anyText, requestId: matching(uuid) });
    expect(control.posts()).toMatchObject([{ accepted: false, effect: "not_processed" }]);
  });

  it("does not come about by GET, which only shows up in the counters", async () => {
    const { realtimeUrl, control } = await running();
    await call(`${realtimeUrl}/api/set-value?deviceCode=${code}&address=101&value=10010`);
    expect(control.trueState(code, "101").value).toBe("10001");
    expect(control.requests()).toEqual({ "GET set-value": 1 });
  });
});

describe("two hosts", () => {
  it("on two ports, each carries its own operations only", async () => {
    const { businessUrl, realtimeUrl } = await running({ realtimePort: 0 });
    expect(businessUrl).not.toBe(realtimeUrl);
    expect((await call(`${realtimeUrl}/api/station`, { headers: bearer })).status).toBe(404);
    expect(
      (await call(`${businessUrl}/api/sensor-data?deviceCode=${code}`, { headers: bearer })).status,
    ).toBe(404);
    expect((await call(`${businessUrl}/api/station`, { headers: bearer })).status).toBe(200);
    expect((await call(`${realtimeUrl}/api/sensor-data?deviceCode=${code}`)).status).toBe(200);
  });

  it("both hosts can refuse while the controls have a port of their own", async () => {
    const { businessUrl, controlUrl, control } = await running({ controlPort: 0 });
    await control.hostDown("both", "refuse");
    expect(await failureOf(call(`${businessUrl}/api/station`, { headers: bearer }))).toBe("ECONNREFUSED");
    const reply = await post(`${controlUrl}/_simulator/control`, { do: "host_up" });
    expect(reply.status).toBe(200);
    expect((await call(`${businessUrl}/api/station`, { headers: bearer })).status).toBe(200);
  });

  it("a host that is down on a port shared with the controls breaks the connection", async () => {
    const { businessUrl, control } = await running();
    await control.hostDown("business", "refuse");
    expect(await failureOf(call(`${businessUrl}/api/station`, { headers: bearer }))).toBe("ECONNRESET");
    expect((await call(`${businessUrl}/_simulator/requests`)).status).toBe(200);
  });
});

describe("faults on the wire", () => {
  it.each([
    ["before", "10001"],
    ["after", "10010"],
  ] as const)("a reset %s processing reaches the client as a broken connection", async (when, register) => {
    const { realtimeUrl, control } = await running({
      faults: [{ fault: "reset", when, operation: "set-value" }],
    });
    const attempt = post(`${realtimeUrl}/api/set-value`, { address: 101, value: "10010", deviceCode: code });
    expect(await failureOf(attempt)).toBe("ECONNRESET");
    expect(control.trueState(code, "101").value).toBe(register);
    expect(control.posts()).toHaveLength(1);
  });
});

describe("starting and stopping", () => {
  it("rejects when the port is taken", async () => {
    const { port } = await running();
    await expect(startSimulator({ port }, { clock: systemClock })).rejects.toThrow("EADDRINUSE");
  });

  it("frees its ports when closed, also with requests that hang", async () => {
    const simulator = await startSimulator({ faults: [{ fault: "timeout" }] }, { clock: systemClock });
    const hanging = failureOf(call(`${simulator.businessUrl}/api/station`, { headers: bearer }));
    await expect.poll(() => simulator.control.requests().station).toBe(1);
    await simulator.close();
    expect(await hanging).not.toBe("none");
    const again = await startSimulator({ port: simulator.port }, { clock: systemClock });
    expect(again.port).toBe(simulator.port);
    await again.close();
  });
});
