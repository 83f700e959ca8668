import type { Core } from "../feature/core.js";
import { type CommandResult, isBad } from "../greenhouse/command/outcomes.js";
import { sensorName } from "../greenhouse/documents.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { TextFile } from "../runtime/file-system.js";
import { diskPatienceMs, every, within } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import type { About, Happening, Measure } from "./happenings.js";

/* Watches for happenings that people may want to know: results of commands, moves by guards and their end, locks. */

const lookMs = 5_000;
/** The most actuators remembered. */
const mostHeld = 5_000;

const isHeld = (value: unknown): value is readonly [string, readonly string[]] =>
  Array.isArray(value) && typeof value[0] === "string" && Array.isArray(value[1]);

const ruleIn = (by: string | null): string | null =>
  by?.startsWith("rule ") === true ? by.slice("rule ".length) : null;

/** The parts of the core that it reads. */
type WatchedCore = Pick<Core, "clock" | "log" | "file"> & {
  readonly mirror: { readonly store: Pick<Core["mirror"]["store"], "find"> };
  readonly configuration: {
    readonly weather: Readonly<Record<string, { readonly unit?: string | undefined }>>;
  };
};

export class HappeningsWatch {
  readonly #core: WatchedCore;
  readonly #onHappened: (one: Happening) => void;
  /** Which guards still hold what they moved; kept on disk, as a storm can outlast a run. */
  readonly #memory: TextFile;
  /** The guards that still hold each actuator, by `<controller>/<actuator>`. */
  readonly #holding = new Map<string, readonly string[]>();
  #written = "[]";

  constructor(core: WatchedCore, onHappened: (one: Happening) => void) {
    this.#core = core;
    this.#onHappened = onHappened;
    this.#memory = core.file("guards-told.json");
  }

