import { describe, expect, it } from "vitest";
import { brokerAndClient, bridge, fanAt, platform } from "../bridge/support/bridge.js";
import { until } from "../mqtt-connection/support.js";
import { type HostView, host, nodeRoot } from "./host.js";

const enabled = (more = "") => `sparkplug: { enabled: true${more} }`;

const isWhole = (view: HostView) => view.value("gh-0001", "actuator/fan/state") !== undefined;

/** A bridge with a fan at a Mosquitto, seen by a host. */
async function scene(more = "", version: 4 | 5 = 5) {
  const around = await brokerAndClient();
  const seen = await host(around.url);
  const simulator = await platform();
  const text = fanAt(around.url, enabled(more)).replace("mqtt: {", `mqtt: { protocol_version: ${version},`);
  const start = () => bridge(text, simulator);
  return { ...around, ...seen, simulator, start };
}

const born = (view: HostView, what = "born") => until(() => isWhole(view), what);
const command = (value: string) => ({ name: "actuator/fan/command", type: "String", value }) as const;

describe.each([5, 4] as const)("with MQTT %s", (version) => {
  it("a host sees node and devices born whole, in order, and a death in order at the end", async () => {
    const { view, start } = await scene("", version);
    const { stop } = await start();
    await born(view);
    expect(view.seen[0]).toMatchObject({ verb: "NBIRTH", retain: false });
    expect(view.shown.get("gh-0001")?.get("sensor/airtemp")).toMatchObject({
      type: "Double",
      quality: 192,
      unit: "°C",
    });
    expect(view.value("", "bridge/platform")).toBe("online");
    await stop();
    await until(() => view.of("NDEATH").length > 0, "the death");
    expect(view.shown.size).toBe(0);
    expect(view.faults).toEqual([]);
  });

  it("a command takes the path of all commands, and nothing moves before the platform shows it", async () => {
    const { view, start, command: send, json } = await scene("", version);
    await start();
    await born(view);
    await send("gh-0001", command("on"));
    await until(() => typeof view.value("gh-0001", "actuator/fan/result") === "string", "a result");
    const result = JSON.parse(String(view.value("gh-0001", "actuator/fan/result"))) as Record<
      string,
      unknown
    >;
    expect(result).toMatchObject({ outcome: "confirmed", command: "on", via: "sparkplug", by: null });
    expect(view.value("gh-0001", "actuator/fan/state")).toBe("on");
    expect(view.value("gh-0001", "actuator/fan/command")).toBeNull();
    // The two messages are of one link, and each has a subscription of its own.
    const published = () => json("greenhouse/gh-0001/actuator/fan/result");
    await until(() => published().length > 0, "the result on its topic");
    expect(published()).toMatchObject([{ id: result["id"] }]);
    expect(view.faults).toEqual([]);
  });
});

it("each metric of a command that is none of now, or of another kind, ends with a result that says why", async () => {
  const { view, start, command: send, json } = await scene();
  await start();
  await born(view);
  const fan = "actuator/fan/command";
  await send(
    "gh-0001",
    { ...command("on"), isHistorical: true },
    { name: fan, type: "String", value: null, isNull: true },
    { name: fan, type: "Double", value: 1 },
    { ...command("on"), timestamp: Date.now() - 120_000 },
    { name: "actuator/nothing/command", type: "String", value: "on" },
    { name: "sensor/airtemp", type: "Double", value: 20 },
  );
  const results = () => json("greenhouse/gh-0001/result");
  await until(() => results().length === 5, "five results");
  expect(results().map(({ reason, message }) => [reason, message])).toEqual([
    ["bad_payload", "The metric is marked as historical; a command is of now."],
    ["bad_payload", "The metric is null; write the command itself."],
    ["bad_payload", "The metric has another type than String, which its birth names."],
    ["expired", expect.stringContaining("old")],
    ["unknown_actuator", expect.stringContaining("nothing")],
  ]);
  await until(() => view.seen.some(({ payload }) => (payload.metrics?.length ?? 0) >= 8), "told to the host");
  expect(view.faults).toEqual([]);
});

it("a rebirth is whole, under the same bdSeq, and a storm of requests is one in five seconds", async () => {
  const { view, start, rebirth } = await scene();
  await start();
  await born(view);
  for (const births of [2, 3]) {
    for (let n = 0; n < 100; n += 1) await rebirth();
    await until(() => view.of("NBIRTH").length === births && isWhole(view), "born again");
  }
  const [, second, third] = view.of("NBIRTH").map(({ payload }) => Number(payload.timestamp));
  expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(4_900);
  expect([view.of("NDEATH"), view.bdSeq, view.faults]).toEqual([[], 0, []]);
});

it("births wait for the primary host, and its going ends the session with a death", async () => {
  const { view, start, state, say } = await scene(", primary_host: scada1");
  await state("scada1", false, 1_000);
  const running = await start();
  await until(() => running.lines.some((line) => line.includes("for Sparkplug with MQTT 5")), "linked");
  await state("other", true, 2_000);
  await say("spBv1.0/STATE/scada1", "nonsense");
  await say("STATE/scada1", "ONLINE");
  expect(view.seen).toEqual([]);
  await state("scada1", true, 2_000);
  await born(view);
  // An older word changes nothing.
  await state("scada1", false, 1_500);
  await state("scada1", false, 2_000);
  await until(() => view.of("NDEATH").length > 0, "the death");
  const births = view.of("NBIRTH").length;
  await state("scada1", true, 3_000);
  await until(() => view.of("NBIRTH").length > births, "born again");
  await born(view);
  expect([births, view.bdSeq, view.faults]).toEqual([1, 1, []]);
});

it("after a restart of the broker a new session begins, with the next bdSeq", async () => {
  const { view, start, mosquitto, client, rebirth } = await scene();
  const { lines } = await start();
  await born(view);
  await mosquitto.restart();
  const links = () => lines.filter((line) => line.includes("connected to") && line.includes("for Sparkplug"));
  await until(() => links().length === 2 && client.connected, "both are back");
  // As a host does that came later than the births.
  await rebirth();
  await until(() => view.bdSeq === 1, "born again");
  await born(view);
});

it("foreign payloads, forged deaths and other nodes of the name move nothing, and are counted and said once", async () => {
  const { view, start, say, json } = await scene();
  const { lines } = await start();
  await born(view);
  const birth = view.of("NBIRTH")[0]?.bytes ?? Buffer.alloc(0);
  for (let n = 0; n < 3; n += 1) {
    await say(nodeRoot("NCMD"), Buffer.from("no protobuf"));
    await say(`${nodeRoot("DCMD")}/gh-0001`, Buffer.alloc(70_000));
    await say(nodeRoot("NBIRTH"), Buffer.concat([birth, Buffer.from([0x18, 1])]));
  }
  await until(() => json("greenhouse/alarm/duplicate_node").length > 0, "the alarm");
  await say(nodeRoot("NDEATH"), Buffer.from(view.of("NBIRTH")[0]?.bytes ?? []));
  await until(
    () => view.of("NBIRTH").filter(({ bytes }) => bytes.length > 0).length > 4,
    "told that it lives",
  );
  const told = lines.filter((line) => line.includes("Sparkplug: "));
  expect(told).toHaveLength(4);
  expect(json("greenhouse/gh-0001/result")).toEqual([]);
});
