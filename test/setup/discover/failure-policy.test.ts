import { describe, expect, it } from "vitest";
import type { PlatformErrorFacts } from "../../../src/greenhouse/ports.js";
import { pauseBeforeRetryMs } from "../../../src/setup/discover/survey.js";

const facts = (over: Partial<PlatformErrorFacts>): PlatformErrorFacts => ({
  kind: "server",
  host: "realtime",
  operation: "GET /api/set-value/flush",
  sent: true,
  ...over,
});

describe("a question that failed is asked again", () =>
  it.each<[Partial<PlatformErrorFacts>, number, number | null]>([
    [{ kind: "rejected" }, 0, null],
    [{ kind: "unauthorized" }, 0, null],
    [{ kind: "timeout" }, 0, 0],
    [{ kind: "timeout" }, 1, null],
    [{ kind: "server" }, 0, null],
    [{ kind: "paused", retryAfterMs: 30_000 }, 0, 30_000],
    [{ kind: "throttled" }, 0, 10_000],
    [{ kind: "throttled", retryAfterMs: 3_600_000 }, 0, null],
    [{ kind: "paused", retryAfterMs: 30_000 }, 6, null],
  ])("%j, tried %i times: after %s ms", (given, tries, afterMs) =>
    expect(pauseBeforeRetryMs(facts(given), tries)).toBe(afterMs),
  ));
