import { RequestError } from "../../../src/mqtt/requests.js";
import { lock, release, unlock } from "../../../src/status/requests.js";
import type { Bridge } from "../bridge.js";
import type { Limited } from "./limited.js";
import { Chance } from "../scenario.js";
import type { World } from "../world.js";

const hourMs = 3_600_000;

/** How often a person looks at the alarms. */
const looksPerHour = 1.5;

/**
 * Somebody who works in the greenhouse: locks and unlocks actuators, one or all of a controller, releases holds, and
 * acknowledges alarms.
 */
export class Caretaker {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #looks: Chance;
  readonly #late: Chance;

  constructor(world: World) {
    this.#world = world;
    this.#chance = new Chance(world.scenario.seed, "caretaker");
    this.#late = new Chance(world.scenario.seed, "late lock");
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

  /** A POST requests its connection: some actuators are locked at that very moment. */
  connecting(code: string, actuator: string): void {
    const one = this.#world.checks.limits.limits.of({ code, actuator });
    const { isCalm, scenario } = this.#world;
    if (one === undefined || one.lock !== null || isCalm) return;
    if (scenario.locksPerHour === 0 || !this.#late.hits(0.03)) return;
    this.#do((bridge) => this.#lock(bridge, [one], false, null));
    this.#world.in(this.#late.logUniform(20_000, 300_000), () => this.#unlocking([one], false));
  }

  #again(chance: Chance, perHour: number, action: () => void): void {
    this.#world.in(chance.gap(hourMs / perHour), () => {
      action();
      this.#again(chance, perHour, action);
    });
  }

  /** Acknowledges one of the alarms that are on, or all unacknowledged ones. */
  #acknowledge(): void {
    const { alarms } = this.#world.checks.limits;
    const on = alarms.on();
    const alarm = on.length === 0 || this.#looks.hits(0.2) ? "all" : this.#looks.of(on);
    this.#do((bridge) => {
      const { asked } = bridge;
      this.#world.journalist.note("acknowledge", { alarm });
      if (asked !== null)
        alarms.acknowledge(() => asked.commands.limits.alarms.acknowledge(alarm, "anna").ids);
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

  #do(what: (bridge: Bridge) => Promise<void>): void {
    const { bridge } = this.#world;
    if (bridge === null || !bridge.isLinked || !bridge.clock.isAlive || bridge.isStopping) return;
    what(bridge).catch((error: unknown) => this.#world.fail(error));
  }

  /** Repeats until it succeeds: nobody leaves a lock behind. */
  #unlocking(about: readonly Limited[], isAll: boolean): void {
    this.#do((bridge) => this.#unlock(bridge, about, isAll));
    this.#world.in(this.#chance.between(10_000, 40_000), () => {
      if (about.some(({ lock: held }) => held !== null)) this.#unlocking(about, isAll);
    });
  }

  /** Like a request over MQTT. The journal may be away (`failed`), and the change may be made already (`nothing`). */
  async #ask(
    { asked, store }: Bridge,
    what: keyof typeof requests,
    about: readonly Limited[],
    fields: Readonly<Record<string, string>>,
    facts: object = {},
  ): Promise<"done" | "nothing" | "failed"> {
    const { journalist } = this.#world;
    const controller = store?.get(about[0]?.code ?? "");
    if (controller === undefined || asked === null) return "failed";
    journalist.note(what, { of: about.map(({ code, id }) => `${code}/${id}`), ...facts });
    journalist.saw(`somebody asks to ${what}`);
    const request = { controller, fields: { by: "anna", ...fields }, via: null };
    return requests[what](asked.commands.limits.engine, request, asked).then(
      () => "done",
      (error: unknown) => (error instanceof RequestError ? "nothing" : "failed"),
    );
  }

  async #lock(
    bridge: Bridge,
    about: readonly Limited[],
    isAll: boolean,
    minutes: number | null,
  ): Promise<void> {
    const { journalist, time } = this.#world;
    const until = minutes === null ? Infinity : time.now + minutes * 60_000;
    // It forbids from the request on; only the answer says for how long.
    const isAsked = bridge.asked !== null && bridge.store?.get(about[0]?.code ?? "") !== undefined;
    for (const one of about) one.lock = { from: time.now, until: Infinity, isUncertain: !isAsked };
    const fields = { ...actuatorField(about, isAll), ...(minutes === null ? {} : { until: `${minutes}m` }) };
    const isDone = (await this.#ask(bridge, "lock", about, fields, { minutes })) === "done";
    for (const one of about)
      if (isDone) one.lock = { from: time.now, until, isUncertain: false };
      else if (one.lock !== null) one.lock = { ...one.lock, isUncertain: true };
    if (!isDone) return;
    journalist.note("locked", {});
  }

  async #unlock(bridge: Bridge, about: readonly Limited[], isAll: boolean): Promise<void> {
    const { checks, journalist, time } = this.#world;
    const [first] = about;
    const isLocked = first?.lock?.isUncertain === false && time.now < first.lock.until - 2;
    for (const one of about) if (one.lock !== null) one.lock = { ...one.lock, isUncertain: true };
    const answer = await this.#ask(bridge, "unlock", about, actuatorField(about, isAll));
    if (answer === "failed") return;
    if (answer === "nothing" && isLocked) checks.limits.lockLost(first);
    for (const one of about) {
      if (one.lock !== null) one.lastLockedAt = time.now;
      one.lock = null;
    }
    journalist.note("unlocked", {});
  }

  async #release(bridge: Bridge, one: Limited): Promise<void> {
    if (one.hold !== null) one.hold.isUncertain = true;
    const answer = await this.#ask(bridge, "release", [one], { actuator: one.id });
    if (answer !== "done" || one.hold?.isUncertain !== true) return;
    one.lastHeldAt = Math.max(one.lastHeldAt, this.#world.time.now);
    one.hold = null;
  }
}

