import type { ActuatorFamily, ActuatorKind } from "../greenhouse/actuator-kinds.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type * as documents from "../greenhouse/documents.js";
import type { GroupResult } from "../greenhouse/groups.js";
import type {
  Alarm as AlarmKept,
  Allowed,
  GuardCondition,
  Restrictions,
  WeatherShown,
} from "../greenhouse/limits.js";
import type { BandLimit, Bands } from "../greenhouse/bands.js";
import type { Text } from "../language/text.js";
import type { Availability, PlatformState, Quality, RunTime, TargetKind } from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import type { AccountSummary } from "../greenhouse/summary.js";

/*
 * Messages between server and browser; types only. Times are ISO texts. A merge patch cannot contain null, so in a
 * patched document an absent field means null.
 */

/** Each role may do everything that those before it may. */
export type Role = "viewer" | "operator" | "admin";

/** The configured value of one key. */
export interface GivenSetting {
  /** Absent for a secret, and for a value that cannot be read. */
  readonly value?: string | number | boolean;
  readonly from: "file" | "environment" | "secret";
  /** Name of the variable or the secret. */
  readonly name?: string;
  readonly line: number;
  readonly isSecret?: true;
}

/** The schema in the form that forms are made from. */
export interface SettingNode {
  readonly name: string;
  /** The kind of field. `either`: one of the alternatives in `options`. */
  readonly type: "section" | "map" | "list" | "either" | "choice" | "flag" | "number" | "text" | "anything";
  /** In the reference's terms: `duration`, `address`, `whole number`. */
  readonly kind?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: string;
  readonly words?: readonly (string | number)[];
  readonly required?: true;
  readonly secret?: true;
  /** When a change takes effect: at once, or with a new run, which takes a second or two. */
  readonly effect?: "now" | "run";
  /** For a section only. */
  readonly keys?: readonly SettingNode[];
  /** The type of each entry of a map or list. */
  readonly entry?: SettingNode;
  readonly options?: readonly SettingNode[];
}

/** The configuration, with everything that can be set in it. */
export interface SettingsDocument {
  readonly file: string;
  readonly etag: string;
  /** Why nothing can be saved here; null if possible. */
  readonly not_writable: Text | null;
  readonly given: Readonly<Record<string, GivenSetting>>;
  readonly keys: readonly SettingNode[];
  /** The file itself; null if it contains secrets. */
  readonly text: string | null;
  /** The last change that failed and was taken back. */
  readonly returned: ReturnedSettings | null;
  readonly program: ProgramFacts;
}

/** A finding of a connection test. */
export interface SettingsAttempt {
  readonly part: "platform" | "broker" | "homeassistant";
  readonly check: string;
  readonly status: string;
  readonly summary: string;
  readonly remedy?: string | undefined;
}

/** A login. Times are ISO texts. */
export interface SettingsLogin {
  readonly id: string;
  readonly user: string;
  readonly since: string;
  readonly used: string;
  /** Whether it is the login of the one who asks. */
  readonly own: boolean;
}

/** The program and its computer. */
export interface ProgramFacts {
  readonly version: string;
  readonly node: string;
  /** Whether something starts it again when it ends. */
  readonly can_restart: boolean;
  /** Whether a backup can contain all accounts of the fleet. */
  readonly of_fleet: boolean;
  /** A newer version; null if there is none, or nobody asked. */
  readonly newer: string | null;
}

export interface ReturnedSettings {
  readonly at: string;
  /** A sentence of the bridge, in the requested language. */
  readonly reason: Text;
  /** What was taken back, as a difference. */
  readonly difference: string;
  /** Whether the file was edited by hand, so that it stays but is not in force. */
  readonly by_hand?: boolean | undefined;
}

/** Values by key (null removes one) and sections with the wanted order of their names; or the whole text. */
export type WantedSettings =
  | {
      readonly changes: Readonly<Record<string, unknown>>;
      readonly order?: Readonly<Record<string, readonly string[]>> | undefined;
    }
  | { readonly text: string };

