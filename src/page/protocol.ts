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
 * What server and browser say to each other; types alone. Times are ISO texts. A merge patch cannot say null, so in a patched
 * document a field that is absent means null.
 */

/** Each may what those before it may. */
export type Role = "viewer" | "operator" | "admin";

/** What stands in the configuration at one key. */
export interface GivenSetting {
  /** Absent of a secret, and of what cannot be read. */
  readonly value?: string | number | boolean;
  readonly from: "file" | "environment" | "secret";
  /** Of the variable or the secret. */
  readonly name?: string;
  readonly line: number;
  readonly isSecret?: true;
}

/** The schema as forms are made from it. */
export interface SettingNode {
  readonly name: string;
  /** What kind of field it takes. `either`: one of the alternatives in `options`. */
  readonly type: "section" | "map" | "list" | "either" | "choice" | "flag" | "number" | "text" | "anything";
  /** In the words of the reference: `duration`, `address`, `whole number`. */
  readonly kind?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: string;
  readonly words?: readonly (string | number)[];
  readonly required?: true;
  readonly secret?: true;
  /** When a change takes effect: at once, or with a new run, which takes a second or two. */
  readonly effect?: "now" | "run";
  /** Of a section. */
  readonly keys?: readonly SettingNode[];
  /** Of a map or a list: what each entry is. */
  readonly entry?: SettingNode;
  readonly options?: readonly SettingNode[];
}

/** The configuration, with what can be set in it. */
export interface SettingsDocument {
  readonly file: string;
  readonly etag: string;
  /** Why nothing can be saved here; null where it can. */
  readonly not_writable: Text | null;
  readonly given: Readonly<Record<string, GivenSetting>>;
  readonly keys: readonly SettingNode[];
  /** The file itself; null where secrets stand in it. */
  readonly text: string | null;
  /** The last change that did not come up and was taken back. */
  readonly returned: ReturnedSettings | null;
  readonly program: ProgramFacts;
}

/** What was found when a connection was tried. */
export interface SettingsAttempt {
  readonly part: "platform" | "broker" | "homeassistant";
  readonly check: string;
  readonly status: string;
  readonly summary: string;
  readonly remedy?: string | undefined;
}

/** Somebody who is logged in. Times are ISO texts. */
export interface SettingsLogin {
  readonly id: string;
  readonly user: string;
  readonly since: string;
  readonly used: string;
  /** Of whoever asks. */
  readonly own: boolean;
}

/** The program and its computer. */
export interface ProgramFacts {
  readonly version: string;
  readonly node: string;
  /** Something starts it again when it ends. */
  readonly can_restart: boolean;
  /** All accounts of the fleet can be backed up with it. */
  readonly of_fleet: boolean;
  /** A newer version that is out; null where there is none, or nobody asked. */
  readonly newer: string | null;
}

export interface ReturnedSettings {
  readonly at: string;
  /** A sentence of the bridge, in the language that was asked for. */
  readonly reason: Text;
  /** What was taken back, as a difference. */
  readonly difference: string;
  /** The file was edited by hand and stays, but is not in force. */
  readonly by_hand?: boolean | undefined;
}

/** Values at keys, null to take one away, and sections whose names are to come in this order, the others behind; or the whole text. */
export type WantedSettings =
  | {
      readonly changes: Readonly<Record<string, unknown>>;
      readonly order?: Readonly<Record<string, readonly string[]>> | undefined;
    }
  | { readonly text: string };

/** What saving would do. */
export interface SettingsProposal {
  readonly etag: string;
  /** By key; none where it can be saved. A key of its own for what is wrong with the file as a whole: empty. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly string[];
  /** What the changed configuration does, in plain words, where it does something else than before. */
  readonly sentences: readonly string[];
  /** What changes in the file; empty where nothing does. */
  readonly difference: string;
  /** Names that are new in the file of secrets, or get another value. */
  readonly secrets: readonly string[];
  /** The keys that have another value, and those of them that take a new run. */
  readonly keys: readonly string[];
  readonly need_run: readonly string[];
}

export interface Session {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** Whether the data need one. */
  readonly login: boolean;
  /** Whether this browser may make the first operator, with the code that the bridge printed. */
  readonly first_operator?: boolean;
  /** Whether this visitor may see and change the settings here. */
  readonly settings?: boolean;
  /** There is no bridge yet: `init --web` asks for what it needs. */
  readonly setup?: boolean;
  /** The accounts of a fleet are shown first. */
  readonly fleet?: boolean;
  /** Within one account of a fleet: how it is. */
  readonly account?: AccountReport;
}

