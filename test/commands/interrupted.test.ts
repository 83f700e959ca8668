import { describe, expect, it } from "vitest";
import { payloadKey } from "../../src/commands/admission.js";
import { abandonedFrom, interruptedFrom } from "../../src/commands/restore.js";
import type { OpenCommand } from "../../src/journal/records.js";
import { CommandBench } from "../support/command-bench.js";

const open = (
  over: Partial<OpenCommand["taken"]> = {},
  sent: Partial<OpenCommand> = { phase: "sending" },
): OpenCommand => ({
  taken: {
    ...{ type: "command_taken", controller: "GH-0001", actuator: "roof", target: "actuator", id: "a" },
    ...{ command: "open", value: "10010", by: null, via: null, payload_hash: "h", max_age_ms: 60_000 },
    steps: [{ purpose: "value", address: "101", value: "10010" }],
    received_at: "2026-05-01T06:00:00.000Z",
    ...over,
  },
  ...{ taken_at: "2026-05-01T06:00:00.000Z", boot: "b", phase: null, steps: [] },
  ...sent,
});

describe("a command of the journal without a result", () => {
  const { store, clock } = new CommandBench();

  it("is read back where something can be", () =>
    expect(interruptedFrom(open(), store, clock)).toMatchObject({ command: { id: "a" }, attempts: 0 }));

  it("is recognised by what an earlier version kept of its payload, as by what this one keeps", () => {
    const keyOf = (payload_hash: string) =>
      interruptedFrom(open({ payload_hash }), store, clock)?.command.payloadKey;
    const key = payloadKey(new TextEncoder().encode(" open\n"));
    expect(key).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect([keyOf("open"), keyOf(key)]).toEqual([key, key]);
  });

  it("is not read back where nothing of it was sent: it ends refused, and its id is known", () => {
    const waited = open({ own_id: true }, { phase: null });
    expect(interruptedFrom(waited, store, clock)).toBeNull();
    expect(abandonedFrom(waited, store)).toMatchObject({
      ownId: true,
      ending: { outcome: "refused", reason: "shutting_down", steps: [], sentAt: null },
    });
  });

  it("is not read back where nobody knows whether a stop was sent: it ends unknown", () => {
    const stop = open(
      { command: "stop", steps: [{ purpose: "stop", address: "109", value: "00000100" }] },
      { phase: null },
    );
    expect(interruptedFrom(stop, store, clock)).toBeNull();
    expect(abandonedFrom(stop, store).ending).toMatchObject({ outcome: "unknown" });
  });

  it("is not read back where a rule had asked for it and the journal says of nothing sent: it ends so, in these words", () => {
    const rule = open({ by: "lease a", max_age_ms: 0 }, { phase: null });
    expect(interruptedFrom(rule, store, clock)).toBeNull();
    const { ending } = abandonedFrom(rule, store);
    expect(ending.outcome).toBe("refused");
    expect(ending.message).toContain("its journal says of nothing that was sent");
  });

  it("that was a dry run is not: it ends refused, and nothing was sent", () => {
    const dry = open({ dry_run: true });
    expect(interruptedFrom(dry, store, clock)).toBeNull();
    expect(abandonedFrom(dry, store).ending).toMatchObject({
      ...{ outcome: "refused", reason: "shutting_down", steps: [] },
    });
  });

  it("whose actuator is gone ends unknown", () => {
    const gone = open({ actuator: "none" });
    expect(interruptedFrom(gone, store, clock)).toBeNull();
    expect(abandonedFrom(gone, store).ending).toMatchObject({ outcome: "unknown" });
  });

  it("whose controller is gone ends under the topic id it had", () => {
    const gone = open({ controller: "温室1" });
    expect(abandonedFrom(gone, store).asked).toMatchObject({ controller: "wen_shi1_fmxa87c0" });
  });
});
