import { type ActuatorKind, kindRows, type KindRow } from "./actuator-kinds.js";
import { canStop, type Target, vocabulary } from "./command/words.js";
import { type CommandResult, isGood, type Outcome } from "./command/outcomes.js";
import { type Actuator, type Quality, worstQualities } from "./model.js";

/*
 * Several actuators commanded together: a group by one command for all, a scene by one for each. Their state comes only
 * from what the platform shows of each member.
 */

/** An actuator of a controller. */
export interface Member {
  readonly code: string;
  readonly controllerId: string;
  readonly actuator: string;
}

/** The common target of a group, like an actuator that accepts what all members accept. */
export interface GroupTarget extends Taking {
  /** As for its members; null where they differ. */
  readonly inverted?: boolean | null;
}

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly members: readonly Member[];
  readonly target: GroupTarget;
}

export interface Scene {
  readonly id: string;
  readonly name: string;
  readonly commands: readonly { readonly member: Member; readonly command: string }[];
}

export interface GroupsAndScenes {
  readonly groups: ReadonlyMap<string, Group>;
  readonly scenes: ReadonlyMap<string, Scene>;
}

export type GroupOrScene = "group" | "scene";

type Taking = Pick<Target, "kind" | "values" | "stop">;

/** Such as `east/left_skylight`. */
export const memberName = ({ controllerId, actuator }: Pick<Member, "controllerId" | "actuator">): string =>
  `${controllerId}/${actuator}`;

/** What all members accept; null where they share no word and no degree. */
export function commonTarget(all: readonly GroupTarget[]): GroupTarget | null {
  const [first, ...others] = all;
  if (first === undefined) return null;
  const each = all.map((one) => vocabulary(one));
  const words = (each[0]?.words ?? []).filter((word) => each.every((one) => one.words.includes(word)));
  const degrees = each.every((one) => one.degrees !== null);
  const stop = all.every(canStop) ? { stop: noAddress } : {};
  if (words.length === 0 && !degrees) return null;
  const kind = others.every((one) => one.kind === first.kind) ? first.kind : kindOf(words, degrees);
  const row: KindRow = kindRows[kind];
  // Each member has its own values; only the words count here.
  const further = words.filter((word) => !Object.hasOwn(row.values, word) && word !== "stop");
  const values = Object.fromEntries(further.map((word) => [word, word]));
  return { kind, values, ...stop, ...(degrees && { inverted: commonDirection(all) }) };
}

/** Whether Home Assistant shows all of them inverted; null where they differ. */
function commonDirection(all: readonly GroupTarget[]): boolean | null {
  const [first = null, ...others] = new Set(all.map(({ inverted }) => inverted === true));
  return others.length > 0 ? null : first;
}

const noAddress = { address: "", value: "" };

/** The kind of a mixed group; it has no word that a member lacks. */
function kindOf(words: readonly string[], degrees: boolean): ActuatorKind {
  const has = (...wanted: readonly string[]) => wanted.every((word) => words.includes(word));
  if (degrees && has("open", "close", "auto")) return "positioner";
  return has("on", "off", "auto") ? "machine" : "custom";
}

export interface GroupState {
  /** The state word if all members show the same, else `mixed`; `unknown` where one was never read. */
  readonly state: string;
  /** The degree that all members show; null where they differ, as no member shows a mean. */
  readonly position: number | null;
  /** The worst quality of the members. */
  readonly quality: Quality;
}

/** The state of a group; `undefined` stands for a missing member. */
export function groupState(members: readonly (Actuator | undefined)[]): GroupState {
  const qualities = members.map((member) => (member?.state ? member.quality : "stale"));
  const quality = worstQualities.find((one) => qualities.includes(one)) ?? "stale";
  const states = members.map((member) => member?.state ?? null);
  const [first = null] = states;
  if (first === null || states.includes(null)) return { state: "unknown", position: null, quality };
  const positions = new Set(members.map((member) => member?.position ?? null));
  const isSame = states.every((state) => state === first) && positions.size === 1;
  const [position = null] = positions;
  return isSame ? { state: first, position, quality } : { state: "mixed", position: null, quality };
}

/** The result of one member; the rest is in the result of its own command. */
export type MemberResult = Pick<
  CommandResult,
  "controller" | "actuator" | "command" | "id" | "outcome" | "reason" | "message" | "interlock"
>;

/** The only result of a command to a group or scene, with the outcome of the worst member. */
export interface GroupResult extends Pick<
  CommandResult,
  | "id"
  | "command"
  | "outcome"
  | "reason"
  | "message"
  | "by"
  | "via"
  | "received_at"
  | "finished_at"
  | "duration_ms"
  | "repeated"
  | "count"
  | "ids"
> {
  /** Exactly one of `group` and `scene` is given. */
  readonly group: string | null;
  readonly scene: string | null;
  readonly members: readonly MemberResult[];
  /** Members that are not, or may not be, where they had to go. */
  readonly missed: readonly string[];
  /** In the answer to a duplicate: the result of the first. */
  readonly original?: GroupResult;
}

/** Outcomes, the worst first. */
const byWorst: readonly Outcome[] = [
  ...(["unknown", "unconfirmed", "failed", "rejected", "refused", "superseded"] as const),
  ...(["dry_run", "confirmed", "already"] as const),
];

/** Sums up the results of the members. */
export function summaryOf(
  members: readonly MemberResult[],
): Pick<GroupResult, "outcome" | "reason" | "message" | "missed"> {
  const missing = members.filter(({ outcome }) => !isGood(outcome) && outcome !== "dry_run");
  const outcome = byWorst.find((one) => members.some((member) => member.outcome === one)) ?? "refused";
  const missed = missing.map(({ controller, actuator }) => `${controller}/${actuator}`);
  const dry = members.find((member) => member.outcome === "dry_run");
  const message = outcome === "dry_run" ? (dry?.message ?? null) : null;
  if (missing.length === 0) return { outcome, reason: null, message, missed };
  const reasons = new Set(missing.map(({ reason }) => reason));
  const said = missing.map((member) => `${member.controller}/${member.actuator} ${endText(member)}`);
  const head = `${members.length - missing.length} of ${members.length} members did it`;
  const [reason = null] = reasons.size === 1 ? reasons : [];
  return { outcome, reason, message: `${head}; not: ${said.join("; ")}`.slice(0, 2_000), missed };
}

const endText = ({ outcome, reason, message }: MemberResult): string =>
  `${outcome}${reason === null ? "" : ` (${reason})`}${message === null ? "" : `: ${String(message)}`}`;
