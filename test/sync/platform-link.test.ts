import { describe, expect, it } from "vitest";
import { platformState, untriedHost } from "../../src/sync/hosts.js";

const up = { ...untriedHost, contactAt: 1_000 };
const once = { ...up, failures: 1, failingSince: 2_000 };
const twice = { ...up, failures: 2, failingSince: 2_000 };
const refused = { ...up, unauthorized: true };
const facts = { realtime: up, business: up, stretched: false, startedAt: 0 };

describe("the published state of the platform: the first that applies", () =>
  it.each([
    ["nothing tried yet", { ...facts, realtime: untriedHost }, 1_000, null],
    ["nothing answered in 30 s", { ...facts, realtime: untriedHost }, 30_000, "unreachable"],
    ["both hosts answer", facts, 3_000, "online"],
    ["the business host not tried yet", { ...facts, business: untriedHost }, 3_000, "online"],
    ["one failed attempt at the realtime host", { ...facts, realtime: once }, 3_000, "online"],
    ["one failed attempt, 30 s ago", { ...facts, realtime: once }, 32_000, "unreachable"],
    ["two failed attempts at the realtime host", { ...facts, realtime: twice }, 3_000, "unreachable"],
    ["two failed attempts at the business host", { ...facts, business: twice }, 3_000, "degraded"],
    ["a stretched budget", { ...facts, stretched: true }, 3_000, "degraded"],
    ["a refused credential", { ...facts, business: refused, stretched: true }, 3_000, "unauthorized"],
    ["refused and unreachable", { ...facts, business: refused, realtime: twice }, 3_000, "unreachable"],
  ])("%s", (_, link, now, state) => expect(platformState(link, now)).toBe(state)));
