import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AnswersDue,
  type Framing,
  lines,
  mqttPackets,
  natsMessages,
  PacedReading,
  ReadingTurns,
  webSocketFrames,
} from "../../src/runtime/paced-reading.js";
import type { Receiving } from "../../src/runtime/socket-limits.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const frame = (payload: number, isMasked = true): Buffer => {
  const short = payload < 126 ? [payload] : payload < 65_536 ? [126, payload >> 8, payload & 255] : null;
  const long = short ?? [127, 0, 0, 0, 0, 0, payload >> 16, (payload >> 8) & 255, payload & 255];
  const [first = 0, ...more] = long;
  const head = [0x82, first | (isMasked ? 0x80 : 0), ...more, ...(isMasked ? [1, 2, 3, 4] : [])];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(payload)]);
};
const packet = (payload: number): Buffer => {
  const digits: number[] = [];
  for (let left = payload; left > 0 || digits.length === 0; left = Math.floor(left / 128))
    digits.push((left % 128) | (left >= 128 ? 128 : 0));
  return Buffer.concat([Buffer.from([0x30, ...digits]), Buffer.alloc(payload, 0xff)]);
};

const large = { mostMessageBytes: 100_000, mostLineBytes: 200 };
const ofNats = (): Framing => natsMessages(large, () => expect.unreachable());
const message = (size: number): Buffer =>
  Buffer.from(size === 0 ? "PING\r\n" : `HMSG a.b 7 12 ${size}\r\n${"\n".repeat(size)}\r\n`);

describe("what costs a turn is counted, however it is cut", () => {
  const sizes = fc.array(fc.constantFrom(0, 1, 125, 126, 127, 128, 300, 16_383, 16_384, 70_000), {
    minLength: 1,
    maxLength: 12,
  });
  it.each<[string, () => Framing, (size: number) => Buffer]>([
    ["frames of a WebSocket", webSocketFrames, (size) => frame(size)],
    ["frames of a server", webSocketFrames, (size) => frame(size, false)],
    ["MQTT packets", mqttPackets, packet],
    ["messages of NATS", ofNats, message],
    ["lines", lines, (size) => Buffer.from(`${"x".repeat(size)}\n`)],
  ])("%s", (_, framingOf, bytesOf) => {
    const rule = fc.property(sizes, fc.array(fc.integer({ min: 1, max: 20_000 })), (each, cuts) => {
      const all = Buffer.concat(each.map(bytesOf));
      const framing = framingOf();
      let at = 0;
      let units = 0;
      for (const cut of [...cuts, all.length]) {
        const taken = framing(all.subarray(at, Math.min(all.length, at + cut)), Infinity);
        at += taken.bytes;
        units += taken.units;
      }
      expect({ at, units }).toEqual({ at: all.length, units: each.length });
      // Of so many at most, whole ones are handed over.
      expect(framingOf()(all, 1)).toEqual({ bytes: bytesOf(each[0] ?? 0).length, units: 1 });
    });
    fc.assert(rule, { numRuns: 60 });
  });
});

describe("a NATS server that begins what is larger than any message", () => {
  it.each([
    ["a line that does not end", Buffer.alloc(201, "x")],
    ["a message", Buffer.from("MSG a 1 100000\r\n")],
    ["a message whose size is no number any more", Buffer.from(`MSG a 1 ${"9".repeat(150)}\r\n`)],
  ])("is read no further: %s", (_, bytes) => {
    for (const step of [1, bytes.length]) {
      let isTooLarge = false;
      const framing = natsMessages(large, () => (isTooLarge = true));
      for (let at = 0; at < bytes.length; at += step) framing(bytes.subarray(at, at + step), Infinity);
      expect(isTooLarge).toBe(true);
      expect(framing(Buffer.from("PING\r\n"), Infinity)).toEqual({ bytes: 0, units: 0 });
    }
  });
});

