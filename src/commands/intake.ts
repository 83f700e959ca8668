import type { CommandResult, Refusal } from "../greenhouse/command/outcomes.js";
import { ageAllowance } from "../greenhouse/command/plan.js";
import { canonical, readWanted, type Wanted } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Now } from "./book.js";
import type { Arrived, Command, CommandRequest, CommandRules } from "./command.js";
import type { Duplicate } from "./admission.js";
import { claimedId, type CommandPayload, readPayload } from "./payload.js";
import { type Asked, bridgeReadOnly, closing, refused, resultOf } from "./endings.js";

interface Understood {
  readonly payload: CommandPayload;
  readonly wanted: Wanted;
  readonly target: ActuatorSettings;
  readonly canonical: string;
  readonly allowedMs: number;
  /** A stop above the target's allowance. */
  readonly isOfFlood: boolean;
}

export interface NotTaken {
  readonly refusal: Refusal;
  /** What could be read of it, for the result. */
  readonly payload: CommandPayload | null;
  readonly canonical: string | null;
  readonly interlock?: Interlock;
  /** Of a duplicate the first one's result; null while that one is open. */
  readonly original?: CommandResult | null | undefined;
}

const notTaken = (
  refusal: Refusal,
  payload: CommandPayload | null = null,
  word: string | null = null,
): NotTaken => ({ refusal, payload, canonical: word });

/**
 * Takes a request apart and refuses what must not be taken; everything else is understood but not yet checked.
 * `takesPlace` takes a place of the target's allowance; false while there is none.
 */
export function understand(
  arrived: Arrived,
  { closed, at }: { readonly closed: boolean; readonly at: number },
  takesPlace: (isStop: boolean) => boolean,
): Understood | NotTaken {
  const { request, target, rules } = arrived;
  const payload = payloadOf(request);
  const wanted = "reason" in payload ? payload : wantedOf(payload, target);
  const isStop = "type" in wanted && wanted.type === "stop";
  // No flood keeps a stop back, and stops have an allowance of their own.
  const isOfFlood = request.rule === undefined && !takesPlace(isStop);
  if (isOfFlood && !isStop) return notTaken(overloaded, "reason" in payload ? null : payload);
  if ("reason" in payload) return notTaken(payload);
  if (request.retained) return notTaken(retainedRefusal, payload);
  if ("reason" in target) return notTaken(target, payload);
  if ("reason" in wanted) return notTaken(wanted, payload);
  const word = canonical(wanted);
  if (rules.require_by && !isStop && !hasSender(payload, request)) return notTaken(noSender, payload, word);
  const standing = closed ? closing : standingRefusal(arrived, target, isStop);
  if (standing) return notTaken(standing, payload, word);
  if (request.rule !== undefined)
    return { payload, wanted, target, canonical: word, allowedMs: Infinity, isOfFlood };
  const allowed = ageAllowance({
    at: payload.at ?? request.at ?? null,
    expiryMs: request.expiryMs,
    payloadMaxAgeMs: payload.maxAgeMs,
    maxAgeMs: rules.max_age,
    requireAge: rules.require_age,
    now: at,
    clockTrusted: arrived.clockTrusted,
  });
  if (typeof allowed !== "number") return notTaken(allowed, payload, word);
  return { payload, wanted, target, canonical: word, allowedMs: allowed, isOfFlood };
}

const wantedOf = ({ command }: CommandPayload, target: ActuatorSettings | Refusal): Wanted | Refusal =>
  "reason" in target ? target : readWanted(command, target);

const overloaded: Refusal = {
  reason: "overloaded",
  message:
    "More than 60 commands a minute come for this target; slow the sender down. A stop is always taken.",
};

const payloadOf = ({ payload, unreadable }: CommandRequest): CommandPayload | Refusal =>
  unreadable === undefined ? readPayload(payload) : { reason: "bad_payload", message: unreadable };

/** A sender that the embedded broker, the page or the command line knows has said who it is; a DCMD of no user has not. */
function hasSender({ by }: CommandPayload, { by: property, via }: CommandRequest): boolean {
  if ((by ?? property ?? "").trim() !== "") return true;
  if (typeof via === "string") return via !== "sparkplug";
  return via !== null && typeof via["user"] === "string";
}

const noSender: Refusal = {
  reason: "no_sender",
  message:
    'This bridge takes only commands that say who asks: send "by" in JSON, or as an MQTT 5 user property.',
};

export const retainedRefusal: Refusal = {
  reason: "retained",
  message:
    "The command was retained by the broker, so nobody knows how old it is. Send commands without the retain flag, and clear the topic with an empty retained message.",
};

/** `rule`: of what a guard or the end of a lease sends. */
export const isReadOnlyFor = (
  rule: CommandRequest["rule"] | null,
  rules: Pick<CommandRules, "read_only" | "readOnlyForRules">,
): boolean => (rule ? rules.readOnlyForRules : rules.read_only);

function standingRefusal(
  { request, rules, otherBridge }: Arrived,
  target: ActuatorSettings,
  isStop: boolean,
): Refusal | null {
  if (isReadOnlyFor(request.rule, rules)) return bridgeReadOnly;
  if (target.readOnly)
    return { reason: "read_only", message: "This actuator is read-only in the configuration." };
  if (otherBridge && !isStop) {
    return {
      reason: "other_bridge",
      message:
        "Another bridge is connected for the same account, so nothing but a stop is sent; stop one of the two.",
    };
  }
  return null;
}

/** Judged after duplicates: a message that comes twice belongs to the command it repeats, whatever the journal can. */
export function journalRefusal(
  { journal, notTaking = null, request }: Arrived,
  wanted: Wanted,
): Refusal | null {
  if (wanted.type === "stop" || request.rule !== undefined) return null;
  if (notTaking !== null)
    return { reason: "journal_unavailable", message: `No command is taken: ${notTaking}` };
  if (journal.available) return null;
  const why = journal.reason ?? "unknown reason";
  return {
    reason: "journal_unavailable",
    message: `The journal cannot be written, so no command is taken: ${why}`,
  };
}

export function duplicateRefusal({
  first: { id, result },
  isSame,
}: {
  readonly first: Pick<Duplicate["first"], "id" | "result">;
  readonly isSame: boolean;
}): Refusal {
  if (!isSame) {
    const message = `The id "${id}" was used for another command; give each command an id of its own.`;
    return { reason: "bad_payload", message };
  }
  const what = result === null ? "is still open" : "has ended; its result is under original";
  const message = `The same command was taken before under the id "${id}", which ${what}. This one does nothing.`;
  return { reason: "duplicate", message };
}

/** The command a request became once nothing refused it. */
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

/** The result of a request that was refused, as far as it could be read; of a duplicate with that of the first. */
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
