import type { TargetKind } from "../greenhouse/model.js";
import { z } from "zod";
import type { CommandResult, Outcome, StepPurpose, StepReport, Via } from "../greenhouse/command/outcomes.js";
import type { GroupOrScene, GroupResult, MemberResult } from "../greenhouse/groups.js";
import type { Alarm } from "../greenhouse/limits.js";

/*
 * What the lines of the journal hold. Field names are those of the published payloads; `controller` is the device code,
 * which unlike a topic id never changes. Times are ISO texts, durations ms.
 *
 * The table gives both the types and what a line must show before it is believed to be a record. The checksum of a line
 * already proves that the bridge wrote it; the checks guard against another version having meant something else.
 */

/** A check that asks for less than what is believed of a value that passes it. */
const as = <T>(check: z.ZodType): z.ZodType<T> => check as unknown as z.ZodType<T>;
const text = z.string();
const textOrNull = text.nullable();
const number = z.number();
const flag = z.boolean();
const list = <T>() => as<readonly T[]>(z.array(z.unknown()));
/** Earlier versions may have left it out. */
const anything = <T>() => as<T>(z.unknown().optional());
const commandResult = as<CommandResult>(z.object({ id: text, outcome: text, finished_at: text }));

interface PlannedStep {
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
}

const stamp = {
  seq: z.int().positive(),
  at: text,
  /** Ms since an arbitrary start of this boot: puts records in order whatever the clock did. */
  mono: number,
  /** A random id of this run of the program. */
  boot: text,
  /** Whether the wall clock agreed with the platform's; null when nothing was there to compare it with. */
  clock_synced: flag.nullable(),
  /** Texts or lists in it were too long and are not whole. */
  cut: anything<true>().optional(),
};

/** `actuator` is the id of the actuator, parameter or address; `target` is `actuator` when absent. */
const about = { controller: text, actuator: text, target: anything<TargetKind>().optional() };
/** What its lane must remember from this record on; left out where the record tells nothing new, and by earlier versions. */
const ofLane = { ...about, memory: anything<LaneMemory>().optional() };
const ofCommand = { ...ofLane, id: text };

