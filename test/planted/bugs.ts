import { clusterBugs } from "./cluster-bugs.js";
import { fleetBugs } from "./fleet-bugs.js";
import { limitBugs } from "./limit-bugs.js";
import { requestBugs } from "./request-bugs.js";
import { setupBugs } from "./setup-bugs.js";
import { trustBugs } from "./trust-bugs.js";
import type { Rule } from "../judge/rules.js";
import type { Planted } from "./plant.mjs";

/** What the simulation, the fault campaign or a file of unit tests has to notice, and as what. */
export interface PlantedBug extends Planted {
  /** The rules of the simulation that it breaks: noticed as anything else, it would be noticed by luck. */
  readonly breaks?: readonly Rule[];
  /** What no history can tell by luck: the file of unit tests that has to be red. */
  readonly tests?: string;
  readonly campaign?: {
    /** Rows and lanes to run, as regular expressions. */
    readonly rows: string;
    readonly lanes: string;
    /** The figure of the report that must not be 0. */
    readonly found: "lostCommands" | "wrongStates" | "badPosts" | "problems";
  };
}

const embedded = "^embedded-5$";
const mosquitto = "^mosquitto-5$";

/** Leaves out what a call has put among the effects. */
const withoutEffects = (which: string) =>
  `(original) => (turn, ...rest) => {
    const before = turn.effects.length;
    const end = original(turn, ...rest);
    turn.effects.push(...turn.effects.splice(before).filter((effect) => !(${which})));
    return end;
  }`;

/** What a call asks the journal to have on disk need not be there. */
const notDurable = `(original) => (turn, ...rest) => {
  const before = turn.effects.length;
  const end = original(turn, ...rest);
  const changed = turn.effects.splice(before).map((one) => (one.type === "journal" ? { ...one, durable: false } : one));
  turn.effects.push(...changed);
  return end;
}`;

/** By the read before a second POST: sends where the condition holds. */
const secondPostWhere = (condition: string) =>
  `(original) => (command, step, first, raw) =>
    first.end === null && ${condition} ? "again" : original(command, step, first, raw)`;

