import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { BrokerConnection } from "../../src/mqtt/connection.js";
import { streamFrom, Turns, versionAfter } from "../../src/mqtt/connection/link.js";
import { describeEnd, type LinkFacts } from "../../src/mqtt/connection/reasons.js";
import type { LinkEnd } from "../../src/mqtt/connection/settings.js";
import { systemClock } from "../../src/runtime/clock.js";
import { capturedLog, connect, markTopic, until } from "./support.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import { publishPacket } from "../conformance/packets.js";
import { packet as packetOf } from "../fuzz/packets.js";
import { gapsByHand } from "../support/stood-still.js";
import { connack, muteBroker, obliging, type Peer, publishOf, scriptedBroker, versionOf } from "./wire.js";

describe("a refused CONNACK", () =>
  it.each([
    [4, 3],
    [4, 5],
    [5, 0x88],
    [5, 0x97],
  ] as const)(
    "of MQTT %i with code %i is not the end: tried again until accepted (33; trap 3)",
    async (version, code) => {
      const broker = await scriptedBroker((packet, peer) => {
        if (packet.type === 1 && peer.connection <= 5) {
          peer.send(...connack(version, code));
          peer.close();
        } else obliging(packet, peer, version);
      });
      const { url } = broker;
      const { connection, online, lines } = connect({ url, protocolVersion: version, subscriptions: ["a"] });
      await online();
      expect(connection.counters()).toMatchObject({ refused: 5, connects: 1 });
      expect(lines.filter((line) => line.startsWith("warn"))).toHaveLength(1);
    },
  ));

it("the pieces of many packets arrive byte for byte: text, bytes that are no text, and nothing", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [stream, [peer]] = await Promise.all([
    streamFrom({ url: `mqtt://127.0.0.1:${port}` }, 1_000)(() => undefined),
    once(server, "connection") as Promise<[Socket]>,
  ]);
  const pieces = [
    "温度 21.5 °C",
    Buffer.from([0, 0x30, 0x80, 0xff]),
    "",
    Buffer.alloc(70_000, 0xc3),
    "\u{1f331}",
  ];
  stream.cork();
  for (const piece of pieces) stream.write(piece);
  stream.uncork();
  stream.end();
  const arrived = await buffer(peer);
  expect(arrived.equals(Buffer.concat(pieces.map((piece) => Buffer.from(piece))))).toBe(true);
  server.close();
});

/** The first pauses of a connection, which end at once, and what it warned of until then. */
async function pausesOf(url: string, count: number, isPause: (ms: number) => boolean) {
  const waits: number[] = [];
  const life = new AbortController();
  const clock = {
    ...systemClock,
    wait: (ms: number, signal?: AbortSignal) => {
      if (!isPause(ms)) return systemClock.wait(ms, signal);
      waits.push(ms);
      if (waits.length === count) life.abort();
      return Promise.resolve();
    },
  };
  const { log, lines } = capturedLog();
  const client = { clientId: "x", protocolVersion: 5, subscriptions: [], markTopic } as const;
  const settings = { url, ...client, limits: { ackTimeoutMs: 77_770 } };
  await new BrokerConnection(settings, { clock, random: () => 0.5, log }).run(life.signal);
  return { waits, warnings: lines.filter((line) => line.startsWith("warn")) };
}

describe("waiting between attempts", () => {
  it("is full jitter between 0 and 1, 2, 4, 8, 16, 30, 30 s; the first attempt is at once", async () => {
    const { waits, warnings } = await pausesOf("mqtt://127.0.0.1:1", 7, () => true);
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    expect(warnings).toEqual([expect.stringContaining("is the broker running")]);
  });

  it("does not start over for a link that falls at once", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      obliging(packet, peer, 5);
      if (packet.type === 1) peer.close();
    });
    const { waits } = await pausesOf(broker.url, 3, (ms) => [500, 1_000, 2_000].includes(ms));
    expect(waits).toEqual([500, 1_000, 2_000]);
  });
});

