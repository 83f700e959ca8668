import { isBeyond, readingSentence, unsureSentence } from "../../greenhouse/alarms.js";
import { isFromAverage } from "../../greenhouse/averages.js";
import { type Bands, beyondOf } from "../../greenhouse/bands.js";
import { sensorName } from "../../greenhouse/documents.js";
import type { Alarm, AlarmFacts, ReadingFact } from "../../greenhouse/limits.js";
import type { Controller, ReadingAlarm, Sensor } from "../../greenhouse/model.js";
import { diskPatienceMs, every, within as inTime } from "../../runtime/clock.js";
import { ignored } from "../../runtime/failures.js";
import { type AlarmStore, mostATurn } from "../alarm-store.js";
import type { LimitPorts } from "../ports.js";
import type { AlarmChange } from "../rules/alarms.js";
import { judgeSide, type Level, limitOf, type Side, type SideState, underOther, within } from "./judge.js";
import { keptIn, keptText, nothingKept, type Pending, pendingOf, resumeSides } from "./pending.js";

/*
 * Alarms for readings: which readings are judged, when, and what is reported. They are kept with all other alarms, so a
 * restart knows which limits were crossed. A crossed limit whose delay still runs has no alarm yet, and is kept in its
 * own file.
 */

const sides = ["low", "high"] as const;
type ReadingType = "reading_low" | "reading_high";
const typeOf = (side: Side): ReadingType => `reading_${side}`;

type ShownAlarm = Omit<Alarm, "clearedAt">;

/** A crossed limit, as it was when noticed. */
interface Crossing {
  readonly level: Exclude<Level, "none">;
  readonly fact: ReadingFact;
  readonly message: string;
}

interface SensorState {
  readonly sides: Readonly<Record<Side, SideState>>;
  readonly crossings: Readonly<Partial<Record<Side, Crossing>>>;
  /** The sensor that was judged last. The other fields hold while nothing about it changes. */
  judged: Sensor;
}

interface House {
  /** The id of its controller. */
  readonly id: string;
  readonly sensors: Map<string, SensorState>;
  /** Alarms of an earlier run that are not judged yet, by the sensor's id. */
  readonly carried: Map<string, readonly ShownAlarm[]>;
}

/** The most controllers judged in one go; then commands have a turn. */
const housesATurn = 2;
const lookMs = 60_000;
/** A reading not shown for this long belongs to a sensor that is gone. */
const keptForMs = 30 * 86_400_000;

export class ReadingAlarms {
  readonly #alarms;
  readonly #ports;
  readonly #houses = new Map<string, House>();
  /** Alarms of an earlier run, by the controller's id. */
  readonly #carried = new Map<string, ShownAlarm[]>();
  /** Device codes of controllers with readings that are not judged yet. */
  readonly #dirty = new Set<string>();
  /** Sensors with an alarm that answers do not list, by the alarm's id. */
  #unlisted = new Map<string, Unlisted>();
  /** Crossed limits of an earlier run for readings not judged yet, by the ids of controller and sensor. */
  readonly #pending = new Map<string, Map<string, readonly Pending[]>>();
  #written = nothingKept;
  #writing: Promise<void> | null = null;
  /** Whether the file of an earlier run was read; nothing is judged before. */
  #hasRead = false;
  #isComing = false;