const beforeSending: Readonly<Record<string, PlantedBug>> = {
  retained_commands_run: {
    seam: "commands/intake#understand",
    plant: `(original) => (turn, arrived) =>
      original(turn, { ...arrived, request: { ...arrived.request, retained: false } })`,
    breaks: ["S4"],
  },
  journal_after_post: {
    seam: "commands/checks#onChecked",
    plant: `(original) => (turn, ...rest) => {
      original(turn, ...rest);
      if (turn.lane.running?.at === "journal") sendStep(turn, turn.lane.running);
    }`,
    // What limits have to know waits for the disk too.
    breaks: ["S5", "S19"],
  },
  // What limits have to know waits for the disk too.
  journal_without_fsync: { seam: "commands/checks#journalSending", plant: notDurable, breaks: ["S5", "S19"] },
  durable_in_a_file_that_nobody_finds: {
    seam: "journal/writer#AppendFile.#isInPlace",
    plant: "() => () => Promise.resolve()",
    breaks: ["S5", "S19"],
  },
  checks_without_fsync: {
    seam: "commands/lane#begin",
    plant: `(original) => (turn, ...rest) => {
      const before = turn.effects.length;
      original(turn, ...rest);
      const changed = turn.effects.splice(before).map((one) => (one.type === "note" ? { ...one, durable: false } : one));
      turn.effects.push(...changed);
    }`,
    breaks: ["S5"],
  },
  a_power_cut_unsends: {
    seam: "journal/history#openAtStart",
    plant: "() => (open) => open",
    breaks: ["S4"],
  },
  arrivals_are_not_journaled: {
    seam: "commands/lane#enter",
    plant: withoutEffects('effect.type === "note" && effect.record.type === "command_taken"'),
    breaks: ["S7"],
  },
  nothing_of_a_command_is_journaled: {
    seam: "journal/journal#Journal.append",
    plant: `(original) => function (record, ...rest) {
      const isSilent = record.type === "command_taken" || record.type === "phase";
      return isSilent ? Promise.resolve(1) : original.call(this, record, ...rest);
    }`,
    campaign: { rows: "^push garbled$", lanes: embedded, found: "badPosts" },
  },
  wall_clock_age: {
    seam: "commands/checks#onJournaled",
    plant: `(original) => (turn, run, problem) => {
      const { receivedAt, receivedMono, deadlineMono } = run.command;
      if (problem !== null) original(turn, run, problem);
      else if (turn.now.at > receivedAt + deadlineMono - receivedMono) finish(turn, run, refusedExpired());
      else sendStep(turn, run);
    }`,
    breaks: ["S6", "S7"],
  },
  time_of_reading_is_time_of_arrival: {
    seam: "commands/age#ageAllowance",
    plant: `(original) => (facts) => original({ ...facts, ageMs: 0 })`,
    breaks: ["S6"],
  },
  what_lay_in_a_socket_is_new_once_one_message_was_read: {
    seam: "runtime/gaps#ArrivalAge.ms",
    plant: `(original) => function () {
      const ms = original.call(this);
      this._reads = ms === 0 ? 0 : (this._reads ?? 0) + 1;
      return this._reads > 1 ? 0 : ms;
    }`,
    tests: "test/runtime/gaps.test.ts",
  },
  a_suspended_computer_counts_no_time: {
    seam: "runtime/clock#clockOf",
    plant: `(original) => (sources) => original({ ...sources, uptime: sources.monotonic })`,
    // The simulation translates the program's instants by a clock that counts it.
    tests: "test/runtime/clock.test.ts",
  },
  an_acknowledgement_proves_what_came_before: {
    seam: "mqtt/connection/session#Session.#proveArrival",
    plant: `() => function (proven) {
      void this._private_prove().then(proven, () => undefined);
    }`,
    tests: "test/mqtt-connection/link.test.ts",
  },
  clients_of_the_embedded_broker_are_read_as_they_send: {
    seam: "runtime/arrivals#Arrivals.since",
    plant: `() => () => performance.now()`,
    tests: "test/broker/arrivals.test.ts",
  },
  what_a_pace_keeps_back_is_new: {
    seam: "runtime/arrivals#Arrivals.follow",
    plant: `(original) => function (stream) {
      return original.call(this, stream, []);
    }`,
    tests: "test/broker/arrivals.test.ts",
  },
  a_message_of_any_size_is_kept: {
    seam: "mqtt/connection/surplus#SurplusFilter.#leftOut",
    plant: `() => () => null`,
    tests: "test/mqtt-connection/surplus.test.ts",
  },
  an_old_unlock_is_served: {
    seam: "mqtt/requests#letsGo",
    plant: `() => () => false`,
    tests: "test/mqtt/requests.test.ts",
  },
  an_answer_that_lay_in_its_socket_is_of_now: {
    seam: "platform/http#Exchange.#fail",
    plant: `(original) => function (reason, cause) {
      if (reason !== "late") original.call(this, reason, cause);
    }`,
    tests: "test/platform/given-up.test.ts",
  },
  age_is_not_judged: {
    seam: "commands/age#ageAllowance",
    plant: `(original) => (facts) => {
      const allowed = original(facts);
      return allowed.reason === "expired" ? facts.maxAgeMs : allowed;
    }`,
    breaks: ["S4", "S6"],
  },
  dry_run_sends: {
    seam: "commands/checks#onChecked",
    plant: `(original) => (turn, run, ...rest) => {
      run.command.dryRun &&= run.command.force;
      return original(turn, run, ...rest);
    }`,
    breaks: ["S4"],
  },
  offline_is_ignored: {
    seam: "commands/checks#onAnswers",
    plant: `(original) => (turn, run, came) =>
      original(turn, run, came.connection.type === "offline" ? { ...came, connection: { type: "online" } } : came)`,
    breaks: ["S12"],
  },
  checks_from_the_cache: {
    seam: "commands/commander#answerTo",
    plant: `(original) => (question, ports, given) => {
      const value = (...asked) => ports.platform.value(asked[0], asked[1], false, asked[3]);
      const connection = (...asked) => ports.platform.connection(...asked);
      return original(question, question.type === "renew" ? ports : { ...ports, platform: { value, connection } }, given);
    }`,
    breaks: ["S12", "S8"],
  },
  already_while_the_opposite_moves: {
    seam: "commands/checks#isAlready",
    plant: `(original) => (command, final, fresh, posts, now) =>
      original(command, final, fresh, { ...posts, unread: false }, now)`,
    breaks: ["S8"],
  },
};

