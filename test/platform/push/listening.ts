import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type { PushChannel, PushNews } from "../../../src/greenhouse/ports.js";
import type { PlatformClient } from "../../../src/platform/client.js";
import type { PlatformSettings } from "../../../src/platform/settings.js";
import { type Clock, systemClock } from "../../../src/runtime/clock.js";
import { makeClient, settingsFor } from "../support/client-under-test.js";
import { type FakeHost, startFakeHost } from "../support/hosts.js";

export interface ListenOptions {
  readonly settings?: Partial<PlatformSettings>;
  readonly channel?: PushChannel;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly client?: PlatformClient;
  readonly files?: ReturnType<typeof memory>;
}

/** A client that listens on one channel; it stops when the test ends. */
export function listening(url: string, options: ListenOptions = {}) {
  const {
    clock = systemClock,
    channel = { type: "set-value" },
    random = () => 0,
    files = memory(),
  } = options;
  const made = makeClient(settingsFor(url, options.settings), { clock, random, files });
  const { client = made.client } = options;
  const news: PushNews[] = [];
  let lost = 0;
  const quit = new AbortController();
  const listener = {
    knows: () => true,
    onOpen: () => undefined,
    news: (one: PushNews) => news.push(one),
    onLost: () => lost++,
  };
  const ended = client.listen(channel, listener, quit.signal);
  const stop = async () => {
    quit.abort();
    await ended;
    await client.close();
  };
  onTestFinished(stop);
  return { client, news, lines: made.lines, lost: () => lost, stop };
}

export type Listening = ReturnType<typeof listening>;

/** The small files of the data directory. */
export function memory() {
  const held = new Map<string, string>();
  return {
    read: (path: string) => Promise.resolve(held.get(path) ?? null),
    version: () => Promise.resolve(null),
    writePrivate: (path: string, text: string) => Promise.resolve(void held.set(path, text)),
  };
}

export interface Peer extends Pick<FakeHost, "url" | "requests"> {
  /** Upgrades asked for so far, as `path authorization`. */
  readonly asked: string[];
}

export interface PeerOptions {
  /** Answers an upgrade with this status instead. */
  readonly status?: () => number | null;
  readonly headers?: string;
  readonly opened?: (socket: WebSocket) => void;
  /** Body of every plain request. */
  readonly answer?: unknown;
}

/** A real-time host in the test's hands. */
export async function startPeer(options: PeerOptions = {}): Promise<Peer> {
  const asked: string[] = [];
  const sockets = new WebSocketServer({ noServer: true });
  const { url, requests, server } = await startFakeHost(() => ({ body: options.answer ?? { code: 200 } }));
  server.on("upgrade", (request, socket, head) => {
    asked.push(`${request.url ?? ""} ${request.headers.authorization ?? "-"}`);
    const status = options.status?.() ?? null;
    if (status !== null) {
      socket.end(
        `HTTP/1.1 ${status} X\r\n${options.headers ?? ""}Connection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on("error", () => undefined);
      options.opened?.(opened);
    });
  });
  return { url, requests, asked };
}
