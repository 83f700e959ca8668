import { event, outcome, type Row, shown } from "../row.js";
import { faulty, platform } from "./kinds.js";

/* What can become of a control value between the bridge and the device. Polling is left alone. */

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
    {
      ...{ fault: "revert", delay: "400ms", address: "101" },
    },
    {
      expected: "looked at once more after the travel time; the event reverted, the problem on",
      checks: [shown("greenhouse/gh-0001/problem", "on"), event("reverted")],
    },
  ),
  post("POST done twice", { fault: "twice", delay: "2s" }),
  post("device gone at the POST", { fault: "offline_at_post", for: "6s", count: 1 }),
];
