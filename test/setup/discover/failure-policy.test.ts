import { describe, expect, it } from "vitest";
import type { PlatformErrorFacts } from "../../../src/greenhouse/ports.js";
import { afterFailure, mostLeftOut, type NextStep } from "../../../src/setup/discover/asker.js";

const facts = (over: Partial<PlatformErrorFacts>): PlatformErrorFacts => ({
  kind: "server",
  host: "realtime",
  operation: "GET /api/set-value/flush",
  sent: true,
  ...over,
});

const leaveOut: NextStep = { type: "leave_out" };
const giveUp: NextStep = { type: "give_up" };

describe("after a failed request", () =>
  it.each<[Partial<PlatformErrorFacts>, number, number, NextStep]>([
    [{ kind: "rejected" }, 0, 0, { type: "refused" }],
    [{ kind: "unauthorized" }, 0, 0, giveUp],
    [{ kind: "timeout" }, 0, 0, { type: "again", afterMs: 0 }],
    [{ kind: "timeout" }, 1, 0, leaveOut],
    [{ kind: "server" }, 0, 0, leaveOut],
    [{ kind: "protocol" }, 0, 0, leaveOut],
    [{ kind: "invalid_request" }, 0, 99, leaveOut],
    [{ kind: "unreachable" }, 0, mostLeftOut - 2, leaveOut],
    [{ kind: "unreachable" }, 0, mostLeftOut - 1, giveUp],
    [{ kind: "paused", retryAfterMs: 30_000 }, 0, 0, { type: "again", afterMs: 30_000 }],
    [{ kind: "throttled" }, 0, 0, { type: "again", afterMs: 10_000 }],
    [{ kind: "throttled", retryAfterMs: 3_600_000 }, 0, 0, giveUp],
    [{ kind: "paused", retryAfterMs: 30_000 }, 6, 0, giveUp],
  ])("%j, tried %i times, %i left out before: %j", (given, tries, leftOut, next) =>
    expect(afterFailure(facts(given), tries, leftOut)).toEqual(next),
  ));
