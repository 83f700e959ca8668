import { msg, row, type Text } from "../language/text.js";
import { decodeValue, mayMean, sameValue, stateAddresses, textOf } from "../greenhouse/actuator-kinds.js";
import {
  type CommandResult,
  type Outcome,
  type Refusal,
  type RefusalReason,
  type StepReport,
} from "../greenhouse/command/outcomes.js";
import { shows, showsModeOfDegree, showsModeOnly, type Step } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import { degreePlaces, freeText, type GroupListing } from "../greenhouse/group-listing.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { PlatformErrorFacts, RawValue, WriteAccepted } from "../greenhouse/ports.js";
import { isIdlePulse, maybePulse, pulseAdvice } from "../greenhouse/readings.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { SentMemory } from "../journal/records.js";
import { expired } from "./age.js";
import type { Command } from "./command.js";

/** How a command ended, in the terms of the result. */
export interface Ending {
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly message: Text | null;
  readonly requestId?: string | null;
  readonly steps?: readonly StepReport[];
  readonly readBack?: RawValue | null;
  /** Epoch ms of the first POST. */
  readonly sentAt?: number | null;
  /** The program ends, and no later start will end it. */
  readonly isLast?: true;
  /** Its turn never came, so the journal has no record of it to close. */
  readonly waited?: true;
  /** The rule of the limits that prevented it. */
  readonly interlock?: Interlock | undefined;
  /** What proves success if the register does not show the value. */
  readonly proof?: CommandResult["proof"];
}

/** `requestId`: the platform's, if the platform is the reason. */
export const refused = (reason: RefusalReason, message: Text, requestId: string | null = null): Ending => ({
  outcome: "refused",
  reason,
  message,
  requestId,
});

/** Prevented by the limits before anything was sent. */
export const interlocked = (rule: { readonly message: Text; readonly interlock: Interlock }): Ending => ({
  ...refused("interlock", rule.message),
  interlock: rule.interlock,
});

const readOnlyCauses: Readonly<Record<string, Text>> = {
  crash_loop: msg`its last runs crashed, and this one has not worked for 15 minutes yet`,
  journal_unread: msg`what earlier runs left in its journal cannot be read`,
  operator: msg`an operator has it take no commands in this run`,
};

/** `because`: the reason, if it is not configured. */
export function bridgeReadOnly(because: string | null = null): Refusal {
  const cause = because === null ? msg`commands.read_only is set` : (readOnlyCauses[because] ?? because);
  return { reason: "read_only", message: msg`The bridge is read-only: ${cause}. Nothing was sent.` };
}

/** The configuration was changed to send nothing while the command waited. */
export const dryByNow: Ending = {
  outcome: "dry_run",
  reason: null,
  message: msg`Somebody switched commands.dry_run on before its turn came. Nothing was sent.`,
};

export const closing: Refusal = {
  reason: "shutting_down",
  message: msg`The bridge is shutting down; send the command again when it is back.`,
};

export const shuttingDown = (): Ending => refused(closing.reason, closing.message);

/**
 * The end of a command that an earlier owner of the account showed in this phase, and that the journal does not have.
 */
export function unrecorded(phase: unknown, word: string | null): Ending {
  const mayBeSent = (phase !== "waiting" && phase !== "checking") || word === "stop";
  return mayBeSent
    ? {
        outcome: "unknown",
        reason: null,
        message: msg`The member of the cluster that took the command was gone before the journal could tell whether it was sent. Check the actuator.`,
      }
    : refused(
        "journal_unavailable",
        msg`The member of the cluster that took the command was gone before the journal had it. Nothing was sent; send it again if it is still wanted.`,
      );
}

/** The end of a command without a record of sending. A stop is also sent without one, so this proves nothing there. */
export const unsentEnding = (isStop: boolean): Ending =>
  isStop
    ? {
        outcome: "unknown",
        reason: null,
        message: msg`The bridge stopped before its journal had it whether this stop was sent. Check the actuator.`,
      }
    : refused(
        "shutting_down",
        msg`The bridge stopped before it sent anything of this command. Send it again if it is still wanted.`,
      );

