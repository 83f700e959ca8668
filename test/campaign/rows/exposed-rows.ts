import net from "node:net";
import { request } from "node:http";
import { expectNever, type Row, stayedOnline } from "../row.js";
import { isEmbedded, isOurBroker, wait } from "./kinds.js";

/* E and H: the ports the bridge opens, attacked by a neighbour on the network. */

const exposed = (row: Omit<Row, "hits" | "limitMs">): Row => ({ hits: "nothing", limitMs: 20_000, ...row });

function dial(port: number, bytes?: Buffer): net.Socket {
  const socket = net.connect({ port, host: "127.0.0.1" });
  socket.on("error", () => undefined);
  if (bytes !== undefined) socket.write(bytes);
  return socket;
}

/** By the broker's port. */
const crowd = new Map<number, net.Socket[]>();

const status = (port: number, headers: Readonly<Record<string, string>>, path = "/healthz") =>
  new Promise<number>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on("error", reject);
    asked.end();
  });

/** A CONNECT of MQTT 3.1.1 and a SUBSCRIBE to everything, of a client that then takes nothing any more. */
const frozenSubscriber = Buffer.concat([
  Buffer.from([0x10, 0x0f, 0, 4]),
  Buffer.from("MQTT"),
  Buffer.from([4, 2, 0, 0, 0, 3]),
  Buffer.from("ice"),
  Buffer.from([0x82, 0x06, 0, 1, 0, 1, 0x23, 1]),
]);

export const exposedRows: readonly Row[] = [
  exposed({
    name: "500 silent sockets",
    only: isOurBroker,
    how: "500 connections to the embedded broker that say nothing, 8 s",
    expected: "the bridge's own link and commands are unaffected",
    holdMs: 8_000,
    reducedHoldMs: 4_000,
    begin: ({ brokerPort }) => {
      crowd.set(
        brokerPort,
        Array.from({ length: 500 }, () => dial(brokerPort)),
      );
    },
    end: ({ brokerPort }) => {
      for (const socket of crowd.get(brokerPort) ?? []) socket.destroy();
    },
    check: stayedOnline,
  }),
  exposed({
    name: "frozen subscriber",
    only: isOurBroker,
    how: "a client subscribes to everything and reads nothing, 18 s",
    expected: "others go on; it is thrown off",
    holdMs: 18_000,
    begin: ({ brokerPort }) => {
      const socket = dial(brokerPort, frozenSubscriber);
      socket.pause();
      crowd.set(brokerPort, [socket]);
    },
    end: ({ brokerPort }) => {
      for (const socket of crowd.get(brokerPort) ?? []) socket.destroy();
    },
    check: stayedOnline,
  }),
  exposed({
    name: "garbage at the broker's port",
    only: isOurBroker,
    how: "200 connections with broken packets",
    expected: "no exit, no link of others is lost",
    holdMs: 2_000,
    begin: async ({ brokerPort }) => {
      for (let n = 0; n < 200; n += 1) {
        const bytes = Buffer.from(Array.from({ length: 40 }, (_, i) => (n * 31 + i * 17) % 256));
        dial(brokerPort, n % 2 === 0 ? bytes : Buffer.concat([frozenSubscriber, bytes])).end();
        if (n % 20 === 0) await wait(50);
      }
    },
    check: stayedOnline,
  }),
  exposed({
    name: "forbidden publishes",
    only: isEmbedded,
    how: "states, status and discovery published by an ordinary client",
    expected: "discarded: 0 deliveries, the client stays",
    holdMs: 2_000,
    begin: async ({ recorder }) => {
      for (const topic of [
        "greenhouse/bridge/state",
        "greenhouse/gh-0001/actuator/fan/state",
        "homeassistant/device/x/config",
      ])
        await recorder.publish(topic, "forged", { retain: true });
    },
    check: (seen) =>
      [
        "greenhouse/bridge/state",
        "greenhouse/gh-0001/actuator/fan/state",
        "homeassistant/device/x/config",
      ].flatMap((topic) => expectNever(seen, topic, "forged")),
  }),
  exposed({
    name: "foreign Host and Origin",
    how: "50 requests as a browser lured by another site makes them",
    expected: "421 and 403",
    holdMs: 0,
    begin: async ({ httpPort }, notes) => {
      notes["wrong"] = 0;
      for (let n = 0; n < 50; n += 1) {
        const isHost = n % 2 === 0;
        const got = await status(
          httpPort,
          isHost ? { host: "evil.example.com" } : { origin: "https://evil.example.com" },
        );
        if (got !== (isHost ? 421 : 403)) notes["wrong"] += 1;
      }
      notes["health"] = await status(httpPort, {});
    },
    check: ({ notes }) => [
      ...(notes["wrong"] === 0 ? [] : [`${notes["wrong"] ?? 0} of 50 were answered`]),
      ...(notes["health"] === 200 ? [] : [`/healthz says ${notes["health"] ?? "nothing"}`]),
    ],
  }),
  exposed({
    name: "hostile device codes",
    how: "controllers coded ../../x, %2e%2e, ?a=b, __proto__ appear for 8 s",
    expected: "no request below another path; nothing else suffers",
    holdMs: 8_000,
    reducedHoldMs: 6_000,
    begin: async ({ platform }, notes) => {
      notes["unknown"] = (await platform.requests())["unknown"] ?? 0;
      for (const code of ["../../x", "%2e%2e", "a?b=c", "__proto__", "a#b"])
        await platform.tell("add_controller", { controller: code });
    },
    end: async ({ platform }, notes) => {
      notes["unknownAfter"] = (await platform.requests())["unknown"] ?? 0;
      for (const code of ["../../x", "%2e%2e", "a?b=c", "__proto__", "a#b"])
        await platform.tell("remove_controller", { controller: code });
    },
    check: ({ notes }) =>
      notes["unknown"] === notes["unknownAfter"] ? [] : ["a request went to an unknown path"],
  }),
];
