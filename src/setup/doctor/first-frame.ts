import { WebSocket } from "ws";
import { socketOptions } from "../../platform/push/connection.js";
import type { Handshake } from "../../platform/push/handshake.js";

export type FrameOutcome =
  | { readonly type: "frame"; readonly shape: string }
  | { readonly type: "silent" }
  | { readonly type: "refused"; readonly status: number }
  | { readonly type: "broken"; readonly why: string };

export interface Channel extends Handshake {
  readonly handshakeMs: number;
}

/** Opens a push channel and waits for one frame; `silent` when `signal` aborts after it was opened. Never rejects. */
export function firstFrame(channel: Channel, signal: AbortSignal): Promise<FrameOutcome> {
  return new Promise((resolve) => {
    const socket = opened(channel);
    const end = (outcome: FrameOutcome) => {
      signal.removeEventListener("abort", stop);
      resolve(outcome);
      socket.terminate();
    };
    const stop = () => {
      const isOpen = socket.readyState === WebSocket.OPEN;
      end(isOpen ? { type: "silent" } : { type: "broken", why: "no answer to the upgrade" });
    };
    signal.addEventListener("abort", stop, { once: true });
    socket.on("unexpected-response", (request, response) => {
      end({ type: "refused", status: response.statusCode ?? 0 });
      request.destroy();
    });
    socket.on("error", ({ message }) => {
      end({ type: "broken", why: message });
    });
    socket.on("close", (code) => {
      end({ type: "broken", why: `the host closed the channel with code ${code}` });
    });
    socket.on("message", (data, isBinary) => {
      end({ type: "frame", shape: isBinary ? "binary" : shapeOf(textOf(data)) });
    });
    if (signal.aborted) stop();
  });
}

const opened = ({ url, headers, handshakeMs }: Channel): WebSocket =>
  new WebSocket(url, { ...socketOptions, headers, handshakeTimeout: handshakeMs });

const textOf = (data: Buffer | ArrayBuffer | Buffer[]): string =>
  Array.isArray(data) ? Buffer.concat(data).toString("utf8") : Buffer.from(data as Buffer).toString("utf8");

/** `{deviceCode, data: {address, value}}`: names and no values. */
export function shapeOf(text: string): string {
  try {
    return described(JSON.parse(text), 0);
  } catch {
    return `text that is no JSON (${text.length} characters)`;
  }
}

const mostNames = 12;

function described(value: unknown, depth: number): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : `[${described(value[0], depth)}, …]`;
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  if (depth > 2) return "{…}";
  const entries = Object.entries(value);
  const shown = entries.slice(0, mostNames).map(([name, inner]: [string, unknown]) => {
    const isContainer = typeof inner === "object" && inner !== null;
    return isContainer ? `${name.slice(0, 40)}: ${described(inner, depth + 1)}` : name.slice(0, 40);
  });
  return `{${shown.join(", ")}${entries.length > mostNames ? ", …" : ""}}`;
}
