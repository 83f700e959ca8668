import { Chance } from "../chance.js";
import type { World } from "../world.js";

/** A message on a weather topic, as the broker hands it to the bridge. */
export interface Measured {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
}

const windTopic = "weather/station";
const rainTopic = "weather/rain";

type Sky = "calm" | "fresh" | "storm";

/**
 * A station on the broker: gusts, showers, times in which it says nothing or nonsense. Some of what it says is retained, and a
 * broker of 3.1.1 hands that to whoever connects.
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

  /** Only a broker of 3.1.1 is asked for what it holds, as no other way is known there. */
  linked(): void {
    if (this.protocolVersion === 5) return;
    for (const [topic, text] of this.#retained) this.#deliver(topic, text, true);
  }

  /** The weather itself. In the end it is calm. */
  #changing(): void {
    this.#world.in(this.#chance.logUniform(20_000, 1_500_000), () => {
      this.#sky = this.#world.isCalm ? "calm" : this.#chance.of(["calm", "calm", "fresh", "storm"]);
      if (this.#chance.hits(0.5)) this.#isWet = !this.#world.isCalm && !this.#isWet;
      this.#changing();
    });
  }

  /** The station itself: for some minutes it is not heard. */
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
    // On 5 it is shown as it was published; on 3.1.1 only what comes from the store carries the flag.
    this.#deliver(topic, text, isRetained && this.protocolVersion === 5);
  }

  #deliver(topic: string, text: string, retain: boolean): void {
    const { bridge, checks, journalist } = this.#world;
    if (bridge === null || !bridge.isLinked || !bridge.clock.isAlive) return;
    const isLive = this.protocolVersion === 5 || !retain;
    journalist.note("weather", { topic, text, ...(isLive ? {} : { retain }) });
    if (!isLive) journalist.saw("weather from the broker's store");
    const message = { topic, payload: Buffer.from(text), retain };
    if (isLive) checks.limits.heard(topic, text);
    bridge.measured(message, this.protocolVersion);
  }
}