const sending: Readonly<Record<string, PlantedBug>> = {
  post_retried_by_transport: {
    seam: "platform/requests#Requests.#once",
    plant: `(original) => function (call, headers) {
      const once = () => original.call(this, call, headers);
      return call.operation === operations.setValue ? once().catch(once) : once();
    }`,
    breaks: ["S1", "S7"],
  },
  a_time_between_two_readings_is_missed: {
    seam: "sync/hosts#untilNextMs",
    plant: `(original) => (times, judgedAt) => {
      const at = judgedAt + 0.3;
      return original(times.filter((one) => one > at), judgedAt);
    }`,
    tests: "test/sync/platform-watch.test.ts",
  },
  second_post_without_read: {
    seam: "commands/sending#secondPost",
    plant: secondPostWhere("raw === null"),
    breaks: ["S1"],
  },
  second_post_although_shown: {
    seam: "commands/sending#secondPost",
    plant: secondPostWhere("raw !== null && shows(command.settings, step, raw)"),
    breaks: ["S1"],
    campaign: { rows: "^POST reset after it was done$", lanes: embedded, found: "badPosts" },
  },
  second_post_too_old: {
    seam: "commands/sending#isTooOld",
    plant: `(original) => (turn, command) => {
      const { running } = turn.lane;
      const isSecond = running?.command === command && running.first?.end === null;
      return isSecond ? false : original(turn, command);
    }`,
    breaks: ["S6"],
  },
  one_dead_controller_holds_up_all: {
    seam: "platform/requests#Requests.#placesFor",
    plant: `(original) => function (call) {
      return original.call(this, { ...call, device: "all of them" });
    }`,
    breaks: ["S24"],
  },
  one_dead_controller_takes_the_place_of_all: {
    seam: "platform/requests#Requests.#once",
    plant: `(original) => function ({ pace, ...call }, ...rest) {
      const late = pace === "polled" ? pace : "urgent";
      return original.call(this, { ...call, pace: late, device: "all of them" }, ...rest);
    }`,
    breaks: ["S24"],
    campaign: { rows: "^a controller that answers no POST$", lanes: embedded, found: "problems" },
  },
  one_controller_has_no_bound: {
    seam: "platform/requests#Requests.#placesFor",
    plant: `(original) => function (call) {
      return call.pace === "polled" ? original.call(this, call) : null;
    }`,
    breaks: ["S24"],
  },
  stops_and_rules_wait_for_others: {
    seam: "commands/commander#paceOf",
    plant: `() => () => "urgent"`,
    breaks: ["S24"],
  },
  judged_only_before_its_connection: {
    seam: "commands/sending#mayPost",
    plant: `(original) => (turn, run) => (run.at === "connecting" ? null : original(turn, run))`,
    breaks: ["S6", "S17", "S18"],
  },
  second_post_at_once: { seam: "commands/sending#secondPostMs", plant: "() => 0", breaks: ["S1"] },
  resend_while_travelling: {
    seam: "commands/sending#confirmingRead",
    plant: `(original) => (turn, run, answer) => {
      const { readBack, after } = run;
      const value = answer.type === "value" ? answer : null;
      const facts = { now: turn.now.mono, isAccepted: after.otherwise === "unconfirmed" };
      const { shown, isOver, next } = judgeRead(readBack, value, run.command.settings, facts);
      const isLast = after.facts.attempts > 1 || isTooOld(turn, run.command);
      if (!isOver || shown || isLast) original(turn, run, answer);
      else {
        const first = { ...after.facts, readBack: next.lastRead };
        sendStep(turn, run, { facts: first, endedAt: turn.now.mono, before: null, end: null });
      }
    }`,
    breaks: ["S1", "S6"],
  },
  accepted_is_confirmed: {
    seam: "commands/sending#settle",
    plant: `(original) => (turn, run, after, from) => {
      const step = stepOf(run);
      original(turn, run, after, from);
      const { confirming } = turn.lane;
      if (step.purpose === "value" && confirming?.command === run.command)
        stepEnded(turn, confirming, { type: "confirmed", ...after.facts, readBack: step.value });
    }`,
    breaks: ["S8"],
  },
  target_shown_as_state: {
    seam: "commands/commander#Commander.#post",
    plant: `(original) => async function (question, ...rest) {
      const answered = await original.call(this, question, ...rest);
      const { command, step } = question;
      const { clock, store } = this._private_ports;
      const values = new Map([[step.address, step.value]]);
      const [startedAt, readAt] = [clock.monotonic() + 1, clock.now()];
      const read = { type: "registers_read", values, startedAt, readAt, fresh: true, source: "read_back" };
      if (answered.answer.type === "accepted") store.dispatch(command.code, read);
      return answered;
    }`,
    breaks: ["S3"],
    campaign: { rows: "^POST accepted and ignored$", lanes: embedded, found: "wrongStates" },
  },
  mode_not_waited_for: {
    seam: "greenhouse/command/plan#shows",
    plant: `(original) => (settings, step, raw) => step.purpose === "mode" || original(settings, step, raw)`,
    breaks: ["S2"],
  },
  any_number_proves_the_mode: {
    seam: "greenhouse/command/plan#showsPositionMode",
    plant: `(original) => (settings, raw) => original(settings, raw) || degreeOf(textOf(raw)) !== null`,
    breaks: ["S2", "S8", "S7"],
  },
  mode_remembered: {
    seam: "greenhouse/command/plan#stepsOf",
    plant: `(original) => (settings, wanted, fresh) => {
      const steps = original(settings, wanted, fresh);
      const isKnown = wanted.type === "position" && fresh !== null && degreeOf(textOf(fresh)) !== null;
      return isKnown ? steps.slice(-1) : steps;
    }`,
    breaks: ["S2"],
  },
  second_looks_go_by_the_answer: {
    seam: "commands/after-end#planSecondLook",
    plant: `(original) => (turn, run, ending) =>
      original(turn, run.at === "confirming" ? { ...run, readBack: { ...run.readBack, readAt: turn.now.mono } } : run, ending)`,
    tests: "test/commands/book.test.ts",
  },
  reverts_are_not_told: {
    seam: "commands/after-end#onReverted",
    plant: "() => () => undefined",
    breaks: ["S16"],
  },
};

