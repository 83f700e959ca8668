import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { RecordBody, StepAnswered } from "../../src/journal/records.js";
import { EarlierHistory } from "../../src/journal/upgrade.js";
import {
  about,
  ended,
  openRows,
  recorded,
  type RecordRow,
  sent,
  stamped,
  taken,
} from "../journal/support/samples.js";

/* What records of earlier versions mean, of which none says what its lane must remember. */

function earlierOf(records: ReturnType<typeof stamped>): EarlierHistory {
  const history = new EarlierHistory();
  for (const record of records) history.add(record);
  return history;
}

/** What the one lane has to remember. */
const memoryOf = (records: RecordRow[1]) => earlierOf(recorded(records)).lanes[0]?.memory ?? {};

const answered = (id: string, changes: Partial<StepAnswered> = {}): StepAnswered => ({
  type: "step_answered",
  ...about,
  id,
  address: "101",
  attempt: 1,
  code: "200",
  request_id: "r1",
  error: null,
  sent: true,
  ...changes,
});

const idsOf = (found: readonly ({ readonly id: string } | undefined)[]) =>
  found.flatMap((one) => one?.id ?? []).join(" ");

describe("open commands", () => {
  it.each(openRows)("%s", (_, records, open) =>
    expect(idsOf(earlierOf(recorded(records)).open.map(({ taken }) => taken))).toBe(open),
  );

  it("say what was sent last and whether an answer came", () => {
    const [command] = earlierOf(
      stamped([
        taken("a", { command: "40" }),
        { type: "phase", ...about, id: "a", phase: "sending" },
        sent("a", { purpose: "mode", value: "10100" }),
        answered("a"),
        sent("a", { value: "40" }),
      ]),
    ).open;
    expect(command).toMatchObject({
      taken: { command: "40" },
      sent: {
        id: "a",
        steps: [
          { purpose: "mode", value: "10100", attempts: 1, code: "200" },
          { purpose: "value", value: "40", attempts: 1, code: null },
        ],
        sent_at: "2026-05-01T06:00:03.000Z",
      },
    });
  });

  it("that took over an equal one have what was sent for it, after its result too", () => {
    const records = [taken("a"), sent("a"), answered("a"), taken("b", { took_over: "a" }), ended("a")];
    expect(earlierOf(stamped(records)).open).toMatchObject([
      { taken: { id: "b" }, sent: { id: "b", steps: [{ address: "101", attempts: 1, code: "200" }] } },
    ]);
  });

  it("that nothing was sent for have no steps", () =>
    expect(earlierOf(stamped([taken("a")])).open).toMatchObject([{ sent: null }]));
});

describe("posts that nobody has read back", () => {
  const readBack = { type: "read_back", ...about, id: null, address: "101", value: "10010" } as const;
  it.each<RecordRow>([
    ["sent", ["a taken, a sent"], "a"],
    ["sent and read back", ["a sent", readBack], ""],
    ["sent again after the read", ["a sent", readBack, "b sent"], "b"],
    ["ended confirmed, which rests on a read", ["a sent, a ended"], ""],
    ["ended already, which rests on a read", ["a sent, a ended already"], ""],
    ["ended unconfirmed, which rests on a read", ["a sent, a ended unconfirmed"], ""],
    ["ended unknown", ["a sent, a ended unknown"], "a"],
    ["ended superseded", ["a sent, a ended superseded"], "a"],
    ["failed by a read that differs", ["a sent, a ended failed"], ""],
    ["rejected without a read", ["a sent", ended("a", { outcome: "rejected", read_back: null })], "a"],
    ["never connected", ["a sent", answered("a", { sent: false, code: null })], ""],
    [
      "never connected, after one that may have arrived",
      ["a sent, a ended unknown, b sent", ended("b", { outcome: "failed", reason: "not_sent" })],
      "b",
    ],
    ["found late", ["a sent, a late"], ""],
    ["a parameter of the same id is another thing", ["a sent", { ...readBack, target: "parameter" }], "a"],
  ])("%s", (_, records, unread) => expect(memoryOf(records).unread ?? false).toBe(unread !== ""));
});