describe("the fall back to MQTT 3.1.1", () => {
  it.each([
    ["CONNACK 0x84", (send: (...bytes: number[]) => void) => send(...connack(5, 0x84))],
    ["a CONNACK of 3.1.1 with code 1", (send: (...bytes: number[]) => void) => send(...connack(4, 1))],
  ])("happens on %s, and 5 is tried again at the next connect", async (_, refuse) => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 1 && versionOf(packet) === 5) {
        refuse((...bytes) => peer.send(...bytes));
        peer.close();
      } else obliging(packet, peer, 4);
    });
    const { connection, online, lines } = connect({ url: broker.url, subscriptions: ["a"] });
    await online();
    expect(connection.counters().protocolVersion).toBe(4);
    expect(connection.versionReason).toEqual("the broker refuses MQTT 5");
    expect(lines.join("\n")).toContain("trying MQTT 3.1.1");
    connection.reconnect("once more");
    await online(2);
    const versions = broker.packets.filter((packet) => packet.type === 1).map(versionOf);
    expect(versions).toEqual([5, 4, 5, 4]);
    expect(lines.filter((line) => line.includes("trying MQTT 3.1.1"))).toHaveLength(1);
  });

  it("does not happen at a broker that takes connections and closes them for a while", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 1 && peer.connection <= 6) peer.close();
      else obliging(packet, peer, 5);
    });
    const { connection, online, lines } = connect({ url: broker.url, subscriptions: ["a"] });
    await online();
    expect(connection.counters().protocolVersion).toBe(5);
    expect(connection.versionReason).toEqual("mqtt.protocol_version is 5");
    expect(broker.packets.filter((packet) => packet.type === 1).map(versionOf)).toEqual(Array(7).fill(5));
    expect(lines.join("\n")).toContain("set mqtt.protocol_version to 4");
  });
});

it("what the broker kept comes while a link waits for its place, and is as old as nobody knows all the same", async () => {
  const greetings = new Semaphore(1);
  greetings.take();
  const kept = ["set", "request"].flatMap((topic, at) =>
    publishPacket(5, { topic, payload: `old ${topic}`, qos: 1, id: at + 1 }),
  );
  const broker = await scriptedBroker((packet, peer) => {
    if (packet.type !== 1) obliging(packet, peer, 5);
    else {
      peer.send(0x20, 3, 1, 0, 0);
      void until(() => greetings.waiting === 1, "a link waits").then(() => peer.send(...kept));
    }
  });
  const session = { forS: 3_600, isOwed: (topic: string) => topic === "set" };
  const { messages, online } = connect({ url: broker.url, session }, { greetings });
  await until(() => broker.packets.some(({ type }) => type === 4), "what needs no answer is acknowledged");
  expect(messages).toEqual([]);
  greetings.leave();
  await online();
  expect(messages.map(({ payload, isKept }) => [String(payload), isKept])).toEqual([
    ["old set", true],
    ["old request", true],
  ]);
  for (const { ageMs } of messages) expect(ageMs).toBeGreaterThan(3_500_000);
});

describe("a link that goes", () =>
  it("tells in its one line how many publishes went with it", async () => {
    const broker = await muteBroker();
    const { connection, online, lines } = connect({ url: broker.url });
    await online();
    const lost = Array.from({ length: 1_650 }, (_, n) =>
      connection.publish(`a/${n}`, "x", { qos: n % 2 === 0 ? 0 : 1 }).catch(() => "lost"),
    );
    connection.reconnect("the test has cut it");
    expect(new Set(await Promise.all(lost))).toEqual(new Set(["lost"]));
    await online(2);
    const warnings = lines.filter((line) => line.startsWith("warn"));
    expect(warnings).toEqual([expect.stringMatching(/lost the link to the broker.*"lostPublishes":1650/)]);
  }));

describe("a publish", () => {
  it("that the broker never acknowledges is given up after the time, and the link lives on", async () => {
    const broker = await muteBroker();
    const { connection, online } = connect({ url: broker.url, limits: { ackTimeoutMs: 300 } });
    await online();
    await expect(connection.publish("a/b", "x")).rejects.toMatchObject({
      kind: "unacknowledged",
      message: "the broker did not acknowledge a/b within 0.3 s",
    });
    expect(connection.state).toBe("online");
    expect(connection.counters()).toMatchObject({ unacknowledged: 1, inFlight: 0, connects: 1 });
  });

  it("that makes the broker cut the link is not sent again on the next one (trap 2)", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 3) peer.close();
      else obliging(packet, peer, 5);
    });
    const { connection, online } = connect({ url: broker.url });
    await online();
    await expect(connection.publish("poison", "x")).rejects.toMatchObject({ kind: "offline" });
    await online(2);
    // The second cuts it too, so nothing tells whether it arrived.
    await expect(connection.publish("more", "x", { qos: 0 })).rejects.toMatchObject({ kind: "offline" });
    // A mark may go with it.
    const publishes = () =>
      broker.packets.filter((packet) => packet.type === 3 && publishOf(packet, 5).topic !== markTopic);
    await until(() => publishes().length === 2, "the second publish");
    expect(publishes().map((packet) => packet.connection)).toEqual([1, 2]);
  });
});

