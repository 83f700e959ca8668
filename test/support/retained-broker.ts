import { PublishError } from "../../src/mqtt/connection/publish.js";
import { settled } from "./virtual-clock.js";

export interface Published {
  readonly topic: string;
  readonly payload: string;
}

/** A broker's retained messages; it acknowledges at once unless `holds`, and refuses what the test names. */
export class RetainedBroker {
  readonly log: Published[] = [];
  readonly kept = new Map<string, string>();
  refuses: (topic: string) => boolean = () => false;
  holds = false;
  /** The number of publishes on their way above which it refuses as `busy`. */
  room = Infinity;
  refusedForRoom = 0;
  inFlight = 0;
  mostInFlight = 0;
  readonly #held: ((error: Error | null) => void)[] = [];

  async publish(topic: string, payload: string): Promise<void> {
    if (this.inFlight >= this.room) {
      this.refusedForRoom += 1;
      throw new PublishError("busy", "too many publishes wait for the broker");
    }
    this.log.push({ topic, payload });
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight);
    try {
      if (this.holds) await this.#release();
      if (this.refuses(topic)) throw new Error("not acknowledged");
      if (payload === "") this.kept.delete(topic);
      else this.kept.set(topic, payload);
    } finally {
      this.inFlight--;
    }
  }

  /** Acknowledges the held publishes, or fails them as a lost link does. */
  async release(error: Error | null = null): Promise<void> {
    for (const end of this.#held.splice(0)) end(error);
    await settled();
  }

  /** Fails the oldest held publishes. */
  async releaseFirst(count: number, error: Error): Promise<void> {
    for (const end of this.#held.splice(0, count)) end(error);
    await settled();
  }

  /** Topics published since the last call. */
  taken(): string[] {
    return this.log.splice(0).map(({ topic }) => topic);
  }

  #release(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#held.push((error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }
}
