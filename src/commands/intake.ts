import { msg } from "../language/text.js";
import type { CommandResult, Refusal } from "../greenhouse/command/outcomes.js";
import { canonical, readWanted, type Wanted } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { About } from "../journal/records.js";
import { at, emptyTable, entries, having, type Table, without } from "../runtime/table.js";
import { ageAllowance, ageFacts } from "./age.js";
import {
  type Allowances,
  type Counted,
  type Ids,
  type Input,
  laneKey,
  type Now,
  type Refusals,
  type Taken,
  type TakenOnce,
  type Turn,
} from "./book.js";
import type { Addressed, Arrived, Command, CommandRequest, CommandRules, Target } from "./command.js";
import { claimedId, type CommandPayload, readPayload } from "./payload.js";
import { type Asked, bridgeReadOnly, closing, refused, resultOf, superseded } from "./endings.js";

interface Understood {
  readonly payload: CommandPayload;
  readonly wanted: Wanted;
  readonly target: ActuatorSettings;
  readonly canonical: string;
  readonly allowedMs: number;
  /** Whether it is a stop above the target's allowance. */
  readonly isOfFlood: boolean;
}

export interface NotTaken {
  readonly refusal: Refusal;
  /** What could be read of it, for the result. */
  readonly payload: CommandPayload | null;
  readonly canonical: string | null;
  readonly interlock?: Interlock;
  /** For a duplicate the first one's result; null while that is open. */
  readonly original?: CommandResult | null | undefined;
}

const notTaken = (
  refusal: Refusal,
  payload: CommandPayload | null = null,
  word: string | null = null,
): NotTaken => ({ refusal, payload, canonical: word });

/** Parses a request and refuses what must not be accepted; the rest is understood but not checked yet. */
export function understand(turn: Turn, arrived: Arrived): Understood | NotTaken {
  const { request, target, rules } = arrived;
  const payload: CommandPayload | Refusal =
    request.unreadable === undefined
      ? readPayload(request.payload)
      : { reason: "bad_payload", message: request.unreadable };
  const wanted =
    "reason" in payload ? payload : "reason" in target ? target : readWanted(payload.command, target);
  const isStop = "type" in wanted && wanted.type === "stop";
  // A flood never blocks a stop, and stops have an allowance of their own.
  const { allowances } = turn.book;
  const about = { ...request, code: arrived.code };
  const facts = { isKnown: !("reason" in target), isStop };
  const place = request.rule ? allowances : takePlace(allowances, about, facts, turn.now.mono);
  turn.book.allowances = place ?? allowances;
  const isOfFlood = place === null;
  if (isOfFlood && !isStop) return notTaken(overloaded, "reason" in payload ? null : payload);
  if ("reason" in payload) return notTaken(payload);
  if (request.retained) return notTaken(retainedRefusal, payload);
  if ("reason" in target) return notTaken(target, payload);
  if ("reason" in wanted) return notTaken(wanted, payload);
  const word = canonical(wanted);
  if (rules.require_by && !isStop && !hasSender(payload, request)) return notTaken(noSender, payload, word);
  const standing = turn.book.closed ? closing : standingRefusal(arrived, target, isStop);
  if (standing) return notTaken(standing, payload, word);
  if (request.rule !== undefined)
    return { payload, wanted, target, canonical: word, allowedMs: Infinity, isOfFlood };
  const allowed = ageAllowance(ageFacts(arrived, payload, isStop, turn.now));
  if (typeof allowed !== "number") return notTaken(allowed, payload, word);
  return { payload, wanted, target, canonical: word, allowedMs: allowed, isOfFlood };
}

const overloaded: Refusal = {
  reason: "overloaded",
  message: msg`More than 60 commands a minute come for this target; slow the sender down. A stop is always taken.`,
};

/**
 * Whether the sender is known: by its own claim, or as a user of the embedded broker, the page or the command line. A
 * DCMD without a user is not.
 */
function hasSender({ by }: CommandPayload, { by: property, via }: CommandRequest): boolean {
  if ((by ?? property ?? "").trim() !== "") return true;
  if (typeof via === "string") return via !== "sparkplug";
  return via !== null && typeof via["user"] === "string";
}

const noSender: Refusal = {
  reason: "no_sender",
  message: msg`This bridge takes only commands that say who asks: send "by" in JSON, or as an MQTT 5 user property.`,
};

export const retainedRefusal: Refusal = {
  reason: "retained",
  message: msg`The broker retained this command, so nobody knows how old it is. Send commands without the retain flag, and clear the topic with an empty retained message.`,
};

/** `rule`: set for a command of a guard or an ended lease. */
export const isReadOnlyFor = (
  rule: CommandRequest["rule"] | null,
  rules: Pick<CommandRules, "read_only" | "readOnlyForRules">,
): boolean => (rule ? rules.readOnlyForRules : rules.read_only);