  #house(idOrCode: string): Controller | undefined {
    return this.#core.mirror.store.find(idOrCode);
  }

  onResult({
    controller: id,
    actuator,
    command,
    outcome,
    by,
    sent_at: sentAt,
  }: Pick<CommandResult, "controller" | "actuator" | "command" | "outcome" | "by" | "sent_at">): void {
    const { clock } = this.#core;
    const house = this.#house(id);
    if (house === undefined || command === null) return;
    const held = house.actuators.get(actuator);
    const kind = held?.settings.kind ?? null;
    const about = { at: clock.now(), controller: house.info.id, actuator, kind };
    const rule = ruleIn(by);
    if (held !== undefined && rule !== null && outcome === "confirmed" && sentAt !== null) {
      this.#hold(`${about.controller}/${actuator}`, [rule]);
      this.#onHappened({
        ...about,
        of: "guards",
        rule,
        command,
        measure: this.#measureOf(house, held, rule),
      });
    }
    if (!isBad(outcome)) return;
    const unit = kind === null ? house.parameters.get(actuator)?.settings.unit : undefined;
    this.#onHappened({
      ...about,
      of: "commands",
      command: unit ? `${command} ${unit}` : command,
      outcome,
    });
  }

  /** The value that made the guard move; null where it is not known any more, or is a yes or no. */
  #measureOf(house: Controller, { restrictions }: Actuator, rule: string): Measure | null {
    const because = restrictions?.allowed.because.find((one) => one.rule === rule);
    const { value = null, input = null } = because ?? {};
    if (value === null || typeof value === "boolean" || input === null) return null;
    const [first = "", second] = input.split("/");
    if (first === "weather" && second !== undefined)
      return { name: second, value, unit: this.#core.configuration.weather[second]?.unit ?? null };
    const source = second === undefined ? house : this.#house(first);
    const sensor = source?.sensors.get(second ?? first)?.definition;
    if (sensor === undefined) return { name: input, value, unit: null };
    const name = { en: sensorName(sensor, "en"), zh: sensorName(sensor, "zh") };
    return { name, value, unit: sensor.unit };
  }

  onChange(before: Controller | undefined, after: Controller | undefined): void {
    if (before === undefined || after === undefined || before.actuators === after.actuators) return;
    for (const [id, actuator] of after.actuators) {
      const old = before.actuators.get(id);
      if (old !== undefined && old.restrictions !== actuator.restrictions)
        this.#onRestrictions(after, actuator);
    }
  }

  #onRestrictions({ info }: Controller, { settings, restrictions }: Actuator): void {
    const { clock } = this.#core;
    const about = { at: clock.now(), controller: info.id, actuator: settings.id, kind: settings.kind };
    this.#letGo(about, restrictions);
  }

  /** Reports a lock from its event: the state shows neither who removed it nor whether an earlier run left it. */
  #onLock(type: "locked" | "unlocked", at: number, facts: BridgeEvent["facts"]): void {
    const house = this.#house(String(facts?.["controller"]));
    const actuator = String(facts?.["actuator"]);
    const kind = house?.actuators.get(actuator)?.settings.kind;
    if (house === undefined || kind === undefined) return;
    const what = facts?.["ran_out"] === true ? "ran_out" : type;
    const by = String(facts?.["by"]);
    const reason = typeof facts?.["reason"] === "string" ? facts["reason"] : null;
    this.#onHappened({ at, controller: house.info.id, actuator, kind, of: "people", what, by, reason });
  }

  #letGo(about: About, restrictions: Actuator["restrictions"]): void {
    const key = `${about.controller}/${about.actuator}`;
    const rules = this.#holding.get(key);
    // No limits were shown for the actuator yet, so nobody knows what guards hold.
    if (rules === undefined || restrictions === undefined) return;
    const names = new Set(restrictions?.allowed.because.map(({ rule }) => rule));
    const still = rules.filter((rule) => names.has(rule));
    if (still.length === 0) this.#holding.delete(key);
    else this.#holding.set(key, still);
    for (const rule of rules)
      if (!names.has(rule)) this.#onHappened({ ...about, of: "guards", rule, command: null });
  }

  #hold(key: string, rules: readonly string[]): void {
    const before = this.#holding.get(key) ?? [];
    if (before.length > 0 || this.#holding.size < mostHeld)
      this.#holding.set(key, [...new Set([...before, ...rules])]);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#core;
    try {
      this.#restore(await within(clock, diskPatienceMs, () => this.#memory.read(), signal));
    } catch (problem) {
      log.warn({ problem }, "what guards held before the start is not known; its end may not be told");
    }
    await every(lookMs, clock, signal, () => void this.#write());
    await within(clock, diskPatienceMs, () => this.#write()).catch(ignored);
  }

  /** Reads the memory, and reports guards that let go before it was read. */
  #restore(text: string | null): void {
    this.#written = text ?? "[]";
    const kept: unknown = JSON.parse(this.#written);
    for (const [key, rules] of Array.isArray(kept) ? kept.filter(isHeld) : []) {
      this.#hold(key, rules);
      const [controller = "", actuator = ""] = key.split("/");
      const held = this.#house(controller)?.actuators.get(actuator);
      if (held === undefined) continue;
      const about = { at: this.#core.clock.now(), controller, actuator, kind: held.settings.kind };
      this.#letGo(about, held.restrictions);
    }
  }

  /** Saves the memory. Never rejects. */
  async #write(): Promise<void> {
    const { log } = this.#core;
    const [before, text] = [this.#written, JSON.stringify([...this.#holding])];
    if (text === before) return;
    this.#written = text;
    await this.#memory.write(text).catch((problem: unknown) => {
      this.#written = before;
      log.debug({ problem }, "what guards hold could not be kept; it is tried again");
    });
  }

  onEvent({ type, at, facts }: BridgeEvent): void {
    if (type === "locked" || type === "unlocked") this.#onLock(type, at, facts);
    const by = typeof facts?.["by"] === "string" ? facts["by"] : null;
    if (type === "settings_changed")
      this.#onHappened({ of: "people", what: "settings", by, keys: String(facts?.["keys"]), at });
    if (type === "read_only_changed")
      this.#onHappened({
        of: "people",
        what: "read_only",
        by,
        isReadOnly: facts?.["read_only"] === true,
        at,
      });
  }
}