/** A command that was sent, of which the journal could not write anything until the end of the program. */
export const unrecordedEnding = (sent: SentMemory | null): Ending => ({
  outcome: "unknown",
  reason: null,
  message: msg`The bridge stopped during the command, and its journal could not be written. So no later start reads it back. Check the actuator.`,
  steps: sent?.steps ?? [],
  requestId: sent?.request_id ?? null,
  sentAt: sent?.sent_at ? Date.parse(sent.sent_at) : null,
  isLast: true,
});

export const dryStop = (): Ending => ({
  outcome: "dry_run",
  reason: null,
  message: msg`A dry run sends nothing, not even a stop.`,
});

export const superseded = (when: "before_sending" | "after_sending"): Ending => ({
  outcome: "superseded",
  reason: when,
  message:
    when === "before_sending"
      ? msg`A newer command took its place before anything was sent.`
      : msg`A newer command took its place after its value had been sent.`,
});

/** The end of a lease that needs no ending any more. */
export const leaseOver: Ending = refused(
  "expired",
  msg`A change elsewhere has ended the lease. Nothing was sent.`,
);

/** The end of a command that was cut off after some of its steps. */
export const cutBetween = ({
  reports,
  sentAt,
}: {
  readonly reports: readonly StepReport[];
  readonly sentAt: number | null;
}): Ending => ({ ...superseded("after_sending"), steps: reports, sentAt });

export const refusedExpired = (): Ending => refused(expired().reason, expired().message);

export const expiredMidway: Ending = {
  outcome: "failed",
  reason: "expired_midway",
  message: msg`The command grew older than its max_age half way. The bridge did the steps told here and sent no more.`,
};

/** The next step belongs to the first: by now somebody else may have moved it, and the sender expects it no more. */
export const provenTooLate: Ending = {
  outcome: "failed",
  reason: "expired_midway",
  message: msg`The platform showed the first step later than it has to. The bridge did the steps told here and sent no more.`,
};

/**
 * A read value as a result gives it: in the table's spelling if the kind decodes it. `stop`: the value of a stop; if
 * that shows, it is given as it is, since it is no degree.
 */
export function spell(
  settings: ActuatorSettings | null,
  raw: RawValue | null,
  stop: string | null = null,
): string | null {
  if (raw === null) return null;
  const text = textOf(raw);
  if (stop !== null) return sameValue(stop, text) ? stop : text;
  return (settings && decodeValue(settings, raw).value) || text;
}

/** Superseded after sending. Without a known POST, an earlier run may have ended before or after it sent this step. */
function supersededAt({ value }: Step, { attempts }: StepEnd): Ending {
  const ending = superseded("after_sending");
  const message = msg`A newer command took its place after a restart. Nobody knows whether the bridge had sent ${value}.`;
  return attempts === 0 ? { ...ending, message } : ending;
}

/** What was asked, in the terms of the result. */
export type Asked = Pick<
  CommandResult,
  "id" | "controller" | "actuator" | "command" | "value" | "by" | "via" | "received_at"
>;

/** A command of an earlier run that is not read back, with what is known of it. */
export interface Abandoned {
  /** Whether its sender chose the id. */
  readonly ownId: boolean;
  readonly about: Pick<Command, "code" | "target" | "targetId">;
  readonly asked: Asked;
  readonly ending: Ending;
}

export const askedBy = (command: Command): Asked & Record<"command" | "value", string> => ({
  id: command.id,
  controller: command.controllerId,
  actuator: command.targetId,
  command: canonical(command.wanted),
  value: command.wanted.type === "position" ? String(command.wanted.degree) : command.wanted.value,
  by: command.by,
  via: command.via,
  received_at: new Date(command.receivedAt).toISOString(),
});

/** `settings`: the target's, if known; `tookMs` counts from the arrival. */
export function resultOf(
  asked: Asked,
  ending: Ending,
  settings: ActuatorSettings | null,
  { at, tookMs }: { readonly at: number; readonly tookMs: number },
): CommandResult {
  return {
    id: asked.id,
    controller: asked.controller,
    actuator: asked.actuator,
    command: asked.command,
    value: asked.value,
    outcome: ending.outcome,
    reason: ending.reason,
    message: ending.message,
    request_id: ending.requestId ?? null,
    by: asked.by,
    via: asked.via,
    steps: ending.steps ?? [],
    read_back: spell(settings, ending.readBack ?? null, asked.command === "stop" ? asked.value : null),
    received_at: asked.received_at,
    sent_at: ending.sentAt ? new Date(ending.sentAt).toISOString() : null,
    finished_at: new Date(at).toISOString(),
    duration_ms: Math.max(0, Math.round(tookMs)),
    repeated: false,
    interlock: ending.interlock ?? null,
    ...(ending.proof !== undefined && { proof: ending.proof }),
  };
}

