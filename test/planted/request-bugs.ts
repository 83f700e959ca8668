import type { PlantedBug } from "./bugs.js";

/** What is asked over MQTT or by the page, and what people are told: one line for all, a deadline that trusts its peer, "it did not throw". */
const requests = "test/mqtt/requests.test.ts";
const sending = "test/notify/send.test.ts";

export const requestBugs: Readonly<Record<string, PlantedBug>> = {
  a_lock_forbids_only_once_the_disk_has_it: {
    seam: "limits/rules/entry#asForbidden",
    plant: "() => (entry) => entry",
    breaks: ["S17"],
  },
  requests_wait_in_one_line: {
    seam: "mqtt/requests#linesFor",
    plant: "() => () => new Map()",
    tests: requests,
  },
  acts_wait_for_room_for_their_answers: {
    seam: "mqtt/answers#Answers.hasRoom",
    plant: `(original) => function () {
      return original.call(this, false);
    }`,
    tests: requests,
  },
  answers_pile_up: {
    seam: "mqtt/answers#Answers.hasRoom",
    plant: "() => () => true",
    tests: requests,
  },
  a_nats_server_may_begin_a_message_of_any_size: {
    seam: "runtime/paced-reading#natsMessages",
    plant: "(original) => (large) => original(large, () => undefined)",
    tests: "test/runtime/paced-reading.test.ts",
  },
  services_of_messages_are_read_as_they_speak: {
    seam: "notify/send#pacedThen",
    plant: "() => (done) => done",
    tests: "test/notify/floods.test.ts",
  },
  a_deadline_waits_for_its_peer: {
    seam: "runtime/clock#within",
    plant: `() => async (clock, ms, work, stop) => {
      const late = new AbortController();
      const takeBack = clock.after(ms, () => late.abort(new TooLate("late")));
      const signal = stop === undefined ? late.signal : AbortSignal.any([late.signal, stop]);
      try {
        return await work(signal);
      } finally {
        takeBack();
      }
    }`,
    tests: requests,
  },
  a_disk_that_does_not_answer_is_waited_for: {
    seam: "runtime/clock#within",
    plant: "() => (clock, ms, work) => work(new AbortController().signal)",
    tests: "test/limits/keeping.test.ts",
  },
  sockets_are_left_to_their_library: {
    seam: "notify/send#heldIn",
    plant: "() => () => () => undefined",
    tests: sending,
  },
  some_of_the_readers_are_enough: {
    seam: "notify/mail#notForAll",
    plant: "() => () => ({ ok: true })",
    tests: sending,
  },
  what_an_answer_asks_for_is_not_read: {
    seam: "notify/answers#parametersIn",
    plant: "() => () => ({ movedTo: null, waitMs: undefined })",
    tests: sending,
  },
  a_hook_that_says_no_is_taken_for_yes: {
    seam: "notify/services/webhook#judgeHook",
    plant: "() => () => ({ ok: true })",
    tests: sending,
  },
  what_came_and_went_in_an_outage_is_forgotten: {
    seam: "notify/plan#missedIn",
    plant: "() => () => null",
    tests: "test/notify/plan.test.ts",
  },
  answers_that_are_due_have_a_pace: {
    seam: "runtime/paced-reading#AnswersDue.take",
    plant: "() => () => false",
    tests: "test/runtime/paced-reading.test.ts",
  },
  a_flood_of_another_broker_is_read_whole: {
    seam: "mqtt/connection/surplus#SurplusFilter.take",
    plant: "() => (chunk) => chunk",
    tests: "test/mqtt-connection/surplus.test.ts",
  },
  a_terminal_obeys_names: {
    seam: "runtime/plain-text#inert",
    plant: "() => (text) => text",
    tests: "test/runtime/plain-text.test.ts",
  },
  characters_that_nobody_sees_are_not_named: {
    seam: "config/yaml/odd-characters#oddIn",
    plant: "() => () => null",
    tests: "test/config/odd-characters.test.ts",
  },
};
