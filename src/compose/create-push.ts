import { RequestBudget } from "../bridge/budget.js";
import type { PushBell } from "../bridge/push-mirror.js";
import { PushChannels } from "../bridge/push-channels.js";
import { PushMirror } from "../bridge/push-mirror.js";
import { PushReads } from "../bridge/push-reads.js";
import { PushRecovery } from "../bridge/push-recovery.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { Mirror } from "./mirror.js";

/** What listens to the platform beside polling, until the signal aborts. */
export interface PushPart {
  run(signal: AbortSignal): Promise<void>;
}

const off: PushPart = { run: () => Promise.resolve() };

/** `bell` is the one that the commands listen to. */
export function createPush(
  { configuration, clock, log }: Pick<BridgeSurroundings, "configuration" | "clock" | "log">,
  { platform, store, budget, poller }: Pick<Mirror, "platform" | "store" | "budget" | "poller">,
  bell: PushBell,
): PushPart {
  if (!configuration.platform.push.enabled) return off;
  const share = new RequestBudget(Math.ceil(configuration.platform.requests_per_minute / 4));
  const reads = new PushReads({ clock, budgets: [budget, share], log });
  const skewMs = () => platform.clockSkewMs();
  const mirror = new PushMirror({ store, platform, bell, reads, clock, skewMs });
  bell.onUnread((code, address, raw) => {
    mirror.unread(code, address, raw);
  });
  const recovery = new PushRecovery(clock, () => poller.refresh());
  return new PushChannels({ platform, store, mirror, reads, recovery, clock, log });
}
