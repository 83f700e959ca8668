import { stateOfWord } from "../../greenhouse/actuator-values.js";
import { canonical, type Wanted } from "../../greenhouse/command/words.js";
import type { Guard, GuardCondition } from "../../greenhouse/limits.js";
import type { Actuator, Controller } from "../../greenhouse/model.js";
import { type Instant, nothingRead, type Reading } from "./guards.js";

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

/** All that an actuator's limits look at outside of it, at one moment. */
export interface Around {
  /** The controller of the actuator. */
  readonly own: Controller | undefined;
  readonly controller: (idOrCode: string) => Controller | undefined;
  readonly weather: (name: string) => WeatherReading | null;
  readonly activity: (code: string, actuator: string) => Activity;
  /** How old a value may be: one of the platform, ms; or of `weather`, null for one that is not configured. */
  readonly staleAfterMs: number;
  readonly weatherStaleAfterMs: (name: string) => number | null;
  readonly now: Instant;
  /** When this run began. */
  readonly startedAt: number;
  readonly isReadOnly: boolean;
}

export const nothingUnderWay: Activity = { unfinished: [], isMoving: false };

const absentTexts = new Set(["", "null", "unknown", "unavailable"]);

/** The value in a payload: of JSON the field, else the text itself; null where there is none. */
export function weatherValue(payload: string, field: string | undefined): WeatherReading["value"] {
  const text = payload.trim();
  const said = parsed(text);
  if (field === undefined) return plain(said ?? text, text);
  return plain(field.split(".").reduce(inside, said), "");
}

const inside = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? new Map<string, unknown>(Object.entries(value)).get(key)
    : undefined;

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

/** What a guard's input shows now; not good where it is not to be found. `id` is the actuator of the guard. */
export function readInput({ input, condition }: Guard, id: string, around: Around): Reading {
  if (input.type === "weather") return readWeather(input.name, around);
  const controller = input.controller === null ? around.own : around.controller(input.controller);
  switch (input.type) {
    case "sensor": {
      const sensor = controller?.sensors.get(input.id);
      return sensor === undefined ? nothingRead : one(sensor.value, sensor.quality);
    }
    case "status": {
      const status = controller?.statuses.get(input.id);
      return status === undefined ? nothingRead : one(status.state, status.quality);
    }
    case "actuator": {
      const actuator = controller?.actuators.get(input.id);
      if (controller === undefined || actuator === undefined) return nothingRead;
      // A guard on the actuator itself looks at its movement, and not at the command that is judged.
      const activity = around.activity(controller.info.code, input.id);
      const isOwn = controller === around.own && input.id === id;
      return readActuator(actuator, condition, isOwn ? { ...activity, unfinished: [] } : activity);
    }
  }
}

function readWeather(name: string, around: Around): Reading {
  const newest = around.weather(name);
  const staleAt = weatherStaleAt(name, around);
  if (newest === null || staleAt === null) return nothingRead;
  return one(newest.value, around.now.mono >= staleAt ? "stale" : "good");
}

/** When the newest message is too old; null without one. */
export function weatherStaleAt(name: string, { weather, weatherStaleAfterMs }: Around): number | null {
  const newest = weather(name);
  const longest = weatherStaleAfterMs(name);
  return newest === null || longest === null ? null : newest.at + longest + 1;
}

type Value = Reading["value"];

const one = (value: Value, quality: Reading["quality"]): Reading => ({ value, values: [value], quality });

function readActuator(
  { settings, quality, state, position }: Actuator,
  condition: GuardCondition,
  { unfinished, isMoving }: Activity,
): Reading {
  if (state === null) return nothingRead;
  if (condition.type === "moving") return one(isMoving || unfinished.length > 0, quality);
  const wantsNumber = condition.type === "above" || condition.type === "below";
  const value = wantsNumber ? degreeOf(state, position) : state;
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
