import { journalOf } from "../end-to-end/support/journal.js";
import type { Held } from "../end-to-end/support/platform.js";
import { type Fields, type History, type Recorded, textOf } from "./history.js";
import { points } from "./support/house.js";
import type { World } from "./support/world.js";

/** Everything that is known of a lane once its bridge has ended. */
export async function collect(world: World): Promise<History> {
  const { platform, badHost, watch, load, gaps, clockOffsets, unwritable } = world;
  const held = new Map<string, readonly Held[]>();
  for (const { code, registers } of points)
    for (const address of registers) held.set(`${code}/${address}`, await platform.held(code, address));
  const journal = (await journalOf(world.stage)).filter(
    ({ type }) => type !== undefined && type !== "carried",
  );
  return {
    ...{ messages: watch.seen, absences: watch.absences, sent: load.sent, shown: load.shown },
    ...{ gaps, clockOffsets, unwritable, held, requests: world.requests.realtime },
    posts: [...(await platform.posts()), ...badHost.posts],
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
