import { seededRandom, type Random } from "../../src/runtime/random.js";

/** Mixes a seed and a concern's name into a seed of its own, so that drawing more for one concern changes nothing for another. */
function mixed(seed: number, name: string): number {
  let hash = 2_166_136_261;
  for (const unit of `${seed}/${name}`) hash = Math.imul(hash ^ unit.charCodeAt(0), 16_777_619);
  return hash >>> 0;
}

/** Draws of one concern. */
export class Chance {
  readonly random: Random;

  constructor(seed: number, concern: string) {
    this.random = seededRandom(mixed(seed, concern));
    for (let n = 0; n < 4; n += 1) this.random();
  }

  hits(probability: number): boolean {
    return this.random() < probability;
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** Between two positive numbers, each order of magnitude as likely as the next. */
  logUniform(least: number, most: number): number {
    return Math.exp(this.between(Math.log(least), Math.log(most)));
  }

  /** The time to the next of events that come every `meanMs` without memory. */
  gap(meanMs: number): number {
    return -Math.log(1 - this.random()) * meanMs;
  }

  of<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.random() * choices.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }
}
