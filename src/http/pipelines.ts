import type { Socket } from "node:net";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import { sourceOf } from "../runtime/logins.js";
import { Pace } from "./pace.js";

/** More than enough: browsers, proxies and Prometheus send a request only after the last answer. */
const mostUnanswered = 8;
const longestEndMs = 10_000;
/** For so long after a flood, new sockets of its address are read in turn. */
const suspicionMs = 5_000;
/** Node takes 10 ms and more to parse one full read, whatever is answered. */
const turns = { atOnce: 1, perSecond: 10 };
const longestTurnMs = 2_000;
const maxRecords = 4_096;

interface Pipeline {
  unanswered: number;
  /** The last answer is on its way. */
  isEnded: boolean;
}

/**
 * Limits requests sent before earlier ones are answered. Node parses all it has read of a socket, up to a thousand
 * requests, before anything else runs. So a few are answered, and then the socket ends.
 */
export class Pipelines {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** When an address last flooded us, monotonic ms. */
  readonly #floodedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#pace = new Pace(clock);
  }

  /** Makes a new socket of an address that flooded us wait for its turn to be read; closes it if too many wait. */
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
    // Node begins to read after this task, and would undo a pause made now.
    process.nextTick(() => socket.pause());
    socket.once(
      "close",
      this.#clock.after(wait, () => socket.resume()),
    );
  }

  /**
   * What to do with a request: serve it, refuse it as the last one answered, or ignore it after that. `onAnswer` gives
   * its place back.
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

  /** Makes the answer under way the last: nothing more is read, and a client that does not take it in time loses it. */
  end(socket: Socket): void {
    this.#of(socket).isEnded = true;
    // Node resumes reading after every answer.
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
