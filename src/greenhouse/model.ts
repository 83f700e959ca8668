import type { BandLimit, Bands } from "./bands.js";
import type { DeviceType, ParameterGroup } from "./device-types.js";
import type { GroupListing } from "./group-listing.js";
import type { Restrictions } from "./limits.js";
import type { ClientStatus, DeviceRecord, RawValue, RunningStatusItem, SensorItem } from "./ports.js";
import type { SensorKind } from "./sensors.js";
import type { ActuatorSettings, ControllerSettings, ParameterSettings } from "./settings.js";

/*
 * What the platform has shown, and nothing else. All values are immutable; a part that did not change keeps its
 * reference, so `before === after` means "no news". Instants are epoch ms unless named otherwise.
 */

export type Quality = "good" | "uncertain" | "stale" | "bad";
/** What a command can be addressed to, as in its topic. */
export const targetKinds = ["actuator", "parameter", "address"] as const;
export type TargetKind = (typeof targetKinds)[number];

export type Availability = "online" | "offline" | "unknown";
export type Source = "poll" | "push" | "read_back";

/** What a sensor is; changes only when the platform or the configuration renames or reclassifies it. */
export interface SensorDefinition {
  readonly id: string;
  /** Identity on the platform, free of ids and names where it gives a code: `factor:ecfii`, `channel:3`, `name:…`. */
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
  /** An average of the platform's, which no time of now belongs to. */
  readonly average?: true;
  /** Of the air outside; absent where not. */
  readonly outdoors?: true;
  /** Between which values it is as it should be; absent where nobody says so. */
  readonly bands?: Bands;
}

export interface Sensor {
  readonly definition: SensorDefinition;
  /** The last good value; while the newest reading is bad this is older than it. */
  readonly value: number | string | null;
  readonly raw: string | number | boolean | null;
  readonly measuredAt: number | null;
  readonly receivedAt: number;
  readonly fault: "implausible" | "unreadable" | null;
  /** Readings in a row that were a word where a number belongs; none where absent. */
  readonly words?: number;
  /** It may be the answer to another question; absent where not. */
  readonly isDoubted?: true;
  readonly source: Source;
  readonly quality: Quality;
}

export interface RunningStatus extends RunningStatusItem {
  readonly id: string;
  readonly key: string;
  /** `on`, `off`, or the value as text. */
  readonly state: string;
  /** When an answer listed it last. */
  readonly readAt: number;
  /** Since when it has been seen with this value. */
  readonly changedAt: number;
  /** Whole answers in a row that did not list it. */
  readonly missed: number;
  /** It may be the answer to another question; absent where not. */
  readonly isDoubted?: true;
  readonly quality: "good" | "stale";
}

/** What the running statuses of an actuator say, the only feedback of a motor: `off` while all that there are say so. */
export type Running = "on" | "off" | "unknown";

/** One address as last read. `startedAt` (monotonic ms) orders reads: when the request began, not when it ended. */
export interface Register {
  readonly raw: RawValue;
  readonly startedAt: number;
  readonly readAt: number;
  readonly fresh: boolean;
  readonly source: Source;
  /** What the device itself gave while this was read differs: it has to be asked again. */
  readonly isDoubtful?: true;
  /** It may be the answer to another question; absent where not. */
  readonly isDoubted?: true;
}

/**
 * Between the steps of a command the registers show its mode or lead-in, which is not what was asked for: state and position stay
 * as they were until every step was sent and the address of the last one has been read since.
 */
export interface BetweenSteps {
  /** The address of the last step once it was sent, else null. */
  readonly until: string | null;
}

/** How long it was on, and how often it started, as far as good reads say so; as its topic has it. */
export interface RunTime {
  readonly on_s: number;
  readonly starts: number;
  readonly today_on_s: number;
  readonly today_starts: number;
  /** ISO time from which on it is counted. */
  readonly since: string;
}

