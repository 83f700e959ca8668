import type { GroupOrScene, GroupResult, Member, MemberResult } from "../greenhouse/groups.js";
import type { Via } from "../greenhouse/command/outcomes.js";
import type { CommandRequest } from "../commands/command.js";
import type { GroupEnded, GroupMemberTaken, GroupTaken } from "../journal/records.js";

/** A command to several actuators, from its distribution until each has ended. */
export interface Running {
  readonly kind: GroupOrScene;
  readonly about: string;
  readonly id: string;
  readonly command: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly receivedAt: number;
  /** Identifies a repeated command, as for a single actuator. */
  readonly canonical: string;
  readonly payloadKey: string;
  readonly response: CommandRequest["response"];
  /** By target and id of each member's own command. */
  readonly open: Map<string, Member>;
  /** Members refused at once whose refusal was not reported yet. */
  readonly notTaken: Set<string>;
  readonly ended: MemberResult[];
  /** Names of its members, in the order of the configuration when it came. */
  order: readonly string[];
  /** Resolves to whether the journal has it; null where it is not recorded. */
  isKept: Promise<boolean> | null;
}

export const placeOf = (controllerId: string, actuator: string, id: string): string =>
  `${controllerId} ${actuator} ${id}`;

export const placeOfAll = ({ kind, about }: Pick<Running, "kind" | "about">): string => `${kind}/${about}`;

/* Its record in the journal. */

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

/** A command of an earlier run, without its members. */
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
