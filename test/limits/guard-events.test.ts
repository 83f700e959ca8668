import { describe, expect, it } from "vitest";
import { Timeline } from "../../src/journal/timeline.js";
import { stamped } from "../journal/support/samples.js";
import type { CommandBench } from "../support/command-bench.js";
import { bench, blow, guard, limits, nextStart, skylight, takeUp } from "./bench.js";

/* What everybody is told of guards that trip and clear. */

const wind = guard({ clearAfterMs: 0 });
const guarded = (id: string, address: string) =>
  skylight({ id, address, limits: limits({ guards: [wind] }) });
const two = { actuators: [guarded("east", "101"), guarded("west", "102")] };

const toldBy = ({ events }: CommandBench) =>
  events.flatMap(({ type, facts }) =>
    type.startsWith("guard_") ? [`${type} ${String(facts?.["value"])}`] : [],
  );

async function blows(one: CommandBench, ...speeds: readonly (number | string)[]) {
  for (const speed of speeds) {
    blow(speed)(one);
    await one.clock.advance(1_000);
  }
}

describe("the events of guards", () => {
  it("tell once, for all actuators that it concerns, that one has tripped and that it is clear again", async () => {
    const one = await bench(two);
    await blows(one, 3, 14, 15);
    expect(one.events).toMatchObject([
      {
        type: "guard_tripped",
        severity: "warning",
        message:
          'The guard "wind" has tripped at gh-0001/east, gh-0001/west: weather/wind is 14, and the limit is above 12.',
        facts: {
          controller: "gh-0001",
          actuator: null,
          actuators: "gh-0001/east, gh-0001/west",
          rule: "wind",
          input: "weather/wind",
          value: 14,
          limit: 12,
        },
      },
    ]);
    await one.clock.advance(58_000);
    await blows(one, 3);
    expect(one.events.slice(1)).toMatchObject([
      {
        type: "guard_cleared",
        severity: "info",
        message:
          'The guard "wind" at gh-0001/east, gh-0001/west is clear again: weather/wind is 3, and the limit is above 12.',
      },
    ]);
  });

  it("are no more than a pair a minute of one that flaps, and end with how it is", async () => {
    const one = await bench({ actuators: [guarded("east", "101")] });
    for (let second = 0; second < 600; second += 2) await blows(one, 14, 3);
    expect(toldBy(one).length).toBeLessThanOrEqual(20);
    expect(toldBy(one).length).toBeGreaterThan(10);
    await one.clock.advance(60_000);
    expect(toldBy(one).at(-1)).toBe("guard_cleared 3");
    expect(one.events.at(-1)?.facts?.["actuator"]).toBe("east");
  });

  it("tell nothing of one that has no value, nor of what an earlier run told", async () => {
    const one = await bench(two);
    await blows(one, "unknown", 3, "unknown", 3);
    await one.clock.advance(300_000);
    expect(toldBy(one)).toEqual([]);
    await blows(one, 14);
    const history = nextStart(one.records);

    const other = await bench({ ...two, isUnasked: true });
    takeUp(other, history);
    await blows(other, 14);
    expect(toldBy(other)).toEqual([]);
    await blows(other, 3);
    expect(toldBy(other)).toEqual(["guard_cleared 3"]);
  });

  it("stand in the journal too, of a guard that sends nothing", async () => {
    const one = await bench({ actuators: [guarded("east", "101")] });
    await blows(one, 3, 14, 3);
    const timeline = new Timeline();
    const told = stamped(one.records).flatMap((record) => timeline.entries(record));
    expect(told.flatMap((entry) => (entry.kind === "guard" ? [entry.type] : []))).toEqual([
      "guard_holds",
      "guard_clears",
    ]);
  });
});
