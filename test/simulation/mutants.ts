/** A planted bug: one exact text of one source file, replaced. */
export interface Mutant {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The rules it breaks: noticed as anything else, it would be noticed by luck. */
  readonly breaks: readonly string[];
}

const commands = "src/commands";

/** Each is a mistake somebody could make; the simulation has to notice it within 200 seeds. */
export const mutants: Readonly<Record<string, Mutant>> = {
  retained_commands_run: {
    file: `${commands}/intake.ts`,
    from: "if (request.retained) return notTaken(retained, payload);",
    to: "",
    breaks: ["S4"],
  },
  journal_after_post: {
    file: `${commands}/checks.ts`,
    from: "else journalSending(turn, { ...run, steps }, null);",
    to: "else {\n    journalSending(turn, { ...run, steps }, null);\n    sendFirst(turn, { ...run, steps });\n  }",
    breaks: ["S5"],
  },
  journal_without_fsync: {
    file: `${commands}/turn.ts`,
    from: "...{ durable: true, token },",
    to: "...{ durable: false, token },",
    breaks: ["S5"],
  },
  result_without_fsync: {
    file: `${commands}/results.ts`,
    from: 'const durable = record.result.outcome !== "dry_run";',
    to: "const durable = false;",
    breaks: ["S7"],
  },
  told_before_it_is_journaled: {
    file: `${commands}/results.ts`,
    from: "const isHeld = sequence === null && !isUrgent && this.#wouldEndAgain(record);",
    to: "const isHeld = false;",
    breaks: ["S7"],
  },
  arrivals_are_not_journaled: {
    file: `${commands}/lane.ts`,
    from: "  note(turn, command);\n",
    to: "",
    breaks: ["S7"],
  },
  checked_is_read_back: {
    file: `${commands}/restore.ts`,
    from: '(phase === "sending" || steps.length > 0)',
    to: "steps.length >= 0",
    breaks: ["S7"],
  },
  unknown_commands_stay_on_their_way: {
    file: `${commands}/phases.ts`,
    from: "return own ?? toldBy(seen) ?? newest;",
    to: "return own ?? newest;",
    breaks: ["L5"],
  },
  post_retried_by_transport: {
    file: "src/platform/requests.ts",
    from: "const answer = await this.#once(call, [...credential.headers, ...jsonBody]);",
    to: "const answer = await this.#repeated(call, [...credential.headers, ...jsonBody]);",
    breaks: ["S1", "S7"],
  },
  second_post_without_read: {
    file: `${commands}/sending.ts`,
    from: "if (isTaken || readBack === null || turn.now",
    to: "if (isTaken || turn.now",
    breaks: ["S1"],
  },
  second_post_although_shown: {
    file: `${commands}/sending.ts`,
    from: "if (readBack !== null && shows(command.settings, step, readBack)) {",
    to: "if (Math.abs(0) > 1) {",
    breaks: ["S1"],
  },
  second_post_at_once: {
    file: `${commands}/sending.ts`,
    from: "const secondPostMs = 5_000;",
    to: "const secondPostMs = 0;",
    breaks: ["S1"],
  },
  second_post_too_old: {
    file: `${commands}/sending.ts`,
    from: "readBack === null || turn.now.mono > command.deadlineMono)\n",
    to: "readBack === null)\n",
    breaks: ["S6"],
  },
  resend_while_travelling: {
    file: `${commands}/sending.ts`,
    from: "  if (isOver) stepEnded(turn, run, evidenced(",
    to: "  if (isOver && !shown && after.facts.attempts === 1)\n    post(turn, run, { nth: 2, before: null, readBack: next.lastRead, ifUnsent: null });\n  else if (isOver) stepEnded(turn, run, evidenced(",
    breaks: ["S1", "S6"],
  },
  accepted_is_confirmed: {
    file: `${commands}/sending.ts`,
    from: "  if (run.cut || readBack === null) stepEnded",
    to: '  if (step.purpose === "value") stepEnded(turn, moved, { type: "confirmed", ...after.facts, readBack: step.value });\n  else if (run.cut || readBack === null) stepEnded',
    breaks: ["S8"],
  },
  target_shown_as_state: {
    file: `${commands}/lanes.ts`,
    from: "      const answer = await this.#ports.platform.write(command.code, address, value, untilItEnds, manner);\n",
    to: '      const answer = await this.#ports.platform.write(command.code, address, value, untilItEnds, manner);\n      const { clock, store } = this.#ports;\n      store.dispatch(command.code, { type: "registers_read", values: new Map([[address, value]]), startedAt: clock.monotonic() + 1, readAt: clock.now(), fresh: true, source: "read_back" });\n',
    breaks: ["S3"],
  },
  wall_clock_age: {
    file: `${commands}/checks.ts`,
    from: "else if (turn.now.mono > run.command.deadlineMono) finish",
    to: "else if (turn.now.at > run.command.receivedAt + run.command.deadlineMono - run.command.receivedMono) finish",
    breaks: ["S6", "S7"],
  },
  age_is_not_judged: {
    file: "src/greenhouse/command/plan.ts",
    from: "  return left > 0 ? left : expired();",
    to: "  return limit;",
    breaks: ["S4", "S6"],
  },
  mode_not_waited_for: {
    file: "src/greenhouse/command/plan.ts",
    from: 'if (step.purpose === "mode") return showsPositionMode(settings, raw);',
    to: 'if (step.purpose === "mode") return true;',
    breaks: ["S2"],
  },
  any_number_proves_the_mode: {
    file: "src/greenhouse/command/plan.ts",
    from: "return !isApart(settings) && degreeOf(text) !== null;",
    to: "return degreeOf(text) !== null;",
    breaks: ["S2", "S8", "S7"],
  },
  reverts_are_not_told: {
    file: `${commands}/turn.ts`,
    from: 'else turn.effects.push({ type: "reverted", command, step, raw: read.raw });',
    to: "",
    breaks: ["S16"],
  },
  mode_remembered: {
    file: "src/greenhouse/command/plan.ts",
    from: '  if (wanted.type === "position") {\n',
    to: '  if (wanted.type === "position" && freshMode !== null && degreeOf(textOf(freshMode)) !== null)\n    return [{ purpose: "value", address: positionAddress(settings), value: String(wanted.degree), confirmWithinMs }];\n  if (wanted.type === "position") {\n',
    breaks: ["S2"],
  },
  resend_after_restart: {
    file: `${commands}/commander.ts`,
    from: "this.#lanes.adopt(one);",
    to: "this.#lanes.submit({ ...command, deadlineMono: Infinity });",
    breaks: ["S4"],
  },
  ids_not_compared: {
    file: `${commands}/duplicates.ts`,
    from: '? { type: "duplicate", id: seen.id, original: seen.result }\n      : { type: "other_command" };',
    to: '? { type: "none" }\n      : { type: "other_command" };',
    breaks: ["S4"],
  },
  ids_forgotten_over_restarts: {
    file: `${commands}/duplicates.ts`,
    from: 'this.#byId.set(`${lane} ${id}`, { id, canonical, payloadKey: "", result, endedMono: monoNow - agoMs });',
    to: "",
    breaks: ["S4"],
  },
  repeated_payload_runs: {
    file: `${commands}/duplicates.ts`,
    from: "const samePayloadMs = 2_000;",
    to: "const samePayloadMs = -1;",
    breaks: ["S4"],
  },
  stop_waits_its_turn: {
    file: `${commands}/lane.ts`,
    from: '  if (command.wanted.type === "stop") {\n    const { stop',
    to: '  if (command.wanted.type === "stop" && command.force) {\n    const { stop',
    breaks: ["S11"],
  },
  stop_pressed_again_is_a_duplicate: {
    file: `${commands}/duplicates.ts`,
    from: 'if (own.canonical === "stop") return { type: "none" };',
    to: "",
    breaks: ["S11"],
  },
  stops_without_distance: {
    file: `${commands}/lane.ts`,
    from: "isStop ? stopIntervalMs : settings.minIntervalMs",
    to: "isStop ? 0 : settings.minIntervalMs",
    breaks: ["S11"],
  },
  floods_refuse_stops: {
    file: `${commands}/intake.ts`,
    from: "if (isOfFlood && !isStop)",
    to: "if (isOfFlood)",
    breaks: ["S11"],
  },
  floods_refuse_others: {
    file: `${commands}/flood.ts`,
    from: "isKnown ? laneKey(about) : others",
    to: "others",
    breaks: ["S16"],
  },
  sign_ins_side_by_side: {
    file: "src/platform/session/sign-in.ts",
    from: "(this.#renewing ??= this.#signIn()",
    to: "(this.#renewing = this.#signIn()",
    breaks: ["S13"],
  },
  checks_from_the_cache: {
    file: `${commands}/lanes.ts`,
    from: "platform.value(code, address, true, signal)",
    to: "platform.value(code, address, false, signal)",
    breaks: ["S12"],
  },
  already_while_the_opposite_moves: {
    file: `${commands}/lane.ts`,
    from: "unread: posts.unread || confirming !== null",
    to: "unread: posts.unread",
    breaks: ["S8"],
  },
  heirs_are_not_journaled: {
    file: `${commands}/lane.ts`,
    from: '  turn.effects.push({ type: "journal", record, durable: true, token: null });\n',
    to: "",
    breaks: ["S7"],
  },
  commands_side_by_side: {
    file: `${commands}/lane.ts`,
    from: "if (running !== null || closed || command === undefined) return;",
    to: "if (closed || command === undefined) return;",
    breaks: ["S11"],
  },
  no_pause_between_commands: {
    file: `${commands}/lane.ts`,
    from: "isStop ? stopIntervalMs : settings.minIntervalMs",
    to: "isStop ? stopIntervalMs : 0",
    breaks: ["S11"],
  },
  offline_is_ignored: {
    file: `${commands}/checks.ts`,
    from: '    case "online":\n      return null;\n    case "offline":\n',
    to: '    case "online":\n    case "offline":\n      if (Math.abs(0) < 1) return null;\n',
    breaks: ["S12"],
  },
  old_reads_win: {
    file: "src/greenhouse/fold-registers.ts",
    from: "if (held !== undefined && register.startedAt < held.startedAt) return actuator;",
    to: "",
    breaks: ["S10"],
  },
  reads_from_before_a_post_count: {
    file: "src/greenhouse/fold-registers.ts",
    from: "if (actuator.postedAt !== null && register.startedAt < actuator.postedAt) return actuator;",
    to: "",
    breaks: ["S10"],
  },
  mode_shown_between_steps: {
    file: "src/greenhouse/fold-registers.ts",
    from: "const isBetween = actuator.between !== null && actuator.between.until !== address;",
    to: "const isBetween = false;",
    breaks: ["S3"],
  },
  groups_are_taken_for_fresh: {
    file: "src/sync/poll-reads.ts",
    from: "const first = await registersEvent(ports, false, async () =>",
    to: 'const first = await registersEvent(ports, read.type === "group", async () =>',
    breaks: ["S10"],
  },
  results_lost_in_a_crash: {
    file: "src/mqtt/outbox.ts",
    from: "isRepeated: true, sinceMono: this.#parts.monotonic() });\n",
    to: "isRepeated: true, sinceMono: this.#parts.monotonic() });\n    this.#waiting.pop();\n",
    breaks: ["L1"],
  },
  dry_run_sends: {
    file: `${commands}/checks.ts`,
    from: "} else if (dryRun) {",
    to: "} else if (dryRun && command.force) {",
    breaks: ["S4"],
  },
};
