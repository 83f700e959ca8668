import mqtt from "mqtt";
import { broker, linkOf, type Row, stayedOnline, unless } from "../row.js";
import { commanded, topicOf } from "../support/house.js";
import type { World } from "../support/world.js";

/* D: messages over a working link: from neighbours at the broker, and names from the platform. */

const set = `${topicOf(commanded, "fan")}/set`;

/** A client with the bridge's id that does not reconnect when it is disconnected. */
const stranger = ({ brokerPort, lane: { version } }: World) => {
  const options = { protocolVersion: version, reconnectPeriod: 0, clientId: "greenhouse2mqtt" };
  return mqtt.connectAsync(`mqtt://127.0.0.1:${brokerPort}`, options);
};

/** Hostile messages over the bridge's link, which must not be lost at any time. */
const poison = (row: Partial<Row> & Pick<Row, "name" | "expected" | "holdMs" | "begin">): Row =>
  broker({
    ...{ hits: "nothing", limitMs: 20_000, ...row },
    begin: async (world, notes, holdMs) => {
      notes["accepted"] = linkOf(world).door.accepted;
      await row.begin(world, notes, holdMs);
    },
    checks: [
      stayedOnline,
      ({ notes }, world) =>
        unless(linkOf(world).door.accepted === notes["accepted"], "the link was lost over it"),
    ],
  });

const payloads = [
  ...["", "{", "[]", "NaN", "1e309", "-0", "\u0000", '{"__proto__":{"polluted":1}}', "💥".repeat(99)],
];
const topics = [
  ...["greenhouse/gh-0001/actuator/none/set", "greenhouse/none/actuator/x/set", set, "greenhouse//set"],
  ...["greenhouse/bridge/request/none", "greenhouse/bridge/request/read", "greenhouse/bridge/self_test"],
];
const hostileCodes = ["..", "+/#", "$SYS"];

export const messageRows: readonly Row[] = [
  broker({
    name: "garbage from the broker",
    expected: "of 64 bytes that are no MQTT: the link is given up and made again, no exit",
    holdMs: 0,
    begin: (world) => linkOf(world).door.inject(Buffer.alloc(64, 0xff)),
  }),
  broker({
    name: "another client with our id",
    expected: "one reconnect, no quarrel",
    holdMs: 0,
    begin: async (world) => (await stranger(world)).endAsync(true),
  }),
  poison({
    name: "poison messages",
    expected: "each command among 200 hostile payloads and topics refused, link and commands unharmed",
    holdMs: 0,
    begin: async ({ watch }) => {
      for (let n = 0; n < 200; n += 1)
        await watch.publish(topics[n % topics.length] ?? "", payloads[n % payloads.length] ?? "");
      await watch.publish(set, Buffer.from([0xff, 0xfe, 0xc3]));
    },
  }),
  poison({
    name: "poison names from the platform",
    expected: "no disconnect; names only in payloads",
    holdMs: 8_000,
    reducedHoldMs: 6_000,
    begin: async ({ platform }) => {
      await platform.tell("rename_controller", { controller: "GH-0001", name: "a/+#$\u0000\ud800 ../💥" });
      await platform.tell("rename_controller", { controller: "GH-0003", name: "x".repeat(60_000) });
      for (const controller of hostileCodes)
        await platform.tell("add_controller", { controller, name: "#" }).catch(() => undefined);
    },
    end: async ({ platform }) => {
      await platform.tell("rename_controller", { controller: "GH-0001", name: "East" });
      await platform.tell("rename_controller", { controller: "GH-0003", name: "West" });
      for (const controller of hostileCodes)
        await platform.tell("remove_controller", { controller }).catch(() => undefined);
    },
  }),
];