const order: Readonly<Record<string, PlantedBug>> = {
  ids_not_compared: {
    seam: "commands/intake#duplicateOf",
    plant: `(original) => (own, ...rest) => {
      const found = original(own, ...rest);
      return own.id !== null && found?.isSame ? null : found;
    }`,
    breaks: ["S4"],
  },
  ids_forgotten_over_restarts: {
    seam: "commands/results#endedBefore",
    plant: "() => () => undefined",
    breaks: ["S4"],
  },
  repeated_payload_runs: { seam: "commands/intake#samePayloadMs", plant: "() => -1", breaks: ["S4"] },
  stop_waits_its_turn: {
    seam: "commands/lane#enter",
    plant: `(original) => (turn, command) => {
      if (command.wanted.type !== "stop" || command.dryRun) return original(turn, command);
      dropWaiting(turn, () => superseded("before_sending"));
      turn.lane = { ...turn.lane, waiting: [command] };
      turn.effects.push({ type: "phase", command, phase: "waiting" });
      note(turn, takenRecord(command));
    }`,
    breaks: ["S11"],
  },
  stop_pressed_again_is_a_duplicate: {
    seam: "commands/intake#duplicateOf",
    plant: `(original) => (own, ...rest) =>
      original(own.id === null ? { ...own, canonical: "" } : own, ...rest)`,
    breaks: ["S11"],
  },
  stops_without_distance: { seam: "commands/lane#stopIntervalMs", plant: "() => 0", breaks: ["S11"] },
  floods_refuse_stops: {
    seam: "commands/intake#understand",
    plant: `(original) => (...asked) => {
      const understood = original(...asked);
      return understood.isOfFlood ? notTaken(overloaded, understood.payload) : understood;
    }`,
    breaks: ["S11"],
  },
  floods_refuse_others: {
    seam: "commands/intake#takePlace",
    plant: `(original) => (allowances, about, facts, now) =>
      original(allowances, about, { ...facts, isKnown: false }, now)`,
    breaks: ["S16"],
  },
  heirs_of_what_reads_deny: {
    seam: "commands/confirm#isContradicted",
    plant: "() => () => false",
    breaks: ["S8"],
  },
  heirs_are_not_journaled: {
    seam: "commands/lane#takesOver",
    plant: withoutEffects('effect.type === "note" && effect.record.type === "command_taken"'),
    breaks: ["S7"],
  },
  commands_side_by_side: {
    seam: "commands/lane#startNext",
    plant: `(original) => (turn) => {
      const { running } = turn.lane;
      turn.lane = { ...turn.lane, running: null };
      original(turn);
      if (turn.lane.running === null) turn.lane = { ...turn.lane, running };
    }`,
    breaks: ["S11", "L1"],
  },
  no_pause_between_commands: {
    seam: "commands/lane#mayGoFrom",
    plant: `(original) => (lane, command) =>
      command.wanted.type === "stop" ? original(lane, command) : -Infinity`,
    breaks: ["S11"],
  },
};

