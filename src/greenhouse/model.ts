import type { BandLimit, Bands } from "./bands.js";
import type { DeviceType, ParameterGroup } from "./device-types.js";
import type { GroupListing } from "./group-listing.js";
import type { Restrictions } from "./limits.js";
import type { ClientStatus, DeviceRecord, RawValue, RunningStatusItem, SensorItem } from "./ports.js";
import type { SensorKind } from "./sensors.js";
import type { ActuatorSettings, ControllerSettings, ParameterSettings } from "./settings.js";

/*
 * What the platform has shown, and nothing else. All values are immutable, and an unchanged part keeps its reference,
 * so `before === after` means "no news". Instants are epoch ms unless named otherwise.
 */

export type Quality = "good" | "uncertain" | "stale" | "bad";
/** The worst first. */
export const worstQualities: readonly Quality[] = ["bad", "stale", "uncertain", "good"];
/** The targets of commands, as in topics. */
export const targetKinds = ["actuator", "parameter", "address"] as const;
export type TargetKind = (typeof targetKinds)[number];

export type Availability = "online" | "offline" | "unknown";
export type Source = "poll" | "push" | "read_back";

/** The definition of a sensor; it changes only when the platform or the configuration renames or reclassifies it. */
export interface SensorDefinition {
  readonly id: string;
  /** Identity on the platform, without ids and names where it gives a code: `factor:ecfii`, `channel:3`, `name:…`. */
  readonly key: string;
  readonly name: string;
  readonly platformName: string;
  readonly factor: string | null;
  readonly channel: string | null;
  readonly kind: SensorKind;
  readonly unit: string | null;
  readonly decimals: number | null;
  readonly numeric: boolean;
  readonly scale: number;
  readonly offset: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly staleAfterMs: number | null;
  /** An average by the platform, which is no present reading. */
  readonly average?: true;
  /** Measures the air outside; absent where not. */
  readonly outdoors?: true;
  /** Limits of its readings; absent for none. */
  readonly bands?: Bands;
}

export interface Sensor {
  readonly definition: SensorDefinition;
  /** The last good value; older than a newest reading that is bad. */
  readonly value: number | string | null;
  readonly raw: string | number | boolean | null;
  readonly measuredAt: number | null;
  readonly receivedAt: number;
  readonly fault: "implausible" | "unreadable" | null;
  /** Readings in a row with a word instead of a number; absent for none. */
  readonly words?: number;
  /** May be the answer to another question; absent where not. */
  readonly isDoubted?: true;
  readonly source: Source;
  readonly quality: Quality;
}

export interface RunningStatus extends RunningStatusItem {
  readonly id: string;
  readonly key: string;
  /** `on`, `off`, or the value as text. */
  readonly state: string;
  /** When an answer last listed it. */
  readonly readAt: number;
  /** Since when it has shown this value. */
  readonly changedAt: number;
  /** Whole answers in a row that did not list it. */
  readonly missed: number;
  /** May be the answer to another question; absent where not. */
  readonly isDoubted?: true;
  readonly quality: "good" | "stale";
}

/** Summary of an actuator's running statuses, a motor's only feedback; `off` only if all of them say so. */
export type Running = "on" | "off" | "unknown";

/** One address as last read. `startedAt` (monotonic ms), when the request began, orders reads. */
export interface Register {
  readonly raw: RawValue;
  readonly startedAt: number;
  readonly readAt: number;
  readonly fresh: boolean;
  readonly source: Source;
  /** The device itself gave another value during this read, so it has to be asked again. */
  readonly isDoubtful?: true;
  /** May be the answer to another question; absent where not. */
  readonly isDoubted?: true;
}

/**
 * Between the steps of a command registers show its mode or lead-in, not the target. State and position therefore stay
 * until every step was sent and the last step's address was read.
 */
export interface BetweenSteps {
  /** Address of the last step once it was sent; null before. */
  readonly until: string | null;
}

/** How long it was on and how often it started, by good reads; as on its topic. */
export interface RunTime {
  readonly on_s: number;
  readonly starts: number;
  readonly today_on_s: number;
  readonly today_starts: number;
  /** ISO time when counting began. */
  readonly since: string;
}

