import type { PlantedBug } from "./bugs.js";

/** What is kept of an actuator's limits, without a part. */
const keptWithout = (part: string) =>
  `(original) => (...asked) => {
    const kept = original(...asked);
    return kept === null ? null : { ...kept, ${part} };
  }`;

/** Mistakes in what limits commands. */
export const limitBugs: Readonly<Record<string, PlantedBug>> = {
  stale_weather_counts: {
    seam: "limits/rules/guards#readWeather",
    plant: `(original) => (name, context) => original(name, { ...context, now: { ...context.now, mono: -Infinity } })`,
    breaks: ["S17", "S20", "S23"],
  },
  judged_once: {
    seam: "commands/lane-limits#limitsVerdict",
    plant: `(original) => (turn, command, before) =>
      before === "turn" ? original(turn, command, before) : { type: "go" }`,
    // Pauses are limits too.
    breaks: ["S17", "S18"],
  },
  timers_are_not_kept: {
    seam: "limits/rules/entry#keptOf",
    plant: keptWithout("moved_until: null"),
    breaks: ["S17", "S18"],
  },
  guards_are_not_kept: {
    seam: "limits/rules/entry#keptOf",
    plant: keptWithout("guards: {}"),
    breaks: ["S21", "S22"],
  },
  leases_are_kept_after_the_post: {
    seam: "limits/rules/lease#beforePost",
    plant: `() => (limits) => limits`,
    breaks: ["S19"],
  },
  retained_weather_counts: {
    seam: "limits/service#LimitService.onWeather",
    plant: `() => function ({ topic, payload }) {
      this.engine.onWeather(topic, payload);
    }`,
    breaks: ["S17", "S20", "S23"],
  },
  rules_pass_other_guards: {
    seam: "limits/rules/judge#passes",
    plant: `(original) => (reason, judged) =>
      (judged.source === "guard" && reason.interlock.input !== null) || original(reason, judged)`,
    breaks: ["S17"],
  },
  starts_are_counted_in_memory: {
    seam: "limits/rules/entry#keptOf",
    plant: keptWithout("starts: []"),
    breaks: ["S18"],
  },
  guards_keep_leases_from_ending: {
    seam: "limits/rules/judge#passes",
    plant: `(original) => (reason, judged) =>
      (judged.source !== "lease" || reason.interlock.input === null) && original(reason, judged)`,
    breaks: ["S19", "S22"],
  },
  leases_over_at_a_start_are_forgotten: {
    seam: "limits/rules/entry#restore",
    plant: `(original) => (entry, kept, restart) => {
      const after = original(entry, kept, restart);
      return after.lease !== null && after.lease.until <= restart.mono ? { ...after, lease: null } : after;
    }`,
    breaks: ["S19"],
  },
  what_sends_nothing_is_a_try: {
    seam: "limits/rules/attempts#sentNothing",
    plant: `() => () => false`,
    breaks: ["S21"],
  },
  rules_take_over: {
    seam: "commands/lane#takesOver",
    plant: `(original) => (turn, command, passedOver) => original(turn, { ...command, rule: null }, passedOver)`,
    breaks: ["S21"],
  },
  acknowledging_clears: {
    seam: "limits/rules/alarms#acknowledge",
    plant: `(original) => (state, id, by) => {
      const news = original(state, id, by);
      return news === null ? null : clear(news.state, id, Date.parse(news.state.alarms.get(id).since));
    }`,
    breaks: ["S20"],
  },
  acknowledged_alarms_are_new_after_a_restart: {
    seam: "limits/alarm-store#AlarmStore.restore",
    plant: `(original) => function (alarms) {
      const again = (one) => (one.state === "acknowledged" ? { ...one, state: "active" } : one);
      return original.call(this, alarms.map(again));
    }`,
    breaks: ["S20"],
  },
  a_time_in_which_nobody_looked_clears_a_guard: {
    seam: "limits/rules/guards#foldReading",
    plant: `(original) => (guard, before, given, { mono }, ...rest) => original(guard, before, given, { mono }, ...rest)`,
    breaks: ["S17", "S23"],
  },
  weather_that_lay_in_a_socket_is_live: {
    seam: "limits/service#LimitService.onWeather",
    plant: `(original) => function (message, ...rest) {
      return original.call(this, { ...message, ageMs: 0 }, ...rest);
    }`,
    breaks: ["S17", "S22", "S23"],
  },
  locks_are_lost_over_a_restart: {
    seam: "limits/rules/entry#restore",
    plant: `(original) => (...asked) => ({ ...original(...asked), lock: null })`,
    breaks: ["S17"],
  },
  what_was_before_is_not_kept: {
    seam: "limits/rules/entry#keptSent",
    plant: `() => () => null`,
    tests: "test/limits/restart.test.ts",
  },
  clock_of_a_start_is_believed: {
    seam: "commands/lane-limits#clockAheadMs",
    plant: `() => () => 0`,
    tests: "test/limits/keeping.test.ts",
  },
  overdue_leases_are_ended_unread: {
    seam: "limits/rules/due#foundAtStart",
    plant: `() => () => "own"`,
    tests: "test/limits/commands.test.ts",
  },
  limits_of_many_actuators_are_forgotten: {
    seam: "journal/history#History.#put",
    plant: `(original) => function (lane) {
      original.call(this, lane);
      const [oldest] = this._private_limited.keys();
      if (this._private_limited.size > 5_000) this._private_limited.delete(oldest);
    }`,
    tests: "test/journal/history.test.ts",
  },
  readings_are_told_at_once: {
    seam: "limits/readings/judge#judgeSide",
    plant: `(original) => (side, bands, before, value, measuredAt) =>
      original(side, { ...bands, delayMs: 0 }, before, value, measuredAt)`,
    tests: "test/limits/reading-judge.test.ts",
  },
  stale_readings_are_judged: {
    seam: "limits/readings/watch#stateAfter",
    plant: `(original) => (before, sensor, bands) => original(before, { ...sensor, quality: "good" }, bands)`,
    tests: "test/limits/reading-alarms.test.ts",
  },
  unreadable_runs_count: {
    seam: "run-time/watch#afterRead",
    plant: `(original) => (before, at, on, day) => (on === null ? before : original(before, at, on, day))`,
    tests: "test/run-time/count.test.ts",
  },
  carried_alarms_look_judged: {
    seam: "limits/rules/alarms#carriedOver",
    plant: `() => (alarm) => alarm`,
    tests: "test/limits/alarms.test.ts",
  },
};
