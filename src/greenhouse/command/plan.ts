import { msg } from "../../language/text.js";
import {
  decodeValue,
  degreeOf,
  degreeRead,
  type KindRow,
  kindRows,
  meansSame,
  sameValue,
  sendAddresses,
  stateAddresses,
  textOf,
} from "../actuator-kinds.js";
import type { RawValue } from "../ports.js";
import { showsByDegree } from "../readings.js";
import type { ActuatorSettings } from "../settings.js";
import type { Refusal, StepReport } from "./outcomes.js";
import type { Wanted } from "./words.js";

/** One value to be POSTed to one address. */
export type Step = Pick<StepReport, "purpose" | "address" | "value">;

/** The time in which a mode has to be shown before its degree may follow. */
const modeWithinMs = 30_000;

/** The longest time for the read-back of a step. */
export const confirmWithinMs = (settings: ActuatorSettings, { purpose }: Pick<Step, "purpose">): number =>
  purpose === "mode" ? modeWithinMs : settings.confirmWithinMs;

/**
 * The steps of a command in order; the last one is the command itself. `isRead`: everything sent so far has been read
 * back.
 */
export function stepsOf(
  settings: ActuatorSettings,
  wanted: Wanted,
  freshMode: RawValue | null,
  { isRead = false }: { readonly isRead?: boolean } = {},
): readonly Step[] {
  if (wanted.type === "stop") return [{ purpose: "stop", address: wanted.address, value: wanted.value }];
  const [mode, position = mode] = sendAddresses(settings);
  if (wanted.type === "position") {
    const degree: Step = { purpose: "value", address: position, value: String(wanted.degree) };
    const isLeftOut = settings.modeAgain === "when_needed" && isRead && freshMode !== null;
    return isLeftOut && isInPositionMode(settings, freshMode)
      ? [degree]
      : [{ purpose: "mode", address: mode, value: kindRows[settings.kind].positionMode ?? "" }, degree];
  }
  const step: Step = { purpose: "value", address: mode, value: wanted.value };
  return needsLeadIn(settings, wanted.word, freshMode)
    ? [{ ...step, purpose: "lead_in", value: leadInValue }, step]
    : [step];
}

const leadInValue = "1010";

/** Whether `on` has to go first: the platform demands manual on before any other control of a light. */
export function needsLeadIn(settings: ActuatorSettings, word: string, fresh: RawValue | null): boolean {
  if (settings.kind !== "light" || settings.leadIn === "never" || word === "on") return false;
  return settings.leadIn === "always" || fresh === null || !meansSame(settings, leadInValue, textOf(fresh));
}

/** Whether a read-back of the step's address shows what the step asked for. */
export function shows(settings: ActuatorSettings, step: Step, raw: RawValue): boolean {
  const text = textOf(raw);
  if (step.purpose === "mode") return showsPositionMode(settings, raw);
  const byDegree = showsByDegree(settings, step, raw);
  if (byDegree !== null) return byDegree;
  if (step.purpose === "value" && kindRows[settings.kind].positionMode !== null) {
    const wanted = degreeOf(step.value);
    const read = decodeValue(settings, raw);
    if (wanted !== null)
      return read.position !== null && Math.abs(read.position - wanted) <= settings.tolerance;
  }
  if (step.purpose === "stop")
    return [step.value, ...(settings.reads?.["stop"] ?? [])].some((value) => sameValue(value, text));
  return meansSame(settings, step.value, text);
}

/**
 * Whether a read after the POST of a degree shows the mode, at an address that never shows more. It confirms the degree
 * only if the platform accepted it.
 */
export const showsModeOfDegree = (settings: ActuatorSettings, step: Step, raw: RawValue | null): boolean =>
  settings.positionReads === "mode" && showsModeOnly(settings, step, raw);

/**
 * Whether a read after the POST of a degree shows the mode and no degree, so that nothing shows the movement. `raw` is
 * null where nothing was read.
 */
export function showsModeOnly(settings: ActuatorSettings, step: Step, raw: RawValue | null): boolean {
  if (raw === null || step.purpose !== "value" || degreeOf(step.value) === null) return false;
  const { state, position } = decodeValue(settings, raw);
  return state === "position" && position === null;
}