export interface Actuator {
  readonly settings: ActuatorSettings;
  /** Why it cannot be of the configured kind and accepts no commands; null where it can. */
  readonly contradiction: string | null;
  readonly registers: Readonly<Record<string, Register>>;
  /** Monotonic ms of our last POST; a read that began earlier changes nothing. */
  readonly postedAt: number | null;
  /** A command of ours is between its steps; null for none. */
  readonly between: BetweenSteps | null;
  readonly state: string | null;
  readonly position: number | null;
  /** At an address that never shows a degree: the last confirmed one, while the mode is shown. */
  readonly lastDegree?: number | null;
  /** For a pulse register: the word last confirmed or seen. */
  readonly lastWord?: string | null;
  /** Pushed values that are not shown, by address, with their arrival in monotonic ms. */
  readonly pushed?: Readonly<Record<string, { readonly raw: RawValue; readonly at: number }>>;
  /** The table's spelling if the kind decodes it, else the raw text. */
  readonly value: string | null;
  readonly readAt: number | null;
  readonly source: Source | null;
  readonly quality: Quality;
  /** Summary of its running statuses; absent without any. */
  readonly runs?: Running;
  /** Absent before its first read, and for kinds that do not run. */
  readonly runTime?: RunTime;
  /** Limits in force; absent or null for none. */
  readonly restrictions?: Restrictions | null;
}

export interface Parameter {
  readonly settings: ParameterSettings;
  readonly register: Register | null;
  /** As for an actuator. */
  readonly postedAt?: number;
  readonly value: number | string | null;
  readonly quality: Quality;
}

/** An address of no actuator or parameter, followed since a raw command read it back. */
export interface RawAddress {
  readonly register: Register | null;
  /** As for an actuator. */
  readonly postedAt: number | null;
}

/** Facts of the single-device status about an online device. */
export type ClientFacts = Omit<ClientStatus, "state">;

export interface ControllerInfo {
  readonly code: string;
  readonly id: string;
  readonly name: string;
  readonly area: string | null;
  readonly type: DeviceType | null;
  readonly record: DeviceRecord | null;
  readonly client: ClientFacts | null;
  /** Address of a video stream, if the configuration asks for it; it may hold a password. */
  readonly stream: string | null;
}

/** Why a target's newest sent command is a problem; `at` is epoch ms. */
export interface CommandProblem {
  readonly actuator: string;
  /** The word or degree of the command; null where it is forgotten. */
  readonly command: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly at: number;
}

/** The place of an item in the last sensor answer; answers look alike, so the next one is matched by place. */
export interface LayoutSlot extends Pick<SensorItem, "name" | "factor" | "channel" | "unit"> {
  /** Null where the configuration ignores the item, or it cannot be told from another. */
  readonly definition: SensorDefinition | null;
  /** Nothing was measured yet, so it may be a number or a text. */
  readonly provisional: boolean;
}

/** A reading beyond a limit, as it was when noticed. */
export interface ReadingAlarm {
  readonly sensor: string;
  readonly limit: BandLimit;
  readonly message: string;
}

export interface Controller {
  readonly info: ControllerInfo;
  readonly settings: ControllerSettings | null;
  readonly availability: Availability;
  readonly availabilityBy: "list" | "status";
  /** What the newest list says otherwise, until the single-device status settles it; else null. */
  readonly doubted: Availability | null;
  /** Whether the platform counts as readable; without it nothing is `good`. */
  readonly platformReachable: boolean;
  /** Whether it answers at this moment; after an outage `platformReachable` follows only after a while. */
  readonly platformAnswers: boolean;
  readonly layout: readonly LayoutSlot[];
  /** The layout of averages, if they are mirrored. */
  readonly averages?: readonly LayoutSlot[];
  readonly sensors: ReadonlyMap<string, Sensor>;
  readonly statuses: ReadonlyMap<string, RunningStatus>;
  readonly actuators: ReadonlyMap<string, Actuator>;
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly addresses: ReadonlyMap<string, RawAddress>;
  /** The newest listings of types with a positioner; absent before the first answer. */
  readonly groups?: ReadonlyMap<ParameterGroup, GroupListing>;
  /** Whether any actuator's newest sent command ended badly; set by the command book. */
  readonly problem: boolean;
  /** These commands, the newest last. */
  readonly problems: readonly CommandProblem[];
  /** Readings beyond a limit, the worst first; absent before the first judgement. */
  readonly readingAlarms?: readonly ReadingAlarm[];
  /** When time can next change a quality; null while nothing is good. */
  readonly nextJudgementAt: number | null;
  /** Since when lists leave it out; null while listed. */
  readonly absentSince: number | null;
}

export const platformStates = ["online", "degraded", "unauthorized", "unreachable"] as const;

export type PlatformState = (typeof platformStates)[number];

/** Register addresses that the bridge reads and writes; the platform is known to use digits only. */
export const addressPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Possible device codes: up to 64 characters without controls and outer blanks. `.` and `..` between slashes are
 * excluded, as they would lead elsewhere.
 */
export const deviceCodePattern =
  /^(?!\s)(?!.*\s$)(?!(?:.*[/\\])?\.{1,2}(?:[/\\]|$))[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]{1,64}$/u;
