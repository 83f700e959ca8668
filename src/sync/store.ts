import type { ControllerEvent } from "../greenhouse/events.js";
import type { Freshness } from "../greenhouse/freshness.js";
import type { Controller } from "../greenhouse/model.js";
import { newController, reduce } from "../greenhouse/reduce.js";
import type { MirrorSettings } from "../greenhouse/settings.js";
import { type FirstLayouts, isNoOtherSensor } from "../greenhouse/sensor-identity.js";
import { controllerTopicId, freeId, type Transliterate } from "../greenhouse/topic-ids.js";
import { type Clock, every, jumpMs } from "../runtime/clock.js";

type Change = (before: Controller | undefined, after: Controller | undefined) => void;

interface Listener {
  readonly listener: Change;
  /** Null for all parts. */
  readonly parts: readonly (keyof Controller)[] | null;
}

const sweepMs = 1_000;

/**
 * Holds the mirror and is the only place that replaces it. Listeners get each changed controller; they must not throw
 * or dispatch.
 */
export class GreenhouseStore {
  readonly #controllers = new Map<string, Controller>();
  readonly #codes = new Map<string, string>();
  readonly #listeners = new Set<Listener>();
  readonly #clockListeners = new Set<(byMs: number) => void>();
  #settings: MirrorSettings;
  readonly #clock: Clock;
  readonly #transliterate: Transliterate;
  readonly #firstLayouts: FirstLayouts = new Map();
  #freshness: Freshness;
  #platform = { reachable: false, answers: false };
  #freshnessChanged = false;
  /** Before this instant (epoch ms) time alone makes nothing stale. */
  #judgeAt = Infinity;
  /** Wall clock minus monotonic clock when the clock was last looked at, in ms. A start may outlast a time server. */
  #ahead: number;

  constructor(settings: MirrorSettings, clock: Clock, transliterate: Transliterate) {
    this.#settings = settings;
    this.#clock = clock;
    this.#ahead = clock.now() - clock.monotonic();
    this.#transliterate = transliterate;
    const floors = { sensorFloorMs: 0, registerFloorMs: 0, statusFloorMs: 0 };
    this.#freshness = { staleAfterMs: settings.staleAfterMs, ...floors };
  }

  get size(): number {
    return this.#controllers.size;
  }

  controllers(): Iterable<Controller> {
    return this.#controllers.values();
  }

  get(code: string): Controller | undefined {
    return this.#controllers.get(code);
  }

  byId(id: string): Controller | undefined {
    const code = this.#codes.get(id);
    return code === undefined ? undefined : this.#controllers.get(code);
  }

  /** Finds a controller by topic id or code. */
  readonly find = (idOrCode: string): Controller | undefined => this.byId(idOrCode) ?? this.get(idOrCode);

