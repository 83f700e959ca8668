import { describe, expect, it } from "vitest";
import { command, fan, phases } from "../support/command-phases.js";

describe("the topic of the newest command", () => {
  it("shows nothing of an older command once a newer one has been shown, also when the older ends last", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    made.connected();
    for (const [one, phase] of [
      [a, "waiting"],
      [a, "confirming"],
      [b, "waiting"],
      [b, "checking"],
      [a, "done"],
      [b, "sending"],
      [b, "done"],
      [a, "done"],
    ] as const)
      made.show(one, phase);
    expect(sent).toEqual(
      ["A:waiting", "A:confirming", "B:waiting", "B:checking", "B:sending", "B:done"].map(fan),
    );
  });

  it("shows a waiting command's end before the newer one that took its place", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    made.connected();
    made.show(a, "waiting");
    made.show(a, "done");
    made.show(b, "waiting");
    expect(sent).toEqual(["A:waiting", "A:done", "B:waiting"].map(fan));
  });

  it("shows an older command again that has its turn only after the newer one was refused", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    made.connected();
    for (const [one, phase] of [
      [a, "waiting"],
      [b, "waiting"],
      [b, "checking"],
      [b, "done"],
      [a, "checking"],
      [a, "done"],
    ] as const)
      made.show(one, phase);
    expect(sent).toEqual(["A:waiting", "B:waiting", "B:checking", "B:done", "A:checking", "A:done"].map(fan));
  });

  it("shows the same id sent again as a command of its own", () => {
    const { made, sent } = phases();
    made.connected();
    made.show(command("A"), "done");
    made.show(command("A"), "waiting");
    expect(sent).toEqual(["A:done", "A:waiting"].map(fan));
  });

  it("knows each target's newest apart", () => {
    const { made, sent } = phases();
    const [a, other] = [command("A"), command("B", { targetId: "heater" })];
    made.connected();
    made.show(a, "confirming");
    made.show(other, "waiting");
    made.show(a, "done");
    expect(sent).toEqual([fan("A:confirming"), "east/actuator/heater B:waiting", fan("A:done")]);
  });

  it("shows nothing of a command of an earlier run after which a newer one was shown then", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B", { targetId: "heater" })];
    made.connected();
    made.overtaken(a);
    made.show(a, "confirming");
    made.show(b, "confirming");
    made.show(a, "done");
    expect(sent).toEqual(["east/actuator/heater B:confirming"]);
  });

  it("shows after a time without a link how far the newest has come, before anything else, and only that", async () => {
    const { made, sent, news } = phases();
    const [a, b] = [command("A"), command("B")];
    made.show(a, "confirming");
    made.show(a, "done");
    expect(sent).toEqual([]);
    made.connected();
    expect(sent).toEqual([fan("A:done")]);
    expect(await news()).toEqual([fan("A:done")]);
    made.disconnected();
    made.show(b, "waiting");
    made.show(b, "done");
    made.connected();
    expect(sent).toEqual([fan("B:done")]);
    expect(await news()).toEqual([fan("B:done")]);
  });

  it("is told of once the requests under way have left, in order, or before a result", () => {
    const waiting: (() => void)[] = [];
    const { made, sent } = phases((tell) => waiting.push(tell));
    const a = command("A");
    made.connected();
    made.show(a, "waiting");
    made.show(a, "checking");
    expect(sent).toEqual([]);
    made.publish();
    expect(sent).toEqual(["A:waiting", "A:checking"].map(fan));
    for (const tell of waiting) tell();
    expect(sent).toHaveLength(2);
  });
});
