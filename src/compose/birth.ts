import { PublishError } from "../mqtt/connection/publish-error.js";
import type { Logger } from "../runtime/logger.js";

export interface BirthPorts {
  /** Publishes `online`, retained; rejects with a PublishError. */
  readonly publish: () => Promise<void>;
  /** The last words were said, or are about to be; nothing may follow them. */
  readonly isEnding: () => boolean;
  /** Resolves when a publish would go out at once. */
  readonly ready: () => Promise<void>;
  readonly log: Logger;
}

/**
 * Says `online` until the broker has it. Whatever follows on this link waits for it: a broker that takes it late would
 * otherwise show a bridge that is online beside the readings of before. Resolves with false when the link went meanwhile, or
 * is ending.
 */
export async function announceOnline({ publish, ready, isEnding, log }: BirthPorts): Promise<boolean> {
  while (!isEnding()) {
    try {
      await publish();
      return true;
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      switch (error.kind) {
        case "offline":
          return false;
        case "busy":
          await ready();
          break;
        case "unacknowledged":
          // The connection has told that this broker acknowledges nothing.
          log.debug("the broker did not acknowledge that the bridge is online; saying it again");
          break;
        case "refused":
        case "invalid":
          // Its readings are as useful without; whoever waits for `online` is told the reason here.
          log.error(
            { reason: error.message },
            "the broker refuses the bridge's own state; allow it in the access list",
          );
          return true;
      }
    }
  }
  return false;
}