it.each([
  ["SUBSCRIBE", 0x82],
  ["UNSUBSCRIBE", 0xa2],
])("a %s of many filters costs more than a message", (_, first) => {
  const large = packet(20_000);
  large[0] = first;
  const small = packet(10);
  small[0] = first;
  expect(mqttPackets()(packet(20_000), Infinity).units).toBe(1);
  expect(mqttPackets()(large, Infinity).units).toBeGreaterThan(20);
  expect(mqttPackets()(Buffer.concat([small, large]), 1)).toEqual({ bytes: small.length, units: 4 });
  // A header that claims 256 MiB takes no more from the others than a long list.
  const claimed = Buffer.from([first, 0xff, 0xff, 0xff, 0x7f]);
  expect(mqttPackets()(claimed, Infinity).units).toBeLessThanOrEqual(64);
});

describe("an answer that is due costs nothing, and any other one does", () => {
  const puback = Buffer.from([0x40, 2, 0, 1]);
  const maskedPuback = Buffer.concat([Buffer.from([0x82, 0x84, 0, 0, 0, 0]), puback]);
  const publish = Buffer.from([0x30, 2, 0, 0]);
  it.each<[string, (due?: AnswersDue) => Framing, answer: Buffer, other: Buffer]>([
    ["an acknowledgement of MQTT", mqttPackets, puback, publish],
    ["a frame with one", webSocketFrames, maskedPuback, frame(7)],
  ])("%s", (_, framingOf, answer, other) => {
    const due = new AnswersDue();
    due.add(2);
    const framing = framingOf(due);
    const all = Buffer.concat([answer, other, answer, answer, other]);
    expect(framing(all, Infinity)).toEqual({ bytes: all.length, units: 3 });
    // Who sends answers that nobody asked for is as slow as with anything else.
    expect(framing(Buffer.concat([answer, answer]), 1)).toEqual({ bytes: answer.length, units: 1 });
    expect(framingOf()(answer, Infinity).units).toBe(1);
  });

  it("no more of them than a peer answers at once, of one who never answers", () => {
    const due = new AnswersDue();
    due.add(1_000_000);
    const { units } = mqttPackets(due)(Buffer.concat(Array.from({ length: 20_000 }, () => puback)), Infinity);
    expect(units).toBeGreaterThan(0);
  });
});

const receiving: Receiving = {
  ofOne: { atOnce: { bytes: 1_000, units: 10 }, perSecond: { bytes: 100, units: 5 } },
  ofAll: null,
  perTurn: { bytes: 10_000, units: 4 },
  closedAfterMs: 3_000,
};

function scene(over: Partial<Receiving> = {}) {
  const clock = new VirtualClock();
  const turns = new ReadingTurns({ ...receiving, ...over }, clock);
  const one = () => {
    const state = { heard: "", isAsked: 0, floods: 0, hasEnded: false };
    const stream = new Readable({
      read: () => {
        state.isAsked += 1;
      },
    });
    const reading = new PacedReading(stream, turns, lines(), () => (state.floods += 1));
    stream.on("data", (chunk: Buffer) => (state.heard += chunk.toString()));
    stream.on("end", () => (state.hasEnded = true));
    return { state, stream, reading, count: () => state.heard.split("\n").length - 1 };
  };
  return { clock, turns, one };
}

