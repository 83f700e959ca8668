import type { CoreConfiguration } from "../settings/sections/core.js";
import { bridgeItself, type WeatherShown } from "../greenhouse/limits.js";
import { AlarmStore } from "./alarm-store.js";
import { LimitEngine, type ReceivedWeather } from "./engine.js";
import type { LimitsLeft } from "./restored-limits.js";
import type { LimitPorts } from "./ports.js";
import { ReadingAlarms } from "./readings/watch.js";
import { every } from "../runtime/clock.js";
import { isEmpty, keyOf } from "./rules/entry.js";

/** The topics of measured values. */
export const weatherTopics = (weather: CoreConfiguration["weather"]): readonly string[] => [
  ...new Set(Object.values(weather).map(({ topic }) => topic)),
];

/** A message on a weather topic. */
interface Measured {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
  readonly ageMs?: number;
}

/** How often it checks locks of targets that are not configured any more; each may be lifted or end. */
const lostEveryMs = 60_000;

/** The greatest age of a live message, in ms. */
const liveMs = 1_000;

const isAlarm = ({ alarms }: LimitPorts["topics"], topic: string): boolean =>
  topic.startsWith(alarms.slice(0, -1));

const ofLimits: ReadonlySet<string> = new Set(["guard_blind", "guard_unmet", "lease_overrun"]);

/** Limits and alarms as one part of the bridge. They are not a safety layer. */
export class LimitService {
  readonly engine: LimitEngine;
  readonly alarms: AlarmStore;
  readonly #readings: ReadingAlarms;
  readonly #ports: Pick<
    LimitPorts,
    "journal" | "store" | "topics" | "retained" | "clock" | "configuration" | "onEvent" | "isOfCluster"
  >;
  readonly #topics: ReadonlySet<string>;
  /** Time of the newest record of earlier runs, in epoch ms of their clock. */
  readonly #newestAt: number;
  /** Topics on the broker that this run does not know; null once all were seen. */
  #left: Set<string> | null = new Set();
  /** Whether the journal has no earlier start. */
  #isFirst = false;
  /** Why this run does not know everything that an earlier one left; null if it does. */
  #unknown: string | null = null;

  constructor(ports: LimitPorts) {
    const { configuration, journal, store, otherBridge, overdue, isAccountKnown } = ports;
    const { crashLoop = () => null } = ports;
    this.#ports = ports;
    this.#newestAt = journal.newestAt;
    this.#topics = new Set(weatherTopics(configuration.weather));
    this.alarms = new AlarmStore(ports, () => ({
      journalProblem: journal.state().reason?.toString() ?? null,
      otherBridge: otherBridge(),
      overdue,
      crashLoop: crashLoop(),
      isGone: (controller) => isAccountKnown() && store.byId(controller) === undefined,
    }));
    this.#readings = new ReadingAlarms(this.alarms, ports);
    this.engine = new LimitEngine(ports, this.alarms);
  }