  /**
   * Calls back for each change of a controller; with `parts` only for changes of these, or when it came or went. The
   * returned function ends that.
   */
  onChange(listener: Change, parts?: readonly (keyof Controller)[]): () => void {
    const told: Listener = { listener, parts: parts ?? null };
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  /** Whether a code is mirrored: not ignored, and listed where only listed ones are. */
  wants(code: string): boolean {
    const settings = this.#settings.controllers.get(code);
    if (settings) return !settings.ignore;
    return this.#settings.mirror === "all";
  }

  isConfigured(code: string): boolean {
    return this.#settings.controllers.has(code);
  }

  /** The controller of this code, made if new. */
  admit(code: string): Controller {
    const held = this.#controllers.get(code);
    if (held) return held;
    const settings = this.#settings.controllers.get(code) ?? null;
    const wanted = settings?.id ?? controllerTopicId(code, this.#transliterate);
    const id = freeId(wanted, code, (taken) => this.#codes.has(taken) || this.#isConfiguredId(taken, code));
    const { reachable, answers } = this.#platform;
    const controller = { ...newController(code, id, settings, reachable), platformAnswers: answers };
    this.#codes.set(id, code);
    this.#replace(code, undefined, controller);
    return controller;
  }

  dispatch(code: string, event: ControllerEvent): void {
    const before = this.#controllers.get(code);
    if (!before) return;
    const { statusReads, bands } = this.#settings;
    const after = reduce(before, event, {
      now: this.#clock.now(),
      freshness: this.#freshness,
      transliterate: this.#transliterate,
      firstLayouts: this.#firstLayouts,
      statusReads,
      bands,
    });
    if (after !== before) this.#replace(code, before, after);
  }

  /** Whether a sensor has this id with or without a section that says no more than `from`. */
  readonly knowsSensor = (code: string, id: string, from: string): boolean => {
    const controller = this.#controllers.get(code);
    return controller !== undefined && isNoOtherSensor(controller, id, from, this.#transliterate);
  };

  /** Applies new names, places and limits of readings; nothing else changes. */
  rename(settings: MirrorSettings): void {
    this.#settings = settings;
    this.#firstLayouts.clear();
    for (const code of this.#controllers.keys())
      this.dispatch(code, { type: "renamed", settings: settings.controllers.get(code) ?? null });
  }

  remove(code: string): void {
    const before = this.#controllers.get(code);
    if (!before) return;
    this.#controllers.delete(code);
    this.#codes.delete(before.info.id);
    for (const { listener } of this.#listeners) listener(before, undefined);
  }

  /**
   * Notes whether the realtime host is reachable; without it no reading stays good. `answers`: at this moment,
   * regardless of damping.
   */
  setReachable(reachable: boolean, answers = reachable): void {
    const { reachable: was, answers: did } = this.#platform;
    if (reachable === was && answers === did) return;
    this.#platform = { reachable, answers };
    for (const code of this.#controllers.keys())
      this.dispatch(code, { type: "platform", reachable, answers });
  }

  setFreshness(freshness: Freshness): void {
    this.#freshness = freshness;
    this.#freshnessChanged = true;
  }

  /** Calls back when the wall clock was set, with the change; positive is forward. */
  onClockSet(listener: (byMs: number) => void): void {
    this.#clockListeners.add(listener);
  }

  /** Lets time pass: readings become stale within a second after their time, even if the clock was set. */
  run(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    return every(sweepMs, clock, signal, () => {
      const wall = clock.now();
      const aheadNow = wall - clock.monotonic();
      const jump = jumpMs(this.#ahead, aheadNow);
      this.#ahead = aheadNow;
      if (jump !== null) for (const listener of this.#clockListeners) listener(jump);
      const isAnew = jump !== null || this.#freshnessChanged;
      this.#freshnessChanged = false;
      if (isAnew || wall >= this.#judgeAt) this.#sweep(wall, isAnew);
    });
  }

  #sweep(now: number, everything: boolean): void {
    for (const [code, controller] of this.#controllers) {
      const due = controller.nextJudgementAt !== null && now >= controller.nextJudgementAt;
      if (due || everything) this.dispatch(code, { type: "time_passed" });
    }
    this.#judgeAt = Infinity;
    for (const { nextJudgementAt } of this.#controllers.values())
      this.#judgeAt = Math.min(this.#judgeAt, nextJudgementAt ?? Infinity);
  }

  #isConfiguredId(id: string, code: string): boolean {
    for (const settings of this.#settings.controllers.values()) {
      if (settings.code !== code && settings.id === id) return true;
    }
    return false;
  }

  #replace(code: string, before: Controller | undefined, after: Controller): void {
    this.#controllers.set(code, after);
    this.#judgeAt = Math.min(this.#judgeAt, after.nextJudgementAt ?? Infinity);
    for (const { listener, parts } of this.#listeners) {
      let isConcerned = parts === null || before === undefined;
      for (const part of parts ?? []) isConcerned ||= before?.[part] !== after[part];
      if (isConcerned) listener(before, after);
    }
  }
}
