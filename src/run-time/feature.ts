import { lazy } from "../runtime/lazy.js";
import type { Core, Running } from "../feature/core.js";
import type { Feature } from "../feature/feature.js";

const keys = {};
const code = lazy(() => import("./watch.js"));

/** How long actuators were on. */
export const runTime = {
  keys,
  load: () => code(),
  make: async ({ clock, log, mirror, configuration, file }: Core) => {
    const { RunTimes } = await code();
    const part = new RunTimes({
      clock,
      log,
      store: mirror.store,
      timeZone: configuration.platform.time_zone,
      memory: file("run-times.json"),
    });
    return { part, restore: () => part.restore() } satisfies Running;
  },
} satisfies Feature<typeof keys>;
