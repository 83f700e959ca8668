import { journalOf } from "../end-to-end/support/journal.js";
import { devicesIn } from "../end-to-end/support/devices.js";
import type { Seen, Stretch } from "../end-to-end/support/watch.js";
import type { Held } from "../judge/history.js";
import { inRealTime, type Recording } from "../judge/recorded.js";
import { houses, maxAgeMs, motors, points } from "./support/house.js";
import type { World } from "./support/world.js";

/* The recorded history of one lane, on which all invariants are judged. Instants are epoch ms of this computer's clock. */

/** A command as the load sent it. */
export interface Sent {
  readonly id: string;
  readonly at: number;
  readonly actuator: string;
  readonly command: string;
  /** The value its last step writes. */
  readonly value: string;
  readonly address: string;
  /** The broker took it. */
  acknowledged: boolean;
}

/** A sensor was made to show a number; it showed it at the earliest at `from`. */
export interface Shown {
  readonly topic: string;
  readonly value: number;
  readonly from: number;
}

/** A stretch of time in which messages to the bridge, or what it had in memory, may be gone without anybody's fault. */
export interface Gap extends Stretch {
  /** The process itself died, so that commands it had not journaled are gone too. */
  readonly died: boolean;
}

/** An HTTP request that came as far as the proxy: method and path with its query. */
export interface Asked {
  readonly at: number;
  readonly line: string;
}

export interface History extends Recording {
  readonly messages: readonly Seen[];
  readonly sent: readonly Sent[];
  readonly shown: readonly Shown[];
  /** By how much the bridge's clock was off at some time, ms; 0 among them. */
  readonly clockOffsets: readonly number[];
}

export interface Breach {
  readonly at: number;
  readonly invariant: "lost command" | "wrong state" | "POST";
  readonly text: string;
}

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The broker may have kept a command for a while, which only one that says when it was sent can know. */
const keptMs = 60_000;

/** Everything that is known of a lane once its bridge has ended. */
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
