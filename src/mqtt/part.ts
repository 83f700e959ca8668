import type { ConnectionListeners, IncomingMessage } from "./connection/settings.js";

/** What the bridge is made of: each part may run beside the others, follow the broker's link, and take messages. */
export interface Part {
  /** Works until `signal` aborts; one that rejects ends the bridge. */
  run?(signal: AbortSignal): Promise<void>;
  /** A link stands. The parts are told one after the other; what resolves with false says that the link is gone again. */
  connected?(): unknown;
  disconnected?(): void;
  /** The last words of a link that ends in order. */
  leave?(): Promise<void>;
  /** Whether the message was for this part; the others are not handed it then. */
  onMessage?(message: IncomingMessage): boolean;
}

/** What the parts hear of the link, in the order of their list, which may still grow. */
export const partListeners = (parts: readonly Part[]): ConnectionListeners => ({
  connected: async () => {
    for (const part of parts) if ((await part.connected?.()) === false) return;
  },
  disconnected: () => {
    for (const part of parts) part.disconnected?.();
  },
  beforeEnd: async () => {
    for (const part of parts) await part.leave?.();
  },
  message: (message) => {
    parts.some((part) => part.onMessage?.(message));
  },
});
