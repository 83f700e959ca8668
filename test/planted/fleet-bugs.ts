import type { PlantedBug } from "./bugs.js";

/** What the accounts of one process do to each other. */
export const fleetBugs: Readonly<Record<string, PlantedBug>> = {
  a_reload_begins_while_another_runs: {
    seam: "runtime/schedule#oneAtATime",
    plant: "() => (work) => work",
    tests: "test/cluster/reloads.test.ts",
  },
  a_reload_does_not_wait_for_the_first_accounts: {
    seam: "fleet/fleet#Fleet.#reload",
    plant: `(original) => function () {
      this._private_begun.abort();
      return original.call(this);
    }`,
    tests: "test/fleet/fleet.test.ts",
  },
  accounts_of_one_name_run_side_by_side: {
    seam: "fleet/fleet#Fleet.#untilFree",
    plant: `() => async function (account, stop) {
      const before = this._private_all().filter(
        (other) => other !== account && other.name !== account.name && other.isInTheWayOf(account),
      );
      if (before.length > 0) await this._private_haveEnded(account, before, stop);
    }`,
    tests: "test/fleet/fleet.test.ts",
  },
  how_long_an_account_runs_is_told_by_the_wall_clock: {
    seam: "cli/account-settings#runStateOf",
    plant: "(original) => (state, isMember) => original(state, isMember, Date.now())",
    tests: "test/fleet/fleet.test.ts",
  },
  what_comes_before_a_link_has_its_place_is_as_new_as_it_is_read: {
    seam: "mqtt/connection#BrokerConnection.#serve",
    plant: `(original) => function (link, facts, signal, early) {
      early.push = (message) => this._private_settings.on.message(message);
      return original.call(this, link, facts, signal, early);
    }`,
    tests: "test/mqtt-connection/link.test.ts",
  },
  each_account_is_worked_out_for_each_other: {
    seam: "config/clashes#heldAlone",
    plant:
      "() => (configuration) => new Set([loginOf(configuration), ...claimsOf(configuration).map(({ key }) => key)])",
    tests: "test/config/clashes.test.ts",
  },
  all_accounts_wake_for_the_turn_of_one: {
    seam: "platform/shared#HostBudget.turnOf",
    plant: `() => function (account, now) {
      return this.waitMs(now);
    }`,
    tests: "test/platform/shared.test.ts",
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