const facts: LinkFacts = {
  broker: "mqtt://broker:1883",
  version: 5,
  opened: false,
  connected: false,
  ended: false,
  closedBecause: null,
  refusal: null,
  serverDisconnect: null,
  error: null,
};
const coded = (code: string) => Object.assign(new Error(`${code} happened`), { code });

describe("why a link ended", () =>
  it.each([
    [
      "wrong credentials, 3.1.1",
      { opened: true, refusal: 4 },
      "refused",
      "check mqtt.username and mqtt.pass",
    ],
    ["wrong credentials, 5", { opened: true, refusal: 0x86 }, "refused", "check mqtt.username and mqtt.pass"],
    ["an id not let in", { opened: true, refusal: 5 }, "refused", "access list"],
    ["a broker starting", { opened: true, refusal: 3 }, "refused", "starting or overloaded"],
    ["quota, 5", { opened: true, refusal: 0x97 }, "refused", "quota"],
    ["an unknown code", { opened: true, refusal: 250 }, "refused", "code 250"],
    ["nobody listening", { error: coded("ECONNREFUSED") }, "unreachable", "is the broker running"],
    ["an unknown name", { error: coded("ENOTFOUND") }, "unreachable", "check the host in mqtt.url"],
    ["a self-signed one", { error: coded("DEPTH_ZERO_SELF_SIGNED_CERT") }, "unreachable", "mqtt.tls.ca"],
    ["a web server", { error: new Error("Unexpected server response: 404") }, "unreachable", "HTTP 404"],
    ["no CONNACK", { opened: true, error: new Error("connack timeout") }, "silent", "is this an MQTT broker"],
    ["a close before the CONNACK", { opened: true }, "closed_early", "without an answer"],
    ["an early reset", { opened: true, error: coded("ECONNRESET") }, "closed_early", "without an answer"],
    ["a reset before anything stood", { error: coded("ECONNRESET") }, "unreachable", "reset"],
    ["a dead link", { connected: true, error: new Error("Keepalive timeout") }, "lost", "no longer answers"],
    ["a close", { connected: true }, "lost", "closed the connection"],
    ["a take-over", { connected: true, serverDisconnect: 0x8e }, "taken_over", "mqtt.client_id"],
    ["a shutdown", { connected: true, serverDisconnect: 0x8b }, "lost", "shutting down"],
    ["an own decision", { connected: true, closedBecause: "deaf" }, "lost", "deaf"],
    ["a wanted end", { connected: true, ended: true }, "ended", "ended by us"],
  ] as const)("is told for %s", (_, some, kind, words) => {
    const end = describeEnd({ ...facts, ...some });
    expect(end.kind).toBe(kind);
    expect(String(end.reason)).toContain(words);
  }));

const end = (kind: LinkEnd["kind"], code: number | null = null): LinkEnd => ({
  ...{ kind, code, connected: false, reason: "" },
});
const refusal5 = end("refused", 0x84);
const early = end("closed_early");

describe("the MQTT version", () => {
  it.each([
    ["stays on wrong credentials", 5, [end("refused", 0x86), end("refused", 0x86)], 5],
    ["stays when the broker does not answer at all", 5, [end("silent"), end("silent")], 5],
    ["is 5 again after an attempt with 4 that did not come about", 5, [refusal5, end("unreachable")], 5],
    ["is 5 again where 4 is refused as well", 5, [refusal5, end("refused", 1)], 5],
    ["is never raised to 5 where 4 is configured", 4, [end("refused", 1), early, early], 4],
  ] as const)("%s", (_, preferred, ends, expected) => {
    let version: 4 | 5 = preferred;
    for (const ended of ends) version = versionAfter(version, ended, preferred);
    expect(version).toBe(expected);
  });
});

