import { expect, test } from "vitest";
import { accountReport, type FleetReport, keepStatus } from "../../src/fleet/status-file.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const running = {
  ...({ phase: "running", since: 0, enteredAt: 0, restarts: 0 } as const),
  ...{ error: null, again: null, owner: null },
} as const;

test("the status of a fleet is written when an account is otherwise, and else often enough to be believed", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let restarts = 0;
  let isFull = false;
  const written: string[] = [];
  const files = {
    read: () => Promise.resolve(written.at(-1) ?? null),
    version: () => Promise.resolve(null),
    writePrivate: (_path: string, text: string) => {
      if (isFull) return Promise.reject(new Error("no space left"));
      written.push(text);
      return Promise.resolve();
    },
  };
  const report = (): FleetReport => ({
    at: new Date(clock.now()).toISOString(),
    pid: 1,
    version: "1",
    accounts: { north: accountReport({ ...running, restarts, bridge: null }) },
  });
  const over = keepStatus("/nowhere/greenhouse2mqtt", report, { clock, log: silentLog, files }, stop.signal);
  await clock.advance(60_000);
  expect(written).toHaveLength(4);
  restarts = 1;
  await clock.advance(5_000);
  expect(written).toHaveLength(5);
  expect(written.at(-1)).toContain('"restarts":1');
  // What could not be written is owed.
  isFull = true;
  restarts = 2;
  await clock.advance(10_000);
  isFull = false;
  await clock.advance(5_000);
  expect(written.at(-1)).toContain('"restarts":2');
  stop.abort();
  await over;
});
