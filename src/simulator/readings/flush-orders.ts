import type { Trait } from "./trait.js";

/** From the order of a read until the platform has the device's answer, real ms. */
const lagMs = 3_000;

interface Known {
  readonly value: string;
  /** When the answers to its orders are there. */
  readonly due: readonly number[];
}

export const flushOrders: Trait = {
  text: "`flush=1` orders a read and answers the value before; the device's answer is there 3 s later",
  begin: () => {
    const held = new Map<string, Known>();
    return {
      shown: ({ call, controller, row, value, isFresh }) => {
        if (value === null) return value;
        const { now, timeline } = call.platform;
        const key = `${controller.device.code} ${row.address}`;
        const known = held.get(key) ?? { value: row.initial, due: [] };
        const answered = known.due.findLast((at) => at <= now);
        const register =
          answered === undefined ? null : controller.register(row.address, timeline.simulatedAt(answered));
        const due = known.due.filter((at) => at > now);
        const shown = register ?? known.value;
        held.set(key, { value: shown, due: isFresh ? [...due, now + lagMs] : due });
        return shown;
      },
    };
  },
};
