import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/clock.js";
import { examine } from "../../../src/setup/doctor/doctor.js";
import { type Finding, ok } from "../../../src/setup/doctor/finding.js";
import { type Check, defaultLimits, type Scene } from "../../../src/setup/doctor/scene.js";

const scene = { ports: { clock: systemClock }, limits: defaultLimits } as unknown as Scene;

async function findingsOf(checks: readonly Check[], stop: AbortSignal): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of examine(checks, scene, stop, () => undefined)) findings.push(finding);
  return findings;
}

const skipped = { status: "skipped", summary: "not tried: stopped" };

describe("an examination that is stopped", () => {
  it("takes the check it breaks off, and every one after it, for not tried", async () => {
    const stop = new AbortController();
    const broken: Check = {
      id: "broken",
      needs: [],
      run: (_, signal) =>
        new Promise((__, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
          stop.abort();
        }),
    };
    const next: Check = { id: "next", needs: [], run: () => Promise.resolve(ok("fine")) };
    expect(await findingsOf([broken, next], stop.signal)).toEqual([
      { check: "broken", ...skipped },
      { check: "next", ...skipped },
    ]);
  });

  it("does not wait for a check that does not listen", async () => {
    const stop = new AbortController();
    const deaf: Check = {
      id: "deaf",
      needs: [],
      run: () => {
        stop.abort();
        return new Promise(() => undefined);
      },
    };
    expect(await findingsOf([deaf], stop.signal)).toEqual([{ check: "deaf", ...skipped }]);
  });

  it("keeps what was found before", async () => {
    const stop = new AbortController();
    const last: Check = {
      id: "last",
      needs: [],
      run: () => {
        stop.abort();
        return Promise.resolve(ok("fine"));
      },
    };
    expect(await findingsOf([last], stop.signal)).toEqual([{ check: "last", ...ok("fine") }]);
  });
});
