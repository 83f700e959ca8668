import { describe, expect, it } from "vitest";
import { announceOnline } from "../../src/mqtt/outputs.js";
import { PublishError, type PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { silentLog } from "../support/builders.js";

/** Ends one attempt after the other as told, then succeeds. */
const announcing = async (...ends: (PublishErrorKind | "ending" | Error)[]) => {
  let attempts = 0;
  let waits = 0;
  const isSaid = await announceOnline({
    publish: () => {
      const end = ends[attempts++];
      if (end === undefined || end === "ending") return Promise.resolve();
      return Promise.reject(end instanceof Error ? end : new PublishError(end, end));
    },
    isEnding: () => attempts > 0 && ends[attempts] === "ending",
    ready: () => {
      waits++;
      return Promise.resolve();
    },
    log: silentLog,
  });
  return { isSaid, attempts, waits };
};

describe("that the bridge is online", () => {
  it.each<[string, readonly (PublishErrorKind | "ending")[], Awaited<ReturnType<typeof announcing>>]>([
    ["is said once", [], { isSaid: true, attempts: 1, waits: 0 }],
    [
      "is said again until the broker acknowledges it",
      ["unacknowledged", "unacknowledged"],
      { isSaid: true, attempts: 3, waits: 0 },
    ],
    [
      "is not said again behind the last words",
      ["unacknowledged", "ending"],
      { isSaid: false, attempts: 1, waits: 0 },
    ],
    ["waits for room", ["busy"], { isSaid: true, attempts: 2, waits: 1 }],
    [
      "is left to the next link when this one goes",
      ["unacknowledged", "offline"],
      { isSaid: false, attempts: 2, waits: 0 },
    ],
    [
      "holds nothing else up where the broker refuses it",
      ["refused"],
      { isSaid: true, attempts: 1, waits: 0 },
    ],
  ])("%s", async (_, ends, expected) => {
    expect(await announcing(...ends)).toEqual(expected);
  });

  it("fails as whatever is no answer of the broker fails", async () => {
    await expect(announcing(new TypeError("a mistake of ours"))).rejects.toThrow("a mistake of ours");
  });
});
