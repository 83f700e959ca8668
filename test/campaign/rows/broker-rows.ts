import { type Row, stayedOnline } from "../row.js";
import { startRefusingBroker } from "../support/refusing-broker.js";
import type { World } from "../support/world.js";
import { broker, confirming } from "./kinds.js";

/* D: the link to the broker. In every lane with a broker of its own. */

const state = "greenhouse/bridge/state";

/** Lanes without a broker of their own never run these rows. */
function of(world: World) {
  if (world.broker === null || world.brokerDoor === null)
    throw new Error("this lane has no broker of its own");
  return { broker: world.broker, door: world.brokerDoor };
}

async function witnessIsBack(world: World): Promise<void> {
  const end = Date.now() + 20_000;
  while (!world.recorder.isConnected) {
    if (Date.now() > end) throw new Error("the recorder did not get back to the broker");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The broker dies with everything it retained; nobody gets in before the recorder listens again. */
async function restartBroker(world: World): Promise<void> {
  const { broker, door } = of(world);
  await door.manner("closed");
  await broker.kill();
  door.cut();
  await broker.restart();
  await witnessIsBack(world);
  await door.manner("pass");
}

export const brokerRows: readonly Row[] = [
  broker({
    name: "broker link reset",
    how: "RST on the standing connection",
    expected: "a new link at once",
    holdMs: 0,
    limitMs: 35_000,
    begin: (world) => of(world).door.cut(),
  }),
  broker({
    name: "broker link half-open",
    aboutMs: 27_000,
    how: "proxy swallows both ways, tells nobody",
    expected: "seen within 1.5 keepalives (22.5 s) + 1 s, then a new link",
    holdMs: 0,
    // 23.5 s until it is seen, then a first reconnect within 1 s and its handshake.
    limitMs: 35_000,
    begin: (world) => of(world).door.deafen("both"),
  }),
  broker({
    name: "broker deaf one way",
    aboutMs: 27_000,
    how: "proxy swallows what the broker sends",
    expected: "as half-open: never publishing but deaf",
    holdMs: 0,
    limitMs: 35_000,
    begin: (world) => of(world).door.deafen("to_client"),
  }),
  broker({
    name: "will and birth race",
    how: "half-open until the new link stands, then the broker finds the old one dead",
    expected: "the last word on bridge/state is online",
    holdMs: 30_000,
    limitMs: 35_000,
    begin: (world) => of(world).door.deafen("both"),
    end: (world) => of(world).door.bury(),
    check: (_seen, { recorder }) =>
      recorder.latest(state) === "online" ? [] : ["bridge/state is retained as offline"],
  }),
  broker({
    name: "broker link flapping",
    aboutMs: 15_000,
    how: "RST every 2 s, five times",
    expected: "back within 35 s of the last one",
    holdMs: 0,
    limitMs: 35_000,
    begin: async (world) => {
      for (let turn = 0; turn < 5; turn += 1) {
        of(world).door.cut();
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      }
    },
  }),
  broker({
    name: "broker killed, retained lost",
    aboutMs: 7_000,
    how: "SIGKILL and a new start without its retained messages",
    expected: "discovery, states and availability are published again",
    holdMs: 0,
    limitMs: 35_000,
    begin: restartBroker,
    check: (seen) =>
      [
        "greenhouse/gh-0001/availability",
        "greenhouse/gh-0001/actuator/fan/state",
        "homeassistant/device/",
      ].flatMap((start) =>
        seen.messages.some(({ topic, retain }) => topic.startsWith(start) && !retain)
          ? []
          : [`${start} was not published again`],
      ),
  }),
  broker({
    name: "broker gone 60 s",
    aboutMs: 15_000,
    how: "port closed (connection refused), links cut while a command is being confirmed; reduced 15 s",
    expected: "one snapshot on return, no backlog, the command's result follows; online within 35 s",
    holdMs: 60_000,
    reducedHoldMs: 15_000,
    limitMs: 35_000,
    begin: async (world) => {
      const { door } = of(world);
      await confirming(world);
      await door.manner("closed");
      door.cut();
    },
    end: (world) => of(world).door.manner("pass"),
    check: ({ messages, endedAt }) => {
      // 60 counts were shown meanwhile; only the newest may be told.
      const counts = messages.filter(
        ({ topic, at, retain }) =>
          topic === "greenhouse/gh-0001/sensor/counter" && !retain && at > endedAt && at < endedAt + 30_000,
      );
      const [first, second] = counts.map(({ payload }) => Number(payload));
      const isBacklog = counts.length > 20 && (second ?? 0) - (first ?? 0) < 2;
      return isBacklog ? [`${counts.length} old counts were published on return`] : [];
    },
  }),
  broker({
    name: "broker accepts, never answers",
    how: "links cut, new connections get no CONNACK for 20 s",
    expected: "each try ends by itself; back within 35 s",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    limitMs: 40_000,
    begin: async (world) => {
      const { door } = of(world);
      await door.manner("black_hole");
      door.cut();
    },
    end: (world) => of(world).door.manner("pass"),
  }),
  broker({
    name: "CONNACK refused",
    aboutMs: 14_000,
    how: "rc 3 and 5 (3.1.1), 0x88 and 0x97 (5) by turns for 40 s",
    expected: "goes on trying: full jitter up to 30 s",
    holdMs: 40_000,
    reducedHoldMs: 15_000,
    limitMs: 40_000,
    begin: async (world, notes, holdMs) => {
      const { door, broker: real } = of(world);
      const refusing = await startRefusingBroker();
      door.target(refusing.port);
      door.cut();
      await new Promise((resolve) => setTimeout(resolve, holdMs - 1_000));
      notes["refused"] = refusing.refused();
      door.target(real.port);
      await refusing.close();
    },
    check: ({ notes }) => ((notes["refused"] ?? 0) >= 2 ? [] : [`it tried ${notes["refused"] ?? 0} times`]),
  }),
  broker({
    name: "slow broker",
    hits: "nothing",
    how: "every byte 2 s late both ways for 20 s",
    expected: "the link stands, nothing is lost",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    limitMs: 20_000,
    begin: (world) => of(world).door.latency(2_000),
    end: (world) => of(world).door.latency(0),
    check: stayedOnline,
  }),
  broker({
    name: "frozen broker 12 s",
    how: "SIGSTOP of the broker, shorter than the keepalive allows",
    expected: "goes on when the broker does",
    holdMs: 12_000,
    limitMs: 35_000,
    begin: (world) => of(world).broker.freeze(),
    end: (world) => of(world).broker.thaw(),
  }),
  broker({
    name: "frozen broker 40 s",
    how: "SIGSTOP of the broker, longer than the keepalive allows",
    expected: "the link is given up and made again",
    holdMs: 40_000,
    limitMs: 45_000,
    begin: (world) => of(world).broker.freeze(),
    end: (world) => of(world).broker.thaw(),
  }),
];
