import type { Chance } from "./chance.js";
import { conversation, knownCrashers, type Version, versions } from "./packets.js";

type Mutation = (bytes: number[], chance: Chance) => number[];

const lengthLies: readonly (readonly number[])[] = [
  [0],
  [1],
  [0x7f],
  [0x80],
  [0x80, 0x01],
  [0xff, 0xff, 0xff, 0x7f],
  [0xff, 0xff, 0xff, 0xff],
  [0xff, 0xff, 0xff, 0xff, 0xff],
  [0x80, 0x80, 0x80, 0x80, 0x01],
];

const mutations: readonly Mutation[] = [
  (bytes, { upTo }) => bytes.with(upTo(bytes.length), upTo(256)),
  (bytes, { upTo }) => {
    const at = upTo(bytes.length);
    return bytes.with(at, (bytes[at] ?? 0) ^ (1 << upTo(8)));
  },
  (bytes, { upTo }) => bytes.toSpliced(upTo(bytes.length), 1 + upTo(6)),
  (bytes, { upTo, bytes: random }) => bytes.toSpliced(upTo(bytes.length), 0, ...random(1 + upTo(6))),
  (bytes, { upTo }) => bytes.slice(0, upTo(bytes.length)),
  (bytes, { upTo }) => {
    const from = upTo(bytes.length);
    const piece = bytes.slice(from, from + 1 + upTo(20));
    return bytes.toSpliced(from, 0, ...piece, ...piece);
  },
  // The remaining length says something else.
  (bytes, chance) => [bytes[0] ?? 0, ...chance.from(lengthLies), ...bytes.slice(2)],
  (bytes, { upTo }) => bytes.with(Math.min(1, bytes.length - 1), ((bytes[1] ?? 0) + upTo(7) - 3) & 255),
  // The length of a text in it says something else.
  (bytes, { upTo, from }) => {
    const at = 2 + upTo(Math.max(1, bytes.length - 2));
    return bytes.toSpliced(
      at,
      2,
      ...from([
        [0xff, 0xff],
        [0, 0],
        [0, 1],
        [0x7f, 0xff],
      ]),
    );
  },
];

function mutated(bytes: number[], chance: Chance): number[] {
  let changed = bytes;
  const times = chance.oneIn(3) ? 0 : 1 + chance.upTo(3);
  for (let n = 0; n < times && changed.length > 0; n += 1) changed = chance.from(mutations)(changed, chance);
  return changed;
}

type Transport = "tcp" | "websocket";

/** One connection: what is sent over it, in which pieces, and how it ends. */
export interface Case {
  readonly index: number;
  readonly transport: Transport;
  readonly version: Version;
  readonly pieces: readonly Buffer[];
  /** WebSocket frames and upgrade are right, so that the bytes reach the MQTT parser. */
  readonly soundFrames: boolean;
  readonly ending: "after_answer" | "half_close" | "reset";
}

function pieced(bytes: Buffer, chance: Chance): Buffer[] {
  if (!chance.oneIn(3)) return [bytes];
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length && pieces.length < 40;) {
    const length = pieces.length === 39 ? bytes.length : 1 + chance.upTo(chance.oneIn(2) ? 3 : 40);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** The same for the same chance and index. */
export function caseOf(chance: Chance, index: number): Case {
  const version = chance.from(versions);
  const packets = conversation(version, chance, `fuzz-${chance.upTo(400)}`);
  const crasher = chance.oneIn(30) ? [[...Buffer.from(chance.from(knownCrashers), "hex")]] : null;
  const changed = (crasher ?? packets).map((one) =>
    crasher && chance.oneIn(2) ? one : mutated(one, chance),
  );
  if (changed.length > 1 && chance.oneIn(15)) changed.reverse();
  if (chance.oneIn(60)) changed.unshift(chance.bytes(chance.upTo(2_000)));
  // A ping, so that there is an answer to wait for where the bytes before it were right.
  const bytes = Buffer.from([...changed.flat(), 0xc0, 0]);
  return {
    index,
    version,
    transport: chance.oneIn(3) ? "websocket" : "tcp",
    pieces: pieced(bytes, chance),
    soundFrames: !chance.oneIn(6),
    ending: chance.from(["after_answer", "after_answer", "half_close", "reset"]),
  };
}