const requests = { lock, unlock, release } as const;

const actuatorField = ([first]: readonly Limited[], isAll: boolean): Readonly<Record<string, string>> =>
  isAll || first === undefined ? {} : { actuator: first.id };

/** A message on a weather topic, as the broker delivers it. */
export interface Measured {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
}

const windTopic = "weather/station";
const rainTopic = "weather/rain";

type Sky = "calm" | "fresh" | "storm";

/**
 * A weather station: gusts, showers, and times of silence or nonsense. Some of its messages are retained, and a broker
 * of 3.1.1 sends those to every new client.
 */
export class WeatherStation {
  readonly protocolVersion: 4 | 5;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #everyMs: number;
  readonly #retained = new Map<string, string>();
  #sky: Sky = "calm";
  #isWet = false;
  #silentUntil = -Infinity;

  constructor(world: World) {
    this.#world = world;
    this.#chance = new Chance(world.scenario.seed, "weather");
    this.protocolVersion = this.#chance.hits(0.5) ? 4 : 5;
    this.#everyMs = this.#chance.logUniform(8_000, 28_000);
  }

  begin(): void {
    this.#changing();
    this.#speaking();
    this.#falling();
  }

  /** Only a broker of 3.1.1 is asked for retained messages, as there is no other way. */
  linked(): void {
    if (this.protocolVersion === 5) return;
    for (const [topic, text] of this.#retained) this.#deliver(topic, text, true);
  }

  /** Changes the weather, which is calm at the end. */
  #changing(): void {
    this.#world.in(this.#chance.logUniform(20_000, 1_500_000), () => {
      this.#sky = this.#world.isCalm ? "calm" : this.#chance.of(["calm", "calm", "fresh", "storm"]);
      if (this.#chance.hits(0.5)) this.#isWet = !this.#world.isCalm && !this.#isWet;
      this.#changing();
    });
  }

  /** Silences the station for some minutes. */
  #falling(): void {
    this.#world.in(this.#chance.gap(2_400_000), () => {
      if (!this.#world.isCalm)
        this.#silentUntil = this.#world.time.now + this.#chance.logUniform(5_000, 1_500_000);
      this.#falling();
    });
  }

  #speaking(): void {
    this.#world.in(this.#everyMs * this.#chance.between(0.8, 1.2), () => {
      const { isCalm, time } = this.#world;
      if (isCalm || time.now >= this.#silentUntil) this.#speak();
      this.#speaking();
    });
  }

  #speak(): void {
    const { isCalm } = this.#world;
    const isNonsense = !isCalm && this.#chance.hits(0.02);
    const speed = this.#speed();
    const nonsense = this.#chance.of(["", "{", '{"wind":{}}', '{"wind":{"speed":"calm"}}', '{"wind":null}']);
    this.#publish(windTopic, isNonsense ? nonsense : JSON.stringify({ wind: { speed } }));
    if (!this.#chance.hits(0.5)) return;
    const isWet = this.#isWet && !isCalm;
    const word = isWet ? this.#chance.of(["on", "on", "ON", "heavy"]) : "off";
    this.#publish(rainTopic, isNonsense ? this.#chance.of(["", "unavailable", "unknown"]) : word);
  }

  #speed(): number {
    if (this.#chance.hits(0.03)) return this.#world.isCalm ? 9 : this.#chance.of([9, 12, 12.1, 8.9]);
    const sky = this.#world.isCalm ? "calm" : this.#sky;
    const [least, most] = ({ calm: [0, 8.5], fresh: [7, 12.5], storm: [10, 25] } as const)[sky];
    return Math.round(this.#chance.between(least, most) * 10) / 10;
  }

  #publish(topic: string, text: string): void {
    const isRetained = this.#chance.hits(0.3);
    if (isRetained) this.#retained.set(topic, text);
    // On 5 the flag is as published; on 3.1.1 only stored messages have it.
    this.#deliver(topic, text, isRetained && this.protocolVersion === 5);
  }

  #deliver(topic: string, text: string, retain: boolean): void {
    const { bridge, checks, journalist } = this.#world;
    if (bridge?.hears !== true) return;
    const isOfStore = this.protocolVersion === 4 && retain;
    if (this.#world.isFromSocket) journalist.saw("weather that lay in the socket");
    const isLive = !isOfStore && !this.#world.isFromSocket;
    journalist.note("weather", { topic, text, ...(isLive ? {} : { retain }) });
    if (!isLive) journalist.saw("weather from the broker's store");
    const message = { topic, payload: Buffer.from(text), retain };
    if (isLive) checks.limits.limits.heard(topic, text);
    bridge.measured(message, this.protocolVersion);
  }
}