  constructor(
    alarms: Pick<AlarmStore, "list" | "setAll">,
    ports: Pick<LimitPorts, "clock" | "log" | "store" | "readingsKept" | "readingsAnsweredAt">,
  ) {
    this.#alarms = alarms;
    this.#ports = ports;
    ports.store.onChange((before, after) => this.#onChange(before, after), ["sensors"]);
  }

  /** Takes the alarms of an earlier run, once they are known. */
  restore(): void {
    for (const alarm of this.#alarms.list) {
      if (alarm.sensor === undefined || alarm.controller === null || alarm.state === "cleared") continue;
      this.#carried.set(alarm.controller, [...(this.#carried.get(alarm.controller) ?? []), alarm]);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    await this.#read(signal);
    if (signal.aborted) return;
    this.#hasRead = true;
    this.#judgeSoon();
    await every(lookMs, clock, signal, () => {
      this.#endUnlisted();
      void this.#keep();
    });
    const last = async () => {
      await this.#writing;
      await this.#keep();
    };
    await inTime(clock, diskPatienceMs, last).catch(ignored);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock, log, readingsKept } = this.#ports;
    try {
      const text = await inTime(clock, diskPatienceMs, () => readingsKept.read(), signal);
      const { pending, unlisted } = keptIn(text ?? nothingKept);
      this.#written = text ?? nothingKept;
      for (const one of pending) {
        const [controller, sensor, , , since] = one;
        if (since < clock.now() - keptForMs) continue;
        const ofHouse = this.#pending.get(controller) ?? new Map<string, readonly Pending[]>();
        this.#pending.set(controller, ofHouse.set(sensor, [...(ofHouse.get(sensor) ?? []), one]));
      }
      for (const [id, ms] of Object.entries(unlisted)) this.#unlisted.set(id, { ms, answeredAt: null });
    } catch (problem) {
      log.warn(
        { problem },
        "since when readings are beyond their limits is not known; their delays begin anew",
      );
    }
  }

  /** Writes the file, one write at a time. Never rejects. */
  #keep(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { log, readingsKept } = this.#ports;
    const open = [...this.#houses.values()].flatMap(({ id, sensors }) =>
      [...sensors].flatMap(([sensor, { sides, judged }]) =>
        judged.definition.bands === undefined ? [] : pendingOf(id, sensor, sides, judged.definition.bands),
      ),
    );
    const left = [...this.#pending.values()].flatMap((ofHouse) => [...ofHouse.values()].flat());
    const text = keptText([...open, ...left], this.#unlisted);
    if (text === this.#written) return;
    try {
      await readingsKept.write(text);
      this.#written = text;
    } catch (problem) {
      log.debug(
        { problem },
        "since when readings are beyond their limits could not be kept; it is tried again",
      );
    }
  }

  readonly #endUnlisted = (): void => {
    const unlisted = new Map<string, Unlisted>();
    const changes: AlarmChange[] = [];
    for (const alarm of this.#alarms.list) {
      if (alarm.sensor === undefined || alarm.state === "cleared") continue;
      const before = this.#unlisted.get(alarm.id);
      const controller = this.#ports.store.byId(alarm.controller ?? "");
      const answeredAt = controller && this.#ports.readingsAnsweredAt?.(controller.info.code);
      if (controller === undefined || typeof answeredAt !== "number") {
        if (before !== undefined) unlisted.set(alarm.id, before);
        continue;
      }
      const isListed = listsSensor(controller, alarm.sensor);
      if (isListed === null && before !== undefined) unlisted.set(alarm.id, { ...before, answeredAt });
      if (isListed !== false) continue;
      const now = unlistedAfter(before, answeredAt);
      if (isGone(now) && changes.length < mostATurn)
        changes.push(this.#forget(controller, alarm, alarm.sensor));
      else unlisted.set(alarm.id, now);
    }
    this.#unlisted = unlisted;
    if (changes.length > 0) this.#alarms.setAll(changes);
    if (changes.length >= mostATurn) this.#ports.clock.soon(this.#endUnlisted);
  };

  /** Forgets a sensor, which is judged as new if it comes back. */
  #forget({ info }: Controller, alarm: ShownAlarm, sensor: string): AlarmChange {
    const house = this.#houses.get(info.code);
    house?.sensors.delete(sensor);
    house?.carried.delete(sensor);
    if (house !== undefined)
      this.#ports.store.dispatch(info.code, { type: "readings_judged", open: openIn(house) });
    const type = alarm.type === "reading_low" ? "reading_low" : "reading_high";
    return { ...clearingChange(type, info.id, sensor), last: lastOf(type, alarm) };
  }

  #onChange(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code ?? "";
    if (after === undefined) this.#houses.delete(code);
    if (after === undefined || after.sensors.size === 0) return;
    this.#dirty.add(code);
    this.#judgeSoon();
  }

  #judgeSoon(): void {
    if (this.#isComing || !this.#hasRead || this.#dirty.size === 0) return;
    this.#isComing = true;
    this.#ports.clock.soon(this.#judgeSome);
  }

  /**
   * Runs later and in parts: a listener of the store must not dispatch, and thousands of crossings at once must not
   * delay a stop.
   */
  readonly #judgeSome = (): void => {
    const changes: AlarmChange[] = [];
    let left = housesATurn;
    for (const code of this.#dirty) {
      if (left-- === 0) break;
      this.#dirty.delete(code);
      const controller = this.#ports.store.get(code);
      if (controller !== undefined) changes.push(...this.#judgeHouse(controller));
    }
    if (changes.length > 0) this.#alarms.setAll(changes);
    this.#isComing = this.#dirty.size > 0;
    if (this.#isComing) this.#ports.clock.soon(this.#judgeSome);
  };

  #judgeHouse(controller: Controller): readonly AlarmChange[] {
    const { code, id } = controller.info;
    const known = this.#houses.get(code);
    const house = known ?? { id, sensors: new Map(), carried: bySensor(this.#carried.get(id) ?? []) };
    const pending = this.#pending.get(id);
    const changes: AlarmChange[] = [];
    let hasBands = house.sensors.size > 0 || house.carried.size > 0;
    for (const sensor of controller.sensors.values()) {
      hasBands ||= sensor.definition.bands !== undefined;
      const news = judgeSensor(house, sensor, pending);
      if (news.length > 0) changes.push(...news);
    }
    if (known === undefined) changes.push(...withoutLimits(house, controller));
    if (known === undefined && hasBands) this.#houses.set(code, house);
    this.#carried.delete(id);
    const isFirst = hasBands && controller.readingAlarms === undefined;
    if (changes.length > 0 || isFirst)
      this.#ports.store.dispatch(code, { type: "readings_judged", open: openIn(house) });
    return changes;
  }
}

function bySensor(alarms: readonly ShownAlarm[]): House["carried"] {
  const found = new Map<string, readonly ShownAlarm[]>();
  for (const alarm of alarms) {
    const sensor = alarm.sensor ?? "";
    found.set(sensor, [...(found.get(sensor) ?? []), alarm]);
  }
  return found;
}

/**
 * Clears alarms of sensors that the configuration ignores now. One that was not read yet may still be beyond its limit.
 */
function withoutLimits(house: House, { info, settings }: Controller): readonly AlarmChange[] {
  const ignored = new Set(settings?.sensors.flatMap(({ id, ignore }) => (ignore ? [id] : [])));
  const gone = [...house.carried].filter(([sensor]) => ignored.has(sensor));
  return gone.flatMap(([sensor, alarms]) => {
    house.carried.delete(sensor);
    return alarms.map(({ type }) => clearingChange(type, info.id, sensor));
  });
}

const clearingChange = (type: Alarm["type"], controller: string, sensor: string): AlarmChange => ({
  type,
  about: { controller, actuator: null, sensor },
  message: null,
});

/** What an alarm says after it ended because its sensor is gone. */
function lastOf(type: ReadingType, { message, facts }: ShownAlarm): AlarmChange["last"] {
  if (facts?.reading === undefined)
    return { message: `${message}${unsureSentence({ quality: "good", gone: true })}`, facts: {} };
  const reading: ReadingFact = { ...facts.reading, gone: true };
  return { message: readingSentence(type, reading), facts: { reading } };
}

const nothingCrossed: SensorState["crossings"] = {};

const unjudged = (judged: Sensor): SensorState => ({
  sides: { low: within, high: within },
  crossings: nothingCrossed,
  judged,
});

const noChanges: readonly AlarmChange[] = [];

const isCalm = ({ sides: { low, high }, crossings }: SensorState): boolean =>
  low === within && high === within && crossings === nothingCrossed;

const isWithin = ({ value, quality }: Sensor, bands: Bands): boolean =>
  quality === "good" && typeof value === "number" && beyondOf(bands, value) === null;

function judgeSensor(
  house: House,
  sensor: Sensor,
  pending: Map<string, readonly Pending[]> | undefined,
): readonly AlarmChange[] {
  const { id, bands } = sensor.definition;
  const controller = house.id;
  const held = house.sensors.get(id);
  if (held?.judged === sensor) return noChanges;
  const carried = house.carried.size === 0 ? undefined : house.carried.get(id);
  if (bands === undefined) {
    pending?.delete(id);
    if (held === undefined && carried === undefined) return noChanges;
    house.sensors.delete(id);
    house.carried.delete(id);
    return sides.map((side) => clearingChange(typeOf(side), controller, id));
  }
  // The case of nearly all readings: nothing changes.
  if (held !== undefined && carried === undefined && isCalm(held) && isWithin(sensor, bands)) {
    held.judged = sensor;
    return noChanges;
  }
  const before = held ?? begun(sensor, bands, carried, pending?.get(id));
  pending?.delete(id);
  const after = stateAfter(before, sensor, bands);
  house.sensors.set(id, after);
  if (before.crossings === after.crossings && carried === undefined) return [];
  const isGood = sensor.quality === "good";
  if (isGood) house.carried.delete(id);
  // The carried alarm stands until a good value is read.
  else if (carried !== undefined) return [];
  return sides.flatMap((side) => {
    const [was, is] = [before.crossings[side], after.crossings[side]];
    const isCarried = isGood && carried?.some(({ type }) => type === typeOf(side)) === true;
    if (is === undefined)
      return was === undefined && !isCarried ? [] : [clearingChange(typeOf(side), controller, id)];
    if (was?.message === is.message && !isCarried) return [];
    return [raisingChange(side, is, controller, id)];
  });
}

const raisingChange = (
  side: Side,
  { level, fact, message }: Crossing,
  controller: string,
  sensor: string,
): AlarmChange => ({
  type: typeOf(side),
  about: { controller, actuator: null, sensor },
  message,
  facts: { reading: fact } satisfies AlarmFacts,
  severity: level === "far" ? "error" : "warning",
});

/** The state in the alarms of an earlier run; it is not judged anew before a good value. */
function asLeft(alarms: readonly ShownAlarm[], sensor: Sensor): SensorState {
  let state = unjudged(sensor);
  for (const { type, severity, facts } of alarms) {
    const side = type === "reading_low" ? "low" : "high";
    const level = severity === "error" ? "far" : "near";
    const fact = facts?.reading;
    if (fact === undefined) continue;
    state = {
      ...state,
      sides: { ...state.sides, [side]: { ...within, level } },
      crossings: { ...state.crossings, [side]: crossingOf(side, level, fact) },
    };
  }
  return state;
}

/** The state with which this run begins. */
function begun(
  sensor: Sensor,
  bands: Bands,
  carried: readonly ShownAlarm[] | undefined,
  pending: readonly Pending[] | undefined,
): SensorState {
  const left = carried === undefined ? unjudged(sensor) : asLeft(carried, sensor);
  return pending === undefined ? left : { ...left, sides: resumeSides(left.sides, pending, bands) };
}

/** The state under limits that may have changed since it was judged. */
function underBands(state: SensorState, bands: Bands): SensorState {
  const was = state.judged.definition.bands ?? bands;
  if (was === bands) return state;
  const sideOf = (side: Side) => underOther(side, state.sides[side], was.limits, bands.limits);
  return { ...state, sides: { low: sideOf("low"), high: sideOf("high") } };
}

/** Only good values raise and clear alarms; for others the alarm only says that the value is not good. */
function stateAfter(held: SensorState, sensor: Sensor, bands: Bands): SensorState {
  const { value, quality, measuredAt, definition } = sensor;
  const before = underBands(held, bands);
  const isGood = quality === "good" && typeof value === "number" && measuredAt !== null;
  if (!isGood) return { ...before, judged: sensor, crossings: unsure(before.crossings, bands, quality) };
  const after = {
    low: judgeSide("low", bands, before.sides.low, value, measuredAt),
    high: judgeSide("high", bands, before.sides.high, value, measuredAt),
  };
  // The case of nearly all readings.
  if (after.low.level === "none" && after.high.level === "none" && before.crossings === nothingCrossed)
    return { sides: after, crossings: nothingCrossed, judged: sensor };
  const crossings = Object.fromEntries(
    sides.flatMap((side) => {
      const { level } = after[side];
      if (level === "none") return [];
      const was = before.crossings[side];
      const limit = bands.limits[limitOf(side, level)] ?? value;
      // Under a changed limit an old crossing may be over, and a value that was back may cross again.
      const isSame = was?.level === level && was.fact.limit === limit && !isAnew(side, was.fact, value);
      if (isSame && before.judged.definition === definition)
        return [[side, withQuality(side, was, "good")] as const];
      const fact: ReadingFact = {
        name: { en: sensorName(definition, "en"), zh: sensorName(definition, "zh") },
        value: isSame ? was.fact.value : value,
        limit,
        unit: definition.unit,
        quality: "good",
      };
      return [[side, crossingOf(side, level, fact)] as const];
    }),
  );
  const isNone = after.low.level === "none" && after.high.level === "none";
  return { sides: after, crossings: isNone ? nothingCrossed : crossings, judged: sensor };
}

const isAnew = (side: Side, fact: ReadingFact, value: number): boolean =>
  !isBeyond(typeOf(side), fact) && isBeyond(typeOf(side), { ...fact, value });

const crossingOf = (side: Side, level: Crossing["level"], fact: ReadingFact): Crossing => ({
  level,
  fact,
  message: readingSentence(typeOf(side), fact),
});

const withQuality = (side: Side, crossing: Crossing, quality: ReadingFact["quality"]): Crossing =>
  crossing.fact.quality === quality
    ? crossing
    : crossingOf(side, crossing.level, { ...crossing.fact, quality });

/** Without a good value a crossing stays, unless its limit was removed. */
function unsure(
  before: SensorState["crossings"],
  { limits }: Bands,
  quality: ReadingFact["quality"],
): SensorState["crossings"] {
  const found = sides.flatMap((side) => {
    const was = before[side];
    return was === undefined || limits[limitOf(side, was.level)] === undefined
      ? []
      : [[side, withQuality(side, was, quality)] as const];
  });
  return found.length === 0 ? nothingCrossed : Object.fromEntries(found);
}

/** The open alarms of a house, the worst first. */
function openIn({ sensors, carried }: House): readonly ReadingAlarm[] {
  const open = [...sensors].flatMap(([sensor, { crossings }]) =>
    sides.flatMap((side) => {
      const one = crossings[side];
      return one === undefined ? [] : [{ sensor, limit: limitOf(side, one.level), message: one.message }];
    }),
  );
  const unread = [...carried].flatMap(([sensor, alarms]) =>
    sensors.has(sensor)
      ? []
      : alarms.map(({ type, severity, message }) => {
          const side = type === "reading_low" ? "low" : "high";
          return { sensor, limit: limitOf(side, severity === "error" ? "far" : "near"), message };
        }),
  );
  const isError = ({ limit }: ReadingAlarm) => Number(limit === "low_low" || limit === "high_high");
  return [...open, ...unread].toSorted((one, other) => isError(other) - isError(one));
}

/*
 * A renamed or removed sensor is never judged again, so its alarm would stay for ever. It counts as gone once the
 * answers of its controller have not listed it for a day; an outage is no answer. Instants are monotonic ms.
 */

/** How long answers have come without a sensor. */
interface Unlisted {
  readonly ms: number;
  /** Null where an earlier run counted. */
  readonly answeredAt: number | null;
}

const unlistedForMs = 86_400_000;
/** The most that a pause between two answers counts, as nothing was heard meanwhile. */
const longestPauseMs = 900_000;

const isGone = ({ ms }: Unlisted): boolean => ms >= unlistedForMs;

/** The count after a look at the newest answer, which does not list the sensor. */
function unlistedAfter(before: Unlisted | undefined, answeredAt: number): Unlisted {
  if (before === undefined || before.answeredAt === null) return { ms: before?.ms ?? 0, answeredAt };
  const ms = before.ms + Math.min(answeredAt - before.answeredAt, longestPauseMs);
  return answeredAt === before.answeredAt ? before : { ms, answeredAt };
}

/**
 * Whether only averages could list it, to which an account may have no right. For a sensor of an earlier run the
 * configuration decides.
 */
function isAverage({ sensors, settings }: Controller, sensor: string): boolean {
  if (settings?.averages !== true) return false;
  const definition = sensors.get(sensor)?.definition;
  if (definition !== undefined) return definition.average === true;
  return settings.sensors.some(({ id, from }) => id === sensor && isFromAverage(from));
}

/** Whether the newest answers of a controller list a sensor; null if they say nothing about it. */
function listsSensor(controller: Controller, sensor: string): boolean | null {
  const { layout, averages = [], availability } = controller;
  if (availability === "offline" || layout.length === 0) return null;
  if (averages.length === 0 && isAverage(controller, sensor)) return null;
  return [...layout, ...averages].some(({ definition }) => definition?.id === sensor);
}