/** How an account of a fleet is. */
export interface AccountReport extends AccountSummary {
  /**
   * `waiting`: it ended by an error, and starts again at `again`. `refused`: its file has mistakes, so it was not started. `standby`:
   * another member of the cluster may run it.
   */
  readonly state: "starting" | "running" | "waiting" | "stopping" | "refused" | "standby";
  /** ISO time. */
  readonly since: string;
  readonly restarts: number;
  /** Why it ended last, or was not started. */
  readonly error: Text | null;
  /** ISO time of the next start. */
  readonly again: string | null;
  /** As `bridge/platform` says; null while that is not known. */
  readonly platform: string | null;
  readonly broker: string | null;
  /** That are on; `worst`: the severity of the worst of them. */
  readonly alarms: number;
  readonly worst: "info" | "warning" | "error" | null;
  readonly read_only: boolean;
  /** The member of the cluster that was seen to run it, while this one stands by. */
  readonly owner?: string | null | undefined;
}

/** Where a phone finds the page; `qr` is a picture of it, null where no phone reaches it. */
export interface PageAddress {
  readonly page: string;
  readonly qr: string | null;
}

/** The accounts that somebody sees, by name. */
export interface Accounts {
  readonly at: string;
  readonly version: string;
  readonly started_at: string;
  /** For who sees all: why the fleet goes on by what it read before; null where it does not. */
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
  /** The least level of the lines that are written; null where that is not known. */
  readonly log_level: string | null;
  /** Of the demo alone: how many times as fast as ours the simulated greenhouse's time runs, and its time of day. */
  readonly demo: { readonly speed: number; readonly time: string; readonly time_zone: string } | null;
}

/** What an actuator is for; the order is the one in which people read them. */

/** A controller of a greenhouse, another device that measures or moves something, or one that shows nothing, such as a camera. */
export type RowKind = "greenhouse" | "device" | "silent";

export interface KeyReading {
  readonly sensor: string;
  readonly value: number | string | null;
  readonly unit: string | null;
  readonly quality: Quality;
  /** When it was measured, of one that is not good: what is good is of now. */
  readonly at: string | null;
  /** The limit that it is beyond. */
  readonly beyond: BandLimit | null;
}

/** What keeps commands back at a controller, and what ends by itself. */
export interface RowLimits {
  /** By guard: at how many actuators it holds. */
  readonly guards: Readonly<Record<string, number>>;
  /** By who locked it, or whose command holds it: how many actuators. */
  readonly locks: Readonly<Record<string, number>>;
  readonly holds: Readonly<Record<string, number>>;
  /** By actuator. */
  readonly leases: Readonly<
    Record<string, { readonly name: string; readonly group: ActuatorFamily; readonly until: string }>
  >;
}

/** What is not known to be so any more. */
export interface LastSeen {
  readonly states: Readonly<Record<string, number>>;
  readonly read_at: string | null;
}

export interface OverviewRow {
  readonly name: string;
  readonly kind: RowKind;
  readonly station: string | null;
  /** Its place in the file of the configuration; null where that does not name it. */
  readonly place: number | null;
  /** Its place on the platform; null where that gives none. */
  readonly order: number | null;
  readonly availability: Availability;
  /** The first sensor of each kind that `http.overview` names. */
  readonly readings: Readonly<Partial<Record<SensorKind, KeyReading>>>;
  /**
   * How many actuators of a group are in a state: a word of the platform, a degree, `uncertain` of one that was not read, or `stale` where the state is not known to
   * be the present one.
   */
  readonly actuators: Readonly<Partial<Record<ActuatorFamily, Readonly<Record<string, number>>>>>;
  /** By group and state: what is so, where that is one actuator or all of one kind, of groups whose name says little. */
  readonly named: Readonly<Partial<Record<ActuatorFamily, Readonly<Record<string, string>>>>>;
  /** By group: what was seen last of those that are `stale`, and when the oldest of it was read; a group never seen is absent. */
  readonly last: Readonly<Partial<Record<ActuatorFamily, LastSeen>>>;
  readonly limits: RowLimits;
  /** The worst of its sensors; null without any. */
  readonly quality: Quality | null;
  readonly oldest_reading_at: string | null;
  readonly problem: boolean;
  /** The newest command under way. */
  readonly command: CommandDocument | null;
  /** How many are active, and the severity of the worst of them. */
  readonly alarms: number;
  readonly worst: Alarm["severity"] | null;
}

