import mqtt from "mqtt";
import { expectNever, expectShown, type Row, stayedOnline } from "../row.js";
import { commanded, topicOf } from "../support/house.js";
import { broker, wait } from "./kinds.js";

/* D: what arrives over a link that stands: from neighbours at the broker, and names from the platform. */

const state = "greenhouse/bridge/state";

export const messageRows: readonly Row[] = [
  broker({
    name: "foreign offline on bridge/state",
    hits: "nothing",
    how: "another client publishes offline, retained",
    expected: "online again within 2 s",
    holdMs: 0,
    limitMs: 10_000,
    begin: async ({ recorder }) => {
      await recorder.publish(state, "offline", { retain: true });
    },
    check: ({ messages, startedAt }) => {
      const repaired = messages.find(({ topic, payload }) => topic === state && payload === "online");
      const tookMs = (repaired?.at ?? Infinity) - startedAt;
      return tookMs <= 2_000 ? [] : [`repaired after ${tookMs} ms`];
    },
  }),
  broker({
    name: "foreign empty bridge/state",
    hits: "nothing",
    how: "another client clears the retained status",
    expected: "online again within 2 s",
    holdMs: 0,
    limitMs: 10_000,
    begin: async ({ recorder }) => {
      await recorder.publish(state, "", { retain: true });
    },
    check: (seen) => expectShown(seen, state, "online"),
  }),
  broker({
    name: "garbage from the broker",
    aboutMs: 6_000,
    how: "64 bytes that are no MQTT injected towards the bridge",
    expected: "the link is given up and made again, no exit",
    holdMs: 0,
    limitMs: 35_000,
    begin: (world) => {
      world.brokerDoor?.inject(Buffer.alloc(64, 0xff));
    },
  }),
  broker({
    name: "another client with our id",
    how: "one CONNECT with the bridge's client id, gone at once",
    expected: "one reconnect, no quarrel",
    holdMs: 0,
    limitMs: 35_000,
    begin: async (world) => {
      const url = `mqtt://127.0.0.1:${world.brokerPort}`;
      const other = await mqtt.connectAsync(url, {
        clientId: "greenhouse2mqtt",
        protocolVersion: world.lane.version,
        reconnectPeriod: 0,
      });
      await other.endAsync(true);
    },
  }),
  broker({
    name: "oversized message",
    aboutMs: 7_000,
    hits: "delivery",
    how: "300 KiB on a set topic and on a request topic",
    expected:
      "refused where the broker hands it on, never carried out; the link survives or is back within 30 s",
    holdMs: 0,
    limitMs: 30_000,
    begin: async (world) => {
      const large = Buffer.alloc(300 * 1024, "a");
      const url = `mqtt://127.0.0.1:${world.brokerPort}`;
      for (const topic of [`${topicOf(commanded, "fan")}/set`, "greenhouse/bridge/request/read"]) {
        // A broker with a limit of its own throws the sender off, who is therefore not the recorder.
        const sender = await mqtt.connectAsync(url, {
          protocolVersion: world.lane.version,
          reconnectPeriod: 0,
        });
        sender.on("error", () => undefined);
        sender.publish(topic, large, { qos: 0 });
        await wait(1_500);
        sender.end(true);
      }
    },
    check: (seen) => expectNever(seen, `${topicOf(commanded, "fan")}/state`, "unknown"),
  }),
  broker({
    name: "poison messages",
    hits: "nothing",
    how: "200 hostile payloads and topics below <base>",
    expected: "each command among them refused, link and commands unharmed",
    holdMs: 0,
    limitMs: 20_000,
    begin: async ({ recorder, brokerDoor }, notes) => {
      notes["accepted"] = brokerDoor?.accepted ?? 0;
      const payloads = [
        "",
        "{",
        "[]",
        "NaN",
        "1e309",
        "-0",
        "\u0000",
        '{"__proto__":{"polluted":1}}',
        "💥".repeat(99),
      ];
      const topics = [
        "greenhouse/gh-0001/actuator/none/set",
        "greenhouse/none/actuator/x/set",
        "greenhouse/bridge/request/none",
      ];
      topics.push(
        "greenhouse/bridge/request/read",
        `${topicOf(commanded, "fan")}/set`,
        "greenhouse//set",
        "greenhouse/bridge/self_test",
      );
      for (let n = 0; n < 200; n += 1)
        await recorder.publish(topics[n % topics.length] ?? "", payloads[n % payloads.length] ?? "");
      await recorder.publish(`${topicOf(commanded, "fan")}/set`, Buffer.from([0xff, 0xfe, 0xc3]));
    },
    check: (seen, { brokerDoor }) =>
      brokerDoor?.accepted === seen.notes["accepted"] ? stayedOnline(seen) : ["the link was lost over it"],
  }),
  broker({
    name: "poison names from the platform",
    hits: "nothing",
    how: "controllers named with / + # $ NUL, a lone surrogate, 70,000 characters",
    expected: "no disconnect; names only in payloads",
    holdMs: 8_000,
    reducedHoldMs: 6_000,
    limitMs: 20_000,
    begin: async ({ platform, brokerDoor }, notes) => {
      notes["accepted"] = brokerDoor?.accepted ?? 0;
      await platform.tell("rename_controller", { controller: "GH-0001", name: "a/+#$\u0000\ud800 ../💥" });
      await platform.tell("rename_controller", { controller: "GH-0003", name: "x".repeat(60_000) });
      for (const code of ["..", "+/#", "$SYS"])
        await platform.tell("add_controller", { controller: code, name: "#" }).catch(() => undefined);
    },
    end: async ({ platform }) => {
      await platform.tell("rename_controller", { controller: "GH-0001", name: "East" });
      await platform.tell("rename_controller", { controller: "GH-0003", name: "West" });
      for (const code of ["..", "+/#", "$SYS"])
        await platform.tell("remove_controller", { controller: code }).catch(() => undefined);
    },
    check: (seen, { brokerDoor }) =>
      brokerDoor?.accepted === seen.notes["accepted"] ? stayedOnline(seen) : ["the link was lost over it"],
  }),
];
