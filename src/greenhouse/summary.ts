import { isGuard } from "./limits.js";
import type { Controller } from "./model.js";

/* How the controllers of an account are, in a few numbers. */

export interface AccountSummary {
  readonly controllers: number;
  readonly online: number;
  readonly offline: number;
  /** Not offline, and with a reading that is not good. */
  readonly old: number;
  /** Whose answers cannot be used. */
  readonly problems: number;
  /** Actuators at which a guard holds, and with a lock. */
  readonly guards: number;
  readonly locks: number;
}

const none: AccountSummary = {
  controllers: 0,
  online: 0,
  offline: 0,
  old: 0,
  problems: 0,
  guards: 0,
  locks: 0,
};

/** A controller that changes becomes another object, so that thousands which do not cost little. */
const known = new WeakMap<Controller, AccountSummary>();

export function summaryOf(controllers: Iterable<Controller>): AccountSummary {
  let sum = none;
  for (const controller of controllers) {
    const one = known.get(controller) ?? summaryOfOne(controller);
    known.set(controller, one);
    sum = {
      controllers: sum.controllers + one.controllers,
      online: sum.online + one.online,
      offline: sum.offline + one.offline,
      old: sum.old + one.old,
      problems: sum.problems + one.problems,
      guards: sum.guards + one.guards,
      locks: sum.locks + one.locks,
    };
  }
  return sum;
}

function summaryOfOne({ availability, problem, sensors, actuators }: Controller): AccountSummary {
  const isOld = [...sensors.values()].some(({ quality }) => quality !== "good");
  const limited = [...actuators.values()];
  const holds = limited.filter(({ restrictions }) =>
    restrictions?.allowed.because.some(({ rule }) => isGuard(rule)),
  );
  return {
    controllers: 1,
    online: Number(availability === "online"),
    offline: Number(availability === "offline"),
    old: Number(availability !== "offline" && isOld),
    problems: Number(problem),
    guards: holds.length,
    locks: limited.filter(({ restrictions }) => (restrictions?.lock ?? null) !== null).length,
  };
}
