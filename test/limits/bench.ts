import { onTestFinished } from "vitest";
import type { Guard, Limits } from "../../src/greenhouse/limits.js";
import type { KeptLimits, RecordBody } from "../../src/journal/records.js";
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

/** Runs the limits beside the commander. */
export async function bench(options: CommandBenchOptions): Promise<CommandBench> {
  const one = new CommandBench({ weather, ...options });
  const stop = new AbortController();
  void one.keeper.run(stop.signal);
  onTestFinished(() => stop.abort());
  one.store.dispatch("GH-0001", { type: "connection", status: online });
  for (const { settings } of one.store.get("GH-0001")?.actuators.values() ?? []) {
    const shut = settings.kind === "irrigation" ? "1001" : "10001";
    one.platform.registers.set(settings.address, shut);
    one.polled(settings.address, shut);
  }
  await one.clock.advance(0);
  return one;
}

/** What the disk has of an actuator's limits, newest last: written alone, or with the first POST of a command. */
export const keptIn = (records: readonly RecordBody[]): readonly (KeptLimits | null)[] =>
  records.flatMap((record) => {
    if (record.type === "limits_kept") return [record.kept];
    return record.type === "phase" && record.limits !== undefined ? [record.limits] : [];
  });

export const online = { state: "online", version: null, description: null, lastOnlineAt: null } as const;

export const blow = (speed: number | string) => (one: CommandBench) =>
  one.keeper.measured("weather/wind", new TextEncoder().encode(JSON.stringify({ speed })));
