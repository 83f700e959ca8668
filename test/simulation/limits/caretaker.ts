import { lock, release, unlock } from "../../../src/status/requests.js";
import { RequestError } from "../../../src/mqtt/requests.js";
import type { Bridge } from "../bridge.js";
import { Chance } from "../chance.js";
import type { World } from "../world.js";
import type { Limited } from "./limit-book.js";

const hourMs = 3_600_000;

/** Who is about looks at the alarms so often. */
const looksPerHour = 1.5;

/**
 * Somebody who works in the greenhouse: locks actuators, one or all of a controller, unlocks them, lets go what is held, and says
 * which alarms were seen.
 */
export class Caretaker {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #looks: Chance;

  constructor(world: World) {
    this.#world = world;
    this.#chance = new Chance(world.scenario.seed, "caretaker");
    this.#looks = new Chance(world.scenario.seed, "alarms");
  }

  begin(): void {
    const { isLimited, locksPerHour } = this.#world.scenario;
    if (isLimited) this.#again(this.#looks, looksPerHour, () => this.#acknowledge());
    if (locksPerHour === 0) return;
    this.#again(this.#chance, locksPerHour, () => {
      if (!this.#world.isCalm) this.#come();
    });
  }

  #again(chance: Chance, perHour: number, action: () => void): void {
    this.#world.in(chance.gap(hourMs / perHour), () => {
      action();
      this.#again(chance, perHour, action);
    });
  }

  /** One of the alarms that are on, or all that nobody has seen. */
  #acknowledge(): void {
    const { alarms } = this.#world.checks.limits;
    const on = alarms.on();
    const alarm = on.length === 0 || this.#looks.hits(0.2) ? "all" : this.#looks.of(on);
    this.#do((bridge) => {
      const ports = bridge.requestPorts;
      this.#world.journalist.note("acknowledge", { alarm });
      if (ports !== null) alarms.acknowledge(() => ports.limits.alarms.acknowledge(alarm, "anna"));
      return Promise.resolve();
    });
  }

  #come(): void {
    const all = [...this.#world.checks.limits.limits.limited.values()];
    const one = this.#chance.of(all);
    if (this.#chance.hits(0.25)) {
      this.#do((bridge) => this.#release(bridge, one));
      return;
    }
    const isAll = this.#chance.hits(0.2);
    const about = isAll ? all.filter(({ code }) => code === one.code) : [one];
    const minutes =
      this.#chance.hits(0.3) && this.#world.scenario.clockJumpsPerHour === 0
        ? this.#chance.whole(1, 30)
        : null;
    this.#do((bridge) => this.#lock(bridge, about, isAll, minutes));
    this.#world.in(this.#chance.logUniform(20_000, 2_400_000), () => this.#unlocking(about, isAll));
  }

  #do(what: (bridge: Bridge) => Promise<void>): boolean {
    const { bridge } = this.#world;
    if (bridge === null || !bridge.isLinked || !bridge.clock.isAlive || bridge.isStopping) return false;
    what(bridge).catch((error: unknown) => this.#world.fail(error));
    return true;
  }

  /** Until it is done: nobody leaves a lock behind. */
  #unlocking(about: readonly Limited[], isAll: boolean): void {
    this.#do((bridge) => this.#unlock(bridge, about, isAll));
    this.#world.in(this.#chance.between(10_000, 40_000), () => {
      if (about.some(({ lock: held }) => held !== null)) this.#unlocking(about, isAll);
    });
  }

  #note(what: string, about: readonly Limited[], facts: object = {}): void {
    const { journalist } = this.#world;
    journalist.note(what, { of: about.map(({ code, id }) => `${code}/${id}`), ...facts });
    journalist.saw(`somebody asks to ${what}`);
  }

  async #lock(
    bridge: Bridge,
    about: readonly Limited[],
    isAll: boolean,
    minutes: number | null,
  ): Promise<void> {
    const [first] = about;
    const ports = bridge.requestPorts;
    const controller = bridge.store?.get(first?.code ?? "");
    if (first === undefined || controller === undefined || ports === null) return;
    const { time } = this.#world;
    this.#note("lock", about, { minutes });
    const until = minutes === null ? Infinity : time.now + minutes * 60_000;
    for (const one of about) one.lock = { from: time.now, until: Infinity, isUncertain: true };
    const fields = {
      by: "anna",
      ...(isAll ? {} : { actuator: first.id }),
      ...(minutes === null ? {} : { until: `${minutes}m` }),
    };
    const isDone = await lock(ports, controller, fields, null).then(() => true, expected);
    if (!isDone) return;
    for (const one of about) one.lock = { from: time.now, until, isUncertain: false };
    this.#world.journalist.note("locked", {});
  }

  async #unlock(bridge: Bridge, about: readonly Limited[], isAll: boolean): Promise<void> {
    const [first] = about;
    const ports = bridge.requestPorts;
    const controller = bridge.store?.get(first?.code ?? "");
    if (first === undefined || controller === undefined || ports === null) return;
    const { checks, time } = this.#world;
    const isLocked = first.lock !== null && !first.lock.isUncertain && time.now < first.lock.until - 2;
    for (const one of about) if (one.lock !== null) one.lock = { ...one.lock, isUncertain: true };
    this.#note("unlock", about);
    const fields = { by: "anna", ...(isAll ? {} : { actuator: first.id }) };
    const answer = await unlock(ports, controller, fields).then(
      () => "done",
      (error: unknown) => (error instanceof RequestError ? "nothing" : "failed"),
    );
    if (answer === "failed") return;
    if (answer === "nothing" && isLocked) checks.limits.lockLost(first);
    for (const one of about) {
      if (one.lock !== null) one.lastLockedAt = time.now;
      one.lock = null;
    }
    this.#world.journalist.note("unlocked", {});
  }

  async #release(bridge: Bridge, one: Limited): Promise<void> {
    const ports = bridge.requestPorts;
    const controller = bridge.store?.get(one.code);
    if (controller === undefined || ports === null) return;
    this.#note("release", [one]);
    if (one.hold !== null) one.hold.isUncertain = true;
    const isDone = await release(ports, controller, { by: "anna", actuator: one.id }).then(
      () => true,
      expected,
    );
    if (!isDone || one.hold?.isUncertain !== true) return;
    one.lastHeldAt = Math.max(one.lastHeldAt, this.#world.time.now);
    one.hold = null;
  }
}

/** The journal may be away, and what was asked for may be done already. */
const expected = (): boolean => false;