export type Answer =
  | { readonly type: "accepted"; readonly answer: WriteAccepted }
  | { readonly type: "error"; readonly message: Text; readonly facts: PlatformErrorFacts };

/** How one step ended. */
export type StepEnd = Evidence &
  Readonly<
    | { type: "confirmed" | "unconfirmed" | "interrupted" }
    /** Accepted or ambiguous, and nothing could be read since. */
    | { type: "unknown" }
    /** Ambiguous, and a later valid read differs. */
    | { type: "failed" }
    | { type: "rejected"; unauthorized: boolean; message: Text }
    | { type: "not_sent"; message: Text }
  >;

export interface Evidence {
  readonly attempts: number;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly readBack: RawValue | null;
  /** What the address showed when the POST began; null or absent if unknown. */
  readonly before?: RawValue | null;
}

interface Refused {
  readonly message: Text;
  readonly facts: PlatformErrorFacts;
}

/** Ends that leave nothing open: the platform refused, or nothing ever left. */
export function finalError(error: Refused, facts: Evidence, sinceOtherMs: number | null): StepEnd | null {
  const { kind, sent, code } = error.facts;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return kind === "unauthorized" || code !== undefined ? rejected(error, facts, sinceOtherMs) : null;
}

/** A refusal this soon after another value for the controller may have only that reason. */
const busyWithinMs = 5_000;

function rejected(
  { facts: { kind }, message }: Refused,
  facts: Evidence,
  sinceOtherMs: number | null,
): StepEnd {
  const unauthorized = kind === "unauthorized";
  const isBusy = !unauthorized && sinceOtherMs !== null && sinceOtherMs <= busyWithinMs;
  // The platform's text may end without a full stop.
  const sentence = String(message).endsWith(".") ? message : msg`${message}.`;
  const why = isBusy
    ? msg`${sentence} Another value was sent to this controller ${(sinceOtherMs / 1_000).toFixed(1)} s before: if it takes one at a time, set commands.controller_interval.`
    : message;
  return { type: "rejected", unauthorized, message: why, ...facts };
}

export function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}

export function stepReport(settings: ActuatorSettings, step: Step, end: StepEnd): StepReport {
  const { purpose, address, value } = step;
  const read_back = spell(settings, end.readBack, purpose === "stop" ? value : null);
  return { purpose, address, value, attempts: end.attempts, code: end.code, read_back };
}

const halfWay = {
  mode: "mode_not_confirmed",
  lead_in: "lead_in_not_confirmed",
  value: null,
  stop: null,
} as const;

const pulsed = msg`The platform accepted it, and its register is idle again, as configured. Nothing shows that it moved, so its state is uncertain.`;

const degreeUnread = msg`The platform accepted the degree, and the address goes on showing the position mode, as configured. The degree itself cannot be read, so it is shown as uncertain.`;

const notShown = (
  step: Step,
  end: StepEnd,
  settings: ActuatorSettings,
  listing: GroupListing | undefined,
): Text =>
  showsModeOnly(settings, step, end.readBack)
    ? msg`The platform accepted ${step.value} for address ${step.address}, which shows the position mode and no degree: nothing says that it moved. Nothing is sent again: look at the actuator. ${otherPlace(settings, listing)}`
    : msg`The platform accepted ${step.value} for address ${step.address} but shows ${shownBy(end)}. Nothing is sent again: check the actuator, its local switch and the address.${otherReading(step, end, settings)}`;

/**
 * Advice about the degree's address. A degree with its own address looks like one that is never shown, and
 * `position_reads: mode` would confirm it without any movement. So that setting is named last, and never while another
 * address may hold the degree.
 */
function otherPlace(settings: ActuatorSettings, listing: GroupListing | undefined): Text {
  if (stateAddresses(settings).length > 1)
    return msg`An address that holds a degree shows no mode: check position_address.`;
  const places = degreePlaces(settings, listing);
  if (places === "unknown")
    return msg`Its degree may have an address of its own: \`greenhouse2mqtt discover\` shows what its type lists; set position_address.`;
  return places.length > 0
    ? msg`Its degree may have an address of its own: its type also lists ${freeText(places)}, which belongs to nothing here. Set position_address to the one that follows the actuator.`
    : msg`If it stands still, its degree has another address: set position_address. Only if you saw it go there, set position_reads: mode.`;
}

