import type { BridgeEvent } from "../greenhouse/events.js";
import type { Guard } from "../greenhouse/limits.js";
import { givesWayAt, mayFollow, type Shown, standings } from "../greenhouse/steady.js";
import type { Entry } from "./rules/entry.js";
import type { GuardNow, GuardState } from "./rules/guards.js";
import { guardFacts, shownBy } from "./rules/judge.js";

/*
 * Events for guards that trip and clear: one for all actuators that a guard concerns at a moment, and at most a pair a
 * minute for one that flaps. A guard without a value has not tripped; its alarm says so.
 */

interface About {
  readonly controller: string;
  readonly actuator: string;
}

/** A guard that has changed, with its actuators. */
interface Change {
  readonly guard: Guard;
  readonly state: GuardState;
  readonly concerns: About[];
}

/** The most actuators named in an event. */
const mostNamed = 20;

export class GuardWatch {
  /** The state that was last reported for each guard, and since when, in monotonic ms. */
  readonly #told = new Map<string, Shown<boolean>>();
  #changed = new Map<string, Change>();

  /** Takes over what an earlier run has reported, so that it is not reported again. */
  restore(key: string, guards: readonly GuardNow[]): void {
    for (const { guard, state } of guards)
      if (state.isTripped) this.#told.set(nameOf(key, guard), { state: true, since: -Infinity });
  }

  /** Notes the guards of an actuator. Returns when one that has to wait may be reported, in monotonic ms. */
  note(key: string, { guards }: Entry, about: About, now: number): number {
    let next = Infinity;
    for (const { guard, state } of guards) {
      const name = nameOf(key, guard);
      const told = this.#told.get(name) ?? null;
      if ((told?.state ?? false) === state.isTripped) continue;
      if (told !== null && !mayFollow(told, state.isTripped, now, standings.guardTold)) {
        next = Math.min(next, givesWayAt(told, state.isTripped, standings.guardTold));
        continue;
      }
      this.#told.set(name, { state: state.isTripped, since: now });
      this.#add(guard, state, about);
    }
    return next;
  }

  #add(guard: Guard, state: GuardState, about: About): void {
    const { input } = guard;
    const of = input.type === "weather" ? null : (input.controller ?? about.controller);
    const { value, limit } = guardFacts(guard, state);
    const group = JSON.stringify([guard.name, guard.from, of, value, limit, state.isTripped]);
    const known = this.#changed.get(group);
    if (known === undefined) this.#changed.set(group, { guard, state, concerns: [about] });
    else known.concerns.push(about);
  }

  /** Returns the events since the last call; `at` is epoch ms. */
  take(at: number): readonly BridgeEvent[] {
    if (this.#changed.size === 0) return [];
    const changed = [...this.#changed.values()];
    this.#changed = new Map();
    return changed.map((one) => guardEvent(one, at));
  }
}

const nameOf = (key: string, { name }: Guard): string => `${key} ${name}`;

function guardEvent({ guard, state, concerns }: Change, at: number): BridgeEvent {
  const named = concerns.slice(0, mostNamed).map(({ controller, actuator }) => `${controller}/${actuator}`);
  const more = concerns.length - named.length;
  const actuators = `${named.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  const isOne = (part: keyof About) => concerns.every((one) => one[part] === concerns[0]?.[part]);
  const controller = isOne("controller") ? (concerns[0]?.controller ?? null) : null;
  const actuator = concerns.length === 1 ? (concerns[0]?.actuator ?? null) : null;
  const { value, limit } = guardFacts(guard, state);
  const facts = { controller, actuator, actuators, rule: guard.name, input: guard.from, value, limit };
  const shown = shownBy(guard, state);
  return state.isTripped
    ? {
        type: "guard_tripped",
        severity: "warning",
        message: `The guard "${guard.name}" has tripped at ${actuators}: ${shown}.`,
        at,
        facts,
      }
    : {
        type: "guard_cleared",
        severity: "info",
        message: `The guard "${guard.name}" at ${actuators} is clear again: ${shown}.`,
        at,
        facts,
      };
}
