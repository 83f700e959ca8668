import type { TargetKind } from "../greenhouse/model.js";
import { z } from "zod";
import type { CommandResult, Outcome, StepPurpose, StepReport, Via } from "../greenhouse/command/outcomes.js";
import type { GroupOrScene, GroupResult, MemberResult } from "../greenhouse/groups.js";
import type { Alarm } from "../greenhouse/limits.js";

/*
 * The records in the lines of the journal. Field names are those of the published payloads; `controller` is the device
 * code, which unlike a topic id never changes. Times are ISO texts, durations ms.
 *
 * The table gives both the types and the checks that a line has to pass. The checksum already proves that the bridge
 * wrote the line; the checks guard against other versions with another meaning.
 */

/** A check that demands less than the type that it claims. */
const as = <T>(check: z.ZodType): z.ZodType<T> => check as unknown as z.ZodType<T>;
const text = z.string();
const textOrNull = text.nullable();
const number = z.number();
const flag = z.boolean();
const list = <T>() => as<readonly T[]>(z.array(z.unknown()));
/** May be missing in records of earlier versions. */
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
  /** Ms since an arbitrary point of this boot; it orders records whatever the wall clock did. */
  mono: number,
  /** Random id of this run of the program. */
  boot: text,
  /** Whether the wall clock agreed with the platform's; null where unknown. */
  clock_synced: flag.nullable(),
  /** Texts or lists in it were too long and were cut. */
  cut: anything<true>().optional(),
};

/** `actuator`: id of the actuator, parameter or address; `target`: `actuator` when absent. */
const about = { controller: text, actuator: text, target: anything<TargetKind>().optional() };
/** The memory of its lane from this record on; absent where nothing changed, and in earlier versions. */
const ofLane = { ...about, memory: anything<LaneMemory>().optional() };
const ofCommand = { ...ofLane, id: text };

