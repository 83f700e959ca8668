import { describe, expect, it } from "vitest";
import type { Register } from "../../src/greenhouse/model.js";
import { judgePush, platformInstant } from "../../src/sync/push-mirror.js";
import { register } from "../support/folding.js";

/** The channel is open since second 0 and it is second 300 now; times in seconds. */
interface Case {
  readonly held: {
    readonly raw?: string;
    readonly at: number;
    readonly of?: "poll" | "flush" | "push";
  } | null;
  readonly posted?: number;
  readonly pushed: { readonly raw?: string; readonly at: number | null };
}

const now = 300_000;

function judged({ held, posted, pushed }: Case) {
  const of = held?.of ?? "poll";
  const over: Partial<Register> = { fresh: of !== "poll", source: of === "push" ? "push" : "poll" };
  return judgePush(
    {
      register: held && register(held.raw ?? "10001", held.at * 1_000, over),
      postedAt: posted === undefined ? null : posted * 1_000,
    },
    { raw: pushed.raw ?? "10010", at: pushed.at === null ? null : pushed.at * 1_000, arrivedAt: now },
    0,
  );
}

describe("a pushed value", () => {
  it.each<[string, Case, string]>([
    ["that was never read before", { held: null, pushed: { at: 300 } }, "doubtful"],
    ["not read since the channel was opened", { held: { at: -1 }, pushed: { at: 300 } }, "doubtful"],
    ["dated after the read", { held: { at: 200 }, pushed: { at: 290 } }, "take"],
    ["dated before a fresh read", { held: { at: 200, of: "flush" }, pushed: { at: 190 } }, "old"],
    ["dated long before, never read since", { held: { at: -100, of: "flush" }, pushed: { at: -200 } }, "old"],
    ["dated before a read that may be older still", { held: { at: 200 }, pushed: { at: 190 } }, "doubtful"],
    ["dated about when the read began", { held: { at: 200 }, pushed: { at: 203 } }, "doubtful"],
    [
      "dated about when the read began, a little before",
      { held: { at: 200 }, pushed: { at: 196 } },
      "doubtful",
    ],
    ["dated after a push", { held: { at: 290, of: "push" }, pushed: { at: 291 } }, "take"],
    ["of the same second as a push", { held: { at: 290, of: "push" }, pushed: { at: 290 } }, "take"],
    ["dated before a push", { held: { at: 290, of: "push" }, pushed: { at: 280 } }, "old"],
    ["dated before our POST", { held: { at: 200 }, posted: 280, pushed: { at: 270 } }, "old"],
    ["dated about our POST", { held: { at: 200 }, posted: 280, pushed: { at: 282 } }, "doubtful"],
    [
      "about our POST, after a push",
      { held: { at: 279, of: "push" }, posted: 280, pushed: { at: 282 } },
      "doubtful",
    ],
    ["dated after our POST", { held: { at: 200 }, posted: 280, pushed: { at: 290 } }, "take"],
    ["undated, after an unflushed read", { held: { at: 299 }, pushed: { at: null } }, "doubtful"],
    [
      "undated, soon after a fresh read",
      { held: { at: 241, of: "flush" }, pushed: { at: null } },
      "doubtful",
    ],
    ["undated, long after a fresh read", { held: { at: 1, of: "flush" }, pushed: { at: null } }, "doubtful"],
    ["undated, after a push", { held: { at: 299, of: "push" }, pushed: { at: null } }, "doubtful"],
    ["undated, soon after our POST", { held: { at: 100 }, posted: 241, pushed: { at: null } }, "doubtful"],
    ["undated, long after our POST", { held: { at: 100 }, posted: 240, pushed: { at: null } }, "doubtful"],
    ["that shows already", { held: { at: 290 }, pushed: { raw: "10001", at: null } }, "known"],
    [
      "that shows already, without its zeros",
      { held: { raw: "00000", at: 290 }, pushed: { raw: "0", at: null } },
      "known",
    ],
    ["undated, that shows already", { held: { at: 1 }, pushed: { raw: "10001", at: null } }, "known"],
    ["that shows, but was read long ago", { held: { at: 100 }, pushed: { raw: "10001", at: 300 } }, "take"],
  ])("%s: %o is %s", (_name, given, verdict) => {
    expect(judged(given).type).toBe(verdict);
  });

  it("that is taken never counts as older than what it takes the place of", () => {
    expect(judged({ held: { at: 290, of: "push" }, pushed: { at: 287 } })).toEqual({
      type: "take",
      startedAt: 290_000,
    });
    expect(judged({ held: { at: 200 }, pushed: { at: 290 } })).toEqual({ type: "take", startedAt: 290_000 });
  });
});

describe("a time of the platform", () => {
  const clock = { now: 1_000_000, monotonic: 5_000 };
  it.each([
    ["none", null, 0, null],
    ["while the clocks were not compared", 1_000_000, null, null],
    ["the same clock", 999_000, 0, 4_000],
    ["a platform that is a minute ahead", 1_059_000, 60_000, 4_000],
    ["a little in the future", 1_001_000, 0, 5_000],
    ["far in the future", 1_200_000, 0, null],
  ] as const)("%s", (_name, at, skew, instant) => {
    expect(platformInstant(at, skew, clock)).toBe(instant);
  });
});
