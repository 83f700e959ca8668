import { fields } from "../../end-to-end/support/watch.js";
import { answersOnce } from "../../support/first-words.js";
import type { Manner } from "../../support/tcp-proxy.js";
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

/* D: the link to the broker. In every lane with a broker of its own. */

const state = "greenhouse/bridge/state";

/** The broker dies with everything it retained; nobody gets in before the watch listens again. */
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

/** Standing links are cut, and new ones fare so until the end. */
const shutOut = (manner: Manner) => ({
  begin: async (world: World) => {
    await linkOf(world).door.manner(manner);
    linkOf(world).door.cut();
  },
  end: (world: World) => linkOf(world).door.manner("pass"),
});

const frozen = (seconds: number, expected: string, limitMs: number): Row =>
  broker({
    ...{ name: `frozen broker ${seconds} s`, expected, holdMs: seconds * 1_000, limitMs },
    begin: (world) => linkOf(world).broker.freeze(),
    end: (world) => linkOf(world).broker.thaw(),
  });

/** A CONNACK with a refusal: code 3 and 5 of MQTT 3.1.1, 0x88 and 0x97 of MQTT 5 by turns. */
function refusal(connect: Buffer, nth: number): Buffer {
  const is5 = connect[connect.indexOf("MQTT") + 4] === 5;
  const code = (is5 ? [0x88, 0x97] : [3, 5])[nth % 2] ?? 3;
  return Buffer.from(is5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code]);
}

/** In the broker's place is one that answers every CONNECT so, and is tried at least twice. */
const answering = (name: string, row: Partial<Row>, answer: Parameters<typeof answersOnce>[0]): Row => {
  const { checks = [], ...more } = row;
  return broker({
    ...{ name, expected: "goes on trying: full jitter up to 30 s", holdMs: 40_000, limitMs: 40_000, ...more },
    begin: async (world, notes, holdMs) => {
      const { door, broker } = linkOf(world);
      const stranger = await answersOnce(answer);
      door.target(stranger.port);
      door.cut();
      await wait(holdMs - 1_000);
      notes["met"] = stranger.met();
      door.target(broker.port);
      await stranger.close();
    },
    checks: [({ notes: { met = 0 } }) => unless(met >= 2, `it tried ${met} times`), ...checks],
  });
};

/** 60 counts were shown while the broker was gone; only the newest may be told. */
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
      // 23.5 s until it is seen, then a first reconnect within 1 s and its handshake.
      limitMs: 35_000,
      begin: (world) => linkOf(world).door.deafen(direction),
    }),
  ),
  broker({
    name: "will and birth race",
    expected: "where the old link is found dead after the new one stands: the last word is online",
    holdMs: 30_000,
    begin: (world) => linkOf(world).door.deafen("both"),
    end: (world) => linkOf(world).door.bury(),
    checks: [(_, { watch }) => unless(watch.latest(state) === "online", "it is retained as offline")],
  }),
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
    ...shutOut("closed"),
    begin: async (world) => {
      await confirming(world);
      await shutOut("closed").begin(world);
    },
    checks: [noBacklog],
  }),
  broker({
    name: "broker accepts, never answers",
    expected: "each try ends by itself; back within 35 s",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    limitMs: 40_000,
    ...shutOut("black_hole"),
  }),
  answering("CONNACK refused", { reducedHoldMs: 15_000 }, refusal),
  answering(
    "broker accepts and closes for a while",
    {
      expected: "MQTT 5 all the same, so that live commands with the retain flag stay refused",
      only: ({ broker, version }) => broker !== "embedded" && version === 5,
      holdMs: 15_000,
      reducedHoldMs: 8_000,
      checks: [
        ({ messages, startedAt }) => {
          const infos = messages.filter(
            ({ topic, at }) => topic === "greenhouse/bridge/info" && at >= startedAt,
          );
          return [
            ...unless(infos.length > 0, "bridge/info was not published again"),
            ...infos
              .map(({ payload }) => JSON.stringify(fields(payload)["mqtt"] ?? null))
              .flatMap((spoken) => unless(spoken.includes('"version":"5"'), `it speaks ${spoken}`)),
          ];
        },
      ],
    },
    () => null,
  ),
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
