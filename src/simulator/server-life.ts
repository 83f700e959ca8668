import type { PlatformHost } from "../greenhouse/platform-error.js";
import type { Clock } from "../runtime/clock.js";
import type { Listener } from "./listener.js";
import type { PlatformState } from "./platform-state.js";
import type { PushServer } from "./push-server.js";
import type { PortRole } from "./request-router.js";

export interface LifeParts {
  readonly state: PlatformState;
  readonly clock: Clock;
  readonly push: PushServer;
  readonly tickMs: number;
  readonly failed: (error: unknown) => void;
}

/** Keeps the ports as the outages want them and the push channels talking, from `open` to `close`. */
export class ServerLife {
  readonly #parts: LifeParts;
  readonly #ports: { readonly listener: Listener; readonly role: PortRole }[] = [];
  readonly #stopped = new AbortController();
  #ticking: Promise<void> = Promise.resolve();
  /** Ports change one after the other, or a host could come up while it is still going down. */
  #changing: Promise<void> = Promise.resolve();

  constructor(parts: LifeParts) {
    this.#parts = parts;
  }

  add(listener: Listener, role: PortRole): Listener {
    this.#ports.push({ listener, role });
    return listener;
  }

  async open(): Promise<void> {
    try {
      for (const { listener } of this.#ports) await listener.open();
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#ticking = this.#tick();
  }

  /** Opens and closes ports so that hosts that are down refuse connections. */
  obeyOutages(): Promise<void> {
    const change = this.#changing.then(() => this.#apply());
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#ticking;
    await this.#changing;
    this.#parts.push.close();
    for (const { listener } of this.#ports) await listener.close();
  }

  async #apply(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    if (this.#isDown("realtime")) this.#parts.push.drop();
    for (const { listener, role } of this.#ports) {
      const hosts = hostsOf(role);
      const isRefused =
        !role.controls && hosts.length > 0 && hosts.every((host) => this.#isDown(host, "refuse"));
      if (isRefused) await listener.close();
      else await listener.open();
    }
  }

  #isDown(host: PlatformHost, how?: string): boolean {
    const { state, clock } = this.#parts;
    const outage = state.outages.get(host);
    return outage !== undefined && clock.now() < outage.until && (how === undefined || outage.how === how);
  }

  async #tick(): Promise<void> {
    const { state, clock, push, tickMs, failed } = this.#parts;
    for (;;) {
      try {
        await clock.wait(tickMs, this.#stopped.signal);
      } catch {
        return;
      }
      try {
        state.advance(clock.now());
        await this.obeyOutages();
        push.send();
      } catch (error) {
        failed(error);
      }
    }
  }
}

function hostsOf(role: PortRole): readonly PlatformHost[] {
  if (role.platform === null) return [];
  return role.platform === "both" ? ["business", "realtime"] : [role.platform];
}
