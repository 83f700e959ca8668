import { lazy } from "../runtime/lazy.js";
import type { Core, Running } from "../feature/core.js";
import type { Feature } from "../feature/feature.js";

const keys = {};
const code = lazy(() => import("./watch.js"));

/** The feature `runTime`: how long actuators were on. */
export const runTime = {
  keys,
  load: () => code(),
  make: async (core: Core) => {
    const { RunTimes } = await code();
    const { time_zone: timeZone } = core.configuration.platform;
    const part = new RunTimes(core.mirror.store, core.file("run-times.json"), timeZone, core);
    return { part, restore: () => part.restore() } satisfies Running;
  },
} satisfies Feature<typeof keys>;
