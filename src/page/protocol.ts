import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type * as documents from "../greenhouse/documents.js";
import type { Alarm as AlarmKept, Allowed, Restrictions } from "../greenhouse/limits.js";
import type { Availability, PlatformState, Quality } from "../greenhouse/model.js";

/*
 * What server and browser say to each other; types alone. Times are ISO texts. A merge patch cannot say null, so in a patched
 * document a field that is absent means null.
 */

export type Role = "viewer" | "operator";

export interface Session {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** Whether the data need one. */
  readonly login: boolean;
}

export interface BridgeFacts {
  readonly version: string;
  readonly started_at: string;
  readonly platform: PlatformState | null;
  readonly broker: string;
  readonly read_only: boolean;
  readonly dry_run: boolean;
  /** Of the demo alone: how many times as fast as ours the simulated greenhouse's time runs, and its time of day. */
  readonly demo: { readonly speed: number; readonly time: string } | null;
}

export interface OverviewRow {
  readonly name: string;
  readonly availability: Availability;
  /** The worst of its sensors; null without any. */
  readonly quality: Quality | null;
  readonly oldest_reading_at: string | null;
  readonly problem: boolean;
  /** The newest command under way. */
  readonly command: CommandDocument | null;
  /** How many are active. */
  readonly alarms: number;
}

export interface Overview {
  readonly at: string;
  readonly bridge: BridgeFacts;
  readonly controllers: Readonly<Record<string, OverviewRow>>;
}

type PhaseWord = "waiting" | "checking" | "sending" | "confirming" | "done";

/** A command and where it stands. */
export interface CommandDocument {
  readonly id: string;
  readonly controller: string;
  readonly actuator: string;
  readonly command: string | null;
  readonly phase: PhaseWord;
  readonly by: string | null;
  readonly via: Via;
  readonly received_at: string;
}

/** A document that may have been patched. */
export type Patched<Document> = {
  readonly [Key in keyof Document]: null extends Document[Key] ? Document[Key] | undefined : Document[Key];
};

/** What the rules make of an actuator; each is null where there is none. */
export type LimitsDocument = Patched<Omit<Restrictions, "allowed"> & { readonly allowed: Allowed | null }>;

interface Commanded {
  readonly name: string;
  readonly command: CommandDocument | null;
  readonly result: CommandResult | null;
}

export interface ActuatorView
  extends ReturnType<typeof documents.actuatorDocument>, Commanded, LimitsDocument {
  readonly kind: string;
  /** What it takes, beside degrees. */
  readonly words: readonly string[];
  readonly degrees: boolean;
  readonly stop: boolean;
  readonly read_only: boolean;
}

export interface ParameterView extends ReturnType<typeof documents.parameterDocument>, Commanded {
  readonly writable: { readonly min: number; readonly max: number; readonly step: number } | null;
}

/** What people read for a name of the platform. */
export type Label = Readonly<{ en: string; zh: string }>;

export type SensorView = ReturnType<typeof documents.sensorDocument> & { readonly label: Label };
type StatusView = ReturnType<typeof documents.statusDocument> & { readonly label: Label };

export interface ControllerView {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly availability: Availability;
  readonly problem: boolean;
  readonly sensors: Readonly<Record<string, SensorView>>;
  readonly actuators: Readonly<Record<string, ActuatorView>>;
  readonly status: Readonly<Record<string, StatusView>>;
  readonly parameters: Readonly<Record<string, ParameterView>>;
}

/** `name`: what people call its controller and actuator. */
export type Alarm = Omit<AlarmKept, "clearedAt"> & { readonly name: string | null };

export type Alarms = Readonly<Record<string, Alarm>>;

/** Newest first; `next` is the next page's `before`. */
export type JournalPage<Item> = Readonly<{ records: readonly Item[]; next: number | null }>;

/** A day of some sensors: the last point of each list is that of `until`, null where nothing good was known. */
export interface Trends {
  readonly step_s: number;
  readonly until: string;
  /** Since when points are kept; nothing is known of the time before. */
  readonly since: string;
  readonly sensors: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface LiveMessage {
  /** Null for a sign of life. */
  readonly view: string | null;
  readonly kind: "snapshot" | "patch" | "append" | "error" | "alive";
  readonly data: unknown;
}

export type ApiError = Readonly<{ error: string; message: string }>;
