import { EventEmitter } from "node:events";
import type { WebSocket } from "ws";
import type { Listener } from "../../src/http/access.js";
import { PageService, type PageSources } from "../../src/http/service.js";
import type { LiveViews } from "../../src/http/live.js";
import type { LiveMessage } from "../../src/page/protocol.js";
import { systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../../src/runtime/log.js";

type Status = PageSources["status"];

export const everythingFine: Pick<Status, "isHealthy" | "isReady" | "refusedLogin"> = {
  isHealthy: () => true,
  isReady: () => true,
  refusedLogin: (): void => undefined,
};

const ingress = { enabled: false, role: "viewer", address: "172.30.32.2" } as const;

/** Where a page is served on this computer. */
export const loopback: Listener = {
  ...{ host: "127.0.0.1", port: 8099, allowed_hosts: ["greenhouse.local"], users: [], ingress },
};

/** A page of a bridge without controllers, that nobody commanded yet. */
export function emptyService(
  over: Partial<PageSources> = {},
  checked: Partial<typeof everythingFine> = {},
): PageService {
  const store = { controllers: () => [], get: () => undefined, byId: () => undefined };
  const facts = {
    version: "test",
    started_at: "",
    platform: null,
    broker: "online",
    read_only: false,
    dry_run: false,
  };
  return new PageService({
    ...{
      clock: systemClock,
      log: silentLog,
      store,
      status: { ...everythingFine, ...checked, facts: () => facts, health: () => ({}) },
    },
    ...{ listener: () => loopback, metrics: { page: () => Promise.resolve("up 1\n") } },
    ...{ journal: { onWritten: () => undefined }, past: () => Promise.resolve([]) },
    ...{ submit: () => ({ id: "", isTaken: false }), ask: () => Promise.resolve(null), alarms: () => [] },
    ...over,
  });
}

/** The server's end of a connection: what is sent stays in its buffer until the reader takes it. */
export class Reader extends EventEmitter {
  readonly sent: LiveMessage[] = [];
  bufferedAmount = 0;
  isStalled = false;
  closedWith: number | null = null;
  isTerminated = false;

  /** Looks at views as somebody who is welcome. */
  join(live: LiveViews, view: string, isWelcome = () => true, who = "anna"): this {
    live.add(this as unknown as WebSocket, who, isWelcome);
    this.subscribe(view);
    return this;
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as LiveMessage);
    if (this.isStalled) this.bufferedAmount += text.length;
  }
  close(code: number): void {
    this.closedWith = code;
  }
  terminate(): void {
    this.isTerminated = true;
  }
  subscribe(...views: string[]): void {
    this.emit("message", Buffer.from(JSON.stringify({ subscribe: views })), false);
  }
}
