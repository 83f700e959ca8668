import { type ActuatorKind, kindRows, type KindRow } from "./actuator-kinds.js";
import { canStop, type Target, vocabulary } from "./command/words.js";
import { type CommandResult, isGood, type Outcome } from "./command/outcomes.js";
import type { Actuator, Quality } from "./model.js";

/*
 * Several actuators that are commanded together: a group by one command for all, a scene by one for each. What of them stands is
 * made of what the platform shows of each member, and of nothing else.
 */

/** An actuator of a controller. */
export interface Member {
  readonly code: string;
  readonly controllerId: string;
  readonly actuator: string;
}

/** What a group takes and is called: as an actuator that takes what all of its members take. */
export interface GroupTarget extends Taking {
  /** As that of its members; null where they differ. */
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

/** `east/left_skylight` */
export const memberName = ({ controllerId, actuator }: Pick<Member, "controllerId" | "actuator">): string =>
  `${controllerId}/${actuator}`;

/** What all of them take; null where they have no word and no degree in common. */
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
  // The values are each member's own, and only the words count here.
  const further = words.filter((word) => !Object.hasOwn(row.values, word) && word !== "stop");
  const values = Object.fromEntries(further.map((word) => [word, word]));
  return { kind, values, ...stop, ...(degrees && { inverted: commonDirection(all) }) };
}

/** Which way round Home Assistant shows all of them. */
function commonDirection(all: readonly GroupTarget[]): boolean | null {
  const [first = null, ...others] = new Set(all.map(({ inverted }) => inverted === true));
  return others.length > 0 ? null : first;
}

const noAddress = { address: "", value: "" };

/** As what people see a mixture: it shows no word that one of its members lacks. */
function kindOf(words: readonly string[], degrees: boolean): ActuatorKind {
  const has = (...wanted: readonly string[]) => wanted.every((word) => words.includes(word));
  if (degrees && has("open", "close", "auto")) return "positioner";
  return has("on", "off", "auto") ? "machine" : "custom";
}

export interface GroupState {
  /** A state word where all members show the same, else `mixed`; `unknown` where one was never read. */
  readonly state: string;
  /** The degree that all of them show; null where they differ, as a mean is what none of them shows. */
  readonly position: number | null;
  /** The worst of the members'. */
  readonly quality: Quality;
}

const worst: readonly Quality[] = ["bad", "stale", "uncertain", "good"];

/** `undefined` stands for a member that is not there. */
export function groupState(members: readonly (Actuator | undefined)[]): GroupState {
  const qualities = members.map((member) => (member?.state ? member.quality : "stale"));
  const quality = worst.find((one) => qualities.includes(one)) ?? "stale";
  const states = members.map((member) => member?.state ?? null);
  const [first = null] = states;
  if (first === null || states.includes(null)) return { state: "unknown", position: null, quality };
  const positions = new Set(members.map((member) => member?.position ?? null));
  const isSame = states.every((state) => state === first) && positions.size === 1;
  const [position = null] = positions;
  return isSame ? { state: first, position, quality } : { state: "mixed", position: null, quality };
}

/** How it went with one member; the rest stands in the result of its own command. */
export type MemberResult = Pick<
  CommandResult,
  "controller" | "actuator" | "command" | "id" | "outcome" | "reason" | "message" | "interlock"
>;

/** The one result of a command to a group or scene; its outcome is that of the member that came off worst. */
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
  /** One of the two. */
  readonly group: string | null;
  readonly scene: string | null;
  readonly members: readonly MemberResult[];
  /** Members that are not, or not known to be, where they were to go. */
  readonly missed: readonly string[];
  /** Of a duplicate: what became of the first. */
  readonly original?: GroupResult;
}

/** The worst first. */
const byWorst: readonly Outcome[] = [
  ...(["unknown", "unconfirmed", "failed", "rejected", "refused", "superseded"] as const),
  ...(["dry_run", "confirmed", "already"] as const),
];

/** What is said of a command to several, of how it went with each. */
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