/** What saving would do. */
export interface SettingsProposal {
  readonly etag: string;
  /** Errors by key; empty if it can be saved. The empty key is for the file as a whole. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly string[];
  /** Plain sentences about what the new configuration does, if that differs. */
  readonly sentences: readonly string[];
  /** The difference in the file; empty for none. */
  readonly difference: string;
  /** New or changed names in the file of secrets. */
  readonly secrets: readonly string[];
  /** The changed keys, and those of them that need a new run. */
  readonly keys: readonly string[];
  readonly need_run: readonly string[];
}

export interface Session {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** Whether the data require a login. */
  readonly login: boolean;
  /** Whether this browser may make the first operator, with the code that the bridge printed. */
  readonly first_operator?: boolean;
  /** Whether this visitor may see and change the settings here. */
  readonly settings?: boolean;
  /** Whether there is no bridge yet, so that `init --web` asks for what it needs. */
  readonly setup?: boolean;
  /** Whether the accounts of a fleet are shown first. */
  readonly fleet?: boolean;
  /** Within one account of a fleet: its state. */
  readonly account?: AccountReport;
}

/** The state of an account of a fleet. */
export interface AccountReport extends AccountSummary {
  /**
   * `waiting`: it ended with an error, and starts again at `again`. `refused`: its file has mistakes, so it was not
   * started. `standby`: another member of the cluster may run it.
   */
  readonly state: "starting" | "running" | "waiting" | "stopping" | "refused" | "standby";
  /** ISO time. */
  readonly since: string;
  readonly restarts: number;
  /** Why it last ended, or was not started. */
  readonly error: Text | null;
  /** ISO time of the next start. */
  readonly again: string | null;
  /** As in `bridge/platform`; null while unknown. */
  readonly platform: string | null;
  readonly broker: string | null;
  /** Alarms that are on; `worst` is their greatest severity. */
  readonly alarms: number;
  readonly worst: "info" | "warning" | "error" | null;
  readonly read_only: boolean;
  /** The cluster member that was seen to run it while this one stands by. */
  readonly owner?: string | null | undefined;
}

/** The page's address for a phone; `qr` is a picture of it, null if no phone can reach it. */
export interface PageAddress {
  readonly page: string;
  readonly qr: string | null;
}

/** The accounts that a user sees, by name. */
export interface Accounts {
  readonly at: string;
  readonly version: string;
  readonly started_at: string;
  /** For users who see all accounts: why the fleet keeps its earlier configuration; null if it does not. */
  readonly mistake: Text | null;
  readonly accounts: Readonly<Record<string, AccountReport>>;
}

export interface BridgeFacts {
  readonly version: string;
  readonly started_at: string;
  readonly platform: PlatformState | null;
  readonly broker: string;
  readonly read_only: boolean;
  readonly dry_run: boolean;
  /** The lowest level of log lines that are written; null while unknown. */
  readonly log_level: string | null;
  /** Only in the demo: the speed of the simulated greenhouse's time, and its time of day. */
  readonly demo: { readonly speed: number; readonly time: string; readonly time_zone: string } | null;
}

/** A greenhouse's controller, another device that measures or moves, or one that shows nothing, such as a camera. */
export type RowKind = "greenhouse" | "device" | "silent";

export interface KeyReading {
  readonly sensor: string;
  readonly value: number | string | null;
  readonly unit: string | null;
  readonly quality: Quality;
  /** When it was measured, if it is not good; a good value is current. */
  readonly at: string | null;
  /** The limit that it is beyond. */
  readonly beyond: BandLimit | null;
}

/** What forbids commands at a controller, and what ends by itself. */
export interface RowLimits {
  /** By guard: the number of actuators at which it holds. */
  readonly guards: Readonly<Record<string, number>>;
  /** The number of actuators, by who locked or holds them. */
  readonly locks: Readonly<Record<string, number>>;
  readonly holds: Readonly<Record<string, number>>;
  /** By actuator. */
  readonly leases: Readonly<
    Record<string, { readonly name: string; readonly group: ActuatorFamily; readonly until: string }>
  >;
}

/** A state that may be outdated. */
export interface LastSeen {
  readonly states: Readonly<Record<string, number>>;
  readonly read_at: string | null;
}

