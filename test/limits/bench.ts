import { onTestFinished } from "vitest";
import type { Guard, Limits } from "../../src/greenhouse/limits.js";
import { laneKey } from "../../src/commands/book.js";
import { lanesFrom } from "../../src/commands/restore.js";
import { History } from "../../src/journal/history.js";
import type { Checkpoint, JournalRecord, KeptLimits, RecordBody } from "../../src/journal/records.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { CommandBench, type CommandBenchOptions } from "../support/command-bench.js";

export const limits = (over: Partial<Limits> = {}): Limits => ({
  ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: null, atMostMs: null, endsWith: null },
  guards: [],
  ...over,
});

export const guard = (over: Partial<Guard> = {}): Guard => ({
  name: "wind",
  input: { type: "weather", name: "wind" },
  from: "weather/wind",
  condition: { type: "above", limit: 12, clearAt: 9 },
  clearAfterMs: 600_000,
  allow: { words: ["close"], degrees: { min: 0, max: 10 } },
  sends: null,
  actsBlind: false,
  ...over,
});

export const weather = { wind: { topic: "weather/wind", field: "speed", stale_after: 60_000 } };

export const skylight = (over: Partial<ActuatorSettings> = {}): Partial<ActuatorSettings> => ({
  travelMs: 30_000,
  confirmWithinMs: 60_000,
  ...over,
});

export const valve = (over: Partial<ActuatorSettings> = {}): Partial<ActuatorSettings> => ({
  ...{ id: "valve", kind: "irrigation", address: "210", travelMs: 0, confirmWithinMs: 60_000 },
  ...over,
});

const nothingKept: KeptLimits = {
  ...{ guards: {}, starts: [], moved_until: null, direction: null, lock: null, hold: null, lease: null },
};

/** What the journal has of an earlier run. */
export const historyOf = (actuator: string, kept: Partial<KeptLimits>): Checkpoint => ({
  ...{ open: [], starts: [], alarms: [] },
  lanes: [
    {
      ...{ controller: "GH-0001", actuator, target: "actuator" },
      memory: { limits: { ...nothingKept, ...kept } },
    },
  ],
});

/** As a start begins; what of it is lost. */
export function takeUp(
  one: CommandBench,
  history: Checkpoint,
  newestAt = one.clock.now(),
  isOfCluster = false,
) {
  const { limits: left, events, lost } = one.engine.limitsLeft(history, newestAt, isOfCluster);
  one.events.push(...events);
  for (const lane of lanesFrom(history, left, one.store, one.clock))
    one.commander.feed({ type: "restored", key: laneKey(lane.about), lane });
  return lost;
}

interface BenchOptions extends CommandBenchOptions {
  readonly kept?: Partial<KeptLimits>;
  /** Alarms of an earlier run. */
  readonly alarms?: Readonly<Record<string, string>>;
  /** The platform was not asked yet. */
  readonly isUnasked?: boolean;
  /** No actuator was read yet. */
  readonly isUnread?: boolean;
  /** How far the platform's clock is ahead; null while it gave no time. */
  readonly clockSkewMs?: number | null;
}

/**
 * Runs the limits beside the commander, with what an earlier run kept of the first actuator. All is shut and was read, unless
 * `registers` say otherwise.
 */
export async function bench({
  kept,
  alarms = {},
  isUnasked = false,
  isUnread = false,
  clockSkewMs = 0,
  ...options
}: BenchOptions): Promise<CommandBench> {
  const one = new CommandBench({ weather, ...options });
  one.clockSkewMs = clockSkewMs;
  for (const [type, message] of Object.entries(alarms)) one.alarms.set(type, message);
  const [first] = options.actuators ?? [];
  if (kept !== undefined) takeUp(one, historyOf(first?.id ?? "roof", kept));
  if (isUnasked) one.store.setReachable(false);
  const stop = new AbortController();
  void one.engine.run(stop.signal);
  onTestFinished(() => stop.abort());
  one.store.dispatch("GH-0001", { type: "connection", status: online });
  const { actuators } = one.store.get("GH-0001") ?? {};
  for (const { settings } of isUnread ? [] : (actuators?.values() ?? [])) {
    const shut = settings.kind === "irrigation" ? "1001" : "10001";
    const raw = String(options.registers?.[settings.address] ?? shut);
    one.platform.registers.set(settings.address, raw);
    one.polled(settings.address, raw);
  }
  await one.clock.advance(0);
  return one;
}

/** A platform that accepts a POST and does nothing. */
export const ignored = () => Promise.resolve({ code: "200", requestId: null });

/** A lock without an end. */
export const lockOf = (one: CommandBench) => ({
  ...{ by: "anna", via: null, reason: "glass work", since: one.clock.now(), until: null, endsAt: Infinity },
  isSpan: true,
});

/** What the disk has of an actuator's limits, newest last. */
export const keptIn = (records: readonly RecordBody[]): readonly (KeptLimits | null)[] =>
  stamped(records).flatMap((record) => {
    const limits = "memory" in record ? record.memory?.limits : undefined;
    return limits === undefined ? [] : [limits];
  });

/** As the next start reads the journal. */
export function nextStart(records: readonly RecordBody[]): Checkpoint {
  const history = new History();
  const head: RecordBody = { type: "carried", open: [], starts: [], lanes: [] };
  for (const record of stamped([head, ...records])) history.add(record);
  return history.parts();
}

function stamped(records: readonly RecordBody[]): readonly JournalRecord[] {
  // Before the clock of a bench begins, so that no clock was ahead.
  const stamp = { at: "2026-02-01T06:00:00.000Z", mono: 0, boot: "b", clock_synced: true };
  return records.map(
    (body, place) => JSON.parse(JSON.stringify({ seq: place + 1, ...stamp, ...body })) as JournalRecord,
  );
}

const online = { state: "online", version: null, description: null, lastOnlineAt: null } as const;

export const blow = (speed: number | string) => (one: CommandBench) =>
  one.engine.onWeather("weather/wind", new TextEncoder().encode(JSON.stringify({ speed })));
