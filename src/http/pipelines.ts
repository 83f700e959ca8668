import type { Socket } from "node:net";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import { sourceOf } from "../runtime/logins.js";
import { Pace } from "./pace.js";

/** Browsers, proxies and Prometheus send the next request after the answer. */
const mostUnanswered = 8;
const longestEndMs = 10_000;
/** For so long after a flood what its address opens is read in turn. */
const suspicionMs = 5_000;
/** What is read at once takes Node 10 ms and more to take apart, whatever is answered. */
const turns = { atOnce: 1, perSecond: 10 };
const longestTurnMs = 2_000;
const maxRecords = 4_096;

interface Pipeline {
  unanswered: number;
  /** Its last answer is on its way. */
  isEnded: boolean;
}

/**
 * Requests that come before those before them are answered. Node takes apart all that it has read before anything else gets a
 * turn, a thousand requests of one socket, so that each one that is answered delays the bridge: a few are, and the socket ends.
 */
export class Pipelines {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** When an address flooded us last. */
  readonly #floodedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#pace = new Pace(clock);
  }

  /** A new socket of an address that flooded us waits for its turn to be read, and where too many wait it is closed. */
  onOpen(socket: Socket): void {
    if (this.#pipelines.has(socket)) return;
    this.#pipelines.set(socket, { unanswered: 0, isEnded: false });
    const source = sourceOf(socket.remoteAddress ?? "");
    const floodedAt = this.#floodedAt.get(source) ?? -Infinity;
    if (this.#clock.monotonic() - floodedAt > suspicionMs) return;
    const wait = this.#pace.book({ key: source, ...turns }, longestTurnMs);
    if (wait === null) {
      socket.destroy();
      return;
    }
    if (wait === 0) return;
    // Node begins to read once this task is over, and would take a pause back.
    process.nextTick(() => socket.pause());
    socket.once(
      "close",
      this.#clock.after(wait, () => socket.resume()),
    );
  }

  /**
   * What to do with a request: serve it, refuse it as the last one that is answered, or ignore it, as an answer was the last.
   * The place it takes is given back with `answered`.
   */
  next(socket: Socket): "serve" | "refuse" | "ignore" {
    const pipeline = this.#of(socket);
    if (pipeline.isEnded) return "ignore";
    pipeline.unanswered += 1;
    if (pipeline.unanswered <= mostUnanswered) return "serve";
    this.end(socket);
    const source = sourceOf(socket.remoteAddress ?? "");
    this.#floodedAt.delete(source);
    this.#floodedAt.set(source, this.#clock.monotonic());
    forgetOldest(this.#floodedAt, maxRecords);
    return "refuse";
  }

  onAnswer(socket: Socket): void {
    this.#of(socket).unanswered -= 1;
  }

  isEnded(socket: Socket): boolean {
    return this.#of(socket).isEnded;
  }

  /** The answer under way is the last one: nothing more is read, and who does not take it in time does without it. */
  end(socket: Socket): void {
    this.#of(socket).isEnded = true;
    // Node reads on by itself after every answer.
    socket.on("resume", () => socket.pause()).pause();
    socket.once(
      "close",
      this.#clock.after(longestEndMs, () => socket.destroy()),
    );
  }

  #of(socket: Socket): Pipeline {
    const known = this.#pipelines.get(socket) ?? { unanswered: 0, isEnded: false };
    this.#pipelines.set(socket, known);
    return known;
  }
}
