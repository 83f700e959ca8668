import type { ControllerView } from "./announcement.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";
import type { StrayPorts } from "./strays.js";
import type { WithdrawalMemory } from "./withdrawals.js";

export interface DiscoveryPorts {
  /** QoS 1; resolves when the broker has acknowledged, rejects when it has not or cannot. */
  publish(topic: string, payload: string, options: { readonly retain: true }): Promise<void>;
  /** Whether the broker will never take what it answered with this error. */
  isRefusal(error: unknown): boolean;
  /** Publishes every retained state again, after Home Assistant has had time to take in the announcements. */
  republishStates(): void;
  /**
   * The gate has opened for a controller (null: for what belongs to the bridge): publishes what it held back, or, after an announcement
   * that changed something, every state of it again.
   */
  publishStates(code: string | null, which: "held" | "all"): void;
  readonly removalAllowed: StrayPorts["removalAllowed"];
  /** Where what was withdrawn is remembered over restarts. */
  readonly memory: WithdrawalMemory;
  readonly view: ControllerView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