const outcomes: Readonly<Record<string, PlantedBug>> = {
  a_degree_elsewhere_is_not_thought_of: {
    seam: "greenhouse/group-listing#degreePlaces",
    plant: "() => () => []",
    breaks: ["S8"],
    tests: "test/commands/readings.test.ts",
  },
  any_value_may_mean_the_word: {
    seam: "greenhouse/actuator-kinds#mayMean",
    plant: `() => (settings, state, text) => decodeValue(settings, text).state !== state`,
    tests: "test/commands/readings.test.ts",
  },
  a_recalled_degree_looks_read: {
    seam: "greenhouse/freshness#actuatorQuality",
    plant: `(original) => (actuator, moment) => original({ ...actuator, lastDegree: null }, moment)`,
    tests: "test/bridge/recalled-degree.test.ts",
  },
  a_watch_looks_at_no_other_address: {
    seam: "setup/doctor/watch#Watch.#seeOthers",
    plant: "() => function () { this._private_free = []; }",
    tests: "test/setup/doctor/watch.test.ts",
  },
  words_are_blotted_out_of_sentences: {
    seam: "runtime/redaction#isOrdinary",
    plant: "() => () => false",
    tests: "test/runtime/redaction.test.ts",
  },
  result_without_fsync: { seam: "commands/results#write", plant: notDurable, breaks: ["S7"] },
  told_before_it_is_journaled: {
    seam: "commands/results#onOutcomeWritten",
    plant: `(original) => (turn, input, outcome) => original(turn, input, { ...outcome, isUrgent: true })`,
    breaks: ["S7"],
  },
  results_lost_in_a_crash: {
    seam: "mqtt/outbox#Outbox.restore",
    plant: "() => () => undefined",
    breaks: ["L1"],
  },
  one_result_of_five_is_dropped: {
    seam: "mqtt/outbox#Outbox.send",
    plant: `(original) => {
      let turn = 0;
      return function (delivery) {
        if (delivery.controllerId === null || ++turn % 5 !== 0) original.call(this, delivery);
      };
    }`,
    campaign: { rows: "^push garbled$", lanes: embedded, found: "lostCommands" },
  },
  results_of_a_dead_broker_are_forgotten: {
    seam: "mqtt/outbox#Outbox.#keep",
    plant: `(original) => function (owed) {
      if (owed.controllerId === null || !owed.isRepeated) original.call(this, owed);
    }`,
    campaign: { rows: "^broker gone 60 s$", lanes: mosquitto, found: "lostCommands" },
  },
  checked_is_read_back: {
    seam: "commands/memory#interruptedFrom",
    plant: `(original) => (open, ...rest) => {
      const nothing = { id: open.taken.id, steps: [], is_accepted: false, request_id: null, sent_at: null };
      return original({ ...open, sent: open.sent ?? nothing }, ...rest);
    }`,
    breaks: ["S7"],
  },
  resend_after_restart: {
    seam: "commands/lane#adopt",
    plant: `() => (turn, { command }) => enter(turn, { ...command, deadlineMono: Infinity })`,
    breaks: ["S4"],
    campaign: { rows: "^kill -9$", lanes: mosquitto, found: "badPosts" },
  },
  windows_on_their_way_are_forgotten: {
    seam: "commands/memory#memoryOf",
    plant: `(original) => (...asked) => ({ ...original(...asked), second_look: undefined })`,
    tests: "test/commands/memory.test.ts",
  },
  only_results_say_what_is_remembered: {
    seam: "commands/memory#isOfLane",
    plant: `() => ({ type }) => type === "result" || type === "lane"`,
    tests: "test/commands/memory.test.ts",
  },
  what_was_sent_is_known_by_the_newest_record_alone: {
    seam: "journal/history#History.#remember",
    plant: `(original) => function (about, memory) {
      const others = [...this._private_open].filter(([, { taken }]) => taken.actuator === about.actuator);
      for (const [key, open] of others) this._private_open.set(key, { ...open, sent: null });
      original.call(this, about, memory);
    }`,
    tests: "test/journal/history.test.ts",
  },
  unknown_commands_stay_on_their_way: {
    seam: "commands/earlier-phases#toldBy",
    plant: "() => () => null",
    breaks: ["L5"],
  },
};

