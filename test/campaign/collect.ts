import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { canaries } from "../end-to-end/support/stage.js";
import type { Fields, Held, History, Recorded } from "./history.js";
import { fieldsOf, textOf } from "./history.js";
import { byHand, commanded, moved, targets } from "./support/house.js";
import type { World } from "./support/world.js";

/** Everything that is known of a lane once its bridge has ended. */
export async function collect(world: World): Promise<History> {
  const { platform, badHost, recorder, load, gaps, clockOffsets, unwritable } = world;
  const posts = [...(await platform.posts()), ...badHost.posts];
  return {
    messages: recorder.messages,
    sent: load.sent,
    shown: load.shown,
    posts,
    requests: world.realtime.requests,
    journal: await journalOf(world),
    held: await registersOf(world),
    gaps,
    clockOffsets,
    unwritable,
    absences: recorder.absences,
  };
}

async function registersOf({ platform }: World): Promise<ReadonlyMap<string, readonly Held[]>> {
  const held = new Map<string, readonly Held[]>();
  const of = async (code: string, address: string) => {
    const response = await fetch(`${platform.url}/_simulator/state?controller=${code}&address=${address}`);
    held.set(`${code}/${address}`, ((await response.json()) as { readonly held: readonly Held[] }).held);
  };
  for (const { address, settings } of Object.values(targets))
    for (const one of new Set([address, textOf(settings["address"])])) await of(commanded, one);
  for (const { address } of Object.values(byHand)) await of(moved, address);
  return held;
}

async function journalOf({ stage }: World): Promise<readonly Recorded[]> {
  const folder = join(stage.folder, "data", "journal");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const records = texts
    .flatMap((text) => text.split("\n"))
    .map(fieldsOf)
    .filter(({ type }) => type !== undefined && type !== "carried");
  return inRealTime(records);
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

/** Places where a planted secret surfaced. */
export async function leaksOf(world: World): Promise<readonly string[]> {
  const secrets = Object.values(canaries);
  const hides = (text: string) => !secrets.some((secret) => text.includes(secret));
  const lines = world.bridge.outputs.flatMap(({ stdout, stderr }) => `${stdout}\n${stderr}`.split("\n"));
  const topics = world.recorder.messages.map(({ topic, payload }) => `${topic} ${payload}`);
  const journal = (await journalOf(world)).map(({ record }) => JSON.stringify(record));
  return [...lines, ...topics, ...journal].filter((text) => !hides(text)).map((text) => text.slice(0, 200));
}