const schema = {
  /** At its arrival; on disk before the first byte of its first POST. */
  command_taken: {
    ...ofCommand,
    command: text,
    value: text,
    steps: list<PlannedStep>(),
    by: anything<string | null>(),
    via: anything<Via>(),
    payload_hash: anything<string>(),
    received_at: text,
    /** 0 for what a rule sent, which grows not old. */
    max_age_ms: anything<number>(),
    force: anything<boolean>().optional(),
    /** The id came from the sender, so it tells duplicates apart. */
    own_id: anything<boolean>().optional(),
    /** It was not to be sent. */
    dry_run: anything<boolean>().optional(),
    /** The equal command whose POST it waited for, instead of one of its own. */
    took_over: anything<string>().optional(),
  },
  /**
   * `sending` is written before the first byte of the first POST: without it nothing was sent, but for a stop and what a rule sends. It is
   * on disk then too, unless `checking` is, which stops, dry runs and commands of limited actuators have not: after that only the end of
   * the machine can lose it (`openAtStart` in history.ts).
   */
  phase: {
    ...ofCommand,
    phase: as<"waiting" | "checking" | "sending" | "confirming" | "done">(text),
    /** With `checking`: the kernel's id of this start of the machine. */
    kernel: text.optional(),
  },
  /** A POST has begun; `attempt` counts from 1. */
  step_sent: {
    ...ofCommand,
    purpose: anything<StepPurpose>(),
    address: text,
    value: text,
    attempt: number,
  },
  /** `code` is the body's, null when no answer could be read. `sent` is false only when certainly no byte reached the platform. */
  step_answered: {
    ...ofCommand,
    address: text,
    attempt: number,
    code: textOrNull,
    request_id: anything<string | null>(),
    error: anything<string | null>(),
    sent: flag,
  },
  /**
   * A valid read begun after the last POST. With null it accounts for the POSTs. With an `id` it is the second look at that confirmed
   * command, or shows the value of one that had ended badly.
   */
  read_back: { ...ofLane, id: textOrNull, address: text, value: text },
  /** The one outcome of a command. */
  result: { ...ofLane, result: commandResult },
  /** What a lane must remember has changed, and no other record says so. */
  lane: ofLane,
  /** The outcome of a command that was never taken; it closes nothing. */
  refusal: { ...about, result: commandResult },
  /** `since` is the time of the first refusal that was only counted. */
  refusals_counted: {
    controller: textOrNull,
    actuator: textOrNull,
    count: number,
    reasons: z.record(text, number),
    since: anything<string>(),
  },
  /** A command to a group or scene, before its members are asked; its members' commands have records of their own. */
  group_taken: {
    group: as<GroupTaken>(z.object({ kind: text, name: text, id: text, members: z.array(z.unknown()) })),
  },
  /** The one outcome of such a command. */
  group_ended: {
    group: as<GroupEnded>(
      z.object({ kind: text, name: text, told: z.object({ id: text, outcome: text, finished_at: text }) }),
    ),
  },
  confirmed_late: { ...ofCommand, value: text },
  /** Confirmed, and showing another value when its travel time was over. */
  reverted: {
    ...ofCommand,
    value: text,
    /** Absent in files of earlier versions. */
    message: anything<string>().optional(),
  },
  changed_elsewhere: { ...about, from: textOrNull, to: textOrNull },
  /** A command that had not been confirmed was carried out later. */
  late_execution: { ...about, id: text, from: textOrNull, to: textOrNull },
  /** An irrigation plan that ended without a command. */
  ended_by_itself: { ...about, from: textOrNull, to: textOrNull },
  /** `actuator` is null for every actuator of the controller. */
  acknowledged: {
    controller: text,
    actuator: textOrNull,
    target: anything<TargetKind>().optional(),
    by: anything<string | null>(),
    via: anything<Via>(),
  },
  /** Somebody unlocked or released; `actuator` is null for all of the controller. What ends by itself is not here. */
  freed: {
    controller: text,
    actuator: textOrNull,
    what: as<"lock" | "hold">(text),
    by: textOrNull,
    via: anything<Via>(),
  },
  /** An alarm as it is now; null once it is forgotten. */
  alarm_kept: { name: text, alarm: anything<Alarm | null>() },
  /** Every result up to this sequence number has reached the broker. */
  delivered: { through: number },
  start: { version: text, read_only: anything<boolean>().optional() },
  stop: { reason: text },
  /** Positive when the wall clock went forward. */
  clock_jump: { by_ms: number },
  login_failed: {
    listener: as<"broker" | "http">(text),
    client: anything<string | null>(),
    user: anything<string | null>(),
    address: anything<string | null>(),
  },
  /** Somebody came in at the page. */
  logged_in: { user: textOrNull, address: anything<string | null>() },
  other_bridge: { present: flag, client: anything<string | null>() },
  /** `by`: who saved it on the page; absent where the file was read again, and in files of earlier versions. */
  configuration_changed: {
    changes: list<string>(),
    by: anything<string | null>().optional(),
    /** What was chosen in the place of the file's `commands.read_only`; null where the file counts again; absent where nothing was. */
    chosen: anything<ChosenReadOnly | null>().optional(),
  },
  /** Anything else worth keeping that `bridge/event` also says. */
  event: {
    event: text,
    severity: as<"info" | "warning" | "error">(text),
    message: text,
    controller: anything<string>().optional(),
    actuator: anything<string>().optional(),
  },
  /** The journal about itself: what a start found broken. */
  journal_damaged: { unreadable: number, truncated_bytes: number, corrupt_files: list<string>() },
  /** The journal about itself: it can write again. `lost` records had been refused meanwhile. */
  journal_resumed: { reason: text, since: text, lost: number },
  /** First line of every file: all that older files still have to say, so that they may be deleted. */
  carried: {
    open: list<OpenCommand>(),
    /** Newest last, at most 20. */
    starts: list<RecordedStart>(),
    lanes: list<RememberedLane>(),
    /** Absent in files of earlier versions, as the next. */
    alarms: anything<readonly Alarm[]>().optional(),
    groups: anything<readonly GroupTaken[]>().optional(),
    chosen: anything<ChosenReadOnly | null>().optional(),
  },
};

type Fields<Shape extends z.ZodRawShape> = Readonly<z.infer<z.ZodObject<Shape>>>;
export type RecordType = keyof typeof schema;
type Bodies = { readonly [T in RecordType]: { readonly type: T } & Fields<(typeof schema)[T]> };
export type RecordBody = Bodies[RecordType];
export type Stamp = Fields<typeof stamp>;
export type JournalRecord = Stamp & RecordBody;

export type About = Fields<typeof about>;
export type CommandTaken = Bodies["command_taken"];
export type PhaseEntered = Bodies["phase"];
export type StepSent = Bodies["step_sent"];
export type ResultRecord = Bodies["result"];
export type Refusal = Bodies["refusal"];

/**
 * Until when a record is waited for: until it is in the file (false), on the disk (true), or in the file while all that was to be on the
 * disk before it is there.
 */
export type Durable = boolean | "before";

/* What outlives a file of the journal. Plain JSON, because it is written at the head of the next file. */

/** A command that was taken and has no result. */
export interface OpenCommand {
  readonly taken: CommandTaken;
  /** Null while nothing of it was sent. */
  readonly sent: SentMemory | null;
  /** The start of the machine (the kernel's id) in which it began to be checked: once that is over it may have been sent all the same. */
  readonly checked_under?: string;
}