/** Reads a register into the actuator as if the fact that keeps it out were not there. */
const foldedWithout = (fact: string) =>
  `(original) => (actuator, address, register) => {
    const folded = original({ ...actuator, ${fact} }, address, register);
    return { ...folded, postedAt: actuator.postedAt };
  }`;

const mirror: Readonly<Record<string, PlantedBug>> = {
  old_reads_win: {
    seam: "greenhouse/reduce#foldRegister",
    plant: `(original) => (actuator, address, register) => {
      const held = actuator.registers[address];
      const older = held && { ...held, startedAt: -Infinity };
      const registers = { ...actuator.registers, ...(older && { [address]: older }) };
      const folded = original({ ...actuator, registers }, address, register);
      return folded.registers[address] === older ? actuator : folded;
    }`,
    breaks: ["S10"],
  },
  reads_from_before_a_post_count: {
    seam: "greenhouse/reduce#foldRegister",
    plant: foldedWithout("postedAt: null"),
    breaks: ["S10"],
  },
  mode_shown_between_steps: {
    seam: "greenhouse/reduce#foldRegister",
    plant: foldedWithout("between: null"),
    breaks: ["S3"],
  },
  groups_are_taken_for_fresh: {
    seam: "sync/poll-reads#readRegisters",
    plant: `(original) => (code, read, ports, signal) => {
      const dispatch = (code, event) => ports.store.dispatch(code, { ...event, fresh: true });
      const store = { get: () => undefined, dispatch };
      return original(code, read, read.type === "group" ? { ...ports, store } : ports, signal);
    }`,
    breaks: ["S10"],
    campaign: { rows: "^a type from the platform's memory$", lanes: embedded, found: "wrongStates" },
  },
  sign_ins_side_by_side: {
    seam: "platform/session/sign-in#SignIn.#renew",
    plant: `(original) => function (signal) {
      this._private_renewing = null;
      return original.call(this, signal);
    }`,
    breaks: ["S13"],
  },
};

/** A part of the platform that fails, and a token whose end is told in any words. */
const parts: Readonly<Record<string, PlantedBug>> = {
  a_push_that_says_nothing_stands: {
    seam: "platform/push/connection#liveness",
    plant: `(original) => (heard, now) => {
      const step = original(heard, now);
      return step.type === "dead" ? { type: "wait", ms: 20_000 } : step;
    }`,
    campaign: { rows: "^push never lets go$", lanes: embedded, found: "problems" },
  },
  a_request_has_no_end_of_its_own: {
    seam: "platform/http#HostConnections.deadlineMs",
    plant: "() => () => 2_000_000_000",
    campaign: { rows: "^platform never lets go$", lanes: embedded, found: "problems" },
  },
  an_answer_of_no_use_counts_as_none: {
    seam: "platform/requests#requestEnd",
    plant: `(original) => (facts) => {
      const end = original(facts);
      return end.type === "heard" ? { type: "failed", operation: null } : end;
    }`,
    breaks: ["S25"],
    campaign: { rows: "^sensor data alone answers 502$", lanes: embedded, found: "problems" },
  },
  a_platform_flickers: {
    seam: "greenhouse/steady#mayFollow",
    plant: "() => () => true",
    breaks: ["S25"],
    tests: "test/greenhouse/steady.test.ts",
  },
  what_is_gone_stands_for_a_while: {
    seam: "greenhouse/steady#givesWayAt",
    plant: "() => ({ since }, _, { standsMs: ms }) => since + ms",
    tests: "test/greenhouse/steady.test.ts",
  },
  an_alarm_that_is_back_ends_all_the_same: {
    seam: "limits/rules/alarms#markOver",
    plant: "(original) => (draft, id, isOver) => (isOver ? original(draft, id, true) : undefined)",
    tests: "test/limits/alarms.test.ts",
  },
  a_login_page_is_no_refusal: {
    seam: "platform/operation-circuit#OperationCircuits.onCodeless",
    plant: `() => () => false`,
    tests: "test/platform/unknown-refusals.test.ts",
  },
  unknown_refusals_mean_nothing: {
    seam: "platform/requests#doubtfulCode",
    plant: "() => () => null",
    breaks: ["L2", "L4"],
  },
  what_others_are_answered_counts_for_nothing: {
    seam: "platform/operation-circuit#OperationCircuits.admit",
    plant: `(original) => function (asked, now) {
      return original.call(this, { ...asked, device: "all of them" }, now);
    }`,
    tests: "test/platform/operation-circuit.test.ts",
  },
  every_device_is_the_operation: {
    seam: "platform/operation-circuit#OperationCircuits.#badIn",
    plant: "() => function () { return Infinity; }",
    tests: "test/platform/operation-circuit.test.ts",
  },
  an_unknown_code_signs_in_each_time: {
    seam: "platform/session/sign-in#SignIn.isVain",
    plant: "() => function () { return false; }",
    tests: "test/platform/unknown-refusals.test.ts",
  },
  left_over_answers_are_nobodys: {
    seam: "platform/http#Line.ended",
    plant: "() => function () {}",
    tests: "test/platform/answers-twice.test.ts",
  },
  another_devices_answer_is_taken: {
    seam: "platform/decode/decoding#isDevice",
    plant: "() => () => true",
    tests: "test/platform/answers-twice.test.ts",
  },
  one_bad_item_takes_the_list: {
    seam: "platform/decode/items#walkList",
    plant: `(original) => (list, ...rest) => {
      if (list.every(isContainer)) original(list, ...rest);
    }`,
    tests: "test/platform/decode/one-bad-item.test.ts",
  },
};

