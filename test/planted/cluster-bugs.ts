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
    seam: "cluster/lease-holder#LeaseHolder.#begin",
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
    tests: "test/cluster/lease-holder.test.ts",
  },
  nobody_waits_for_a_post_of_the_owner_before: {
    seam: "cluster/lease#commandsProblem",
    plant: "(original) => (lease, now, times) => original(lease, now, times, false)",
    tests,
  },
  claim_over_a_vanished_key_needs_no_waiting: {
    seam: "cluster/lease#leaseOf",
    plant: "(original) => (claim, times) => original({ ...claim, isAlone: true }, times)",
    tests,
  },
  link_that_stands_is_a_service_that_works: {
    seam: "cluster/server-watchdog#ServerWatchdog.#watch",
    plant: "() => () => undefined",
    tests,
  },
  any_server_that_is_slow_is_left: {
    seam: "cluster/server-watchdog#ServerWatchdog.#heard",
    plant: "() => () => undefined",
    tests: "test/cluster/server-watchdog.test.ts",
  },
  post_without_an_answer_is_over_with_its_command: {
    seam: "journal/under-way#afterRecord",
    plant: `(original) => (before, record, about) => record.type === "result" ? null : original(before, record, about)`,
    tests: "test/journal/under-way.test.ts",
  },
  command_is_acknowledged_before_it_is_kept: {
    seam: "commands/service#Receipts.whenTaken",
    plant: `(original) => function (acknowledge, take) {
      acknowledge();
      original.call(this, () => undefined, take);
    }`,
    tests,
  },
  command_given_again_is_acknowledged_before_it_is_kept: {
    seam: "commands/service#Receipts.whenTaken",
    plant: `(original) => function (acknowledge, take) {
      const given = { isOpen: true };
      original.call(this, acknowledge, () => Object.assign(given, take()));
      if (!given.isOpen) acknowledge();
    }`,
    tests,
  },
  result_is_told_by_the_local_copy: {
    seam: "cluster/stream-store#StreamStore.#appendChunks",
    plant: `(original) => function (...given) {
      original.apply(this, given).catch(() => undefined);
      return Promise.resolve([]);
    }`,
    tests,
  },
  kept_command_is_told_twice: {
    seam: "commands/step#givenBefore",
    plant: "() => () => null",
    tests: "test/commands/receipts.test.ts",
  },
  done_is_shown_before_the_result: {
    seam: "commands/results#endCommand",
    plant: `(original) => (turn, command, ending) => {
      original(turn, command, ending);
      turn.effects.push({ type: "phase", command, phase: "done" });
    }`,
    tests: "test/commands/receipts.test.ts",
  },
  what_an_earlier_owner_left_is_done_without_a_result: {
    seam: "commands/earlier-phases#isUnrecorded",
    plant: "() => () => false",
    tests: "test/commands/receipts.test.ts",
  },
  account_goes_where_no_more_is_reached: {
    seam: "cluster/membership#isReachedElsewhere",
    plant: "() => (looking, lacks) => lacks.size > 0",
    tests,
  },
  owner_that_alone_is_cut_off_keeps_the_account: {
    seam: "cluster/membership#isReachedElsewhere",
    plant: "() => () => false",
    tests,
  },
  account_goes_on_as_often_as_reach_changes: {
    seam: "cluster/reachability#Reachability.mayGiveUp",
    plant: "() => () => true",
    tests,
  },
  account_is_given_to_who_does_not_reach_it_either: {
    seam: "cluster/membership#isReaching",
    plant:
      "(original) => (member, account, wanted) => wanted.size === 0 || original(member, account, wanted)",
    tests: "test/cluster/taking-up.test.ts",
  },
  reset_by_a_broker_is_no_answer: {
    seam: "cluster/probe#isAnswer",
    plant: "(original) => (error) => original(error, false)",
    tests: "test/cluster/probe.test.ts",
  },
  lease_of_another_computer_ends_by_a_clock_that_is_ahead: {
    seam: "limits/rules/entry#leaseJudged",
    plant: "() => (lease) => ({ ...lease, isUnjudged: false })",
    tests,
  },
  lease_of_another_computer_stays_as_a_clock_had_it_that_was_set_right: {
    seam: "limits/rules/entry#leaseAfterClockSet",
    plant: `() => (lease, byMs) =>
      lease.isKept === true ? { ...lease, until: lease.until - Math.max(0, byMs) } : lease`,
    tests,
  },
  newest_record_of_another_computer_is_not_believed: {
    seam: "limits/restored-limits#startAt",
    plant: "() => (now) => now",
    tests,
  },
  what_earlier_owners_sent_is_over: {
    seam: "journal/under-way#isOver",
    plant: "() => () => true",
    tests: "test/journal/under-way.test.ts",
  },
  lease_by_a_clock_that_was_ahead_is_believed: {
    seam: "limits/restored-limits#isFromAhead",
    plant: "() => () => false",
    tests: "test/limits/keeping.test.ts",
  },
  posts_of_earlier_owners_are_out_for_ten_minutes: {
    seam: "journal/under-way#lanesUnderWay",
    plant: "(original) => (records) => original(records, Infinity)",
    tests: "test/journal/under-way.test.ts",
  },
  key_that_is_there_after_all_is_never_fenced: {
    seam: "cluster/lease-holder#LeaseHolder.#ownAnew",
    plant: "() => () => undefined",
    tests: "test/cluster/lease-holder.test.ts",
  },
  next_owner_forgets_what_was_to_end: {
    seam: "limits/rules/entry#restore",
    plant: "(original) => (...given) => ({ ...original(...given), lease: null })",
    tests,
  },
  note_counts_as_kept_before_the_stream_has_it: {
    seam: "cluster/stream-store#StreamStore.#keep",
    plant: "() => () => Promise.resolve()",
    tests: "test/cluster/stream-store.test.ts",
  },
  watch_that_fell_silent_is_relied_on: {
    seam: "cluster/cluster#mostUnshown",
    plant: "() => Infinity",
    tests,
  },
};