/** What the `weather` topics brought last, by name. */
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

/** A document before it is told: what people read may be a sentence still. */
export type Untold<Document> = Document extends string
  ? string extends Document
    ? Text
    : Document
  : Document extends object
    ? { readonly [Key in keyof Document]: Untold<Document[Key]> }
    : Document;

/** What the rules make of an actuator; each is null where there is none. */
export type LimitsDocument = Patched<Omit<Restrictions, "allowed"> & { readonly allowed: Allowed | null }>;

interface Commanded {
  readonly name: string;
  readonly command: CommandDocument | null;
  readonly result: CommandResult | null;
}

/** When a guard holds: until its value is no longer beyond `clear_at` for `clear_after_s`. */
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
  /** What it takes, beside degrees. */
  readonly words: readonly string[];
  readonly degrees: boolean;
  readonly stop: boolean;
  readonly read_only: boolean;
  /** Null of what does not run, or was not read yet. */
  readonly run_time: RunTime | null;
  /** How long a command lasts that names no time, and at most; null where it lasts. */
  readonly for_s: number | null;
  readonly at_most_s: number | null;
}

export interface ParameterView extends ReturnType<typeof documents.parameterDocument>, Commanded {
  readonly writable: { readonly min: number; readonly max: number; readonly step: number } | null;
}

/** What people read for a name of the platform. */
export type Label = Readonly<{ en: string; zh: string }>;

type SensorView = ReturnType<typeof documents.sensorDocument> & {
  readonly label: Label;
  /** The limit that it is beyond, and all that there are. */
  readonly beyond: BandLimit | null;
  readonly limits: Bands["limits"] | null;
  /** A curve is drawn over no less than this. */
  readonly least_span: number;
};
type StatusView = ReturnType<typeof documents.statusDocument> & { readonly label: Label };

export interface ControllerView {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly availability: Availability;
  readonly station: string | null;
  /** ISO time, as the platform told it while it was online. */
  readonly last_online_at: string | null;
  /** There is an address of a video for operators, at `api/stream/<c>`. */
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
  /** What people call it. */
  readonly name: string;
  /** What a scene sends it. */
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
  /** A command under way, and how many members have ended it. */
  readonly running: {
    readonly id: string;
    readonly command: string | null;
    readonly by: string | null;
    readonly ended: number;
  } | null;
  readonly result: GroupResult | null;
}

export interface GroupView extends CommandedView {
  /** A word that all members show, `mixed`, or `unknown`. */
  readonly state: string;
  readonly position: number | null;
  readonly quality: Quality;
  readonly words: readonly string[];
  readonly degrees: boolean;
  readonly stop: boolean;
}

/** What is commanded together, by id. */
export interface GroupsAndScenesView {
  readonly groups: Readonly<Record<string, GroupView>>;
  readonly scenes: Readonly<Record<string, CommandedView>>;
}

/** `name`: what people call its controller and actuator. */
export type Alarm = Omit<AlarmKept, "clearedAt"> & { readonly name: string | null };

export type Alarms = Readonly<Record<string, Alarm>>;

/** Of the timeline: a command and how it ended, or something else that happened. A field that says nothing may be absent. */
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

/** Addresses that the platform pushed and that belong to nothing of the configuration, and lines for it. */
export interface SeenAddresses {
  readonly addresses: readonly {
    readonly controller: string;
    readonly code: string;
    readonly address: string;
    readonly values: readonly string[];
    /** The kind, where the values say enough. */
    readonly looks_like: string | null;
    readonly first_at: string;
    readonly last_at: string;
  }[];
  readonly yaml: Text;
}

/** Newest first; `next` is the next page's `before`. */
export type JournalPage<Item> = Readonly<{ records: readonly Item[]; next: number | null }>;

/**
 * Of some sensors the last value known in each part of a time, null where nothing good was known. The last point ends with
 * `until`. `nights`: when it was dark, where a sensor measures light.
 */
export interface Trends {
  readonly step_s: number;
  readonly since: string;
  readonly until: string;
  readonly sensors: Readonly<Record<string, readonly (number | null)[]>>;
  readonly nights: readonly (readonly [from: string, until: string])[];
  /** In the demo the points have the simulated time: which one it is now, and how fast it runs. */
  readonly demo: {
    readonly simulated: string;
    readonly real: string;
    readonly speed: number;
    readonly time_zone: string;
  } | null;
}

/** One reading as the overview draws it: over no less than `least_span`. */
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
