import { isDeepStrictEqual } from "node:util";
import { deserialize, serialize } from "node:v8";
import type { Controller } from "../greenhouse/model.js";
import { Sentence } from "../language/text.js";
import { type LimitSettings, nothingLimited } from "../limits/rules/settings.js";
import { type Book, type Effect, emptyBook, type Environment, type Input, type StepAnswer } from "./book.js";
import { step, type Stepped } from "./step.js";

/*
 * Records every call of `step` in a file, so that a run can be replayed without the world around it. Only a maintainer
 * turns it on, as it contains commands, their senders and all readings.
 */

/** One call with its result. */
interface RecordedStep {
  readonly input: Input;
  readonly now: Omit<Environment, "controller">;
  /** Controllers that changed since the call before, by device code; null for one that is gone. */
  readonly controllers: ReadonlyMap<string, Controller | null>;
  /** Set at the first call only. */
  readonly limits: LimitSettings | null;
  readonly effects: readonly Effect[];
  readonly answer: StepAnswer | null;
}

/** Each frame begins with its length, in this number of bytes. */
const lengthBytes = 4;

export class StepRecording {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #known = new Map<string, Controller>();
  #isBegun = false;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** Call it after `step` with its arguments and result, and with all controllers of the mirror. */
  add(
    input: Input,
    environment: Environment,
    limits: LimitSettings = nothingLimited,
    controllers: Iterable<Controller>,
    { effects, answer }: Stepped,
  ): void {
    const changed = this.#changed(controllers);
    const { at, mono, awakeSince, rules, skewMs, mayRulesSend } = environment;
    const now = { at, mono, awakeSince, rules, skewMs, mayRulesSend };
    const recorded: RecordedStep = {
      ...{ input, now, controllers: changed, effects, answer },
      limits: this.#isBegun ? null : limits,
    };
    this.#isBegun = true;
    const frame = serialize(plain(recorded));
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(frame.byteLength);
    this.#write(length);
    this.#write(frame);
  }

  #changed(controllers: Iterable<Controller>): Map<string, Controller | null> {
    const changed = new Map<string, Controller | null>();
    const gone = new Set(this.#known.keys());
    for (const controller of controllers) {
      const { code } = controller.info;
      gone.delete(code);
      if (this.#known.get(code) === controller) continue;
      this.#known.set(code, controller);
      changed.set(code, controller);
    }
    for (const code of gone) {
      this.#known.delete(code);
      changed.set(code, null);
    }
    return changed;
  }
}

/** A copy in which each sentence is its English text, as a file cannot hold a class. */
function plain(value: unknown): unknown {
  if (value instanceof Sentence) return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, plain(one)] as const));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

/** A step whose result differs in the replay. */
interface Difference {
  /** Counted from 1. */
  readonly place: number;
  readonly input: Input;
  readonly then: Pick<Stepped, "effects" | "answer">;
  readonly now: Pick<Stepped, "effects" | "answer">;
}

/** Replays a recording with `step` alone. A frame that the end of the program cut off is left out. */
export function replay(recording: Uint8Array): {
  readonly steps: number;
  readonly book: Book;
  readonly differences: readonly Difference[];
} {
  const controllers = new Map<string, Controller>();
  const codes = new Map<string, string>();
  const controller = (name: string) => controllers.get(codes.get(name) ?? name);
  const differences: Difference[] = [];
  let book = emptyBook;
  let limits = nothingLimited;
  let steps = 0;
  for (const recorded of framesOf(recording)) {
    steps += 1;
    for (const [code, one] of recorded.controllers) {
      const before = controllers.get(code);
      if (before !== undefined) codes.delete(before.info.id);
      if (one === null) controllers.delete(code);
      else controllers.set(code, one);
      if (one !== null) codes.set(one.info.id, code);
    }
    limits = recorded.limits ?? limits;
    const { input, effects, answer } = recorded;
    const stepped = step(book, input, { ...recorded.now, controller }, limits);
    ({ book } = stepped);
    const then = { effects, answer };
    const now = { effects: stepped.effects, answer: stepped.answer };
    if (!isDeepStrictEqual(plain(now), then)) differences.push({ place: steps, input, then, now });
  }
  return { steps, book, differences };
}

function* framesOf(recording: Uint8Array): Generator<RecordedStep> {
  const view = new DataView(recording.buffer, recording.byteOffset, recording.byteLength);
  for (let from = 0; from + lengthBytes <= recording.byteLength;) {
    const start = from + lengthBytes;
    const end = start + view.getUint32(from);
    if (end > recording.byteLength) return;
    yield deserialize(recording.subarray(start, end)) as RecordedStep;
    from = end;
  }
}