function standingRefusal(
  { request, rules }: Arrived,
  target: ActuatorSettings,
  isStop: boolean,
): Refusal | null {
  if (isReadOnlyFor(request.rule, rules)) return bridgeReadOnly(rules.readOnlyBecause);
  if (target.readOnly)
    return { reason: "read_only", message: msg`This actuator is read-only in the configuration.` };
  if (rules.otherBridge && !isStop) {
    return {
      reason: "other_bridge",
      message: msg`Another bridge is connected for the same account, so nothing but a stop is sent; stop one of the two.`,
    };
  }
  return null;
}

/** Checked after duplicates: a repeated message belongs to its first command, whatever the state of the journal. */
export function journalRefusal(
  { journal, notTaking = null, request }: Arrived,
  wanted: Wanted,
): Refusal | null {
  if (wanted.type === "stop" || request.rule !== undefined) return null;
  if (notTaking !== null)
    return { reason: "journal_unavailable", message: msg`No command is taken: ${notTaking}` };
  if (journal.available) return null;
  const why = journal.reason ?? "unknown reason";
  return {
    reason: "journal_unavailable",
    message: msg`The journal cannot be written, so no command is taken: ${why}`,
  };
}

/** What distinguishes a command from others. `id` is the sender's. */
export interface Own {
  readonly id: string | null;
  readonly canonical: string;
  readonly payloadKey: string;
}

/** How long an id that a sender gave is known again, over restarts too. */
export const ownIdMs = 12 * 3_600_000;
/** Commands end within minutes, so an id older than this has ended more than 12 h ago. */
const generationMs = 13 * 3_600_000;
/** Far more ids than a greenhouse uses in 12 h; beyond it the oldest are forgotten first. */
const mostYoung = 20_000;
export const samePayloadMs = 2_000;

/** An earlier command that this one repeats, or whose id it reuses for another command. */
export interface Duplicate<One = Taken> {
  readonly first: One;
  readonly isSame: boolean;
}

/**
 * Whether the command was accepted before: with a sender's id within 12 h; without, as the newest of its target, while
 * that is open or within 2 s of its end. `before`: the command with that id, or the newest; null for none.
 */
export function duplicateOf<One extends TakenOnce<unknown>>(
  own: Own,
  before: One | null,
  now: number,
): Duplicate<One> | null {
  if (before === null) return null;
  const endedMs = before.endedMono === null ? 0 : now - before.endedMono;
  if (own.id !== null)
    return endedMs > ownIdMs ? null : { first: before, isSame: before.canonical === own.canonical };
  // A person who presses stop again wants another stop.
  const isRepeated =
    own.canonical !== "stop" && endedMs <= samePayloadMs && before.payloadKey === own.payloadKey;
  return isRepeated ? { first: before, isSame: true } : null;
}

/** Finds a command by lane and id, as one id may serve several actuators, as in a scene. */
export const knownId = <One>({ young, old }: Ids<One>, key: string, id: string): One | null =>
  at(young, `${key} ${id}`) ?? at(old, `${key} ${id}`) ?? null;

export function withId<One extends TakenOnce<unknown>>(
  ids: Ids<One>,
  key: string,
  taken: One,
  now: number,
  most = mostYoung,
): Ids<One> {
  const isFull = ids.young.size >= most || now - ids.since > generationMs;
  const kept = isFull ? { young: emptyTable, old: ids.young, since: now } : ids;
  return { ...kept, young: having(kept.young, `${key} ${taken.id}`, taken) };
}

/* Limits for senders: commands a minute for one target, and refusals a minute in the journal. */

const minuteMs = 60_000;
const commandsPerMinute = 60;
const journaledPerMinute = 60;
/** Senders may invent keys; beyond this number they share one count. */
const mostKeys = 1_000;
const others = "";

/**
 * Takes a place of the target's allowance; null if there is none. Commands above it do not count. Targets that do not
 * exist share one allowance; up to a thousand raw addresses have their own.
 */
export function takePlace(
  allowances: Allowances,
  about: Target,
  { isKnown, isStop }: { readonly isKnown: boolean; readonly isStop: boolean },
  now: number,
): Allowances | null {
  const kind = isStop ? "stops" : about.target === "address" ? "addresses" : "configured";
  const key = isKnown ? laneKey(about) : others;
  const table = kind === "addresses" ? withRoom(allowances[kind], key, now) : allowances[kind];
  const own = kind !== "addresses" || at(table, key) || table.size < mostKeys ? key : others;
  const taken = at(table, own) ?? [];
  const [oldest] = taken;
  const isFull = oldest !== undefined && taken.length >= commandsPerMinute;
  if (isFull && now - oldest < minuteMs) return null;
  return { ...allowances, [kind]: having(table, own, [...(isFull ? taken.slice(1) : taken), now]) };
}

function withRoom(table: Table<readonly number[]>, key: string, now: number): Table<readonly number[]> {
  if (table.size < mostKeys || at(table, key)) return table;
  let kept = table;
  for (const [old, taken] of entries(table))
    if (now - (taken.at(-1) ?? -Infinity) >= minuteMs) kept = without(kept, old);
  return kept;
}

const minuteOf = (now: number) => Math.floor(now / minuteMs);
const keyOf = ({ controller, target, actuator }: About) => `${controller} ${target ?? ""} ${actuator}`;

