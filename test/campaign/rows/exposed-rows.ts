import net from "node:net";
import { request } from "node:http";
import { connectPacket, subscribePacket } from "../../conformance/packets.js";
import { never, type Row, stayedOnline, unless, wait } from "../row.js";
import type { Lane, World } from "../support/world.js";

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

const status = (port: number, headers: Readonly<Record<string, string>>) =>
  new Promise<number>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: "/healthz", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on("error", reject);
    asked.end();
  });

/** Of a client that asks for everything and then takes nothing any more. */
const frozenSubscriber = Buffer.from([
  ...connectPacket(4, { id: "ice" }),
  ...subscribePacket(4, 1, [["#", 1]]),
]);

const forbidden = [
  "greenhouse/bridge/state",
  "greenhouse/gh-0001/actuator/fan/state",
  "homeassistant/device/x/config",
];
const hostileCodes = ["../../x", "%2e%2e", "a?b=c", "__proto__", "a#b"];

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
    name: "forbidden publishes",
    only: ({ broker }) => broker === "embedded",
    expected: "states, status and discovery of an ordinary client are discarded: 0 deliveries",
    holdMs: 2_000,
    begin: async ({ watch }) => {
      for (const topic of forbidden)
        await watch.publish(topic, "forged", { retain: true }).catch(() => undefined);
    },
    checks: forbidden.map((topic) => never(topic, "forged")),
  }),
  exposed({
    name: "foreign Host and Origin",
    expected: "50 requests as a browser lured by another site makes them: 421 and 403",
    holdMs: 0,
    begin: async ({ httpPort }, notes) => {
      notes["answered"] = 0;
      for (let n = 0; n < 25; n += 1) {
        if ((await status(httpPort, { host: "evil.example.com" })) !== 421) notes["answered"] += 1;
        if ((await status(httpPort, { origin: "https://evil.example.com" })) !== 403) notes["answered"] += 1;
      }
      notes["health"] = await status(httpPort, {});
    },
    checks: [
      ({ notes: { answered = 50 } }) => unless(answered === 0, `${answered} of 50 were answered`),
      ({ notes: { health = 0 } }) => unless(health === 200, `/healthz says ${health}`),
    ],
  }),
  exposed({
    name: "hostile device codes",
    expected: "no request below another path; nothing else suffers",
    holdMs: 8_000,
    reducedHoldMs: 6_000,
    begin: async ({ platform }, notes) => {
      notes["before"] = (await platform.requests())["unknown"] ?? 0;
      for (const controller of hostileCodes) await platform.tell("add_controller", { controller });
    },
    end: async ({ platform }, notes) => {
      notes["after"] = (await platform.requests())["unknown"] ?? 0;
      for (const controller of hostileCodes) await platform.tell("remove_controller", { controller });
    },
    checks: [({ notes: { before, after } }) => unless(before === after, "a request went to an unknown path")],
  }),
];
