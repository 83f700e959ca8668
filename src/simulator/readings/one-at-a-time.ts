import type { Trait } from "./trait.js";

/** A controller is busy with a value for so long, real ms. */
const busyMs = 3_000;

export const oneAtATime: Trait = {
  text: "a controller takes one value at a time: within 3 s of one every other is refused",
  begin: () => {
    const taken = new Map<string, number>();
    return {
      refusal: ({ controller, platform: { now } }) => {
        if (now - (taken.get(controller) ?? -Infinity) < busyMs) return "控制器忙";
        taken.set(controller, now);
        return null;
      },
    };
  },
};
