import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { anyText, Asking, json, list, matching } from "./asking.js";
import { bearer, call, failureOf, post, running } from "./running.js";

const code = "GH-0001";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the business host", () => {
  it("refuses every operation without the header: 403, Forbidden, Access Denied", () => {
    const asking = new Asking();
    const names = "station device control/mqtt weather-data/avg weather-data/list video-data/list".split(" ");
    for (const path of names.map((name) => `/api/${name}`)) {
      const refused = asking.decide({ path, headers: {} });
      expect(refused.status).toBe(403);
      expect(json(refused.body)).toEqual({ error: "Forbidden", message: "Access Denied" });
      expect(asking.decide({ path }).status).toBe(200);
    }
  });

  it("lists all controllers in the documented envelope with the documented fields", () => {
    const { body: text } = new Asking().decide({ path: "/api/control/mqtt" });
    const body = json(text);
    expect(Object.keys(body).sort()).toEqual(["code", "data", "requestId", "success", "timestamp"]);
    expect(body).toMatchObject({ code: 200, success: true, requestId: matching(uuid) });
    expect(Number.isInteger(body.timestamp)).toBe(true);
    const [item = {}] = list(body.data);
    const documented =
      "channel code customerId deviceBrand deviceTypeId deviceTypeName hls id name number online prefix sortOrder " +
      "stationId stationName tag type version";
    expect(Object.keys(item).sort()).toEqual(documented.split(" "));
    expect(item).toMatchObject({ code, name: "1号日光温室", deviceTypeId: "C001", online: true });
    expect(text).toContain('"customerId":1680236549218304003');
  });
});

describe("the realtime host", () => {
  const status = (asking: Asking, deviceCode: string) =>
    asking.get("/api/mqtt-client-status", { deviceCode });

  it("says of an online device status 1 and five fields; the same of an offline and of an unknown one", () => {
    const asking = new Asking();
    const body = status(asking, code);
    expect([body.code, typeof body.message]).toEqual([200, "string"]);
    const seen = matching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    const data = { status: 1, type: 1, version: 2, description: null, latest_online_datetime: seen };
    expect(body.data).toEqual(data);
    asking.control.setOnline(code, false);
    const offline = status(asking, code);
    const message = { code: "CLIENTID_NOT_FOUND", message: anyText };
    expect(offline).toEqual({ code: 200, message, data: { status: 0, type: 1 } });
    expect(status(asking, "NOPE")).toEqual(offline);
  });

  it.each([
    ["2", { "101": "10001" }],
    ["4", { "103": "10001" }],
    ["212", { "501": "180", "502": "250", "503": "020" }],
    ["41", {}],
    ["C001", {}],
  ])(
    "flushes the addresses of system-2 type %s: %o; a system-1 value yields no data",
    (deviceTypeId, data) => {
      const body = new Asking().get("/api/set-value/flush", { deviceCode: code, deviceTypeId });
      expect(body).toEqual({ code: 200, message: "success", data });
    },
  );

  it.each([
    ["sensor-data", {}],
    ["mqtt-client-status", {}],
    ["get-value", { address: "101" }],
    ["set-value/flush", { deviceCode: code }],
  ])("answers %s with %o alone with an error code, message and requestId", (name, query) =>
    expect(new Asking().get(`/api/${name}`, query as Record<string, string>)).toMatchObject({
      ...{ code: 400, message: anyText, requestId: matching(uuid) },
    }),
  );
});

describe("POST /api/set-value", () => {
  it.each([101, "101"])("takes the address %o, Int or String, and echoes all three as Strings", (address) => {
    const asking = new Asking();
    const data = { address: "101", value: "10010", deviceCode: code };
    expect(json(asking.post(code, address, "10010").body)).toMatchObject({ code: 200, data });
    expect(asking.control.trueState(code, "101").value).toBe("10010");
  });

  it.each<[string, unknown]>([
    ["a number as value", { address: 101, value: 10010, deviceCode: code }],
    ["no value", { address: 101, deviceCode: code }],
    ["no address", { value: "10010", deviceCode: code }],
    ["no deviceCode", { address: 101, value: "10010" }],
    ["broken JSON", '{"address":'],
    ["an unknown device", { address: 101, value: "10010", deviceCode: "NOPE" }],
    ["an unknown address", { address: 999, value: "10010", deviceCode: code }],
  ])("refuses %s with a code, message and requestId", (_what, sent) => {
    const asking = new Asking();
    const body = typeof sent === "string" ? sent : JSON.stringify(sent);
    const reply = json(asking.decide({ path: "/api/set-value", method: "POST", body }).body);
    expect(reply.code).not.toBe(200);
    expect(reply).toMatchObject({ message: anyText, requestId: matching(uuid) });
    expect(asking.control.posts()).toMatchObject([{ accepted: false, effect: "not_processed" }]);
  });

  it("does not come about by GET, which only shows up in the counters", () => {
    const asking = new Asking();
    asking.get("/api/set-value", { deviceCode: code, address: "101", value: "10010" });
    expect(asking.control.trueState(code, "101").value).toBe("10001");
    expect(asking.control.requests()).toEqual({ "GET set-value": 1 });
  });
});

describe("two hosts", () => {
  it("on two ports, each carries its own operations only", async () => {
    const { businessUrl, realtimeUrl } = await running({ realtimePort: 0 });
    expect(businessUrl).not.toBe(realtimeUrl);
    const [station, sensors] = ["/api/station", `/api/sensor-data?deviceCode=${code}`];
    const urls = [realtimeUrl + station, businessUrl + sensors, businessUrl + station, realtimeUrl + sensors];
    const replies = await Promise.all(urls.map((url) => call(url, { headers: bearer })));
    expect(replies.map((reply) => reply.status)).toEqual([404, 404, 200, 200]);
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

describe("starting and stopping", () => {
  it("frees its ports when closed, also with requests that hang", async () => {
    const simulator = await startSimulator({ faults: [{ fault: "timeout" }] }, systemClock);
    const hanging = failureOf(call(`${simulator.businessUrl}/api/station`, { headers: bearer }));
    await expect.poll(() => simulator.control.requests().station).toBe(1);
    await simulator.close();
    expect(await hanging).not.toBe("none");
    const again = await startSimulator({ port: simulator.port }, systemClock);
    expect(again.port).toBe(simulator.port);
    await again.close();
  });
});