export interface Actuator {
  readonly settings: ActuatorSettings;
  /** Why it cannot be what the configuration says, so that it takes no commands; null where nothing speaks against that. */
  readonly contradiction: string | null;
  readonly registers: Readonly<Record<string, Register>>;
  /** Monotonic ms of our last POST; a read begun before it changes nothing. */
  readonly postedAt: number | null;
  /** A command of ours is between its own steps; null while none is. */
  readonly between: BetweenSteps | null;
  readonly state: string | null;
  readonly position: number | null;
  /** Where its address never shows a degree: the one confirmed last, while it shows the mode since. */
  readonly lastDegree?: number | null;
  /** Where its register is a pulse: the word that was confirmed or seen last. */
  readonly lastWord?: string | null;
  /** Values that were pushed and are not shown, by address, with when they came, monotonic ms. */
  readonly pushed?: Readonly<Record<string, { readonly raw: RawValue; readonly at: number }>>;
  /** The table's spelling where the kind decodes it, else the raw text. */
  readonly value: string | null;
  readonly readAt: number | null;
  readonly source: Source | null;
  readonly quality: Quality;
  /** What its running statuses say; absent where none belongs to it. */
  readonly runs?: Running;
  /** Absent before it was read, and of kinds that do not run. */
  readonly runTime?: RunTime;
  /** What limits it now; absent or null where nothing does. */
  readonly restrictions?: Restrictions | null;
}

export interface Parameter {
  readonly settings: ParameterSettings;
  readonly register: Register | null;
  /** As an actuator's. */
  readonly postedAt?: number;
  readonly value: number | string | null;
  readonly quality: Quality;
}

/** An address of no actuator and no parameter, followed since a raw command read it back. */
export interface RawAddress {
  readonly register: Register | null;
  /** As an actuator's. */
  readonly postedAt: number | null;
}

/** What the single-device status tells of an online device. */
export type ClientFacts = Omit<ClientStatus, "state">;

export interface ControllerInfo {
  readonly code: string;
  readonly id: string;
  readonly name: string;
  readonly area: string | null;
  readonly type: DeviceType | null;
  readonly record: DeviceRecord | null;
  readonly client: ClientFacts | null;
  /** Address of a video stream, only where the configuration asks for it: it may hold a password. */
  readonly stream: string | null;
}

/** Why a target's newest sent command is a problem; `at` is epoch ms. */
export interface CommandProblem {
  readonly actuator: string;
  /** The word or degree that was asked; null where it is not known any more. */
  readonly command: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly at: number;
}

/** Where an item of the last sensor answer belongs; answers look alike, so the next one is matched by place. */
export interface LayoutSlot extends Pick<SensorItem, "name" | "factor" | "channel" | "unit"> {
  /** Null where the configuration ignores the item or nothing tells it from another. */
  readonly definition: SensorDefinition | null;
  /** Nothing was measured yet, so number or text is still open. */
  readonly provisional: boolean;
}

/** A reading that is beyond a limit, as it was when that was noticed. */
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
  /** What the newest list says against it, while the single-device status has not settled that; else null. */
  readonly doubted: Availability | null;
  /** Whether the platform can be read at all; without it nothing is `good`. */
  readonly platformReachable: boolean;
  /** The same as it is at this moment; what is not reachable stays so for a while once it answers. */
  readonly platformAnswers: boolean;
  readonly layout: readonly LayoutSlot[];
  /** The same of the averages, where they are mirrored. */
  readonly averages?: readonly LayoutSlot[];
  readonly sensors: ReadonlyMap<string, Sensor>;
  readonly statuses: ReadonlyMap<string, RunningStatus>;
  readonly actuators: ReadonlyMap<string, Actuator>;
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly addresses: ReadonlyMap<string, RawAddress>;
  /** What types with a positioner listed last, beside what is shown of their addresses; absent before the first answer. */
  readonly groups?: ReadonlyMap<ParameterGroup, GroupListing>;
  /** Any actuator's newest sent command ended badly; kept by the command book. */
  readonly problem: boolean;
  /** Which ones, the newest last. */
  readonly problems: readonly CommandProblem[];
  /** Readings beyond a limit, the worst first; absent before any was judged. */
  readonly readingAlarms?: readonly ReadingAlarm[];
  /** When judging quality can next change something; null while nothing is good. */
  readonly nextJudgementAt: number | null;
  /** Since when lists leave it out; null while listed. */
  readonly absentSince: number | null;
}

export const platformStates = ["online", "degraded", "unauthorized", "unreachable"] as const;

export type PlatformState = (typeof platformStates)[number];

/** Addresses of registers that the bridge asks for and writes to; the platform is known to use digits alone. */
export const addressPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * What can be a device code, as the platform writes it: up to 64 characters without controls and without blanks around them. `.` and `..`
 * between slashes are none, for there they would mean another place.
 */
export const deviceCodePattern =
  /^(?!\s)(?!.*\s$)(?!(?:.*[/\\])?\.{1,2}(?:[/\\]|$))[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]{1,64}$/u;