export interface OverviewRow {
  readonly name: string;
  readonly kind: RowKind;
  readonly station: string | null;
  /** Its place in the configuration file; null if that does not name it. */
  readonly place: number | null;
  /** Its place on the platform; null for none. */
  readonly order: number | null;
  readonly availability: Availability;
  /** The first sensor of each kind that `http.overview` names. */
  readonly readings: Readonly<Partial<Record<SensorKind, KeyReading>>>;
  /**
   * Number of actuators by family and state: a word of the platform, a degree, `uncertain` if never read, or `stale` if
   * the state may be outdated.
   */
  readonly actuators: Readonly<Partial<Record<ActuatorFamily, Readonly<Record<string, number>>>>>;
  /**
   * By family and state: the name of the actuators in it, if it is one actuator or one kind; only for families whose
   * own name says little.
   */
  readonly named: Readonly<Partial<Record<ActuatorFamily, Readonly<Record<string, string>>>>>;
  /** By family: the last known states of those that are `stale`, and when the oldest was read; absent if never seen. */
  readonly last: Readonly<Partial<Record<ActuatorFamily, LastSeen>>>;
  readonly limits: RowLimits;
  /** The worst quality of its sensors; null without any. */
  readonly quality: Quality | null;
  readonly oldest_reading_at: string | null;
  readonly problem: boolean;
  /** The newest open command. */
  readonly command: CommandDocument | null;
  /** The number of active alarms, and their greatest severity. */
  readonly alarms: number;
  readonly worst: Alarm["severity"] | null;
}

/** The newest values of the `weather` topics, by name. */
export type Weather = Readonly<Record<string, WeatherShown>>;

export interface Overview {
  readonly at: string;
  readonly bridge: BridgeFacts;
  readonly weather: Weather;
  /** The kinds that `http.overview` names, in its order. */
  readonly kinds: readonly SensorKind[];
  readonly controllers: Readonly<Record<string, OverviewRow>>;
}

type PhaseWord = "waiting" | "checking" | "sending" | "confirming" | "done";

/** A command and its phase. */
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

/** A document before translation: texts for people may still be sentences. */
export type Untold<Document> = Document extends string
  ? string extends Document
    ? Text
    : Document
  : Document extends object
    ? { readonly [Key in keyof Document]: Untold<Document[Key]> }
    : Document;

/** The limits of an actuator; each is null for none. */
export type LimitsDocument = Patched<Omit<Restrictions, "allowed"> & { readonly allowed: Allowed | null }>;

interface Commanded {
  readonly name: string;
  readonly command: CommandDocument | null;
  readonly result: CommandResult | null;
}

/** When a guard holds: until its value has no longer been beyond `clear_at` for `clear_after_s`. */
export interface GuardView {
  readonly condition: GuardCondition["type"];
  readonly clear_at: number | null;
  readonly clear_after_s: number;
}

export interface ActuatorView
  extends ReturnType<typeof documents.actuatorDocument>, Commanded, LimitsDocument {
  readonly kind: ActuatorKind;
  readonly group: ActuatorFamily;
  readonly guards: Readonly<Record<string, Patched<GuardView>>>;
  /** Its words, beside degrees. */
  readonly words: readonly string[];
  readonly degrees: boolean;
  readonly stop: boolean;
  readonly read_only: boolean;
  /** Null if it has none, or was not read yet. */
  readonly run_time: RunTime | null;
  /** The duration of a command without a time, and the longest one; null for unlimited. */
  readonly for_s: number | null;
  readonly at_most_s: number | null;
}

export interface ParameterView extends ReturnType<typeof documents.parameterDocument>, Commanded {
  readonly writable: { readonly min: number; readonly max: number; readonly step: number } | null;
}

/** Names for people, for a name of the platform. */
export type Label = Readonly<{ en: string; zh: string }>;

type SensorView = ReturnType<typeof documents.sensorDocument> & {
  readonly label: Label;
  /** The limit that it is beyond, and all its limits. */
  readonly beyond: BandLimit | null;
  readonly limits: Bands["limits"] | null;
  /** The least range that a curve is drawn over. */
  readonly least_span: number;
};
type StatusView = ReturnType<typeof documents.statusDocument> & { readonly label: Label };

export interface ControllerView {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly availability: Availability;
  readonly station: string | null;
  /** ISO time, from the platform while the controller was online. */
  readonly last_online_at: string | null;
  /** Whether operators get a video's address at `api/stream/<c>`. */
  readonly video: boolean;
  readonly problem: boolean;
  readonly weather: Weather;
  readonly sensors: Readonly<Record<string, SensorView>>;
  readonly actuators: Readonly<Record<string, ActuatorView>>;
  readonly status: Readonly<Record<string, StatusView>>;
  readonly parameters: Readonly<Record<string, ParameterView>>;
}

