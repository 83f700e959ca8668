import { describe, expect, it } from "vitest";
import { controlWords } from "../../src/simulator/control.js";
import { Asking, hourMs, list, minuteMs } from "./asking.js";
import { call, post, running } from "./running.js";

const code = "GH-0001";

describe("the controls in the same process", () => {
  it("add, rename and remove controllers, which the lists follow", () => {
    const asking = new Asking({ controllers: 2 });
    const names = () => list(asking.get("/api/control/mqtt").data).map((item) => [item.code, item.name]);
    asking.control.addController("NEW-1", "新温室");
    expect(names()).toEqual([
      ["GH-0001", "1号日光温室"],
      ["FM-0002", "2号水肥一体机"],
      ["NEW-1", "新温室"],
    ]);
    asking.control.renameController("GH-0001", "东温室");
    asking.control.removeController("FM-0002");
    expect(names()).toEqual([
      ["GH-0001", "东温室"],
      ["NEW-1", "新温室"],
    ]);
    expect(asking.readings("NEW-1").airtemp).toBeTypeOf("number");
    expect(asking.readings("FM-0002")).toEqual({});
  });

  it.each<[string, (asking: Asking) => void]>([
    ["no device", (asking) => asking.control.setOnline("NOPE", true)],
    ["no device", (asking) => asking.control.removeController("NOPE")],
    ["no sensor", (asking) => asking.control.setSensor(code, "没有", 1)],
    ["no address", (asking) => asking.control.moveByHand(code, "999", "1")],
    ["no address", (asking) => void asking.control.trueState(code, "999")],
    ["already has", (asking) => asking.control.addController(code)],
    ["unknown device type", (asking) => asking.control.addController("X", undefined, "Z9")],
  ])("complain of what the account does not have: %s", (complaint, act) =>
    expect(() => act(new Asking())).toThrow(complaint),
  );

  it("skip simulated time: what was on its way has arrived, stamps stay in the present, and what was held keeps its time", () => {
    const asking = new Asking();
    asking.post(code, "101", "10010");
    const at = asking.now;
    asking.control.skip(90_000);
    expect(asking.level(code, "101")).toBe(1);
    asking.control.skip(6 * hourMs);
    expect(asking.now - asking.sampledAt(code)).toBeLessThan(2 * minuteMs);
    expect(asking.sampledAt(code)).toBeLessThanOrEqual(asking.now);
    asking.pass(1000).post(code, "101", "10001");
    expect(asking.control.held(code, "101").map((held) => held.at)).toEqual([at, at, at + 1000]);
  });
});

describe("the controls over HTTP", () => {
  it("do what they do in the same process", async () => {
    const { businessUrl, control } = await running({ controllers: 2 });
    const perform = (request: unknown) => post(`${businessUrl}/_simulator/control`, request, {});
    const requests = [
      { do: "move_by_hand", controller: code, address: "101", value: "10010" },
      { do: "set_sensor", controller: code, sensor: "airtemp", value: null },
      { do: "clear_sensor", controller: code, sensor: "airtemp" },
      { do: "freeze_sensors", controller: code },
      { do: "unfreeze_sensors", controller: code },
      { do: "set_online", controller: code, online: false },
      { do: "set_online", controller: code, online: true },
      { do: "add_controller", controller: "N-1", name: "n", type: "C003" },
      { do: "rename_controller", controller: "N-1", name: "m" },
      { do: "remove_controller", controller: "N-1" },
      { do: "empty_list", list: "null" },
      { do: "empty_list", list: false },
      { do: "storm", on: true },
      { do: "storm", on: false },
      { do: "rain", on: true },
      { do: "rain", on: false },
      { do: "fault", fault: { fault: "ignore", delay: "1s" } },
      { do: "clear_faults" },
      { do: "host_down", host: "realtime", how: "hang", for_ms: 5 },
      { do: "host_up" },
      { do: "expire_tokens" },
      { do: "accept_token", token: "t" },
      { do: "push", mode: "silent" },
      { do: "skip", ms: 1000 },
    ];
    for (const request of requests) expect((await perform(request)).json()).toEqual({ ok: true });
    expect(new Set(requests.map((request) => request.do))).toEqual(new Set(controlWords));
    expect(control.held(code, "101").map((held) => held.by)).toEqual(["initial", "hand", "storm"]);
  });

  it("show posts, counters, controllers and the true state", async () => {
    const { realtimeUrl, controlUrl } = await running({ controllers: 1 });
    const view = async (path: string) => (await call(`${controlUrl}/_simulator/${path}`)).text;
    await post(`${realtimeUrl}/api/set-value`, { address: "101", value: "10010", deviceCode: code });
    expect(JSON.parse(await view("posts"))).toMatchObject([
      { code, address: "101", value: "10010", effect: "taken" },
    ]);
    expect(JSON.parse(await view(`posts?since=${Date.UTC(2200, 1)}`))).toEqual([]);
    expect(JSON.parse(await view("requests"))).toEqual({ "set-value": 1 });
    expect(JSON.parse(await view("controllers"))).toContain(code);
    expect(JSON.parse(await view(`state?controller=${code}&address=101`))).toMatchObject({
      value: "10010",
      isOnline: true,
    });
  });

  it.each<[unknown, string]>([
    [{ do: "explode" }, '"do" must be one of set_online'],
    ["{", "expected a JSON object"],
    [{ do: "set_online", controller: code }, '"online" must be true or false'],
    [{ do: "set_online", online: true }, '"controller" must be a text'],
    [{ do: "fault", fault: { fault: "x" } }, "fault.fault: expected one of"],
    [{ do: "skip", ms: "1" }, '"ms" must be a number'],
  ])("answer %o with 400 and %s", async (request, message) => {
    const { businessUrl } = await running({ controllers: 1 });
    const reply = await post(`${businessUrl}/_simulator/control`, request, {});
    expect(reply.status).toBe(400);
    expect(reply.json().message).toContain(message);
  });
});
