import net from "node:net";
import mqtt from "mqtt";
import { fieldsOf } from "../history.js";
import { type Row, stayedOnline } from "../row.js";
import type { Lane, World } from "../support/world.js";
import { broker, wait } from "./kinds.js";
import { portFor } from "../../support/free-port.js";

/* D: what a broker hands on, and in which version of its protocol. */

const state = "greenhouse/bridge/state";
const strangers = 3_000;

const atMosquitto = ({ broker: make }: Lane): boolean => make === "Mosquitto";
const withFive = ({ broker: make, version }: Lane): boolean => make !== "embedded" && version === 5;

/** Takes every connection, reads the CONNECT, and closes without a word. */
async function closingBroker() {
  let closed = 0;
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      closed += 1;
      socket.destroy();
    });
  });
  const port = await portFor(server);
  return { port, closed: () => closed, close: () => server.close() };
}

/** Everything that a broker keeps, as a new subscriber with QoS 1 gets it. */
async function keptFor({ brokerPort, lane }: World): Promise<readonly { topic: string; qos: number }[]> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${brokerPort}`, { protocolVersion: lane.version });
  const kept: { topic: string; qos: number }[] = [];
  client.on("message", (topic, _, { qos, retain }) => {
    if (retain) kept.push({ topic, qos });
  });
  await client.subscribeAsync("greenhouse/#", { qos: 1 });
  await wait(1_000);
  await client.endAsync();
  return kept;
}

/** Announcements of somebody else, or their clearing: more than a default broker keeps back for one subscriber. */
async function fillWithStrangers({ brokerPort }: World, payload: string): Promise<void> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${brokerPort}`);
  const all = Array.from({ length: strangers }, (_, n) =>
    client.publishAsync(`homeassistant/device/stranger-${n}/config`, payload, { qos: 1, retain: true }),
  );
  await Promise.all(all);
  await client.endAsync();
}

export const deliveryRows: readonly Row[] = [
  broker({
    name: "broker accepts and closes for a while",
    only: withFive,
    aboutMs: 14_000,
    how: "every CONNECT is read and its socket closed",
    expected: "MQTT 5 all the same, so that live commands with the retain flag stay refused",
    holdMs: 15_000,
    reducedHoldMs: 8_000,
    limitMs: 40_000,
    begin: async ({ broker: real, brokerDoor: door }, notes, holdMs) => {
      if (real === null || door === null) throw new Error("this lane has no broker of its own");
      const closing = await closingBroker();
      door.target(closing.port);
      door.cut();
      await wait(holdMs - 1_000);
      notes["closed"] = closing.closed();
      door.target(real.port);
      closing.close();
    },
    check: ({ notes, messages, startedAt }) => {
      const infos = messages.filter(({ topic, at }) => topic === "greenhouse/bridge/info" && at >= startedAt);
      const spoken = infos.map(({ payload }) => JSON.stringify(fieldsOf(payload)["mqtt"] ?? null));
      return [
        ...((notes["closed"] ?? 0) >= 2 ? [] : [`it tried ${notes["closed"] ?? 0} times`]),
        ...(spoken.length > 0 ? [] : ["bridge/info was not published again"]),
        ...spoken.filter((one) => !one.includes('"version":"5"')).map((one) => `it speaks ${one}`),
      ];
    },
  }),
  broker({
    name: "a late subscriber to everything",
    hits: "nothing",
    only: atMosquitto,
    how: "subscribes greenhouse/# with QoS 1",
    expected: "every state comes with QoS 0, of which no broker drops any",
    holdMs: 0,
    limitMs: 10_000,
    begin: async (world, notes) => {
      const kept = await keptFor(world);
      notes["states"] = kept.length;
      notes["heavy"] = kept.filter(({ topic, qos }) => qos > 0 && topic !== state).length;
    },
    check: ({ notes }) => [
      ...((notes["states"] ?? 0) > 100 ? [] : [`only ${notes["states"] ?? 0} topics are kept`]),
      ...((notes["heavy"] ?? 0) === 0 ? [] : [`${notes["heavy"]} states have QoS 1`]),
    ],
  }),
  broker({
    name: "cleanup beside the running bridge",
    hits: "nothing",
    only: atMosquitto,
    aboutMs: 10_000,
    how: `the command, among ${strangers} announcements of others`,
    expected: "refused with exit code 1, nothing cleared",
    holdMs: 0,
    limitMs: 10_000,
    begin: async (world, notes) => {
      await fillWithStrangers(world, '{"origin":{"name":"stranger"}}');
      notes["code"] = (await world.stage.program(["cleanup"]).ended).code ?? -1;
      await fillWithStrangers(world, "");
    },
    check: (seen) => [
      ...(seen.notes["code"] === 1 ? [] : [`cleanup ended with ${seen.notes["code"]}`]),
      ...seen.messages
        .filter(
          ({ topic, payload }) => payload === "" && /^greenhouse\/[^/]+\/(availability|info)$/.test(topic),
        )
        .map(({ topic }) => `${topic} was cleared`),
      ...stayedOnline(seen),
    ],
  }),
];