/** A member of a group, or one command of a scene. */
export interface MemberView {
  readonly controller: string;
  readonly actuator: string;
  /** Its name for people. */
  readonly name: string;
  /** The command that a scene sends it. */
  readonly command: string | null;
  readonly state: string | null;
  readonly position: number | null;
  readonly quality: Quality;
  readonly read_at: string | null;
  /** Who locked it. */
  readonly locked_by: string | null;
}

interface CommandedView {
  readonly name: string;
  readonly members: readonly MemberView[];
  /** The open command, with the number of members that have ended it. */
  readonly running: {
    readonly id: string;
    readonly command: string | null;
    readonly by: string | null;
    readonly ended: number;
  } | null;
  readonly result: GroupResult | null;
}

export interface GroupView extends CommandedView {
  /** The word that all members show, `mixed`, or `unknown`. */
  readonly state: string;
  readonly position: number | null;
  readonly quality: Quality;
  readonly words: readonly string[];
  readonly degrees: boolean;
  readonly stop: boolean;
}

/** Groups and scenes by id. */
export interface GroupsAndScenesView {
  readonly groups: Readonly<Record<string, GroupView>>;
  readonly scenes: Readonly<Record<string, CommandedView>>;
}

/** `name`: the names of its controller and actuator. */
export type Alarm = Omit<AlarmKept, "clearedAt"> & { readonly name: string | null };

export type Alarms = Readonly<Record<string, Alarm>>;

/** An entry of the timeline: a command with its result, or another event. Empty fields may be absent. */
export interface TimelineEntry {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly type: string;
  readonly controller?: string | null;
  readonly actuator?: string | null;
  readonly target?: TargetKind;
  readonly result?: CommandResult;
  readonly count?: number;
  readonly value?: string;
  readonly by?: string | null;
  readonly what?: string | null;
  readonly until?: string | null;
  readonly alarm?: Alarm["type"] | null;
  readonly facts?: Alarm["facts"];
  readonly user?: string | null;
  readonly address?: string | null;
  readonly from?: string | null;
  readonly to?: string | null;
  readonly changes?: readonly string[];
  readonly version?: string;
}

/** Addresses that the platform pushed and that nothing in the configuration has, with lines for it. */
export interface SeenAddresses {
  readonly addresses: readonly {
    readonly controller: string;
    readonly code: string;
    readonly address: string;
    readonly values: readonly string[];
    /** The kind, if the values are clear. */
    readonly looks_like: string | null;
    readonly first_at: string;
    readonly last_at: string;
  }[];
  readonly yaml: Text;
}

/** Newest first; `next` is the next page's `before`. */
export type JournalPage<Item> = Readonly<{ records: readonly Item[]; next: number | null }>;

/**
 * The last good value of some sensors in each step of a time span, null where none was known. The last point ends with
 * `until`. `nights`: when it was dark, if a sensor measures light.
 */
export interface Trends {
  readonly step_s: number;
  readonly since: string;
  readonly until: string;
  readonly sensors: Readonly<Record<string, readonly (number | null)[]>>;
  readonly nights: readonly (readonly [from: string, until: string])[];
  /** In the demo the points have simulated times: the simulated time of now, and its speed. */
  readonly demo: {
    readonly simulated: string;
    readonly real: string;
    readonly speed: number;
    readonly time_zone: string;
  } | null;
}

/** One reading for the overview's curve, drawn over at least `least_span`. */
export interface Sparkline {
  readonly points: Trends["sensors"][string];
  readonly least_span: number;
}

/** A day of the key readings, by controller and sensor. */
export interface Sparklines extends Pick<Trends, "step_s" | "since" | "until"> {
  readonly controllers: Readonly<Record<string, Readonly<Record<string, Sparkline>>>>;
}

export interface LiveMessage {
  /** Null for a sign of life. */
  readonly view: string | null;
  readonly kind: "snapshot" | "patch" | "append" | "error" | "alive";
  readonly data: unknown;
}

export type ApiError = Readonly<{ error: string; message: string }>;
