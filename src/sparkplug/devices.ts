import type { ResultAddressee } from "../commands/command.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Controller } from "../greenhouse/model.js";
import { type Aliases, aliasesOf } from "./messages.js";
import {
  anyResult,
  deviceDifference,
  deviceMetrics,
  isAlive,
  type Metric,
  type Picture,
  resultMetric,
  resultPlace,
  type ShownAlarm,
  type ShownResult,
} from "./metrics.js";

interface Device {
  controller: Controller;
  alarms: readonly ShownAlarm[];
  readonly results: Map<string, ShownResult>;
  /** Results that no data message has sent yet. */
  untold: readonly Metric[];
  /** What was last sent to hosts; null while the device is not born. */
  shown: Picture | null;
  aliases: Aliases;
  /** Names by alias, made when the first command comes. */
  names: ReadonlyMap<bigint, string> | null;
}

/** A bound on results that wait for their data message, as a flood of commands must not fill the memory. */
const mostUntold = 200;
const noAlarms: readonly ShownAlarm[] = [];
const noNames: ReadonlyMap<bigint, string> = new Map();

/** Each device as it is, and as it was last sent. */
export class Devices {
  readonly #devices = new Map<string, Device>();
  #alarms: ReadonlyMap<string, readonly ShownAlarm[]> = new Map();

  /** Takes a new state of a controller; returns whether its device is alive for hosts. */
  update(id: string, controller: Controller): boolean {
    const device = this.#devices.get(id);
    if (device === undefined)
      this.#devices.set(id, {
        controller,
        alarms: this.#alarms.get(id) ?? noAlarms,
        results: new Map(),
        untold: [],
        shown: null,
        aliases: new Map(),
        names: null,
      });
    else device.controller = controller;
    return isAlive(controller);
  }

  remove(id: string): void {
    this.#devices.delete(id);
  }

  /** Takes the present alarms; returns the devices whose alarms changed. */
  onAlarms(alarms: readonly ShownAlarm[]): readonly string[] {
    const byDevice = new Map<string, ShownAlarm[]>();
    for (const alarm of alarms) {
      if (alarm.controller === null) continue;
      byDevice.set(alarm.controller, [...(byDevice.get(alarm.controller) ?? []), alarm]);
    }
    const others = [...this.#devices].filter(([id, device]) => {
      const news = byDevice.get(id) ?? noAlarms;
      const isSame = JSON.stringify(news) === JSON.stringify(device.alarms);
      if (!isSame) device.alarms = news;
      return !isSame;
    });
    this.#alarms = byDevice;
    return others.map(([id]) => id);
  }

  onResult(controller: Controller, result: CommandResult, about: ResultAddressee, isHeard: boolean): void {
    const device = this.#devices.get(about.controllerId);
    if (device === undefined) return;
    const shown = { text: JSON.stringify(result), at: Date.parse(result.finished_at) };
    const place = resultPlace(about.target, about.targetId, controller);
    // Only its sender learns of a duplicate; as the newest of all results a double click would look like a failure.
    const places = [
      ...(place === null ? [] : [place]),
      ...(result.reason === "duplicate" ? [] : [anyResult]),
    ];
    for (const name of places) device.results.set(name, shown);
    if (!isHeard) return;
    const told = places.map((name) => resultMetric(name, device.results));
    device.untold = [...device.untold, ...told].slice(-mostUntold);
  }

  hasResults(id: string): boolean {
    return (this.#devices.get(id)?.untold.length ?? 0) > 0;
  }

  /** The next link begins with births, which hold the newest result of each target. */
  onUnlinked(): void {
    for (const device of this.#devices.values()) {
      device.shown = null;
      device.untold = [];
    }
  }

  isShown(id: string): boolean {
    return (this.#devices.get(id)?.shown ?? null) !== null;
  }

  forgetShown(id: string): void {
    const device = this.#devices.get(id);
    if (device !== undefined) device.shown = null;
  }

  /** Names of the metrics by alias, as in the newest birth. */
  names(id: string): ReadonlyMap<bigint, string> {
    const device = this.#devices.get(id);
    if (device === undefined) return noNames;
    device.names ??= new Map([...device.aliases].map(([name, alias]) => [alias, name]));
    return device.names;
  }

  /** Everything for the device's birth; null where the device is gone. */
  birth(id: string) {
    const device = this.#devices.get(id);
    if (device === undefined) return null;
    const { controller, alarms, results } = device;
    device.shown = { controller, alarms, results };
    const metrics = deviceMetrics(device.shown);
    device.aliases = aliasesOf(id, metrics);
    device.names = null;
    return { metrics, aliases: device.aliases };
  }

  /** What changed since the last message, with each new result; or that only a birth can say it. */
  data(id: string) {
    const device = this.#devices.get(id);
    if (device === undefined || device.shown === null) return { type: "birth" } as const;
    const { controller, results, aliases, untold, shown } = device;
    // A cleared alarm stays until the next birth, so that its end needs no birth.
    const alarms = withCleared(shown.alarms, device.alarms);
    const now = { controller, alarms, results };
    const changed = deviceDifference(shown, now);
    if (changed.type === "birth") return changed;
    device.shown = now;
    device.untold = [];
    return { type: "data", metrics: [...changed.metrics, ...untold], aliases } as const;
  }
}

/** Alarms in the order in which they were sent. */
function withCleared(told: readonly ShownAlarm[], now: readonly ShownAlarm[]): readonly ShownAlarm[] {
  if (told === now) return now;
  const there = new Map(now.map((alarm) => [alarm.id, alarm]));
  const known = told.map((alarm) => there.get(alarm.id) ?? { ...alarm, state: "cleared" as const });
  const ids = new Set(told.map(({ id }) => id));
  return [...known, ...now.filter(({ id }) => !ids.has(id))];
}
