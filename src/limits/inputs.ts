import { stateOfWord } from "../greenhouse/actuator-values.js";
import { canonical, type Wanted } from "../greenhouse/command/words.js";
import type { Guard, GuardCondition } from "../greenhouse/limits.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import { nothingRead, type Reading } from "./guards.js";

/** The newest live message of a `weather` topic. */
export interface WeatherReading {
  readonly value: string | number | boolean | null;
  /** Monotonic ms of its arrival. */
  readonly at: number;
}

/** What the bridge itself has under way at an actuator. */
export interface Activity {
  /** Of commands taken and not ended that will send something. */
  readonly unfinished: readonly Wanted[];
  readonly isMoving: boolean;
}

/** Where inputs are looked up, the same for every judgement. */
export interface InputSource {
  readonly controller: (idOrCode: string) => Controller | undefined;
  readonly weather: (name: string) => WeatherReading | null;
  /** How old a weather value may be, ms; null for one that is not configured. */
  readonly staleAfterMs: (name: string) => number | null;
  readonly activity: (code: string, actuator: string) => Activity;
}

export const nothingUnderWay: Activity = { unfinished: [], isMoving: false };

const absentTexts = new Set(["", "null", "unknown", "unavailable"]);

/** The value in a payload: of JSON the field, else the text itself; null where there is none. */
export function weatherValue(payload: string, field: string | undefined): WeatherReading["value"] {
  const text = payload.trim();
  if (field === undefined) return plain(parsed(text) ?? text, text);
  let value: unknown = parsed(text);
  for (const key of field.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return null;
    value = new Map<string, unknown>(Object.entries(value)).get(key);
  }
  return plain(value, "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plain(value: unknown, text: string): WeatherReading["value"] {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.trim() : text;
  return absentTexts.has(word.toLowerCase()) ? null : word.slice(0, 200);
}

/** The actuator that is judged. */
interface Judging {
  readonly own: Controller;
  readonly id: string;
}

/** What a guard's input shows now, `before` where that is the same; not good where it is not to be found. */
export function readInput(
  { input, condition }: Guard,
  before: Reading,
  { own, id }: Judging,
  source: InputSource,
  now: number,
): Reading {
  if (input.type === "weather") return readWeather(input.name, condition, before, source, now);
  const controller = input.controller === null ? own : source.controller(input.controller);
  switch (input.type) {
    case "sensor": {
      const sensor = controller?.sensors.get(input.id);
      return sensor === undefined ? nothingRead : one(sensor.value, condition, sensor.quality, before);
    }
    case "status": {
      const status = controller?.statuses.get(input.id);
      return status === undefined ? nothingRead : one(status.state, condition, status.quality, before);
    }
    case "actuator": {
      const actuator = controller?.actuators.get(input.id);
      if (controller === undefined || actuator === undefined) return nothingRead;
      // A guard on the actuator itself looks at its movement, and not at the command that is judged.
      const activity = source.activity(controller.info.code, input.id);
      const isOwn = controller === own && input.id === id;
      return readActuator(actuator, condition, isOwn ? { ...activity, unfinished: [] } : activity, before);
    }
  }
}

function readWeather(
  name: string,
  condition: GuardCondition,
  before: Reading,
  source: InputSource,
  now: number,
): Reading {
  const newest = source.weather(name);
  const staleAt = weatherStaleAt(name, source);
  if (newest === null || staleAt === null) return nothingRead;
  return one(newest.value, condition, now >= staleAt ? "stale" : "good", before);
}

/** When the newest message is too old; null without one. */
export function weatherStaleAt(name: string, { weather, staleAfterMs }: InputSource): number | null {
  const newest = weather(name);
  const longest = staleAfterMs(name);
  return newest === null || longest === null ? null : newest.at + longest + 1;
}

type Value = Reading["value"];

function one(value: Value, { type }: GuardCondition, quality: Reading["quality"], before: Reading): Reading {
  const wantsNumber = type === "above" || type === "below";
  const text = typeof value === "string" ? value.trim() : "";
  const numeric = wantsNumber && text !== "" && Number.isFinite(Number(text)) ? Number(text) : value;
  if (numeric === null && quality === "good") return { value: null, values: [], quality: "bad" };
  const isSame =
    before.quality === quality &&
    before.value === numeric &&
    before.values.length === 1 &&
    before.values[0] === numeric;
  return isSame ? before : { value: numeric, values: [numeric], quality };
}

function readActuator(
  actuator: Actuator,
  condition: GuardCondition,
  { unfinished, isMoving }: Activity,
  before: Reading,
): Reading {
  const { settings, quality, state, position } = actuator;
  if (state === null) return nothingRead;
  if (condition.type === "moving") {
    return one(isMoving || unfinished.length > 0, condition, quality, before);
  }
  const wantsNumber = condition.type === "above" || condition.type === "below";
  const value = wantsNumber ? degreeOf(state, position) : state;
  if (unfinished.length === 0) return one(value, condition, quality, before);
  const goals = unfinished.map((wanted): Value => {
    if (wanted.type === "position") return wantsNumber ? wanted.degree : "position";
    const goal = stateOfWord(settings.kind, canonical(wanted));
    return wantsNumber ? degreeOf(goal, null) : goal;
  });
  return { value, values: [value, ...goals], quality };
}

/** `open` and `closed` are the ends of the way. */
export function degreeOf(state: string, position: number | null): number | null {
  if (position !== null) return position;
  return state === "open" ? 100 : state === "closed" ? 0 : null;
}

/** Which actuators, by their keys, have guards on what. */
export class Watchers {
  /** By a controller's id or code, or `weather/<name>`. */
  readonly #bySource = new Map<string, Set<string>>();
  readonly #actuators = new Set<string>();

  add(key: string, code: string, guards: readonly Guard[]): void {
    for (const { input } of guards) {
      const source = input.type === "weather" ? `weather/${input.name}` : (input.controller ?? code);
      if (input.type === "actuator") this.#actuators.add(`${source} ${input.id}`);
      this.#bySource.set(source, (this.#bySource.get(source) ?? new Set()).add(key));
    }
  }

  ofWeather(name: string): readonly string[] {
    return [...(this.#bySource.get(`weather/${name}`) ?? [])];
  }

  of({ id, code }: { readonly id: string; readonly code: string }): readonly string[] {
    if (this.#bySource.size === 0) return [];
    return [...(this.#bySource.get(code) ?? []), ...(id === code ? [] : (this.#bySource.get(id) ?? []))];
  }

  hasActuator({ id, code }: { readonly id: string; readonly code: string }, actuator: string): boolean {
    if (this.#actuators.size === 0) return false;
    return this.#actuators.has(`${code} ${actuator}`) || this.#actuators.has(`${id} ${actuator}`);
  }
}