  /** The limits of an earlier run, for the book of commands to begin with before anything is commanded or published. */
  restore(): LimitsLeft["limits"] {
    const { journal, onEvent } = this.#ports;
    const history = journal.history();
    this.#isFirst = history.starts.length <= 1;
    this.alarms.restore(history.alarms ?? []);
    this.#readings.restore();
    const { limits, events, lost } = this.engine.limitsLeft(history, this.#newestAt, this.#ports.isOfCluster);
    for (const { type, controller, actuator } of this.alarms.list)
      if (ofLimits.has(type) && controller !== null && !this.#isLimited(limits, controller, actuator))
        this.alarms.set(type, { controller, actuator }, null);
    for (const event of events) onEvent(event);
    const { unreadable } = journal.facts();
    const unread = unreadable > 0 ? `${unreadable} lines of the journal cannot be read.` : null;
    this.#unknown = journal.readProblem?.message ?? unread;
    this.#tellLost(lost);
    return limits;
  }

  #tellLost(lost: LimitsLeft["lost"]): void {
    this.alarms.set("lease_overrun", bridgeItself, lost.lease_overrun);
    this.alarms.set("state_lost", bridgeItself, this.#unknown ?? lost.state_lost);
  }

  /** Notes a topic that the broker held before. An alarm that this run does not know is over. */
  onFound(topic: string, payload: Uint8Array): void {
    if (payload.length === 0 || !this.#isLeft(topic)) return;
    this.#left?.add(topic);
    const { topics, retained } = this.#ports;
    if (isAlarm(topics, topic)) retained.wanted(topic, "");
  }

  /** The broker has shown what it holds: leftovers at a first start mean that there was an earlier run. */
  onLooked(isWhole: boolean): void {
    const left = this.#left;
    if (isWhole) this.#left = null;
    if (!this.#isFirst || left === null || left.size === 0) return;
    const some = [...left].slice(0, 5).join(", ");
    const message = `The data directory holds nothing of an earlier run, and the broker still shows ${some}: what was in force then is not any more.`;
    this.#unknown = message;
    this.alarms.set("state_lost", bridgeItself, message);
  }

  /** Whether this run has nothing to show there; false for topics of other sorts. */
  #isLeft(topic: string): boolean {
    const { topics, store } = this.#ports;
    if (isAlarm(topics, topic)) return !this.alarms.has(topic.slice(topics.alarms.length - 1));
    const leaf = (["lock", "lease"] as const).find((one) => topic.endsWith(`/${one}`));
    if (leaf === undefined) return false;
    const [controller = "", , actuator = ""] = topic.split("/").slice(-4);
    const restrictions = store.byId(controller)?.actuators.get(actuator)?.restrictions;
    return (restrictions?.[leaf] ?? null) === null;
  }

  /** Whether anything limits the actuator. If not, no other part would clear its alarms. */
  #isLimited(limits: LimitsLeft["limits"], controller: string, actuator: string | null): boolean {
    const { info, actuators } = this.#ports.store.byId(controller) ?? {};
    const settings = actuators?.get(actuator ?? "")?.settings;
    if (info === undefined || settings === undefined) return false;
    const left = limits.get(keyOf(info.code, settings.id))?.now ?? null;
    return settings.limits !== undefined || (left !== null && !isEmpty(left));
  }

  isWeatherTopic(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /**
   * Takes a live message. On MQTT 3.1.1 the retain flag means a stored message of unknown age; on 5 stored ones are not
   * requested, and a live one may carry the flag. A message that waited while the process stood still is not live
   * either.
   */
  onWeather({ topic, payload, retain, ageMs = 0 }: Measured, protocolVersion: 4 | 5 | undefined): void {
    if (ageMs < liveMs && (!retain || protocolVersion === 5)) this.engine.onWeather(topic, payload);
  }

  /** The newest values of the `weather` topics, by name. */
  weather(): Readonly<Record<string, WeatherShown>> {
    const { configuration, clock } = this.#ports;
    return weatherShown(configuration.weather, this.engine.weather, clock.monotonic());
  }

  async run(signal: AbortSignal): Promise<void> {
    const lost = every(lostEveryMs, this.#ports.clock, signal, () => this.#tellLost(this.engine.lost()));
    await Promise.all([this.engine.run(signal), this.alarms.run(signal), this.#readings.run(signal), lost]);
  }
}

/** The newest values of the `weather` topics. */
function weatherShown(
  weather: CoreConfiguration["weather"],
  received: ReadonlyMap<string, ReceivedWeather>,
  mono: number,
): Readonly<Record<string, WeatherShown>> {
  const shown = Object.entries(weather).map(([name, { unit = null }]) => {
    const newest = received.get(name);
    const value = newest?.value ?? null;
    const isStale = newest === undefined || mono >= newest.staleAt;
    const quality = isStale ? "stale" : value === null ? "bad" : "good";
    const received_at = newest === undefined ? null : new Date(newest.receivedAt).toISOString();
    return [name, { value, unit, quality, received_at }] as const;
  });
  return Object.fromEntries(shown);
}