describe("messages that come all at once", () => {
  it("are taken one after the other, with a turn for everybody else after each 5 ms", async () => {
    const clock = { ms: 0 };
    const turns = new Turns({ monotonic: () => clock.ms, soon: systemClock.soon.bind(systemClock) });
    const story: string[] = [];
    const others = () => {
      story.push("others");
      if (story.length < 40) setImmediate(others);
    };
    const taken = new Promise<void>((resolve) => {
      const take = (left: number) => {
        story.push("message");
        clock.ms += 2;
        if (left === 1) resolve();
        else turns.next(() => take(left - 1));
      };
      setImmediate(() => {
        setImmediate(others);
        take(9);
      });
    });
    await taken;
    expect(
      story
        .join(" ")
        .replaceAll(/(?:others ?)+/g, "| ")
        .trim(),
    ).toBe("message message message message | message message message message | message");
  });

  it("a turn is as long as what the others took, so that a stop behind a thousand messages is soon read", () => {
    const clock = { ms: 0 };
    const later: (() => void)[] = [];
    const turns = new Turns({ monotonic: () => clock.ms, soon: (call) => void later.push(call) });
    let taken = 0;
    const take = () => {
      clock.ms += 1;
      taken += 1;
      if (taken < 1_000) turns.next(take);
    };
    take();
    let breaks = 0;
    for (; taken < 1_000; breaks += 1) {
      // At a start others take their turn of a tenth of a second each.
      clock.ms += 100;
      for (const call of later.splice(0)) call();
    }
    expect([breaks <= 10, clock.ms <= 2_000]).toEqual([true, true]);
  });
});

describe("after the process stood still", () => {
  const echoTopic = "greenhouse/bridge/self_test";
  const text = (said: string) => [...Buffer.from([0, said.length]), ...Buffer.from(said)];
  /** A PUBLISH with QoS 0 of 3.1.1. */
  const says = (peer: Peer, topic: string, payload: string) =>
    peer.send(...packetOf(0x30, [...text(topic), ...Buffer.from(payload)]));

  const linked = async (answer: Parameters<typeof scriptedBroker>[0], echo = true) => {
    const { url } = await scriptedBroker(answer);
    const gaps = gapsByHand();
    const subscriptions = ["set", echoTopic];
    const { connection, online, messages } = connect(
      { url, protocolVersion: 4, subscriptions, ...(echo ? { echoTopic } : { markTopic: null }) },
      { gaps },
    );
    await online();
    const now = systemClock.monotonic();
    gaps.stoodStill(now - 20_000, now);
    return { connection, messages };
  };

  it("what comes before our own message has come back is as old as that, also behind its acknowledgement", async () => {
    const { messages } = await linked((packet, peer) => {
      obliging(packet, peer, 4);
      if (packet.type !== 3) return;
      const { topic, payload } = publishOf(packet, 4);
      if (topic !== echoTopic) return;
      says(peer, "set", "old");
      says(peer, echoTopic, payload);
      says(peer, "set", "new");
    });
    await until(() => messages.length === 2, "both have come");
    const [old, fresh] = messages;
    expect([old?.payload.toString(), fresh?.payload.toString()]).toEqual(["old", "new"]);
    // The link stands for a moment only, and nobody sent anything to it before.
    expect(old?.ageMs).toBeGreaterThan(0);
    expect(fresh?.ageMs).toBeUndefined();
  });

  it("without such a topic it is as old until nothing came before an answer", async () => {
    let answers = 0;
    const { connection, messages } = await linked((packet, peer) => {
      if (packet.type === 10) {
        answers += 1;
        if (answers < 3) says(peer, "set", `old ${answers}`);
        peer.send(0xb0, 2, ...packet.body.subarray(0, 2));
        if (answers === 4) says(peer, "set", "new");
      } else obliging(packet, peer, 4);
    }, false);
    await until(() => messages.length === 3 || connection.state !== "online", "all have come");
    expect(messages.map(({ payload, ageMs }) => [payload.toString(), ageMs !== undefined])).toEqual([
      ["old 1", true],
      ["old 2", true],
      ["new", false],
    ]);
  });
});