const network: Readonly<Record<string, PlantedBug>> = {
  addresses_are_used_only_while_they_are_fresh: {
    seam: "runtime/host-names#Names.find",
    plant: `(original) => function (host) {
      const found = original.call(this, host);
      return found.newer === null ? found : { kept: [], newer: found.newer };
    }`,
    breaks: ["S26"],
    tests: "test/runtime/host-names.test.ts",
  },
  each_connection_looks_up_for_itself: {
    seam: "runtime/host-names#Names.#asking",
    plant: `() => function (host, known) {
      const asking = this._private_ask(host, known);
      asking.catch(() => undefined);
      return asking;
    }`,
    tests: "test/runtime/host-names.test.ts",
  },
  a_slow_address_is_given_up_for_the_next: {
    seam: "runtime/connecting#Race.#tryNext",
    plant: `(original) => function () {
      for (const socket of this._private_open) socket.destroy(new Error("given up"));
      return original.call(this);
    }`,
    tests: "test/runtime/connecting.test.ts",
  },
  one_family_of_addresses_is_enough: {
    seam: "runtime/connecting#Race.#tryNextSoon",
    plant: "() => function () {}",
    breaks: ["S26"],
    tests: "test/runtime/connecting.test.ts",
  },
  the_time_for_a_connection_counts_the_look_up_in: {
    seam: "runtime/connecting#Race.#begin",
    plant: `(original) => function () {
      this._private_clock.after(this._private_way.connectMs, () => this._private_lose(new Error("late")));
      return original.call(this);
    }`,
    tests: "test/runtime/connecting.test.ts",
  },
  the_last_word_waits_for_the_pool: {
    seam: "runtime/ending#endProcess",
    plant: "() => async (process, code) => process.exit(code)",
    tests: "test/runtime/ending.test.ts",
  },
};

/** Of commands to several actuators, over the end of the program. */
const ofSeveral: Readonly<Record<string, PlantedBug>> = {
  open_commands_to_groups_are_forgotten: {
    seam: "groups/service#GroupService.restore",
    plant: `(original) => function (past) {
      return original.call(this, { ...past, open: [] });
    }`,
    breaks: ["L1"],
    tests: "test/groups/restarts.test.ts",
  },
  ids_of_commands_to_groups_are_forgotten: {
    seam: "groups/service#GroupService.restore",
    plant: `(original) => function (past) {
      return original.call(this, { ...past, ended: [] });
    }`,
    breaks: ["S4"],
    tests: "test/groups/restarts.test.ts",
  },
  what_was_not_confirmed_is_forgotten: {
    seam: "commands/memory#laneFrom",
    plant: `(original) => (...of) => ({ ...original(...of), unconfirmed: [] })`,
    tests: "test/commands/memory.test.ts",
  },
};

/** Each is a mistake somebody could make. */
export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  ...beforeSending,
  ...sending,
  ...order,
  ...outcomes,
  ...mirror,
  ...parts,
  ...network,
  ...limitBugs,
  ...clusterBugs,
  ...fleetBugs,
  ...requestBugs,
  ...setupBugs,
  ...trustBugs,
  ...ofSeveral,
};
