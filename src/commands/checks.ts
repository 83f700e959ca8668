import { degreeOf, type KindRow, kindRows, stateAddresses, textOf } from "../greenhouse/actuator-kinds.js";
import { shows, showsPositionMode, type Step, stepsOf } from "../greenhouse/command/plan.js";
import type { RawValue } from "../greenhouse/ports.js";
import { ask, type At, type Came, type Connection, type Posts, type Progress, type Turn } from "./book.js";
import type { Read } from "./confirm.js";
import type { Command } from "./command.js";
import { type Ending, refused, refusedExpired } from "./endings.js";
import { sendStep } from "./sending.js";
import { finish, goTo, isTooOld, journalSending, readNext, urgentWaitsMs } from "./turn.js";

/* Single-device status, then a fresh read of every address of the state. */

export function beginChecks(turn: Turn, run: Progress): void {
  turn.effects.push({ type: "phase", command: run.command, phase: "checking" });
  const token = ask(turn, { type: "connection", command: run.command });
  goTo(turn, run, { at: "connection" }, { token });
}

type AtChecks = At<"connection" | "checking" | "journal">;

/** What a command that is not sent yet was waiting for has come. */
export function advanceChecks(turn: Turn, run: AtChecks, came: Came): void {
  if (run.at === "connection" && came.type === "connection") onConnection(turn, run, came.connection);
  else if (run.at === "checking" && came.type === "read") checkRead(turn, run, came.read);
  else if (run.at === "journal" && came.type === "due") onJournaled(turn, run, "the disk does not answer");
  else if (run.at === "journal" && came.type === "journaled")
    onJournaled(turn, run, came.sequence === null ? came.problem : null);
}

function onConnection(turn: Turn, run: At<"connection">, connection: Connection): void {
  const refusal = connectionRefusal(connection);
  const addresses = stateAddresses(run.command.settings);
  if (refusal) finish(turn, run, refusal);
  // A word is told by the mode alone.
  else check(turn, run, run.command.wanted.type === "position" ? addresses : addresses.slice(0, 1), {});
}

function connectionRefusal(connection: Connection): Ending | null {
  switch (connection.type) {
    case "online":
      return null;
    case "offline":
      return refused(
        "controller_offline",
        "The platform says the controller is offline (or does not exist). Nothing was sent; check its power and network.",
      );
    case "unknown":
      return refused(
        "platform_unavailable",
        "The platform's answer about the controller could not be read, so nothing was sent. `greenhouse2mqtt doctor` says what to set.",
      );
    case "unanswered":
      return refused(
        "platform_unavailable",
        `Nothing was sent: ${connection.reason}`,
        connection.facts?.requestId,
      );
  }
}

type Fresh = Readonly<Record<string, RawValue>>;

function check(turn: Turn, run: AtChecks, addresses: readonly string[], fresh: Fresh): void {
  const next = readNext(turn, run, addresses);
  if (next === null) onChecked(turn, run, fresh);
  else goTo(turn, run, { at: "checking", ...next, fresh }, next);
}

function checkRead(turn: Turn, run: At<"checking">, read: Read): void {
  const { address, left, fresh } = run;
  if (read.type === "unanswered") {
    const message = `Address ${address} could not be read before sending: ${read.reason}`;
    finish(turn, run, refused("platform_unavailable", message, read.facts?.requestId));
  } else if (read.type === "absent" && !run.command.force) {
    const message = `The platform shows no value for address ${address}, so nothing sent there could be confirmed. Check the address, or send with "force": true.`;
    finish(turn, run, refused("no_read_back", message));
  } else {
    const more = read.type === "value" ? { ...fresh, [address]: read.raw } : fresh;
    check(turn, run, left, more);
  }
}

function onChecked(turn: Turn, run: AtChecks, fresh: Fresh): void {
  const { command } = run;
  const { settings, wanted, dryRun } = command;
  const steps = stepsOf(settings, wanted, fresh[settings.address] ?? null);
  const final = steps.at(-1);
  const readBack = final ? (fresh[final.address] ?? null) : null;
  if (isAlready(command, final, fresh, run.posts, turn.now.mono)) {
    finish(turn, run, { outcome: "already", reason: null, message: null, readBack });
  } else if (dryRun) {
    const message = "Everything was checked; nothing was sent because it is a dry run.";
    finish(turn, run, { outcome: "dry_run", reason: null, message, readBack });
  } else if (isTooOld(turn, command)) finish(turn, run, refusedExpired());
  else journalSending(turn, { ...run, steps }, command.rule === null ? null : turn.now.mono + urgentWaitsMs);
}

/** Sends once the journal has on disk that it is sent; a stop, and what a rule sends, goes whether the disk has it or not. */
function onJournaled(turn: Turn, run: At<"journal">, problem: string | null): void {
  const { command } = run;
  if (problem !== null && run.wakeAt === null) {
    const message = `Nothing was sent because the journal cannot be written: ${problem}`;
    finish(turn, run, refused("journal_unavailable", message));
  } else if (isTooOld(turn, command)) finish(turn, run, refusedExpired());
  else {
    const what = command.wanted.type === "stop" ? "a stop" : "what a rule asks for";
    const message = `${what} is sent although the journal cannot be written`;
    if (problem !== null) turn.effects.push({ type: "warn", reason: problem, message });
    sendStep(turn, run);
  }
}

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
  if (!shows(settings, final, raw)) return false;
  if (wanted.type !== "position") return !isDegreeOf(settings, raw);
  const mode = fresh[stateAddresses(settings)[0]];
  const isInMode = mode !== undefined && showsPositionMode(settings, mode);
  return isInMode && (posts.endedAt === null || monoNow - posts.endedAt >= settings.travelMs);
}

/** A degree that means a word says how far it is open, but not who set it so: left to itself it may go on. */
function isDegreeOf({ kind }: Command["settings"], raw: RawValue): boolean {
  const row: KindRow = kindRows[kind];
  return row.positionMode !== null && degreeOf(textOf(raw)) !== null;
}
