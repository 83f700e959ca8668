import type { GroupOrScene, GroupResult, Member, MemberResult } from "../greenhouse/groups.js";
import type { Via } from "../greenhouse/command/outcomes.js";
import type { CommandRequest } from "../commands/command.js";
import type { GroupEnded, GroupMemberTaken, GroupTaken } from "../journal/records.js";

/** A command to several that has been handed to each, until each has ended. */
export interface Running {
  readonly kind: GroupOrScene;
  readonly about: string;
  readonly id: string;
  readonly command: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly receivedAt: number;
  /** By which a repeated one is recognised, as that of one actuator is. */
  readonly canonical: string;
  readonly payloadKey: string;
  readonly response: CommandRequest["response"];
  /** By the place and id of each member's own command. */
  readonly open: Map<string, Member>;
  /** Of them those that were refused as they came, and whose refusal is not told yet. */
  readonly notTaken: Set<string>;
  readonly ended: MemberResult[];
  /** Its members' names, as they were configured when it came. */
  order: readonly string[];
  /** Whether the journal has it; null where it is not asked to. */
  isKept: Promise<boolean> | null;
}

export const placeOf = (controllerId: string, actuator: string, id: string): string =>
  `${controllerId} ${actuator} ${id}`;

export const placeOfAll = ({ kind, about }: Pick<Running, "kind" | "about">): string => `${kind}/${about}`;

/* What the journal keeps of it. */

export const takenOf = (running: Running, members: readonly GroupMemberTaken[]): GroupTaken => ({
  kind: running.kind,
  name: running.about,
  id: running.id,
  command: running.command,
  canonical: running.canonical,
  payload_hash: running.payloadKey,
  by: running.by,
  via: running.via,
  received_at: new Date(running.receivedAt).toISOString(),
  members,
});

export const endedOf = (running: Running, told: GroupResult, isTaken: boolean): GroupEnded => ({
  kind: running.kind,
  name: running.about,
  canonical: running.canonical,
  payload_hash: running.payloadKey,
  is_taken: isTaken,
  told,
});

/** One that an earlier run took, with nothing of its members yet. */
export const runningFrom = (taken: GroupTaken): Running => ({
  kind: taken.kind,
  about: taken.name,
  id: taken.id,
  command: taken.command,
  by: taken.by,
  via: taken.via,
  receivedAt: Date.parse(taken.received_at),
  canonical: taken.canonical,
  payloadKey: taken.payload_hash,
  response: null,
  open: new Map(),
  notTaken: new Set(),
  ended: [],
  order: [],
  isKept: Promise.resolve(true),
});
