import type { PlantedBug } from "./bugs.js";

/** What the histories of a cluster have to notice. */
const tests = "test/cluster/histories.test.ts";

export const clusterBugs: Readonly<Record<string, PlantedBug>> = {
  lease_judged_when_the_command_starts: {
    seam: "cluster/lease#withLease",
    plant: `(original) => (platform, ownership) => {
      const withheld = ownership.mayPost();
      return original(platform, { ...ownership, mayPost: () => withheld });
    }`,
    tests,
  },
  lease_judged_by_the_wall_clock: {
    seam: "cluster/lease#ageMs",
    plant: "() => (then, now) => now.wall - then.wall",
    tests,
  },
  owner_goes_on_in_a_minority: {
    seam: "cluster/lease#isConfirmed",
    plant: "() => () => true",
    tests,
  },
  fencing_record_left_out: {
    seam: "cluster/stream-store#StreamStore.#fenceBehindAll",
    plant: `() => async function () {
      const { last } = await this._private_ports.stream.state();
      await this._private_checkOurs(last);
      return last;
    }`,
    tests,
  },
  renewal_drops_the_time_to_live: {
    seam: "cluster/lease#bucketLimits",
    plant: "() => () => ({ ttl: Infinity, history: 1 })",
    tests,
  },
  journal_read_before_the_last_append: {
    seam: "cluster/stream-store#StreamStore.#settle",
    plant: `() => async function () {
      this._private_generation += 1;
      const { stream } = this._private_ports;
      const content = await contentOf(stream.read(1, (await stream.state()).last));
      const fence = await this._private_fenceBehindAll();
      await this._private_restore(content);
      this._private_known = fence;
      this._private_isBroken = false;
    }`,
    tests: "test/cluster/stream-store.test.ts",
  },
  key_that_the_servers_keep_is_waited_for: {
    seam: "cluster/membership#claimsOver",
    plant: "(original) => (looking, holding) => original(looking, holding).slice(0, 1)",
    tests,
  },
  nobody_waits_for_the_lease_before: {
    seam: "cluster/lease#mayFence",
    plant: "() => () => true",
    tests,
  },
  mark_left_before_the_last_append_is_settled: {
    seam: "cluster/tenure#Tenure.#begin",
    plant: `(original) => function () {
      const { bucket, key } = this._private_ports;
      this._private_stop.signal.addEventListener("abort", () => {
        void bucket.release(key, this._private_lease.revision).catch(() => undefined);
      });
      return original.call(this);
    }`,
    tests,
  },
  mark_left_while_a_post_is_under_way: {
    seam: "cluster/lease#mayMark",
    plant: "() => (lease) => lease.isFenced",
    tests,
  },
  watch_that_fell_silent_is_relied_on: {
    seam: "cluster/cluster#mostUnshown",
    plant: "() => Infinity",
    tests,
  },
};
