import { expect, it } from "vitest";
import { laneKey } from "../../src/commands/book.js";
import type { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import {
  bench,
  blow,
  guard,
  ignored,
  keptIn,
  limits,
  lockOf,
  nextStart,
  skylight,
  takeUp,
  valve,
} from "./bench.js";

const key = laneKey({ code: "GH-0001", target: "actuator", targetId: "valve" });

/** What the next start begins with, as `bridge/request/state` tells it. */
const rememberedOf = ({ commander }: CommandBench) =>
  (commander.print("GH-0001") as { readonly remembered: Readonly<Record<string, unknown>> }).remembered[key];

it("a command with a guard, a lease, a hold and a lock is the same before and after the program dies in the middle of it", async () => {
  const calm = guard({ name: "wind", sends: "off", allow: { words: ["on", "off"], degrees: null } });
  const options = { actuators: [valve({ limits: limits({ guards: [calm], startsPerHour: 6 }) })] };
  const one = await bench(options);
  one.platform.onWrite = ignored;
  await one.play(blow(14), 1_000);
  await one.clock.advance(100_000);
  await one.play('{"command":"on","for":"20m","hold":"1h","id":"a","by":"anna"}', 500);
  await one.engine.change("GH-0001", ["valve"], { lock: lockOf(one) });
  const history = nextStart(one.records);

  const other = await bench({ ...options, isUnasked: true, isUnread: true });
  await other.clock.advance(one.clock.now() - other.clock.now());
  takeUp(other, history, one.clock.now());

  expect(rememberedOf(other)).toEqual(rememberedOf(one));
  expect(rememberedOf(one)).toMatchObject({
    sent: [{ id: "a", steps: [{ value: "1010", attempts: 1, code: "200" }], is_accepted: true }],
    unread: true,
    limits: {
      guards: { wind: { phase: "held" } },
      lease: { id: "a", by: "anna", command: "on", ends_with: "off" },
      hold: { id: "a", by: "anna" },
      lock: { by: "anna", reason: "glass work", until: null },
      starts: [expect.any(Number)],
    },
  });
});

it("a command of an earlier run that failed leaves no hold, as one of this run does not", async () => {
  const options = { actuators: [valve()] };
  const one = await bench(options);
  one.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted", sent: true }));
  await one.play('{"command":"on","hold":"1h","id":"a","by":"anna"}', 500);
  const history = nextStart(one.records);

  const other = await bench(options);
  await other.clock.advance(one.clock.now() - other.clock.now());
  takeUp(other, history, one.clock.now());
  expect(other.engine.inForce("GH-0001", "valve")?.hold).toMatchObject({ id: "a" });
  await other.clock.advance(400_000);
  expect(other.outcomes).toMatchObject({ a: expect.stringContaining("failed") as unknown });
  expect(other.engine.inForce("GH-0001", "valve")?.hold ?? null).toBeNull();
});

it("a command of an earlier run that failed leaves the lease and the hold that were in force before it", async () => {
  const options = { actuators: [valve()] };
  const one = await bench(options);
  await one.play('{"command":"on","for":"20m","hold":"50m","id":"a","by":"anna"}', 15_000);
  one.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted", sent: true }));
  await one.play('{"command":"auto","for":"1h","hold":"40m","id":"b","by":"anna"}', 2_000);
  const history = nextStart(one.records);

  const other = await bench({ ...options, registers: { "210": "1010" } });
  await other.clock.advance(one.clock.now() - other.clock.now());
  takeUp(other, history, one.clock.now());
  const inForce = () => {
    const { lease, hold } = other.commander.limitsOf(key) ?? {};
    return { lease: lease?.id, hold: hold?.id };
  };
  expect(inForce()).toEqual({ lease: "b", hold: "b" });
  expect(rememberedOf(other)).toEqual(rememberedOf(one));
  await other.clock.advance(400_000);
  expect(other.outcomes).toMatchObject({ b: expect.stringContaining("failed") as unknown });
  expect(inForce()).toEqual({ lease: "a", hold: "a" });
  await other.clock.advance(900_000);
  expect(other.values()).toEqual(["210=1001"]);
});

it("a pause is as long over a restart, also where the disk took its time between the check and the POST", async () => {
  const reversed = limits({ reversalMs: 60_000 });
  const options = { actuators: [skylight({ travelMs: 10_000, limits: reversed })] };
  const one = await bench(options);
  const firstStart = one.clock.now();
  await one.clock.advance(1_100);
  one.diskMs = 300;
  await one.play("open", 5_000);
  const ranForMs = one.clock.now() - firstStart;
  const kept = keptIn(one.records).at(-1);
  const opened = one.platform.posts.at(-1)?.at ?? Infinity;

  const movedUntil = (kept?.moved_until ?? 0) - ranForMs;
  const registers = { "101": "10010" };
  const other = await bench({ ...options, registers, kept: { ...kept, moved_until: movedUntil } });
  await other.play(55_000, "close", 15_000);
  expect(other.platform.posts.map(({ value }) => value)).toEqual(["10001"]);
  const closed = (other.platform.posts.at(-1)?.at ?? 0) + ranForMs;
  expect(closed - opened).toBeGreaterThanOrEqual(70_000);
  expect(closed - opened).toBeLessThanOrEqual(71_000);
});