describe("the newest problem of an actuator", () => {
  const acknowledged = (actuator: string | null) =>
    ({ type: "acknowledged", controller: "GH-0001", actuator, by: null, via: null }) as const;
  it.each<RecordRow>([
    ["rejected is one", ["a ended rejected"], "rejected"],
    ["unconfirmed is one", ["a ended unconfirmed"], "unconfirmed"],
    ["failed is one", ["a ended failed"], "failed"],
    ["unknown is one", ["a ended unknown"], "unknown"],
    ["confirmed ends it", ["a ended failed, b ended"], ""],
    ["already ends it", ["a ended failed, b ended already"], ""],
    ["superseded changes nothing", ["a ended failed, b ended superseded"], "failed"],
    ["dry_run changes nothing", ["a ended failed, b ended dry_run"], "failed"],
    ["refused changes nothing", ["a ended failed, b ended refused"], "failed"],
    ["a newer one replaces it", ["a ended failed, b ended unknown"], "unknown"],
    ["late confirmation ends it", ["a ended failed, a late"], ""],
    ["acknowledging it ends it", ["a ended failed", acknowledged("roof")], ""],
    ["acknowledging the controller ends it", ["a ended failed", acknowledged(null)], ""],
    ["acknowledging another does not", ["a ended failed", acknowledged("vent")], "failed"],
  ])("%s", (_, records, problem) => expect(memoryOf(records).problem?.outcome ?? "").toBe(problem));

  it("says which command it was and why, at no great length", () => {
    const because = (message: string) => ended("a", { outcome: "rejected", message });
    const reverted = { type: "reverted", ...about, id: "a", value: "10001", message: "set back" } as const;
    const found = [because("code 500"), because("x".repeat(2_000)), reverted].map((record) => {
      const { problem } = memoryOf([record]);
      return [problem?.command, problem?.outcome, problem?.message];
    });
    expect(found).toEqual([
      ["open", "rejected", "code 500"],
      ["open", "rejected", "x".repeat(300)],
      [null, "reverted", "set back"],
    ]);
  });
});

describe("commands whose value may still come or be set back", () => {
  const unsent = { sent_at: null };
  const unrecorded = (outcome: CommandResult["outcome"]) => ended("a", { ...unsent, steps: [], outcome });
  const lookedAt = (id: string | null, actuator = "roof"): RecordBody => ({
    ...{ type: "read_back", ...about, actuator, id, address: "101", value: "10010" },
  });
  it.each<RecordRow>([
    ["ended unconfirmed", ["a ended unconfirmed"], "a"],
    ["until it came", ["a ended unconfirmed, a late"], ""],
    ["until a newer one was sent and ended", ["a ended unconfirmed, b sent, b ended failed"], "b"],
    ["or gave way to another", ["a ended unconfirmed, b sent, b ended superseded"], ""],
    [
      "whatever was refused since",
      ["a ended unconfirmed", ended("b", { ...unsent, outcome: "refused" })],
      "a",
    ],
    ["with a mode that was not confirmed", [ended("a", { outcome: "unconfirmed", reason: "x" })], "a"],
    ["sent and ended rejected", ["a ended rejected"], "a"],
    ["sent and ended failed", ["a ended failed"], "a"],
    ["sent and ended unknown", ["a ended unknown"], "a"],
    ["not failed before anything was sent", [ended("a", { ...unsent, outcome: "failed" })], ""],
    ["failed after a crash without a record of its POST", ["a taken, a sending", unrecorded("failed")], "a"],
    ["not after a crash before its turn came", ["a taken", unrecorded("unknown")], ""],
    ["until it was seen, whatever it had ended with", ["a ended unknown", lookedAt("a")], ""],
    ["confirmed", ["a sent, a ended"], "a"],
    ["until it was looked at again", ["a ended", lookedAt("a")], ""],
    ["until it was reverted", ["a ended", { type: "reverted", ...about, id: "a", value: "1" }], ""],
    ["whatever the read-backs of POSTs say", [lookedAt(null), "a ended", lookedAt(null)], "a"],
    ["until a newer one was sent", ["a ended, b sent"], ""],
    [
      "for each target apart",
      ["a ended unconfirmed", { ...ended("b"), target: "parameter" }, lookedAt("a", "vent")],
      "a b",
    ],
  ])("%s", (_, records, ids) => {
    const { lanes } = earlierOf(recorded(records));
    expect(idsOf(lanes.map(({ memory }) => memory.awaited ?? memory.second_look))).toBe(ids);
  });
});
