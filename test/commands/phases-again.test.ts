import { describe, expect, it } from "vitest";
import type { CommandFacts } from "../../src/commands/phases.js";
import { command, fan, phases } from "../support/command-phases.js";

const told = (id: string): CommandFacts => ({
  ...{ id, command: "on", value: "1010", by: null, via: null },
  received_at: "2026-05-01T06:00:00.000Z",
});

describe("the broker may have forgotten what it held", () => {
  const other = command("X", { targetId: "heater" });
  const heater = "east/actuator/heater";

  it("so every topic's last document goes out with each link, and when it is asked for", async () => {
    const { made, news } = phases();
    made.connected();
    made.show(command("A"), "done");
    made.show(other, "confirming");
    const shown = [fan("A:done"), `${heater} X:confirming`];
    expect(await news()).toEqual(shown);
    made.disconnected();
    made.republish();
    expect(await news()).toEqual([]);
    made.connected();
    expect(await news()).toEqual(shown);
    made.republish();
    made.republish();
    expect(await news()).toEqual(shown);
  });

  it("as fast as the link takes it, and no older document after a newer one", async () => {
    const { made, line, news } = phases();
    made.connected();
    made.show(command("A"), "done");
    made.show(other, "confirming");
    await news();
    const wakes: (() => void)[] = [];
    line.ready = () => new Promise((resolve) => wakes.push(resolve));
    made.disconnected();
    made.connected();
    expect(await news()).toEqual([]);
    made.show(command("B"), "waiting");
    made.show(other, "done");
    expect(await news()).toEqual([fan("B:waiting"), `${heater} X:done`]);
    for (const wake of wakes) wake();
    expect(await news()).toEqual([]);
  });

  it("and a link that is lost meanwhile begins again", async () => {
    const { made, line, news } = phases();
    made.connected();
    made.show(command("A"), "done");
    await news();
    const wakes: (() => void)[] = [];
    line.ready = () => new Promise((resolve) => wakes.push(resolve));
    made.republish();
    made.disconnected();
    for (const wake of wakes.splice(0)) wake();
    expect(await news()).toEqual([]);
    made.connected();
    for (const wake of wakes) wake();
    expect(await news()).toEqual([fan("A:done")]);
  });

  it("but a controller that was removed does not get its topics back", async () => {
    const { made, removed, news } = phases();
    made.connected();
    made.show(command("A"), "done");
    await news();
    removed.add("east");
    made.republish();
    expect(await news()).toEqual([]);
    removed.clear();
    made.republish();
    expect(await news()).toEqual([]);
  });

  it("of raw addresses the 1,000 used last are kept", async () => {
    const { made, news } = phases();
    made.connected();
    const raw = (n: number) => command(`${n}`, { target: "address", targetId: `${n}` });
    for (let n = 0; n <= 1_000; n++) made.show(raw(n), "done");
    made.show(raw(1), "done");
    made.show(raw(1_001), "done");
    await news();
    made.republish();
    const again = await news();
    expect(again).toHaveLength(1_000);
    expect(again).not.toContain("east/address/2 2:done");
    expect(again).toContain("east/address/1 1:done");
  });
});

describe("the end of a command of an earlier run", () => {
  const about = { controllerId: "east", target: "actuator", targetId: "fan" } as const;

  it("is shown, and again with each link", async () => {
    const { made, news } = phases();
    made.connected();
    made.endedBefore(about, told("A"));
    expect(await news()).toEqual([fan("A:done")]);
    made.disconnected();
    made.connected();
    expect(await news()).toEqual([fan("A:done")]);
  });

  it("is not shown once a command of this run was, not even when that is still to be told", async () => {
    const { made, news } = phases((tell) => setImmediate(tell));
    made.connected();
    made.show(command("B"), "waiting");
    made.endedBefore(about, told("A"));
    expect(await news()).toEqual([fan("B:waiting")]);
  });
});