const schema = {
  /** Written on arrival; on disk before the first byte of its first POST. */
  command_taken: {
    ...ofCommand,
    command: text,
    value: text,
    steps: list<PlannedStep>(),
    by: anything<string | null>(),
    via: anything<Via>(),
    payload_hash: anything<string>(),
    received_at: text,
    /** 0 for a command of a rule, which never becomes too old. */
    max_age_ms: anything<number>(),
    force: anything<boolean>().optional(),
    /** Whether the id came from the sender, so that it identifies duplicates. */
    own_id: anything<boolean>().optional(),
    /** Whether it was only to be checked, not sent. */
    dry_run: anything<boolean>().optional(),
    /** The equal command whose POST it waited for, instead of one of its own. */
    took_over: anything<string>().optional(),
  },
  /**
   * `sending` is written before the first byte of the first POST: without it nothing was sent, except a stop or a
   * rule's command. It is then on disk too, unless `checking` is, which stops, dry runs and limited actuators lack.
   * After `checking` only the end of the machine can lose it (`openAtStart` in history.ts).
   */
  phase: {
    ...ofCommand,
    phase: as<"waiting" | "checking" | "sending" | "confirming" | "done">(text),
    /** With `checking`: the kernel's id of this boot. */
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
  /**
   * `code` is the body's; null where no answer could be read. `sent` is false only if certainly no byte reached the
   * platform.
   */
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
   * A valid read that began after the last POST. With `id` null it accounts for the POSTs. With an `id` it is the
   * second look at that confirmed command, or the value of one that had ended badly.
   */
  read_back: { ...ofLane, id: textOrNull, address: text, value: text },
  /** The only outcome of a command. */
  result: { ...ofLane, result: commandResult },
  /** The memory of a lane changed without any other record. */
  lane: ofLane,
  /** The outcome of a command that was never accepted; it closes nothing. */
  refusal: { ...about, result: commandResult },
  /** `since`: time of the first refusal that was only counted. */
  refusals_counted: {
    controller: textOrNull,
    actuator: textOrNull,
    count: number,
    reasons: z.record(text, number),
    since: anything<string>(),
  },
  /** A command to a group or scene, before its members' commands, which have records of their own. */
  group_taken: {
    group: as<GroupTaken>(z.object({ kind: text, name: text, id: text, members: z.array(z.unknown()) })),
  },
  /** The only outcome of such a command. */
  group_ended: {
    group: as<GroupEnded>(
      z.object({ kind: text, name: text, told: z.object({ id: text, outcome: text, finished_at: text }) }),
    ),
  },
  confirmed_late: { ...ofCommand, value: text },
  /** A confirmed command that showed another value after its travel time. */
  reverted: {
    ...ofCommand,
    value: text,
    /** Absent in files of earlier versions. */
    message: anything<string>().optional(),
  },
  changed_elsewhere: { ...about, from: textOrNull, to: textOrNull },
  /** An unconfirmed command that was carried out later. */
  late_execution: { ...about, id: text, from: textOrNull, to: textOrNull },
  /** An irrigation plan that ended without a command. */
  ended_by_itself: { ...about, from: textOrNull, to: textOrNull },
  /** `actuator`: null for every actuator of the controller. */
  acknowledged: {
    controller: text,
    actuator: textOrNull,
    target: anything<TargetKind>().optional(),
    by: anything<string | null>(),
    via: anything<Via>(),
  },
  /**
   * Somebody unlocked or released; `actuator` is null for the whole controller. Locks and holds that run out have no
   * such record.
   */
  freed: {
    controller: text,
    actuator: textOrNull,
    what: as<"lock" | "hold">(text),
    by: textOrNull,
    via: anything<Via>(),
  },
  /** An alarm's present state; null once it is forgotten. */
  alarm_kept: { name: text, alarm: anything<Alarm | null>() },
  /** Every result up to this sequence number has reached the broker. */
  delivered: { through: number },
  start: { version: text, read_only: anything<boolean>().optional() },
  stop: { reason: text },
  /** Positive where the wall clock was set forward. */
  clock_jump: { by_ms: number },
  login_failed: {
    listener: as<"broker" | "http">(text),
    client: anything<string | null>(),
    user: anything<string | null>(),
    address: anything<string | null>(),
  },
  /** Somebody logged in at the page. */
  logged_in: { user: textOrNull, address: anything<string | null>() },
  other_bridge: { present: flag, client: anything<string | null>() },
  /** `by`: who saved it on the page; absent where the file was read again, and in earlier versions. */
  configuration_changed: {
    changes: list<string>(),
    by: anything<string | null>().optional(),
    /**
     * Overrides `commands.read_only` of the file; null where the file counts again; absent where nothing was chosen.
     */
    chosen: anything<ChosenReadOnly | null>().optional(),
  },
  /** Any other event of `bridge/event` that is worth keeping. */
  event: {
    event: text,
    severity: as<"info" | "warning" | "error">(text),
    message: text,
    controller: anything<string>().optional(),
    actuator: anything<string>().optional(),
  },
  /** About the journal itself: damage that a start found. */
  journal_damaged: { unreadable: number, truncated_bytes: number, corrupt_files: list<string>() },
  /** About the journal itself: it can write again; `lost` records were refused meanwhile. */
  journal_resumed: { reason: text, since: text, lost: number },
  /** First line of every file: everything still needed from older files, so that they may be deleted. */
  carried: {
    open: list<OpenCommand>(),
    /** Newest last, at most 20. */
    starts: list<RecordedStart>(),
    lanes: list<RememberedLane>(),
    /** Absent in files of earlier versions, like the next two. */
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
 * How durable a record has to be: written to the file (false), on disk (true), or written while all earlier durable
 * records are on disk ("before").
 */
export type Durable = boolean | "before";

/* State that outlives a file of the journal. Plain JSON, as it is written at the head of the next file. */

/** An accepted command without a result. */
export interface OpenCommand {
  readonly taken: CommandTaken;
  /** Null while nothing of it was sent. */
  readonly sent: SentMemory | null;
  /**
   * The kernel's id of the boot in which its checks began; after the end of that boot it may have been sent all the
   * same.
   */
  readonly checked_under?: string;
}

/** An accepted command to a group or scene, without a result. */
export interface GroupTaken {
  readonly kind: GroupOrScene;
  /** Its key in the configuration. */
  readonly name: string;
  readonly id: string;
  readonly command: string | null;
  /** These two identify a repeated command. */
  readonly canonical: string;
  readonly payload_hash: string;
  readonly by: string | null;
  readonly via: Via;
  readonly received_at: string;
  readonly members: readonly GroupMemberTaken[];
}

/** Whether commands are refused, instead of the file's setting, and who chose that. */
export interface ChosenReadOnly {
  readonly read_only: boolean;
  readonly by: string | null;
}

export interface GroupMemberTaken {
  /** The device code. */
  readonly controller: string;
  readonly actuator: string;
  /** The id of the member's own command. */
  readonly id: string;
  readonly command: string | null;
  /** Set once it has ended. */
  readonly ended?: MemberResult;
  /** The first refusal under its id: its own one, unless its command was accepted. */
  readonly refused?: MemberResult;
}

export interface GroupEnded extends Pick<GroupTaken, "kind" | "name" | "canonical" | "payload_hash"> {
  /** False for a refused command, whose members got none. */
  readonly is_taken: boolean;
  readonly told: GroupResult;
}

/** What a target has to remember over a restart, from its newest record. Empty members are left out. */
export interface LaneMemory {
  /**
   * Commands that may have been sent when the record was made. One that a later record lacks stays as it was until its
   * result.
   */
  readonly sent?: readonly SentMemory[];
  /** True where some POST was not read back. */
  readonly unread?: true;
  readonly problem?: ProblemMemory;
  /** Sent and not shown by its command's end; it may still be carried out. */
  readonly awaited?: AwaitedMemory;
  /** Confirmed, and to be read once more. */
  readonly second_look?: LookMemory;
  /**
   * Recently sent and unconfirmed commands, newest first; empty for none any more. Absent in records where it did not
   * change.
   */
  readonly unconfirmed?: readonly UnconfirmedMemory[];
  /**
   * Limits of an actuator; null for none. Too long for every record: where absent, the newest record that has them
   * counts.
   */
  readonly limits?: KeptLimits | null;
}

/** Written before the first POST; even without steps it may have been sent. */
export interface SentMemory {
  readonly id: string;
  /** In the order sent; the last one may be incomplete. */
  readonly steps: readonly StepReport[];
  /** Whether the last planned step was answered as accepted; an answer may say so without a code. */
  readonly is_accepted: boolean;
  /** The platform's id of the newest answer. */
  readonly request_id: string | null;
  /** Time of the first POST. */
  readonly sent_at: string | null;
}

/** The newest sent command ended badly. */
export interface ProblemMemory {
  readonly command: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  /** The message that people got, cut to 400 characters. */
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
  /** The last step. */
  readonly step: PlannedStep;
  /** When its command ended. */
  readonly ended_at: string;
}

export interface AwaitedMemory extends LookMemory {
  /** The word or degree of the command. */
  readonly word: string;
  /** Whether people are to learn that it was carried out late. */
  readonly is_told: boolean;
  /**
   * Whether the platform may have accepted it, so that a later change is ours at any time; otherwise only within the
   * usual time of a command.
   */
  readonly is_taken: boolean;
}

export interface RememberedLane extends Required<About> {
  readonly memory: Omit<LaneMemory, "sent">;
  /** For a lane with a lease: epoch ms of the clock that wrote its times. Absent in files of earlier versions. */
  readonly limited_at?: number;
}

/** State of an actuator's limits for a restart. Instants are epoch ms; an absent guard begins anew. */
export interface KeptLimits {
  readonly guards: Readonly<
    Record<
      string,
      {
        readonly phase: "clear" | "unsure" | "held";
        /** State of the guard's own command. */
        readonly sending: "idle" | "due" | "done";
        /** Id of that command, while one is open. */
        readonly id: string | null;
        readonly tries: number;
        /** The condition began on a good input, and the guard has not been clear since. */
        readonly tripped?: true;
      }
    >
  >;
  /** Starts of the last hour, oldest first, rounded up to seconds: the first, then ms after the one before. */
  readonly starts: readonly number[];
  /** When the newest movement ends, rounded up to the second. */
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
   * By id of each open command: what was in force before it, which returns if it fails. Absent for none, and in records
   * of earlier versions.
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
  /** The actuator's address then. Absent in records of earlier versions. */
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

/** Events that show how a run of the program went. */
export const runEvents = { ranWell: "ran_well", uncaughtError: "uncaught_error" } as const;

/** A start of the program, and how that run went. */
export interface RecordedStart {
  readonly boot: string;
  readonly at: string;
  /** False where it ended without a stop record, or still runs. */
  readonly stopped: boolean;
  /** It completed a command or ran for a quarter of an hour. Absent in earlier versions, like the next two. */
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

/** The record without memory, for people. */
export function withoutMemory<T extends object>(record: T): T {
  if (!("memory" in record)) return record;
  return { ...record, memory: undefined };
}

/** A key for each target of commands, the same everywhere in the journal. */
export const aboutKey = (of: Omit<About, "actuator"> & { readonly actuator: string | null }): string =>
  JSON.stringify([of.controller, of.target ?? "actuator", of.actuator]);

/** A key for each command; a sender may use one id for several actuators, as a scene does. */
export const commandKey = (of: About, id: string): string => JSON.stringify([aboutKey(of), id]);

/** A record has to match all given members. */
export interface RecordFilter {
  /** Device codes or topic ids; a record matches by any of its own. */
  readonly controllers?: ReadonlySet<string>;
  readonly types?: ReadonlySet<RecordType>;
  /** Epoch ms. */
  readonly sinceMs?: number;
  /** Only commands with this outcome. */
  readonly outcome?: Outcome;
  /** Only records older than this number. */
  readonly before?: number;
  /** Only records of this command. */
  readonly id?: string;
}

/** The records that people mean by past commands. */
export const commandOutcomes: ReadonlySet<RecordType> = new Set([
  "result",
  "refusal",
  "refusals_counted",
  "confirmed_late",
  "reverted",
]);

/** The id of the command whose end a record states. */
function endedId(record: JournalRecord): string | null {
  if (record.type === "group_ended") return record.group.told.id;
  return "result" in record ? record.result.id : null;
}

/** Whether a line may hold a record of these types, by its bytes; quotes inside a record's texts are escaped. */
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