/**
 * The setting to try if the read value may be this controller's form of what was asked. It has to be a control value or
 * the word's end, and must not have shown before. Any other value may belong to another thing or to a movement.
 */
function otherReading({ purpose, value }: Step, end: StepEnd, settings: ActuatorSettings): Text {
  const { readBack, before = null } = end;
  const isWord = purpose === "value" || purpose === "stop";
  if (readBack === null || !isWord || settings.accepts !== undefined) return "";
  if (maybePulse(settings, readBack, before)) return row` ${pulseAdvice}`;
  if (purpose === "stop") return "";
  const { state } = decodeValue(settings, value);
  const { value: read } = decodeValue(settings, readBack);
  if (!mayMean(settings, state, read)) return "";
  if (before !== null && sameValue(textOf(before), read))
    return msg` It showed ${read} before it was sent, too: nothing says that it did anything.`;
  return msg` Only if you saw it do what was asked, and its controller shows "${state}" so, add reads: { ${state}: ["${read}"] } to the actuator.`;
}

const shownBy = ({ readBack }: StepEnd): Text =>
  readBack === null ? msg`no value` : `"${String(readBack)}"`;

function notTaken(step: Step, end: StepEnd, settings: ActuatorSettings): Text {
  const { value, address } = step;
  if (end.attempts === 0)
    return msg`The bridge stopped before it sent ${value} to address ${address}, and the platform shows ${shownBy(end)}: it did not happen. Send it again if it is still wanted.`;
  return showsModeOnly(settings, step, end.readBack)
    ? msg`The platform gave no clear answer to ${value} for address ${address}, which still shows the position mode and no degree. Check the actuator before sending again.`
    : msg`The platform gave no clear answer to ${value} for address ${address} and shows ${shownBy(end)}: it did not happen. Send it again if it is still wanted.`;
}

const untoldPulse = ({ address, value }: Step): Text =>
  msg`The platform gave no clear answer to ${value}, and the register of address ${address} is idle, as configured: nobody knows whether it took it. Check the actuator before sending again.`;

const untold = ({ address, value }: Step): Text =>
  msg`The platform gave no clear answer to ${value}, and address ${address} still shows the position mode, as configured: nobody knows whether it took it. Check the actuator before sending again.`;

/** What proves success if the register does not show the value. */
function proofOf(
  step: Step,
  { readBack }: StepEnd,
  settings: ActuatorSettings,
): Pick<Ending, "message" | "proof"> {
  if (readBack !== null && isIdlePulse(settings, readBack) && !shows(settings, step, readBack))
    return { message: pulsed, proof: "pulse" };
  return { message: showsModeOnly(settings, step, readBack) ? degreeUnread : null };
}

/** The command's end after its last step, or a step that did not succeed. `listing`: what its type listed last. */
export function endingAt(
  step: Step,
  end: StepEnd,
  settings: ActuatorSettings,
  listing: GroupListing | undefined,
): Ending {
  const reason = halfWay[step.purpose];
  const unseen = msg`${step.value} was sent to address ${step.address} but no value could be read since. Check the actuator before sending again.`;
  switch (end.type) {
    case "confirmed":
      return { outcome: "confirmed", reason: null, ...proofOf(step, end, settings) };
    case "unconfirmed":
      return { outcome: "unconfirmed", reason, message: notShown(step, end, settings, listing) };
    case "unknown":
      return { outcome: "unknown", reason, message: unseen };
    case "rejected":
      return { outcome: "rejected", reason: end.unauthorized ? "unauthorized" : null, message: end.message };
    case "not_sent":
      return { outcome: "failed", reason: "not_sent", message: end.message };
    case "failed":
      return showsModeOfDegree(settings, step, end.readBack)
        ? { outcome: "unknown", reason, message: untold(step) }
        : end.readBack !== null && isIdlePulse(settings, end.readBack)
          ? { outcome: "unknown", reason, message: untoldPulse(step) }
          : { outcome: "failed", reason, message: notTaken(step, end, settings) };
    case "interrupted":
      return supersededAt(step, end);
  }
}