/** A command to a group or scene that was taken and has no result. */
export interface GroupTaken {
  readonly kind: GroupOrScene;
  /** By which the configuration knows it. */
  readonly name: string;
  readonly id: string;
  readonly command: string | null;
  /** By these two one that comes again is recognised. */
  readonly canonical: string;
  readonly payload_hash: string;
  readonly by: string | null;
  readonly via: Via;
  readonly received_at: string;
  readonly members: readonly GroupMemberTaken[];
}

/** Whether commands are refused, whatever the file says, and who wanted that. */
export interface ChosenReadOnly {
  readonly read_only: boolean;
  readonly by: string | null;
}

export interface GroupMemberTaken {
  /** The device code. */
  readonly controller: string;
  readonly actuator: string;
  /** Of its own command. */
  readonly id: string;
  readonly command: string | null;
  /** Since it has ended. */
  readonly ended?: MemberResult;
  /** The first refusal under its id: its own, unless its command was taken. */
  readonly refused?: MemberResult;
}

export interface GroupEnded extends Pick<GroupTaken, "kind" | "name" | "canonical" | "payload_hash"> {
  /** False where it was refused and no member was asked. */
  readonly is_taken: boolean;
  readonly told: GroupResult;
}

/** What a target must remember over a restart: its newest record is the restart. What is nothing is left out. */
export interface LaneMemory {
  /** Its commands that may have been sent when the record was made. One that is missing in a later record stays as it was until its result. */
  readonly sent?: readonly SentMemory[];
  /** Not every POST was read back. */
  readonly unread?: true;
  readonly problem?: ProblemMemory;
  /** Sent, not shown by its end, and may still come. */
  readonly awaited?: AwaitedMemory;
  /** Confirmed, and to be read once more. */
  readonly second_look?: LookMemory;
  /**
   * What was sent of late and not confirmed, newest first; empty for nothing any more. In records where it has changed: one without it
   * leaves it as it was.
   */
  readonly unconfirmed?: readonly UnconfirmedMemory[];
  /**
   * What limits an actuator, null for nothing. Too long for every record: one without it leaves it as the newest record has it that
   * says it.
   */
  readonly limits?: KeptLimits | null;
}

/** Written before the first POST: without steps it may have been sent all the same. */
export interface SentMemory {
  readonly id: string;
  /** In the order sent, the last one as far as it came. */
  readonly steps: readonly StepReport[];
  /** The last step planned was answered as taken, which an answer without a code may say too. */
  readonly is_accepted: boolean;
  /** The platform's, for the newest answer. */
  readonly request_id: string | null;
  /** Of the first POST. */
  readonly sent_at: string | null;
}

/** Its newest sent command ended badly. */
export interface ProblemMemory {
  readonly command: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  /** As people were told, cut to 300 characters. */
  readonly message: string | null;
  readonly at: string;
}

export interface UnconfirmedMemory {
  readonly id: string;
  /** The state or degree that it leads to. */
  readonly to: string;
  readonly outcome: string;
  readonly ended_at: string;
}

export interface LookMemory {
  readonly id: string;
  /** The last one. */
  readonly step: PlannedStep;
  /** When its command ended. */
  readonly ended_at: string;
}

export interface AwaitedMemory extends LookMemory {
  /** The command's word or degree. */
  readonly word: string;
  /** Whether people are told that it has come. */
  readonly is_told: boolean;
  /** The platform may have taken it, so that it is ours whenever it comes; otherwise only as long as a command takes to show. */
  readonly is_taken: boolean;
}

export interface RememberedLane extends Required<About> {
  readonly memory: Omit<LaneMemory, "sent">;
  /** Of one with a lease: epoch ms by the clock that wrote its times. Absent in files of earlier versions. */
  readonly limited_at?: number;
}

/** What the limits of an actuator have to know after a restart. Instants are epoch ms; a guard that is absent begins anew. */
export interface KeptLimits {
  readonly guards: Readonly<
    Record<
      string,
      {
        readonly phase: "clear" | "unsure" | "held";
        /** What the guard sends. */
        readonly sending: "idle" | "due" | "done";
        /** Of the command under way. */
        readonly id: string | null;
        readonly tries: number;
        /** The condition began on a good input, and the guard was not clear since. */
        readonly tripped?: true;
      }
    >
  >;
  /** Oldest first, of the last hour, up to whole seconds: the first, then ms after the one before. */
  readonly starts: readonly number[];
  /** When the newest movement ends, up to the whole second. */
  readonly moved_until: number | null;
  readonly direction: "up" | "down" | null;
  readonly lock: {
    readonly by: string;
    readonly via: Via;
    readonly reason: string | null;
    readonly since: number;
    readonly until: number | null;
  } | null;
  readonly lease: KeptLease | null;
  readonly hold: KeptHold | null;
  /**
   * Of commands on their way, by their ids, what was in force before them and is again where they fail. Absent where that is nothing,
   * and in records of earlier versions.
   */
  readonly sent?: Readonly<
    Record<
      string,
      { readonly word: string; readonly lease: KeptLease | null; readonly hold: KeptHold | null }
    >
  >;
}

