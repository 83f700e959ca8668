import net from "node:net";
import mqtt from "mqtt";
import { connectPacket, subscribePacket } from "../../conformance/packets.js";
import { broker, linkOf, never, type Row, shown, stayedOnline, unless, wait } from "../row.js";
import { commanded, topicOf } from "../support/house.js";
import type { Lane, World } from "../support/world.js";

/* D: what arrives over a link that stands: from neighbours at the broker, and names from the platform. */

const state = "greenhouse/bridge/state";
const set = `${topicOf(commanded, "fan")}/set`;

/** A client that does not come back when it is thrown off. */
const stranger = ({ brokerPort, lane }: World, clientId?: string) =>
  mqtt.connectAsync(`mqtt://127.0.0.1:${brokerPort}`, {
    ...{ protocolVersion: lane.version, reconnectPeriod: 0, ...(clientId && { clientId }) },
  });

const foreign = (payload: string, name: string): Row =>
  broker({
    ...{ name, expected: "online again within 2 s", hits: "nothing", holdMs: 0, limitMs: 10_000 },
    begin: ({ watch }) => watch.publish(state, payload, { retain: true }),
    checks: [
      shown(state, "online"),
      ({ messages, startedAt }) => {
        const repaired = messages.find((one) => one.topic === state && one.payload === "online");
        const tookMs = (repaired?.at ?? Infinity) - startedAt;
        return unless(payload === "" || tookMs <= 2_000, `repaired after ${tookMs} ms`);
      },
    ],
  });

/** Hostile things that arrive over the bridge's link, which has to stand all the time. */
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
  foreign("offline", "foreign offline on bridge/state"),
  foreign("", "foreign empty bridge/state"),
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
    begin: async (world) => (await stranger(world, "greenhouse2mqtt")).endAsync(true),
  }),
  broker({
    name: "oversized message",
    expected: "300 KiB are never carried out; the link survives or is back within 30 s",
    holdMs: 0,
    limitMs: 30_000,
    begin: async (world) => {
      for (const topic of [set, "greenhouse/bridge/request/read"]) {
        // A broker with a limit of its own throws the sender off, who is therefore not the watch.
        const sender = await stranger(world);
        sender.on("error", () => undefined);
        sender.publish(topic, Buffer.alloc(300 * 1024, "a"), { qos: 0 });
        await wait(1_500);
        sender.end(true);
      }
    },
    checks: [never(`${topicOf(commanded, "fan")}/state`, "unknown")],
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

/* E and H: the ports the bridge opens, attacked by a neighbour on the network. */

const exposed = (row: Omit<Row, "hits" | "limitMs">): Row => ({ hits: "nothing", limitMs: 20_000, ...row });

/** The broker is ours, in the bridge or in a process of its own. */
const isOurBroker = ({ broker }: Lane): boolean => broker !== "Mosquitto";

function dial({ brokerPort: port }: World, bytes?: Buffer): net.Socket {
  const socket = net.connect({ port, host: "127.0.0.1" });
  socket.on("error", () => undefined);
  if (bytes !== undefined) socket.write(bytes);
  return socket;
}

/** Connections that stand for the time of the fault. */
const crowded = (make: (world: World) => readonly net.Socket[]): Pick<Row, "begin" | "end"> => {
  const crowds = new Map<World, readonly net.Socket[]>();
  return {
    begin: (world) => {
      crowds.set(world, make(world));
    },
    end: (world) => {
      for (const socket of crowds.get(world) ?? []) socket.destroy();
    },
  };
};

/** Of a client that asks for everything and then takes nothing any more. */
const frozenSubscriber = Buffer.from([
  ...connectPacket(4, { id: "ice" }),
  ...subscribePacket(4, 1, [["#", 1]]),
]);

const foreignCodes = ["../../x", "%2e%2e", "a?b=c", "__proto__", "a#b"];

export const exposedRows: readonly Row[] = [
  exposed({
    name: "500 silent sockets",
    only: isOurBroker,
    expected: "the bridge's own link and commands are unaffected",
    holdMs: 8_000,
    reducedHoldMs: 4_000,
    ...crowded((world) => Array.from({ length: 500 }, () => dial(world))),
    checks: [stayedOnline],
  }),
  exposed({
    name: "frozen subscriber",
    only: isOurBroker,
    expected: "others go on; it is thrown off",
    holdMs: 18_000,
    ...crowded((world) => [dial(world, frozenSubscriber).pause()]),
    checks: [stayedOnline],
  }),
  exposed({
    name: "garbage at the broker's port",
    only: isOurBroker,
    expected: "over 200 connections: no exit, no link of others is lost",
    holdMs: 2_000,
    begin: async (world) => {
      for (let n = 0; n < 200; n += 1) {
        const bytes = Buffer.from(Array.from({ length: 40 }, (_, i) => (n * 31 + i * 17) % 256));
        dial(world, n % 2 === 0 ? bytes : Buffer.concat([frozenSubscriber, bytes])).end();
        if (n % 20 === 0) await wait(50);
      }
    },
    checks: [stayedOnline],
  }),
  exposed({
    name: "hostile device codes",
    expected: "no request below another path; nothing else suffers",
    holdMs: 8_000,
    reducedHoldMs: 6_000,
    begin: async ({ platform }, notes) => {
      notes["before"] = (await platform.requests())["unknown"] ?? 0;
      for (const controller of foreignCodes) await platform.tell("add_controller", { controller });
    },
    end: async ({ platform }, notes) => {
      notes["after"] = (await platform.requests())["unknown"] ?? 0;
      for (const controller of foreignCodes) await platform.tell("remove_controller", { controller });
    },
    checks: [({ notes: { before, after } }) => unless(before === after, "a request went to an unknown path")],
  }),
];