/** Whether a read shows the position mode. At an address shared by mode and position any degree shows it too. */
export function showsPositionMode(settings: ActuatorSettings, raw: RawValue): boolean {
  const row: KindRow = kindRows[settings.kind];
  const { state, position } = decodeValue(settings, raw);
  if (row.positionMode !== null && state === "position" && position === null) return true;
  return stateAddresses(settings).length === 1 && position !== null;
}

/**
 * Whether the actuator is already in position mode. Where reads map degrees to words, a degree may show the opening in
 * any mode and is no proof.
 */
function isInPositionMode(settings: ActuatorSettings, raw: RawValue): boolean {
  const tellsPosition = Object.values(settings.reads ?? {}).some((values) =>
    values.some((value) => degreeRead(value) !== null),
  );
  return showsPositionMode(settings, raw) && !(tellsPosition && decodeValue(settings, raw).position !== null);
}

/**
 * When to read back, in ms after the end of the POST: 2, 4, 8, 15 s, then every 30 s, but not before `settle` is over.
 */
export function readBackDelaysMs(place: number): number {
  const first = [2_000, 4_000, 8_000, 15_000];
  return first[place] ?? 15_000 + (place - first.length + 1) * 30_000;
}

/** Whether the step ends at a degree: it is one, or a word that the configuration maps to a degree in reads. */
function endsAtDegree(settings: ActuatorSettings, { purpose, value }: Step): boolean {
  const row: KindRow = kindRows[settings.kind];
  if (purpose !== "value" || row.positionMode === null) return false;
  if (degreeOf(value) !== null) return true;
  const means = Object.values(settings.reads ?? {}).flat();
  return means.some((read) => degreeRead(read) !== null && meansSame(settings, value, read));
}

/**
 * Whether a read after the POST shows a movement to a degree: another position than before, or a position after a mode.
 * `before` is null where unknown.
 */
export function travels(
  settings: ActuatorSettings,
  step: Step,
  before: RawValue | null,
  read: RawValue,
): boolean {
  if (!endsAtDegree(settings, step)) return false;
  const degree = decodeValue(settings, read).position;
  return degree !== null && (before === null || decodeValue(settings, before).position !== degree);
}

export interface AgeFacts {
  /** The sender's time, epoch ms. */
  readonly at: number | null;
  /** The rest of an MQTT 5 message expiry, ms. */
  readonly expiryMs: number | null;
  readonly payloadMaxAgeMs: number | null;
  /** The age that it may have when it is read, ms; 0 where it was read on arrival. */
  readonly ageMs: number;
  readonly maxAgeMs: number;
  readonly requireAge: boolean;
  /** Wall clock, epoch ms, and whether it is within two minutes of the platform's. */
  readonly now: number;
  readonly clockTrusted: boolean;
}

const aheadMs = 30_000;

/** How long the command may still wait before its first POST, in ms from its arrival; or its refusal. */
export function ageAllowance(facts: AgeFacts): number | Refusal {
  const { at, expiryMs } = facts;
  if (facts.requireAge && at === null && expiryMs === null) {
    return {
      reason: "no_age",
      message: msg`This bridge takes only commands that carry "at" or an MQTT 5 message expiry.`,
    };
  }
  const limit = Math.min(facts.maxAgeMs, facts.payloadMaxAgeMs ?? Infinity);
  let left = Math.min(limit, expiryMs ?? Infinity) - facts.ageMs;
  if (at !== null) {
    if (!facts.clockTrusted) {
      return {
        reason: "clock",
        message: msg`The bridge's clock is not known to be right, so "at" cannot be judged; check the time service, or send without "at".`,
      };
    }
    if (at - facts.now > aheadMs) {
      return { reason: "clock", message: msg`"at" lies in the future; check the clock of the sender.` };
    }
    left = Math.min(left, limit - Math.max(0, facts.now - at));
  }
  if (left > 0) return left;
  return facts.ageMs < noticeableAgeMs ? expired() : expiredUnread(facts.ageMs);
}

/** A smaller age counts as read on arrival. */
const noticeableAgeMs = 1_000;

const expiredUnread = (ageMs: number): Refusal => ({
  reason: "expired",
  message: msg`The command was read late: the bridge stood still, none was connected, or its sender sent more than is read at once. It may have been sent ${Math.round(ageMs / 1_000)} s earlier, which is older than its max_age; send it again if it is still wanted.`,
});

export const expired = (): Refusal => ({
  reason: "expired",
  message: msg`The command was older than its max_age, or than the time it was to last, before it could be sent; send it again if it is still wanted.`,
});
