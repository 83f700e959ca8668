import { describe, expect, it } from "vitest";
import { commonTarget, groupState, memberName, summaryOf } from "../../src/greenhouse/groups.js";
import type { MemberResult } from "../../src/greenhouse/groups.js";
import type { Actuator, Quality } from "../../src/greenhouse/model.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import type { Outcome } from "../../src/greenhouse/command/outcomes.js";
import { memberPayload } from "../../src/groups/service.js";
import { actuator } from "../support/builders.js";

const shows = (
  state: string | null,
  position: number | null = null,
  quality: Quality = "good",
): Actuator => ({
  ...unreadActuator(actuator()),
  state,
  position,
  readAt: 0,
  source: "poll",
  quality,
});

describe("the state of a group", () => {
  it.each([
    ["a word where all show it", [shows("open"), shows("open")], "open", null, "good"],
    ["the degree where all show it", [shows("position", 20), shows("position", 20)], "position", 20, "good"],
    [
      "mixed, and no mean, where degrees differ",
      [shows("position", 20), shows("position", 80)],
      "mixed",
      null,
      "good",
    ],
    ["mixed where words differ", [shows("open"), shows("closed")], "mixed", null, "good"],
    ["unknown where one was never read", [shows("open"), shows(null)], "unknown", null, "stale"],
    ["unknown where one is not there", [shows("open"), undefined], "unknown", null, "stale"],
    ["as good as its worst member", [shows("open"), shows("open", null, "stale")], "open", null, "stale"],
  ] as const)("is %s", (_, members, state, position, quality) => {
    expect(groupState(members)).toEqual({ state, position, quality });
  });
});

describe("what a group takes", () => {
  it("has a stop only where every member has one", () => {
    const stop = { address: "109", value: "1" };
    expect(commonTarget([actuator({ stop }), actuator({ stop })])?.stop).toBeDefined();
    expect(commonTarget([actuator({ stop }), actuator()])?.stop).toBeUndefined();
  });
});

const ended = (name: string, outcome: Outcome, reason: string | null = null): MemberResult => ({
  controller: "east",
  actuator: name,
  command: "20",
  id: name,
  outcome,
  reason,
  message: reason === null ? null : "Because.",
  interlock: null,
});

describe("the summary of a command to several", () => {
  it.each([
    ["confirmed where all are", [ended("a", "confirmed"), ended("b", "already")], "confirmed", []],
    ["already where nothing was sent", [ended("a", "already"), ended("b", "already")], "already", []],
    ["a dry run's", [ended("a", "dry_run"), ended("b", "already")], "dry_run", []],
    [
      "that of the worst member",
      [ended("a", "confirmed"), ended("b", "refused", "interlock")],
      "refused",
      ["east/b"],
    ],
    [
      "not known before refused",
      [ended("a", "unknown"), ended("b", "refused", "expired")],
      "unknown",
      ["east/a", "east/b"],
    ],
  ] as const)("is %s", (_, members, outcome, missed) => {
    expect(summaryOf(members)).toMatchObject({ outcome, missed });
  });

  it("says which members did not, and the reason where it is one", () => {
    expect(summaryOf([ended("a", "confirmed"), ended("b", "refused", "interlock")])).toEqual({
      outcome: "refused",
      reason: "interlock",
      message: "1 of 2 members did it; not: east/b refused (interlock): Because.",
      missed: ["east/b"],
    });
  });
});

describe("what a member is sent", () => {
  const sent = (payload: string, command: string | null, id: string | null) =>
    new TextDecoder().decode(memberPayload(new TextEncoder().encode(payload), command, id));
  const name = memberName({ controllerId: "east", actuator: "roof" });

  it("is the payload as it stands where nothing of it is another", () => {
    expect(sent(" 20 ", null, null)).toBe(" 20 ");
    expect(sent('{"command": 20}', null, null)).toBe('{"command": 20}');
  });

  it("is the scene's own command, with everything else that was said", () => {
    expect(sent("activate", "close", null)).toBe("close");
    expect(JSON.parse(sent('{"command":"on","by":"anna"}', "close", null))).toEqual({
      command: "close",
      by: "anna",
    });
  });

  it("has an id of its own where the sender gave one, the same each time", () => {
    expect(JSON.parse(sent('{"command":20,"id":"x"}', null, `x/${name}`))).toEqual({
      command: 20,
      id: "x/east/roof",
    });
    const long = `${"x".repeat(200)}/${name}`;
    const once = JSON.parse(sent('{"command":20}', null, long)) as { readonly id: string };
    expect(once.id).toMatch(/^[0-9a-f]{64}$/);
  });
});
