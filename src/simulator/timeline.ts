interface Stretch {
  readonly real: number;
  readonly simulated: number;
}

/**
 * Real instants (what requests, time stamps and faults count in) against simulated ones (what the greenhouses live in).
 * Both are epoch ms; simulated time runs `speed` times as fast and can be skipped ahead.
 */
export class Timeline {
  readonly speed: number;
  #stretches: readonly Stretch[];

  constructor(speed: number, realStart: number, simulatedStart: number) {
    this.speed = speed;
    this.#stretches = [{ real: realStart, simulated: simulatedStart }];
  }

  simulatedAt(real: number): number {
    const stretch = this.#stretches.at(-1) ?? { real, simulated: real };
    return stretch.simulated + (real - stretch.real) * this.speed;
  }

  /** When a simulated instant was, for instants that are not in the future. */
  realAt(simulated: number): number {
    let limit = Infinity;
    for (let n = this.#stretches.length - 1; n >= 0; n--) {
      const stretch = this.#stretches[n];
      if (!stretch) break;
      const real = stretch.real + (simulated - stretch.simulated) / this.speed;
      if (simulated >= stretch.simulated || n === 0) return Math.min(real, limit);
      limit = stretch.real;
    }
    return simulated;
  }

  /** Lets `ms` of simulated time pass at once. */
  skip(real: number, ms: number): void {
    const next = { real, simulated: this.simulatedAt(real) + ms };
    this.#stretches = [...this.#stretches.slice(-31), next];
  }
}
