import { msg } from "../language/text.js";
import {
  degreeOf,
  sendAddresses,
  stateAddresses,
  takesDegrees,
  textOf,
} from "../greenhouse/actuator-kinds.js";
import { shows, showsPositionMode, type Step, stepsOf } from "../greenhouse/command/plan.js";
import type { RawValue } from "../greenhouse/ports.js";
import { isModeUnread } from "../greenhouse/readings.js";
import type { CommandTaken } from "../journal/records.js";
import { beforePost } from "../limits/rules/lease.js";
import {
  ask,
  type At,
  type Came,
  type Connection,
  goTo,
  type Posts,
  type Progress,
  recordOf,
  type Run,
  type Turn,
} from "./book.js";
import type { Read } from "./confirm.js";
import type { Command } from "./command.js";
import { askedBy, type Ending, refused, refusedExpired } from "./endings.js";
import { limitsChangedBy, limitsWith } from "./lane-limits.js";
import { finish } from "./results.js";
import { advanceSending, isTooOld, sendStep } from "./sending.js";

/* Reads the single-device status, and at the same time every address of the state. */

type AtChecks = At<"checking" | "journal">;

/** Moves an open command on with what it was waiting for. */
export function advance(turn: Turn, run: Run, came: Came): void {
  if (run.at === "checking" && came.type === "checked") onAnswers(turn, run, came);
  else if (run.at === "ordered" && came.type === "due") checkAgain(turn, run);
  else if (run.at === "journal" && came.type === "due") onJournaled(turn, run, unheard(run, turn.now.mono));
  else if (run.at === "journal" && came.type === "journaled")
    onJournaled(turn, run, came.sequence === null ? came.problem : null);
  else advanceSending(turn, run, came);
}

/** Checks again, after the first read has ordered a fresh value. */
function checkAgain(turn: Turn, run: At<"ordered">): void {
  const { command } = run;
  const token = ask(turn, { type: "check", command, addresses: checkedAddresses(command) });
  goTo(turn, run, { at: "checking", again: true }, { token });
}

/** The addresses read before sending; for a word the mode alone. */
export function checkedAddresses({ settings, wanted }: Command): readonly string[] {
  const addresses = stateAddresses(settings);
  return wanted.type === "position" ? addresses : addresses.slice(0, 1);
}

/** The status decides first: reads of a controller that is not online are not awaited. */
function onAnswers(
  turn: Turn,
  run: AtChecks,
  { connection, reads }: Extract<Came, { readonly type: "checked" }>,
): void {
  const fresh: Record<string, RawValue> = {};
  let refusal = connection.type === "online" ? null : connectionRefusal(connection);
  for (const { address, read } of reads) {
    if (read.type === "value") fresh[address] = read.raw;
    else refusal ??= readRefusal(run.command, address, read);
  }
  if (refusal === null) onChecked(turn, run, fresh);
  else finish(turn, run, refusal);
}

function connectionRefusal(connection: Exclude<Connection, { readonly type: "online" }>): Ending {
  switch (connection.type) {
    case "offline":
      return refused(
        "controller_offline",
        msg`The platform says the controller is offline (or does not exist). Nothing was sent; check its power and network.`,
      );
    case "unknown":
      return refused(
        "platform_unavailable",
        msg`The platform's answer about the controller could not be read, so nothing was sent. \`greenhouse2mqtt doctor\` says what to set.`,
      );
    case "unanswered":
      return refused(
        "platform_unavailable",
        msg`Nothing was sent: ${connection.reason}`,
        connection.facts?.requestId,
      );
  }
}

function readRefusal(
  { force, settings }: Command,
  address: string,
  read: Exclude<Read, { readonly type: "value" }>,
): Ending | null {
  if (read.type === "unanswered") {
    const message = msg`Address ${address} could not be read before sending: ${read.reason}`;
    return refused("platform_unavailable", message, read.facts?.requestId);
  }
  return force ? null : refused("no_read_back", noValue(settings, address));
}

/** The message for an address without a value: it may be wrong, or that of a mode that can only be written. */
function noValue(settings: Command["settings"], address: string): string {
  const isMode = takesDegrees(settings.kind) && address === sendAddresses(settings)[0];
  if (!isMode)
    return `The platform shows no value for address ${address}, so nothing sent there could be confirmed. Check the address, or send with "force": true.`;
  return settings.positionAddress === undefined
    ? `The platform shows no value for address ${address}, so nothing sent there could be confirmed. Check the address; where it is right and can only be written, the degree has an address of its own: set position_address and mode_reads: never, or send with "force": true.`
    : `The platform shows no value for address ${address}, so nothing sent there could be confirmed. Check the address; where it is right and the degree has an address of its own, set mode_reads: never, or send with "force": true.`;
}

type Fresh = Readonly<Record<string, RawValue>>;

