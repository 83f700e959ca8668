import { textOf } from "../history.js";
import {
  type Check,
  event,
  eventsIn,
  faulty,
  outcome,
  outcomesDuring,
  platform,
  resultsOf,
  type Row,
  type Seen,
  stayedOnline,
  unless,
  within,
} from "../row.js";

/* F: invalid answers: too slow, too large, not JSON, refusals, redirects. */

/** Every answer is spoilt as a fault file says. */
const spoilt = (name: string, fault: Readonly<Record<string, unknown>>, more: Partial<Row> = {}): Row =>
  platform({
    name,
    expected: "counts as no answer; nothing invented, back within 60 s",
    holdMs: 15_000,
    reducedHoldMs: 8_000,
    ...faulty(fault),
    checks: [stayedOnline],
    ...more,
  });

/**
 * Refusals for a busy device that do not quote the platform. Commands sent before the fault are left out: an earlier
 * fault may have left a request unanswered for 30 s, so that its command ends only now.
 */
const untold = ({ messages, sent, startedAt, endedAt }: Seen): readonly string[] => {
  const ids = new Set(sent.filter(within({ from: startedAt + 1_000, to: endedAt })).map(({ id }) => id));
  return resultsOf(messages.filter(within({ from: startedAt, to: endedAt })))
    .filter(({ id, reason }) => ids.has(textOf(id)) && reason === "platform_unavailable")
    .filter(({ message, request_id: id }) => !textOf(message).includes("503") || textOf(id) === "")
    .map(({ message }) => `a refusal that does not say what the platform said: ${textOf(message)}`);
};

/** Checks that an event was followed by the problem, which may already be on after an earlier fault. */
const problemAfter =
  (type: string): Check =>
  ({ messages }, { watch }) =>
    eventsIn(messages, type).flatMap(({ at }) => {
      const known = watch.seen.filter(
        (one) => one.topic === "greenhouse/gh-0001/problem" && one.at <= at + 1_000,
      );
      return unless(known.at(-1)?.payload === "on", `no problem after the event ${type}`);
    });

export const answerRows: readonly Row[] = [
  spoilt("HTML with status 200", { fault: "html" }),
  spoilt("HTML with status 502", { fault: "html", status: 502 }),
  spoilt("status 500", { fault: "http_status", status: 500 }),
  spoilt("body code 500", { fault: "body_code", code: 500 }),
  spoilt(
    "a busy device",
    { fault: "busy", code: 503 },
    {
      expected: "no read, not 'no value': commands are refused with the code and the request id",
      checks: [
        ...[stayedOnline, outcome("refused/platform_unavailable"), untold],
        (seen) => outcomesDuring(seen).filter((one) => one === "refused/no_read_back"),
      ],
    },
  ),
  spoilt("broken JSON", { fault: "garbage" }),
  spoilt("empty bodies", { fault: "empty" }),
  spoilt("truncated bodies", { fault: "truncated" }),
  spoilt("429 with Retry-After", { fault: "throttle", retry_after: "5s" }),
  spoilt("503 with Retry-After", { fault: "throttle", status: 503, retry_after: "5s" }),
  spoilt("answers 3 s late", { fault: "slow", delay: "3s" }),
];

/* What can happen to a control value between the bridge and the device. Polling is not affected. */

const post = (name: string, fault: Readonly<Record<string, unknown>>, more: Partial<Row> = {}): Row =>
  platform({
    name,
    expected: "read first; at most one second POST, 5 s later and only if a read differs",
    holdMs: 14_000,
    reducedHoldMs: 10_000,
    ...faulty({ operation: "set-value", ...fault }),
    ...more,
  });

const long = { holdMs: 25_000, reducedHoldMs: 12_000, limitMs: 75_000 };

export const postRows: readonly Row[] = [
  post("POST reset before it is done", { fault: "reset", when: "before" }),
  post("POST reset after it was done", { fault: "reset", when: "after" }, { checks: [outcome("confirmed")] }),
  post("POST never answered, not done", { fault: "timeout", chance: 0.5 }, long),
  post("POST never answered, done", { fault: "timeout", when: "after", chance: 0.5 }, long),
  post("POST answered with half a body", { fault: "truncated" }),
  post("POST answered with HTML 200", { fault: "html", when: "after" }),
  post("POST answered 502, done", { fault: "http_status", status: 502, when: "after" }),
  post("POST throttled", { fault: "throttle", retry_after: "2s" }),
  post("POST refused 401 once", { fault: "unauthorized", chance: 0.5 }),
  post(
    "POST accepted and ignored",
    { fault: "ignore" },
    {
      expected: "unconfirmed; never sent again",
      checks: [outcome("unconfirmed", "unconfirmed/mode_not_confirmed", "superseded/after_sending")],
    },
  ),
  post(
    "POST accepted and done late",
    { fault: "late", delay: "5s" },
    {
      expected: "confirmed when it shows, never sent again",
    },
  ),
  post(
    "POST done, shown and set back within the travel time",
    // After the first read, also on a busy machine, and before the travel time is over.
    { fault: "revert", delay: "700ms", address: "101" },
    {
      // Long enough for two commands of the roof, as a late read may miss that one was carried out.
      holdMs: 24_000,
      expected: "looked at once more after the travel time; the event reverted, the problem on",
      checks: [event("reverted"), problemAfter("reverted")],
    },
  ),
  post("POST done twice", { fault: "twice", delay: "2s" }),
  post("device gone at the POST", { fault: "offline_at_post", for: "6s", count: 1 }),
];
