import type { BridgeEventType } from "../greenhouse/bridge-events.js";

/**
 * What `bridge/event` tells: the types of the bridge's event entity. All are named from the start, because Home
 * Assistant drops any other.
 */
export const alertTypes = Object.keys({
  command_unconfirmed: true,
  command_rejected: true,
  command_failed: true,
  changed_elsewhere: true,
  reverted: true,
  confirmed_late: true,
  sign_in_refused: true,
  unauthorized: true,
  session_contested: true,
  platform_lost: true,
  platform_back: true,
  controller_offline: true,
  account_empty: true,
  shape_unknown: true,
  other_bridge: true,
} satisfies Record<BridgeEventType, true>);
