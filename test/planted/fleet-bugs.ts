import type { PlantedBug } from "./bugs.js";

/** What the accounts of one process do to each other. */
export const fleetBugs: Readonly<Record<string, PlantedBug>> = {
  a_reload_begins_while_another_runs: {
    seam: "runtime/schedule#oneAtATime",
    plant: "() => (work) => work",
    tests: "test/cluster/reloads.test.ts",
  },
  two_refused_accounts_hold_up_all: {
    seam: "platform/host-pauses#isHostRefusing",
    plant: `() => (kept, account, word, { now }) => {
      if (word === "refused") kept.refused.set(account, now);
      return kept.refused.size > 1;
    }`,
    tests: "test/platform/host-pauses.test.ts",
  },
  a_removed_controller_stays_announced: {
    seam: "homeassistant/announced#announcementBeside",
    plant: "() => () => null",
    tests: "test/homeassistant/discovery-output.test.ts",
  },
};
