import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import { badOutcomes, type Happening } from "./happenings.js";

/* Sees what people may want to be told: what became of commands, what guards did and let go, who locked and unlocked. */

interface WitnessPorts {
  readonly clock: Pick<Clock, "now">;
  readonly controller: (idOrCode: string) => Controller | undefined;
  /** Of a `weather` topic. */
  readonly unitOf: (weather: string) => string | undefined;
  readonly onHappened: (one: Happening) => void;
}

const ruleIn = (by: string | null): string | null =>
  by?.startsWith("rule ") === true ? by.slice("rule ".length) : null;

export class Witness {
  readonly #ports: WitnessPorts;
  /** Of guards that moved something and hold still. */
  readonly #holding = new Map<string, string>();

  constructor(ports: WitnessPorts) {
    this.#ports = ports;
  }

  onResult({
    controller: id,
    actuator,
    command,
    outcome,
    by,
    message,
    sent_at: sentAt,
  }: CommandResult): void {
    const { clock, controller, onHappened } = this.#ports;
    const house = controller(id);
    const held = house?.actuators.get(actuator);
    if (house === undefined || held === undefined || command === null) return;
    const about = { at: clock.now(), controller: house.info.id, actuator, kind: held.settings.kind };
    const rule = ruleIn(by);
    if (rule !== null && outcome === "confirmed" && sentAt !== null) {
      this.#holding.set(`${about.controller}/${actuator}`, rule);
      onHappened({ ...about, of: "guards", rule, command, measure: this.#measureOf(house, held, rule) });
    }
    const bad = badOutcomes.find((one) => one === outcome);
    if (bad !== undefined)
      onHappened({ ...about, of: "commands", command, outcome: bad, message: message ?? "" });
  }

  /** `wind 14 m/s`; null where it is not known any more. */
  #measureOf(house: Controller, { restrictions }: Actuator, rule: string): string | null {
    const because = restrictions?.allowed.because.find((one) => one.rule === rule);
    const { value = null, input = null } = because ?? {};
    if (value === null || input === null) return null;
    const weather = input.startsWith("weather/") ? input.slice("weather/".length) : null;
    const [first = "", second] = input.split("/");
    const source = second === undefined ? house : this.#ports.controller(first);
    const sensor = source?.sensors.get(second ?? first)?.definition;
    const unit = weather === null ? sensor?.unit : this.#ports.unitOf(weather);
    return [weather ?? sensor?.name ?? input, String(value), unit].filter(Boolean).join(" ");
  }

  onChange(before: Controller | undefined, after: Controller | undefined): void {
    if (before === undefined || after === undefined || before.actuators === after.actuators) return;
    for (const [id, actuator] of after.actuators) {
      const old = before.actuators.get(id);
      if (old !== undefined && old.restrictions !== actuator.restrictions)
        this.#onRestrictions(after, old, actuator);
    }
  }

  #onRestrictions({ info }: Controller, before: Actuator, { settings, restrictions }: Actuator): void {
    const { clock, onHappened } = this.#ports;
    const about = { at: clock.now(), controller: info.id, actuator: settings.id, kind: settings.kind };
    const [was, is] = [before.restrictions?.lock ?? null, restrictions?.lock ?? null];
    // What an earlier run left is there with the first view.
    if (is !== null && was === null && before.restrictions !== undefined)
      onHappened({ ...about, of: "people", what: "locked", by: is.by, reason: is.reason });
    if (was !== null && is === null)
      onHappened({ ...about, of: "people", what: "unlocked", by: was.by, reason: null });
    const key = `${info.id}/${settings.id}`;
    const rule = this.#holding.get(key);
    if (rule === undefined || restrictions?.allowed.because.some((one) => one.rule === rule) === true) return;
    this.#holding.delete(key);
    onHappened({ ...about, of: "guards", rule, command: null });
  }

  onEvent({ type, message, at }: BridgeEvent): void {
    if (type === "read_only_changed" || type === "settings_changed")
      this.#ports.onHappened({ of: "people", what: "told", message, at });
  }
}
