import type { PlantedBug } from "./bugs.js";

/** What is taken for granted of files, disks, peers and the runtime: each was once found from outside. */
export const trustBugs: Readonly<Record<string, PlantedBug>> = {
  whoever_listens_at_the_port_is_the_bridge: {
    seam: "beside/broker-client#needsProof",
    plant: "() => () => false",
    tests: "test/cli/own-socket.test.ts",
  },
  a_pace_hands_over_a_few_bytes_at_each_turn: {
    seam: "runtime/paced-reading#Bucket.isSpent",
    plant: `() => function (now) {
      const { bytes, units } = this.left(now);
      return bytes < 1 || units < 1;
    }`,
    tests: "test/runtime/paced-reading.test.ts",
  },
  a_damaged_file_of_users_is_none: {
    seam: "http/first-operator#usersIn",
    plant: `(original) => (text) => {
      try {
        return original(text);
      } catch {
        return [];
      }
    }`,
    tests: "test/http/first-operator.test.ts",
  },
  a_log_out_is_answered_before_the_disk_has_it: {
    seam: "http/sessions#Sessions.#keep",
    plant: `(original) => function () {
      void original.call(this);
      return Promise.resolve(true);
    }`,
    tests: "test/http/sessions.test.ts",
  },
  a_message_that_some_have_is_told_to_all: {
    seam: "notify/mail#notForAll",
    plant: "() => () => ({ ok: true })",
    tests: "test/notify/send.test.ts",
  },
  a_pipe_is_read_as_a_file: {
    seam: "runtime/file-system#refuseOthers",
    plant: "() => () => undefined",
    tests: "test/config/files.test.ts",
  },
  the_owner_waits_for_guessers_of_his_computer: {
    seam: "http/sessions#Sessions.login",
    plant: `(original) => function (username, password, coming) {
      return original.call(this, username, password, { ...coming, cookie: "" });
    }`,
    tests: "test/http/sessions.test.ts",
  },
  a_degree_follows_a_mode_however_late_it_shows: {
    seam: "commands/sending#isProvenLate",
    plant: "() => () => false",
    tests: "test/commands/second-posts.test.ts",
  },
  a_server_says_how_long_a_connection_is_kept: {
    seam: "platform/http#keptFor",
    plant: "() => ({ polling: 30_000, reads: 600_000, posts: 600_000 })",
    tests: "test/platform/kept-connections.test.ts",
  },
  a_proxy_is_told_no_remedy: {
    seam: "http/access#foreignOrigin",
    plant: `() => () => failure(403, "foreign_origin", "Forbidden")`,
    tests: "test/http/access.test.ts",
  },
  a_frame_is_bounded_by_its_bytes_alone: {
    seam: "platform/push/frames#hasMoreThan",
    plant: "() => () => false",
    tests: "test/platform/push/frames.test.ts",
  },
  each_wrong_item_of_an_answer_is_told: {
    seam: "platform/counters#firstOnes",
    plant: "() => (report) => report",
    tests: "test/platform/reports.test.ts",
  },
  a_pushed_reading_is_as_new_as_it_is_read: {
    seam: "platform/push/platform-push#frameTaker",
    plant: `(original) => (...given) => {
      const take = original(...given);
      return (data) => take(data, 0);
    }`,
    tests: "test/platform/push/channels.test.ts",
  },
  a_shape_is_the_remedy_for_everything: {
    seam: "setup/doctor/platform-checks#unreadVerdict",
    plant: "(original) => (name, { problem }) => original(name, { problem })",
    tests: "test/setup/doctor/doctor.test.ts",
  },
  a_short_stall_hides_a_long_one: {
    seam: "runtime/gaps#GapWatch.newest",
    plant: `(original) => function (longerThanMs = 0) {
      const gap = original.call(this, 0);
      return gap !== null && gap.until - gap.from > longerThanMs ? gap : null;
    }`,
    tests: "test/runtime/gaps.test.ts",
  },
  a_time_asleep_counts_for_a_trial: {
    seam: "runtime/gaps#waitAwake",
    plant: "() => (ms, clock, signal) => clock.wait(ms, signal)",
    tests: "test/cli/trial.test.ts",
  },
  a_sign_in_waits_for_the_disk: {
    seam: "runtime/file-system#withDeadline",
    plant: "() => (file) => file",
    tests: "test/platform/sign-in.test.ts",
  },
  a_socket_whose_folder_is_gone_is_listened_at: {
    seam: "http/owner#goneFrom",
    plant: "() => () => new AbortController().signal",
    tests: "test/http/owner.test.ts",
  },
  members_that_are_gone_are_remembered: {
    seam: "cluster/membership-view#MembershipView.#forgetGone",
    plant: "() => () => undefined",
    tests: "test/cluster/membership.test.ts",
  },
};