describe("a stream is heard", () => {
  it("at once where little came, and all of it in order", async () => {
    const { one } = scene();
    const { stream, state } = one();
    await settled();
    stream.push(Buffer.from("a\nb\n"));
    stream.push(Buffer.from("c"));
    stream.push(Buffer.from("d\n"));
    stream.push(null);
    await settled();
    expect(state).toMatchObject({ heard: "a\nb\ncd\n", hasEnded: true, floods: 0 });
  });

  it("no faster than its kind allows, and loses nothing, its end neither", async () => {
    const { clock, one } = scene({ closedAfterMs: null });
    const { stream, state, count } = one();
    await settled();
    expect(stream.push(Buffer.from("x\n".repeat(30)))).toBe(false);
    stream.push(null);
    await clock.advance(0);
    await settled();
    expect(count()).toBe(10);
    await clock.advance(1_000);
    await settled();
    expect(count()).toBeGreaterThanOrEqual(14);
    expect(count()).toBeLessThanOrEqual(16);
    await clock.advance(4_000);
    await settled();
    expect({ count: count(), hasEnded: state.hasEnded }).toEqual({ count: 30, hasEnded: true });
  });

  it("by bytes as well", async () => {
    const { clock, one } = scene({ closedAfterMs: null });
    const { stream, state } = one();
    await settled();
    stream.push(Buffer.from("x".repeat(1_500)));
    await settled();
    expect(state.heard.length).toBe(1_000);
    await clock.advance(2_000);
    await settled();
    expect(state.heard.length).toBeGreaterThanOrEqual(1_190);
    expect(state.heard.length).toBeLessThanOrEqual(1_210);
  });

  it("by bytes in pieces of what grows in ten milliseconds at least, however often its turn comes meanwhile", async () => {
    const perSecond = { bytes: 100_000, units: 5 };
    const ofOne = { atOnce: { bytes: 1_000, units: 10 }, perSecond };
    const { clock, one } = scene({ closedAfterMs: null, ofOne });
    // A turn takes its time.
    let spentMs = 0;
    const monotonic = clock.monotonic.bind(clock);
    clock.monotonic = () => monotonic() + (spentMs += 0.02);
    const { stream, state } = one();
    let pieces = 0;
    stream.on("data", () => (pieces += 1));
    await settled();
    stream.push(Buffer.from("x".repeat(50_000)));
    for (let ms = 0; ms < 1_000; ms += 10) await clock.advance(10);
    await settled();
    expect(state.heard.length).toBe(50_000);
    expect(pieces).toBeLessThan(60);
  });

  it("and of one that goes on for too long nothing more, which is told once", async () => {
    const { clock, one } = scene();
    const { stream, state, count } = one();
    await settled();
    stream.push(Buffer.from("x\n".repeat(1_000)));
    await clock.advance(10_000);
    await settled();
    expect(state.floods).toBe(1);
    expect(count()).toBeLessThan(30);
  });

  it("in turn with the others of its kind: a flood holds up nobody who says little", async () => {
    const { clock, one } = scene({ ofOne: null, perTurn: { bytes: 10_000, units: 4 } });
    const [loud, quiet] = [one(), one()];
    await settled();
    loud.stream.push(Buffer.from("x\n".repeat(10_000)));
    quiet.stream.push(Buffer.from("y\n"));
    await clock.advance(0);
    await settled();
    expect(quiet.count()).toBe(1);
  });

  it("not at all while nobody takes it, and on from there", async () => {
    const { clock, one } = scene({ ofOne: null });
    const { stream, count } = one();
    await settled();
    stream.pause();
    stream.push(Buffer.from("x\n".repeat(3)));
    await clock.advance(1_000);
    expect(count()).toBe(0);
    stream.resume();
    await clock.advance(1_000);
    await settled();
    expect(count()).toBe(3);
  });

  it("without a pace once whoever speaks there is trusted", async () => {
    const { one } = scene();
    const { stream, reading, count } = one();
    await settled();
    stream.push(Buffer.from("x\n".repeat(500)));
    reading.release();
    stream.push(Buffer.from("x\n".repeat(500)));
    await settled();
    expect(count()).toBe(1_000);
  });

  it("by other rules where something else is spoken from then on, also of what was given back", async () => {
    const { clock, turns, one } = scene({ ofOne: null });
    const { stream, reading, state } = one();
    await settled();
    stream.push(Buffer.from("a\n"));
    await settled();
    const other = new ReadingTurns({ ...receiving, perTurn: { bytes: 1, units: 10 } }, clock);
    reading.become(other, lines());
    stream.unshift(Buffer.from("head"));
    stream.push(Buffer.from(" and more"));
    await clock.advance(10);
    await settled();
    expect(state.heard).toBe("a\nhead and more");
    expect(turns.isIdle && other.isIdle).toBe(true);
  });

  it("by the account of what it was: who becomes something else amid a turn costs the new kind nothing", async () => {
    const { clock, turns, one } = scene();
    const other = new ReadingTurns({ ...receiving, ofAll: receiving.ofOne }, clock);
    const openings = Array.from({ length: 12 }, one);
    for (const { stream, reading } of openings) stream.once("data", () => reading.become(other, lines()));
    await settled();
    for (const { stream } of openings) stream.push(Buffer.from("GET\nHost\nUpgrade\n"));
    await clock.advance(1_000);
    await settled();
    const [first] = openings;
    first?.stream.push(Buffer.from("frame\n"));
    await clock.advance(0);
    await settled();
    expect(first?.state.heard).toBe("GET\nHost\nUpgrade\nframe\n");
    expect(turns.isIdle && other.isIdle).toBe(true);
  });
});
