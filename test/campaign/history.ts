import { journalOf } from "../end-to-end/support/journal.js";
import { devicesIn } from "../end-to-end/support/devices.js";
import type { Seen, Stretch } from "../end-to-end/support/watch.js";
import type { Held } from "../judge/history.js";
import { inRealTime, type Recording } from "../judge/recorded.js";
import { houses, maxAgeMs, motors, points } from "./support/house.js";
import type { World } from "./support/world.js";

/* The recorded history of one lane, on which all invariants are judged. Instants are epoch ms of the local clock. */

/** A command as the load sent it. */
export interface Sent {
  readonly id: string;
  readonly at: number;
  readonly actuator: string;
  readonly command: string;
  /** The value its last step writes. */
  readonly value: string;
  readonly address: string;
  /** Whether the broker acknowledged the command. */
  acknowledged: boolean;
}

/** A number that a sensor was made to show, at the earliest from `from`. */
export interface Shown {
  readonly topic: string;
  readonly value: number;
  readonly from: number;
}

/** A stretch of time in which messages to the bridge, or its memory, may be lost without its fault. */
export interface Gap extends Stretch {
  /** True if the process itself died, which also loses commands not yet journaled. */
  readonly died: boolean;
}

/** An HTTP request that reached the proxy: method and path with its query. */
export interface Asked {
  readonly at: number;
  readonly line: string;
}

export interface History extends Recording {
  readonly messages: readonly Seen[];
  readonly sent: readonly Sent[];
  readonly shown: readonly Shown[];
  /** All offsets that the bridge's clock had, in ms; 0 is among them. */
  readonly clockOffsets: readonly number[];
}

export interface Breach {
  readonly at: number;
  readonly invariant: "lost command" | "wrong state" | "POST";
  readonly text: string;
}

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** How long the broker may have kept a command. Only a command with a time of sending reveals this. */
const keptMs = 60_000;

/** Collects everything known of a lane once its bridge has ended. */
export async function collect(world: World): Promise<History> {
  const { platform, watch, load, gaps, clockOffsets, unwritable } = world;
  const held = new Map<string, readonly Held[]>();
  for (const { code, registers } of [...points, ...motors])
    for (const address of registers) held.set(`${code}/${address}`, await platform.held(code, address));
  const journal = (await journalOf(world.stage)).filter(
    ({ type }) => type !== undefined && type !== "carried",
  );
  const taken = new Map(load.sent.map(({ id, acknowledged }) => [id, acknowledged]));
  return {
    messages: watch.seen,
    absences: watch.absences,
    sent: load.sent,
    shown: load.shown,
    gaps,
    clockOffsets,
    unwritable,
    held,
    requests: world.requests,
    posts: await platform.posts(),
    journal: inRealTime(journal),
    deviceOf: devicesIn(houses),
    maxAgeMs,
    keptMs,
    isAcknowledged: (id) => taken.get(id) ?? true,
  };
}
