import type { RawValue, RunningStatusItem, SensorItem } from "./ports.js";

/** A channel on which the platform says by itself what changed. */
export type PushChannel =
  | { readonly type: "device-status" }
  | { readonly type: "set-value" }
  | { readonly type: "weather-station"; readonly code: string };

/**
 * What one frame says about one device. `at` is the frame's own time (epoch ms of the platform's clock), null where it
 * has none that can be read; readings carry their own.
 */
export type PushNews =
  | {
      readonly type: "registers";
      readonly code: string;
      readonly values: ReadonlyMap<string, RawValue>;
      readonly at: number | null;
    }
  | {
      readonly type: "statuses";
      readonly code: string;
      readonly items: readonly RunningStatusItem[];
      readonly at: number | null;
    }
  | { readonly type: "connection"; readonly code: string; readonly online: boolean }
  | { readonly type: "sensors"; readonly code: string; readonly items: readonly SensorItem[] };

/** Who listens on a channel. Nothing here may throw. */
export interface PushListener {
  /** Whether a device is of interest; what a frame says about others is passed over. */
  knows(code: string): boolean;
  opened(): void;
  news(news: PushNews): void;
  /** An open channel ended; it is opened again by itself. */
  lost(): void;
}

export interface PlatformPush {
  /** Keeps one connection of the channel open until the signal aborts; resolves when it is released. Never rejects. */
  listen(channel: PushChannel, listener: PushListener, signal: AbortSignal): Promise<void>;
}
