import type { ParameterGroup } from "./device-types.js";
import type { Restrictions } from "./limits.js";
import type {
  Availability,
  BetweenSteps,
  CommandProblem,
  ReadingAlarm,
  RunTime,
  Source,
  TargetKind,
} from "./model.js";
import type { ClientStatus, DeviceRecord, RawValue, RunningStatusItem, SensorItem } from "./ports.js";
import type { ControllerSettings } from "./settings.js";

/**
 * News about one controller. Instants are epoch ms, except `at` and `startedAt` (when the request began), which are
 * monotonic.
 */
export type ControllerEvent =
  /** `availability` is the list's flag. */
  | { readonly type: "listed"; readonly record: DeviceRecord; readonly availability: Availability }
  | { readonly type: "absent"; readonly forMs: number }
  /** The address of its video stream, which the controllers' list does not give. */
  | { readonly type: "video"; readonly hls: string }
  /** The controllers' list no longer holds it, but another one does. */
  | { readonly type: "unflagged" }
  /** The single-device status was read. */
  | { readonly type: "connection"; readonly status: ClientStatus }
  /** `answers`: by default the same as `reachable`. */
  | { readonly type: "platform"; readonly reachable: boolean; readonly answers?: boolean }
  | {
      readonly type: "sensors_read";
      readonly items: readonly SensorItem[];
      readonly receivedAt: number;
      readonly source: Source;
      /** Averages leave the readings as they are. */
      readonly part?: "averages";
    }
  | {
      readonly type: "statuses_read";
      readonly items: readonly RunningStatusItem[];
      readonly receivedAt: number;
    }
  | {
      readonly type: "registers_read";
      readonly values: ReadonlyMap<string, RawValue>;
      readonly startedAt: number;
      readonly readAt: number;
      readonly fresh: boolean;
      readonly source: Source;
      /** Everything that an answer about a control-parameter type listed. */
      readonly listed?: { readonly group: ParameterGroup; readonly values: ReadonlyMap<string, RawValue> };
    }
  /** A POST of ours began or ended (`at`, monotonic ms); earlier requests say nothing about it. */
  | {
      readonly type: "posted";
      readonly target: TargetKind;
      readonly id: string;
      readonly at: number;
      /** For a command of several steps: its place between them; null for a single step. */
      readonly between?: BetweenSteps | null;
    }
  /** A command of ours sends no further step; `degree` is the confirmed one. */
  | {
      readonly type: "steps_ended";
      readonly target: TargetKind;
      readonly id: string;
      readonly degree?: number | null;
      /** The state that a pulse confirmed. */
      readonly word?: string | null;
    }
  /** A value was pushed (`at`, monotonic ms). It is not shown, but contradicts reads of another value. */
  | {
      readonly type: "register_pushed";
      readonly address: string;
      readonly raw: RawValue;
      readonly at: number;
    }
  /** Reads of this kind may have received the answer to another question, so they are repeated. */
  | { readonly type: "doubted"; readonly what: "sensors" | "statuses" | "registers" }
  | { readonly type: "problem"; readonly open: readonly CommandProblem[] }
  | { readonly type: "run_time"; readonly id: string; readonly runTime: RunTime }
  | { readonly type: "readings_judged"; readonly open: readonly ReadingAlarm[] }
  /** An actuator's limits now in force; null for none. */
  | { readonly type: "restricted"; readonly id: string; readonly restrictions: Restrictions | null }
  /** The configuration was read again; only names, limits of readings and places may have changed. */
  | { readonly type: "renamed"; readonly settings: ControllerSettings | null }
  | { readonly type: "time_passed" };

/** The event types of `<base>/bridge/event`; each deserves a person's attention. */
export const bridgeEventTypes = [
  "command_unconfirmed",
  "command_rejected",
  "command_failed",
  "changed_elsewhere",
  "late_execution",
  "ended_by_itself",
  "reads_differ",
  "reverted",
  "confirmed_late",
  "sign_in_refused",
  "unauthorized",
  "session_contested",
  "platform_lost",
  "platform_back",
  "controller_offline",
  "account_empty",
  "shape_unknown",
  "other_bridge",
  "address_seen",
  "read_only_changed",
  "settings_changed",
  "alarm",
  "alarm_cleared",
  "flood",
  "locked",
  "unlocked",
  "lease_overrun",
  "guard_tripped",
  "guard_cleared",
] as const;

type BridgeEventType = (typeof bridgeEventTypes)[number];

export interface BridgeEvent {
  readonly type: BridgeEventType;
  readonly severity: "info" | "warning" | "error";
  /** What happened, and what to do about it. */
  readonly message: string;
  /** Epoch ms. */
  readonly at: number;
  readonly facts?: Readonly<Record<string, string | number | boolean | null>>;
}
