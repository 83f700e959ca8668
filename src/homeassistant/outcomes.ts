/** How a command can end: the types of the event entity. All are named from the start, because others are dropped. */
export const resultTypes = [
  "confirmed",
  "already",
  "dry_run",
  "refused",
  "superseded",
  "rejected",
  "unconfirmed",
  "failed",
  "unknown",
] as const;

/** What `bridge/event` tells. */
export const alertTypes = [
  "command_unconfirmed",
  "command_rejected",
  "command_failed",
  "changed_elsewhere",
  "confirmed_late",
  "sign_in_refused",
  "unauthorized",
  "platform_lost",
  "platform_back",
  "controller_offline",
  "account_empty",
  "shape_unknown",
  "other_bridge",
] as const;
