import {
  broker,
  comesTrue,
  confirming,
  linkOf,
  type Row,
  type Seen,
  stayedOnline,
  unless,
  wait,
} from "../row.js";
import type { World } from "../support/world.js";

/* D: the link to the broker, in every lane with a broker of its own. */

/** Kills the broker with all retained messages; clients are let in only once the watch listens again. */
async function restartBroker(world: World): Promise<void> {
  const { broker, door } = linkOf(world);
  await door.manner("closed");
  await broker.kill();
  door.cut();
  await broker.restart();
  if (!(await comesTrue(() => world.watch.isConnected, 20_000, 20)))
    throw new Error("the watch did not get back to the broker");
  await door.manner("pass");
}

const frozen = (seconds: number, expected: string, limitMs: number): Row =>
  broker({
    ...{ name: `frozen broker ${seconds} s`, expected, holdMs: seconds * 1_000, limitMs },
    begin: (world) => linkOf(world).broker.freeze(),
    end: (world) => linkOf(world).broker.thaw(),
  });

/** 60 counts were shown while the broker was gone; only the newest may be published. */
const noBacklog = ({ messages, endedAt }: Seen): readonly string[] => {
  const counts = messages.filter(
    ({ topic, at, retain }) =>
      topic === "greenhouse/gh-0001/sensor/counter" && !retain && at > endedAt && at < endedAt + 30_000,
  );
  const [first = 0, second = 0] = counts.map(({ payload }) => Number(payload));
  return unless(
    counts.length <= 20 || second - first >= 2,
    `${counts.length} old counts were published on return`,
  );
};

export const brokerRows: readonly Row[] = [
  broker({
    name: "broker link reset",
    expected: "a new link at once",
    holdMs: 0,
    begin: (world) => linkOf(world).door.cut(),
  }),
  ...(["both", "to_client"] as const).map((direction) =>
    broker({
      name: direction === "both" ? "broker link half-open" : "broker deaf one way",
      expected: "seen within 1.5 keepalives (22.5 s) + 1 s, then a new link; never publishing but deaf",
      holdMs: 0,
      // 23.5 s until it is noticed, then a first reconnect within 1 s and its handshake.
      limitMs: 35_000,
      begin: (world) => linkOf(world).door.deafen(direction),
    }),
  ),
  broker({
    name: "broker link flapping",
    expected: "back within 35 s of the last one",
    holdMs: 10_000,
    begin: async (world) => {
      for (let turn = 0; turn < 5; turn += 1) {
        linkOf(world).door.cut();
        await wait(2_000);
      }
    },
  }),
  broker({
    name: "broker killed, retained lost",
    expected: "discovery, states and availability are published again",
    holdMs: 0,
    begin: restartBroker,
    checks: [
      "greenhouse/gh-0001/availability",
      "greenhouse/gh-0001/actuator/fan/state",
      "homeassistant/device/",
    ].map(
      (start) =>
        ({ messages }: Seen) =>
          unless(
            messages.some(({ topic, retain }) => topic.startsWith(start) && !retain),
            `${start} was not published again`,
          ),
    ),
  }),
  broker({
    name: "broker gone 60 s",
    expected: "one snapshot on return, no backlog, the command's result follows; online within 35 s",
    holdMs: 60_000,
    reducedHoldMs: 15_000,
    begin: async (world) => {
      await confirming(world);
      await linkOf(world).door.manner("closed");
      linkOf(world).door.cut();
    },
    end: (world) => linkOf(world).door.manner("pass"),
    checks: [noBacklog],
  }),
  broker({
    name: "slow broker",
    hits: "nothing",
    expected: "with every byte 2 s late both ways: the link stands, nothing is lost",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    limitMs: 20_000,
    begin: (world) => linkOf(world).door.latency(2_000),
    end: (world) => linkOf(world).door.latency(0),
    checks: [stayedOnline],
  }),
  frozen(12, "shorter than the keepalive allows: goes on when the broker does", 35_000),
  frozen(40, "longer than the keepalive allows: the link is given up and made again", 45_000),
];
