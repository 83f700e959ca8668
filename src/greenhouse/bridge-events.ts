/** What `<base>/bridge/event` tells; each is worth a person's attention. */
export type BridgeEventType =
  | "command_unconfirmed"
  | "command_rejected"
  | "command_failed"
  | "changed_elsewhere"
  | "reverted"
  | "confirmed_late"
  | "sign_in_refused"
  | "unauthorized"
  | "session_contested"
  | "platform_lost"
  | "platform_back"
  | "controller_offline"
  | "account_empty"
  | "shape_unknown"
  | "other_bridge";

export interface BridgeEvent {
  readonly type: BridgeEventType;
  readonly severity: "info" | "warning" | "error";
  /** What happened and what to do about it. */
  readonly message: string;
  /** Epoch ms. */
  readonly at: number;
  readonly facts?: Readonly<Record<string, string | number | boolean | null>>;
}
