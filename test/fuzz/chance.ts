import { seededRandom } from "../../src/simulator/faults.js";

/** Draws for one case, the same for the same numbers. */
export interface Chance {
  /** 0 to below `below`. */
  readonly upTo: (below: number) => number;
  readonly oneIn: (times: number) => boolean;
  readonly from: <Thing>(things: readonly Thing[]) => Thing;
  readonly bytes: (length: number) => number[];
}

export function chanceFor(seed: number, index: number): Chance {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const upTo = (below: number) => Math.floor(random() * below);
  return {
    upTo,
    oneIn: (times) => upTo(times) === 0,
    from: (things) => {
      const thing = things[upTo(things.length)];
      if (thing === undefined) throw new Error("nothing to choose from");
      return thing;
    },
    bytes: (length) => Array.from({ length }, () => upTo(256)),
  };
}