function onChecked(turn: Turn, run: AtChecks, fresh: Fresh): void {
  const { command } = run;
  const { settings, wanted, dryRun } = command;
  const [modeAddress] = sendAddresses(settings);
  const freshMode = fresh[modeAddress] ?? null;
  const isRead = !command.force && !run.posts.unread;
  const steps = stepsOf(settings, wanted, freshMode, { isRead });
  const final = steps.at(-1);
  const readBack = final ? (fresh[final.address] ?? null) : null;
  const lagMs = settings.flushLagMs ?? 0;
  const isThere = isAlready(command, final, fresh, run.posts, turn.now.mono);
  // A read that may show the old value is decided by the next one; otherwise recent values must not contradict it.
  const isOrdered = lagMs > 0 && run.at === "checking" && run.again !== true;
  const isDenied = lagMs === 0 && final !== undefined && isDeniedOfLate(run, final);
  if (isThere && isOrdered) goTo(turn, run, { at: "ordered" }, { wakeAt: turn.now.mono + lagMs });
  else if (isThere && !isDenied) {
    finish(turn, run, { outcome: "already", reason: null, message: null, readBack });
  } else if (dryRun) {
    const message = msg`Everything was checked; nothing was sent because it is a dry run.`;
    finish(turn, run, { outcome: "dry_run", reason: null, message, readBack });
  } else if (isTooOld(turn, command)) finish(turn, run, refusedExpired());
  else journalSending(turn, { ...run, steps }, command.rule === null ? null : turn.now.mono + urgentWaitsMs);
}

/** A timer later than this means that the process was busy or stood still. */
const lateMs = 100;

/** Why the journal's answer did not come in time. If this process was busy, the disk may have answered long ago. */
function unheard({ wakeAt }: At<"journal">, now: number): string {
  const lateBy = Math.round(now - (wakeAt ?? now));
  return lateBy < lateMs
    ? "the disk does not answer"
    : `this process was busy or stood still for ${lateBy} ms, and the disk may have answered meanwhile`;
}

/** Sends once the journal has the record of it; stops and rules' commands are sent without it if need be. */
function onJournaled(turn: Turn, run: At<"journal">, problem: string | null): void {
  const { command } = run;
  if (problem !== null && run.wakeAt === null) {
    const message = msg`Nothing was sent because the journal cannot be written: ${problem}`;
    finish(turn, run, refused("journal_unavailable", message));
  } else if (isTooOld(turn, command)) finish(turn, run, refusedExpired());
  else {
    const what = command.wanted.type === "stop" ? "a stop" : "what a rule asks for";
    const message = `${what} is sent although it is not known to be in the journal`;
    if (problem !== null) turn.effects.push({ type: "warn", reason: problem, message });
    sendStep(turn, run);
  }
}

const isDeniedOfLate = ({ command, ofLate }: Progress, final: Step): boolean =>
  (ofLate?.[final.address] ?? []).some((raw) => !shows(command.settings, final, raw));

function isAlready(
  command: Command,
  final: Step | undefined,
  fresh: Fresh,
  posts: Posts,
  monoNow: number,
): boolean {
  const { settings, wanted, force } = command;
  const raw = final && fresh[final.address];
  if (!final || raw === undefined || force || wanted.type === "stop" || posts.unread) return false;
  // An idle pulse shows nothing, and a degree says nothing about an unreadable mode.
  if (settings.pulse === true || isModeUnread(settings)) return false;
  if (!shows(settings, final, raw)) return false;
  if (wanted.type !== "position") return !isDegreeOf(settings, raw);
  const mode = fresh[stateAddresses(settings)[0]];
  const isInMode = mode !== undefined && showsPositionMode(settings, mode);
  return isInMode && (posts.endedAt === null || monoNow - posts.endedAt >= settings.travelMs);
}

/**
 * Whether the read value is a degree. A degree that means a word gives the position, but not who set it: left to itself
 * the actuator may move on.
 */
const isDegreeOf = ({ kind }: Command["settings"], raw: RawValue): boolean =>
  takesDegrees(kind) && degreeOf(textOf(raw)) !== null;

/** The record of an accepted command, from which the next start can find out what became of it. */
export function takenRecord(
  command: Command,
  more: Pick<CommandTaken, "dry_run" | "took_over"> = {},
): CommandTaken {
  const { command: word, value, by, via, received_at } = askedBy(command);
  return {
    type: "command_taken",
    ...recordOf(command),
    command: word,
    value,
    steps: stepsOf(command.settings, command.wanted, null),
    by,
    via,
    payload_hash: command.payloadKey,
    received_at,
    // A rule's command never becomes too old.
    max_age_ms: command.rule === null ? Math.round(command.deadlineMono - command.receivedMono) : 0,
    force: command.force,
    own_id: command.ownId,
    ...more,
  };
}

/** How long a hanging disk may delay a stop or a rule's command. */
export const urgentWaitsMs = 200;

/**
 * Writes the record for which the first byte of the first POST waits; for stops and rules' commands at most until
 * `wakeAt`. If the disk already has the record of the check, writing without fsync is enough: after a power cut the
 * next start reads such a command back. Changed limits, such as a lease's end, have to be on disk.
 */
export function journalSending(turn: Turn, run: Progress, wakeAt: number | null): void {
  const { command } = run;
  limitsWith(turn, command, beforePost);
  const token = ask(turn, {
    type: "journal",
    record: { type: "phase", ...recordOf(command), phase: "sending" },
    durable: limitsChangedBy(turn, command) === null ? "before" : true,
    unlessOpen: takenRecord(command),
  });
  goTo(turn, run, { at: "journal" }, { token, wakeAt });
}
