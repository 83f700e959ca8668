import type { Call } from "../../src/platform/http/connections.js";
import type { HttpAnswer } from "../../src/platform/http/exchange.js";
import { Semaphore } from "../../src/platform/places.js";
import type { SavedSession } from "../../src/platform/session/session-store.js";
import { noHistory } from "../../src/platform/session/sign-in-pace.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import type { Clock } from "../../src/runtime/clock.js";
import type { Files } from "../../src/runtime/file-system.js";
import { BootClock } from "./time.js";

/** Stands where the product opens connections (see hooks.mjs); all above it is the product's own. */
export class HostConnections {
  readonly url: URL;
  readonly semaphore: Semaphore;
  readonly #timeouts: PlatformSettings["timeouts"];
  readonly #clock: BootClock;

  constructor(url: string, { timeouts, concurrency }: PlatformSettings, clock: Clock) {
    if (!(clock instanceof BootClock)) throw new Error("only for the simulated world");
    this.url = new URL(url);
    this.semaphore = new Semaphore(concurrency);
    this.#timeouts = timeouts;
    this.#clock = clock;
  }

  exchange(call: Call, headers: string[]): Promise<HttpAnswer> {
    const host = this.url.hostname.startsWith("business") ? "business" : "realtime";
    return this.#clock.wire.exchange(host, call, headers, this.#clock, this.deadlineMs(call));
  }

  deadlineMs({ pace, operation }: Call): number {
    return pace !== "polled" || operation.method === "POST" ? this.#timeouts.control : this.#timeouts.read;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The product's store hashes the account on another thread, in real time; this one keeps the session as it stands. */
export class SessionStore {
  readonly #path: string;
  readonly #files: Files;

  constructor(dataDir: string, _account: string, files: Files) {
    this.#path = `${dataDir}/platform-session.json`;
    this.#files = files;
  }

  async load(): Promise<SavedSession> {
    const text = await this.#files.read(this.#path);
    return text === null ? { token: null, history: noHistory } : (JSON.parse(text) as SavedSession);
  }

  save(session: SavedSession): Promise<void> {
    return this.#files.writePrivate(this.#path, JSON.stringify(session));
  }
}