export interface KeptLease {
  readonly id: string;
  readonly by: string | null;
  readonly command: string;
  readonly ends_with: string;
  readonly until: number;
  /** That its actuator had then. Absent in records of earlier versions. */
  readonly address?: string;
}

export interface KeptHold {
  readonly id: string;
  readonly by: string | null;
  readonly until: number;
}

export interface LimitsEntry {
  readonly controller: string;
  /** Empty for a lock of the whole controller. */
  readonly actuator: string;
  readonly kept: KeptLimits;
}

/** The events that say how a run of the program went. */
export const runEvents = { ranWell: "ran_well", uncaughtError: "uncaught_error" } as const;

/** A start of the program, and how that run went. */
export interface RecordedStart {
  readonly boot: string;
  readonly at: string;
  /** False when it ended without saying so, or is the one still running. */
  readonly stopped: boolean;
  /** It brought a command to its end, or ran for a quarter of an hour. Absent in files of earlier versions, as the next. */
  readonly worked?: boolean;
  /** An uncaught error ended it. */
  readonly failed?: boolean;
  readonly version?: string;
}

export type Checkpoint = Fields<(typeof schema)["carried"]>;

const linesOf = new Map<unknown, z.ZodType>(
  Object.entries(schema).map(([type, fields]) => [type, z.object({ ...stamp, ...fields })]),
);

export function isRecord(value: unknown): value is JournalRecord {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  return linesOf.get(value.type)?.safeParse(value).success === true;
}

export const wholeAbout = ({ controller, actuator, target = "actuator" }: About): Required<About> => ({
  controller,
  actuator,
  target,
});

/** For people, who are told what happened. */
export function withoutMemory<T extends object>(record: T): T {
  if (!("memory" in record)) return record;
  return { ...record, memory: undefined };
}

/** One key per thing that can be commanded, the same in every part of the history. */
export const aboutKey = (of: Omit<About, "actuator"> & { readonly actuator: string | null }): string =>
  JSON.stringify([of.controller, of.target ?? "actuator", of.actuator]);

/** A sender may use one id for several actuators, as a scene does. */
export const commandKey = (of: About, id: string): string => JSON.stringify([aboutKey(of), id]);

/** All that is given must hold. */
export interface RecordFilter {
  /** Device codes or topic ids; a record matches when any of its own is among them. */
  readonly controllers?: ReadonlySet<string>;
  readonly types?: ReadonlySet<RecordType>;
  /** Epoch ms. */
  readonly sinceMs?: number;
  /** Only commands that ended so. */
  readonly outcome?: Outcome;
  /** Only records older than the one with this number. */
  readonly before?: number;
  /** Only of this command. */
  readonly id?: string;
}

/** What a person means by "past commands". */
export const commandOutcomes: ReadonlySet<RecordType> = new Set([
  "result",
  "refusal",
  "refusals_counted",
  "confirmed_late",
  "reverted",
]);

/** Of the command whose end a record tells. */
function endedId(record: JournalRecord): string | null {
  if (record.type === "group_ended") return record.group.told.id;
  return "result" in record ? record.result.id : null;
}

/** Whether a line of the journal may hold a record of these types, by its bytes: a text inside of a record has its quotes escaped. */
export function mayHold(types: RecordFilter["types"]): (line: Buffer) => boolean {
  if (types === undefined) return () => true;
  const marks = [...types].map((type) => Buffer.from(`"type":"${type}"`));
  return (line) => marks.some((mark) => line.includes(mark));
}

export function matches(record: JournalRecord, filter: RecordFilter): boolean {
  const { controllers, types, sinceMs, outcome, before, id } = filter;
  if (before !== undefined && record.seq >= before) return false;
  if (id !== undefined && endedId(record) !== id) return false;
  if (outcome !== undefined && !("result" in record && record.result.outcome === outcome)) return false;
  if (types !== undefined && !types.has(record.type)) return false;
  if (sinceMs !== undefined && !(Date.parse(record.at) >= sinceMs)) return false;
  return controllers === undefined || controllersOf(record).some((id) => controllers.has(id));
}

function controllersOf(record: JournalRecord): readonly string[] {
  const own = "controller" in record && typeof record.controller === "string" ? [record.controller] : [];
  return "result" in record ? [...own, record.result.controller] : own;
}
