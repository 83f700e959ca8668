import { lazy } from "../runtime/lazy.js";
import type { Core, Running } from "../feature/core.js";
import type { Feature } from "../feature/feature.js";
import { withDefault } from "../settings/values.js";
import { groupsAndScenesIn, groupSentences, soundGroups } from "./judge.js";
import { groupsSection, scenesSection } from "./section.js";

const keys = {
  groups: withDefault(groupsSection, {}, "Actuators that take one command together, by id.", {
    entry: "skylights",
    off: true,
  }),
  scenes: withDefault(scenesSection, {}, "Several commands that are sent together, by id.", {
    entry: "night",
    off: true,
  }),
};

const code = lazy(() => import("./service.js"));
const restoring = lazy(() => import("./restore.js"));

/** The feature `groups`: actuators that are commanded together. */
export const groups = {
  keys,
  errors: soundGroups,
  sentences: groupSentences,
  /** The groups and scenes of a valid configuration. */
  read: groupsAndScenesIn,
  load: () => Promise.all([code(), restoring()]),
  make: (core) => makeGroups(core),
} satisfies Feature<typeof keys> & { readonly read: typeof groupsAndScenesIn };

async function makeGroups(core: Core) {
  const { GroupService } = await code();
  const service = new GroupService(core);
  const { commands, retained, topics } = core;
  commands.listen(service);
  retained.onFound(topics.groups, service);
  const restore = async () => {
    const { restoreGroups } = await restoring();
    await restoreGroups(service, commands, core);
  };
  const reload = () => service.reload();
  return { part: service, service, restore, reload } satisfies Running & { readonly service: unknown };
}
