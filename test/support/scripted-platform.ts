import type { CommandPlatform } from "../../src/commands/command.js";
import {
  type ClientStatus,
  type Pace,
  PlatformError,
  type PlatformErrorFacts,
  type RawValue,
  type WriteAccepted,
} from "../../src/greenhouse/ports.js";
import { clientStatus } from "./builders.js";
import type { VirtualClock } from "./virtual-clock.js";

export interface Post {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
}

export type WriteScript = (post: Post, nth: number) => Promise<WriteAccepted>;

/** A platform on a virtual clock whose registers take a value at once unless the test scripts something else. */
export class ScriptedPlatform implements CommandPlatform {
  readonly posts: Post[] = [];
  /** The pace of every request, in order. */
  readonly paces: Pace[] = [];
  readonly registers = new Map<string, RawValue>();
  connectionNow: "online" | "offline" | "unknown" = "online";
  renewals = 0;
  renewWorks = true;
  reads = 0;
  /** Whether no read is answered any more; a read then ends when it is abandoned. */
  isSilent = false;
  givenUp = 0;
  writing = 0;
  /** The error of the nth connection attempt; null for a connection after `connectMs`. */
  connects: (nth: number) => PlatformError | null = () => null;
  connectMs = 0;
  tries = 0;
  /** Replaces what a write does; by default it is accepted and takes effect at once. */
  onWrite: WriteScript = (post) => this.accept(post);
  onRead: ((address: string, nth: number) => RawValue | null | PlatformError) | null = null;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  accept(post: Post): Promise<WriteAccepted> {
    this.registers.set(post.address, post.value);
    return Promise.resolve({ code: "200", requestId: "r-1" });
  }

  connection(_code: string, _signal: AbortSignal, pace: Pace = "urgent"): Promise<ClientStatus> {
    this.paces.push(pace);
    return Promise.resolve(clientStatus(this.connectionNow));
  }

  value(
    _code: string,
    address: string,
    _fresh: boolean,
    signal: AbortSignal,
    pace: Pace = "urgent",
  ): Promise<RawValue | null> {
    this.paces.push(pace);
    this.reads++;
    if (this.isSilent) return this.#untilGivenUp(signal);
    const scripted = this.onRead?.(address, this.reads);
    if (scripted instanceof PlatformError) return Promise.reject(scripted);
    return Promise.resolve(scripted === undefined ? (this.registers.get(address) ?? null) : scripted);
  }

  #untilGivenUp(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      const giveUp = () => {
        this.givenUp++;
        reject(platformError({ kind: "interrupted" }));
      };
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  async write(
    code: string,
    address: string,
    value: string,
    signal: AbortSignal,
    { pace = "urgent", mayPost = () => true }: NonNullable<Parameters<CommandPlatform["write"]>[4]> = {},
  ): Promise<WriteAccepted> {
    this.paces.push(pace);
    const problem = this.connects(++this.tries);
    if (this.connectMs > 0) await this.#clock.wait(this.connectMs, signal);
    if (problem !== null) throw problem;
    if (!mayPost()) throw platformError({ kind: "withheld", sent: false });
    const post = { at: this.#clock.monotonic(), code, address, value };
    this.posts.push(post);
    this.writing++;
    try {
      return await this.onWrite(post, this.posts.length);
    } finally {
      this.writing--;
    }
  }

  renewCredential(): Promise<boolean> {
    this.renewals++;
    return Promise.resolve(this.renewWorks);
  }
}

export const platformError = (over: Partial<PlatformErrorFacts>): PlatformError =>
  new PlatformError("the platform did not do it", {
    kind: "interrupted",
    host: "realtime",
    operation: "set-value",
    sent: true,
    ...over,
  });
