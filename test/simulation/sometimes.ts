/** `prefix one`, `prefix other` of a text that lists them. */
const each = (prefix: string, list: string): readonly string[] =>
  list.split(";").map((one) => `${prefix} ${one.trim()}`);

/** Rare paths. A run of 500 seeds that never takes one of them proves less than it seems to, and fails. */
export const alwaysSeen: readonly string[] = [
  "a read between two steps of a command",
  "a second POST",
  "a POST arrives after its command gave up on it",
  "an equal command takes over the read-backs",
  "an id sent again",
  "a lie was believed",
  "a stop without the journal",
  "a stop waits for its distance from the last",
  "a result repeated",
  "a command is recovered after a crash",
  "a power cut",
  "a torn tail of the journal",
  "stopped cleanly",
  "a command after SIGTERM",
  "a clock jump during confirming",
  "a command expires while signing in",
  "a duplicate by id",
  "a duplicate by payload",
  "an actuator stale, good and stale again",
  "somebody else moves it while it is confirmed",
  "a confirmed value is looked at again",
  "a POST that a guard forbids at other times",
  "a start where pauses are kept",
  "a lease's end is sent",
  "what a guard sends ends confirmed",
  "what a guard sends ends already",
  "what a rule sends without the journal",
  "weather from the broker's store",
  "an alarm is acknowledged",
  "an acknowledged alarm is shown by a later run",
  ...each(
    "a crash",
    `with nothing open; while waiting; while checking, not journaled; while checking, journaled;
     while posting the mode; while posting the value; while posting again;
     after a POST that may have been lost; while the mode settles; while the mode is read back;
     while the value settles; while the value is read back; while an heir waits for read-backs;
     before a result was delivered; while recovering from the last; while stopping; while starting`,
  ),
  ...each("recovered as", "confirmed; failed; unconfirmed; unknown; superseded"),
  ...each(
    "outcome refused",
    `retained; expired; no_age; clock; duplicate; bad_payload; unknown_actuator; unknown_command;
     out_of_range; overloaded; read_only; controller_offline; platform_unavailable; no_read_back;
     journal_unavailable; shutting_down; interlock`,
  ),
  ...each("outcome superseded", "before_sending; after_sending"),
  ...each("outcome failed", "not_sent; expired_midway; interlock"),
  ...each(
    "outcome",
    `rejected; rejected unauthorized; unknown; unknown mode_not_confirmed; unconfirmed;
     unconfirmed mode_not_confirmed; unconfirmed lead_in_not_confirmed; failed; dry_run`,
  ),
  ...each("event", "confirmed_late; changed_elsewhere; reverted; alarm; alarm_cleared; flood; lease_overrun"),
  ...each("POST", "timeout; interrupted; unauthorized; throttled; protocol; server; unreachable"),
  ...each(
    "an interlock of",
    `a guard; lock; hold; rest; reversal; starts_per_hour; a guard on a running status`,
  ),
  ...each("somebody asks to", "lock; unlock; release"),
  ...each("a lease", "begins"),
  ...each("a guard", "sends; is blind for long"),
];