/** Counts refusals in this minute. They are not journaled each from the 61st of a target on, and with `isOneOfMany`. */
export function countRefusal(
  refusals: Refusals,
  about: About,
  { received_at: since, reason }: Pick<CommandResult, "received_at" | "reason">,
  isOneOfMany = false,
  count = 1,
): { readonly refusals: Refusals; readonly isOnlyCounted: boolean } {
  const { targets } = refusals;
  const isNamed = at(targets, keyOf(about)) !== undefined || targets.size < mostKeys;
  const key = isNamed ? keyOf(about) : others;
  const { journaled, counted } = at(targets, key) ?? { journaled: 0, counted: null };
  if (!isOneOfMany && journaled < journaledPerMinute) {
    const one = { journaled: journaled + 1, counted };
    return { refusals: { ...refusals, targets: having(targets, key, one) }, isOnlyCounted: false };
  }
  const { controller, actuator } = isNamed ? about : { controller: "*", actuator: "*" };
  const held: Counted = counted ?? { controller, actuator, since, reasons: {}, count: 0 };
  const why = reason ?? "unknown";
  const reasons = { ...held.reasons, [why]: (held.reasons[why] ?? 0) + count };
  const one = { journaled, counted: { ...held, reasons, count: held.count + count } };
  return { refusals: { ...refusals, targets: having(targets, key, one) }, isOnlyCounted: true };
}

/** Takes out the counts of past minutes; at the end of the program also of this one. */
export function countsOver(
  refusals: Refusals,
  now: number,
): { readonly refusals: Refusals; readonly over: readonly Counted[] } {
  const minute = minuteOf(now);
  if (minute <= refusals.minute) return { refusals, over: [] };
  const over = [...entries(refusals.targets)].flatMap(([, { counted }]) => counted ?? []);
  return { refusals: { minute, targets: emptyTable }, over };
}

export function duplicateRefusal({ first: { id, result }, isSame }: Duplicate<TakenOnce<unknown>>): Refusal {
  if (!isSame) {
    const message = msg`The id "${id}" was used for another command; give each command an id of its own.`;
    return { reason: "bad_payload", message };
  }
  const message =
    result === null
      ? msg`The same command was taken before under the id "${id}", which is still open. This one does nothing.`
      : msg`The same command was taken before under the id "${id}", which has ended; its result is under original. This one does nothing.`;
  return { reason: "duplicate", message };
}

/** The command of a request that nothing refused. */
export function commandFrom(
  { request, code, id, rules }: Arrived,
  { payload, wanted, target, allowedMs, isOfFlood }: Understood,
  payloadKey: string,
  now: Now,
): Command {
  const { controllerId, target: kind, targetId, via, response, rule } = request;
  return {
    code,
    controllerId,
    target: kind,
    targetId,
    via,
    response,
    wanted,
    payloadKey,
    id: payload.id ?? id,
    ownId: payload.id !== null,
    settings: target,
    by: payload.by ?? request.by,
    force: payload.force,
    dryRun: payload.dryRun || rules.dry_run,
    isOfFlood,
    term: null,
    rule: rule ?? null,
    receivedAt: now.at,
    receivedMono: now.mono,
    deadlineMono: now.mono + allowedMs,
  };
}

/** The result of a refused request, so far as it could be read; for a duplicate with the first one's result. */
export function refusalResult(
  { request, id }: Arrived,
  { refusal, payload, canonical: word, interlock, original }: NotTaken,
  { at }: Now,
): CommandResult {
  const asked: Asked = {
    id: payload?.id ?? claimedId(request.payload) ?? id,
    controller: request.controllerId,
    actuator: request.targetId,
    command: word,
    value: null,
    by: payload?.by ?? request.by,
    via: request.via,
    received_at: new Date(at).toISOString(),
  };
  const ending = { ...refused(refusal.reason, refusal.message), interlock };
  const result = resultOf(asked, ending, null, { at, tookMs: 0 });
  return original === undefined ? result : { ...result, original };
}

/** How commands of a flood end that were only counted. */
export const surplusEnding = (reason: "overloaded" | "before_sending", count: number) =>
  reason === "overloaded"
    ? refused(reason, msg`${count} commands more came in a flood, and none of them was looked at.`)
    : {
        ...superseded(reason),
        message: msg`${count} stops more came in a flood; newer ones took their place.`,
      };

/** The one result of many commands of a flood that were only counted. */
export function surplusResult(
  { controllerId: controller, targetId: actuator }: Addressed,
  {
    id,
    reason,
    count,
    ids,
  }: Pick<Extract<Input, { readonly type: "surplus" }>, "id" | "reason" | "count" | "ids">,
  { at }: Now,
): CommandResult {
  const asked: Asked = {
    ...{ id, controller, actuator, command: null, value: null, by: null, via: null },
    received_at: new Date(at).toISOString(),
  };
  const ending = surplusEnding(reason, count);
  return { ...resultOf(asked, ending, null, { at, tookMs: 0 }), count, ids };
}
