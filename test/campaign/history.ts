import { journalOf } from "../end-to-end/support/journal.js";
import type { Held, Post } from "../end-to-end/support/platform.js";
import type { Seen, Stretch } from "../end-to-end/support/watch.js";
import { points } from "./support/house.js";
import type { World } from "./support/world.js";

/* The recorded history of one lane, on which all invariants are judged. Instants are epoch ms of this computer's clock. */

export type Fields = Readonly<Record<string, unknown>>;

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

/** A record of the journal with its instant on this computer's clock, whatever the bridge's clock said. */
export interface Recorded {
  readonly at: number;
  readonly record: Fields;
}

/** An HTTP request that came as far as the proxy: method and path with its query. */
export interface Asked {
  readonly at: number;
  readonly line: string;
}

export interface History {
  readonly messages: readonly Seen[];
  readonly sent: readonly Sent[];
  readonly posts: readonly Post[];
  /** Requests to the realtime host. */
  readonly requests: readonly Asked[];
  readonly journal: readonly Recorded[];
  /** Of every register, by `<code>/<address>`, oldest first. */
  readonly held: ReadonlyMap<string, readonly Held[]>;
  readonly shown: readonly Shown[];
  readonly gaps: readonly Gap[];
  /** By how much the bridge's clock was off at some time, ms; 0 among them. */
  readonly clockOffsets: readonly number[];
  /** When the watch heard nothing. */
  readonly absences: readonly Stretch[];
  /** When the journal could not be written. */
  readonly unwritable: readonly Stretch[];
}

export interface Breach {
  readonly at: number;
  readonly invariant: "lost command" | "wrong state" | "POST";
  readonly text: string;
}

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Everything that is known of a lane once its bridge has ended. */
export async function collect(world: World): Promise<History> {
  const { platform, watch, load, gaps, clockOffsets, unwritable } = world;
  const held = new Map<string, readonly Held[]>();
  for (const { code, registers } of points)
    for (const address of registers) held.set(`${code}/${address}`, await platform.held(code, address));
  const journal = (await journalOf(world.stage)).filter(
    ({ type }) => type !== undefined && type !== "carried",
  );
  return {
    ...{ messages: watch.seen, absences: watch.absences, sent: load.sent, shown: load.shown },
    ...{ gaps, clockOffsets, unwritable, held, requests: world.requests },
    posts: await platform.posts(),
    journal: inRealTime(journal),
  };
}

/**
 * Instants by the monotonic clock, which no setting of the clock moves. A life's first record tells where it began,
 * unless the clock was wrong then: the first jump of such a life says by how much.
 */
function inRealTime(records: readonly Fields[]): readonly Recorded[] {
  const begins = new Map<unknown, number>();
  for (const { boot, at, mono } of records)
    if (!begins.has(boot)) begins.set(boot, Date.parse(textOf(at)) - Number(mono));
  const farMs = 365 * 86_400_000;
  for (const [boot, begin] of begins)
    if (Math.abs(begin - Date.now()) > farMs) {
      const jump = records.find((one) => one["boot"] === boot && one["type"] === "clock_jump");
      begins.set(boot, begin + Number(jump?.["by_ms"] ?? 0));
    }
  return records.map((record) => ({
    at: (begins.get(record["boot"]) ?? 0) + Number(record["mono"]),
    record,
  }));
}
