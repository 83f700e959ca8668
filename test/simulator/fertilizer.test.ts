import { expect, it } from "vitest";
import { Asking, minuteMs } from "./asking.js";

it("a fertilizer machine mixes what the formula of its running plan asks for, up to its limit, and clear water without one", () => {
  const machine = new Asking({ controllers: 2 });
  const ec = () => Number(machine.pass(10 * minuteMs).readings("FM-0002")["ecfii"]);
  const near = (wanted: number) => [wanted - 0.06, wanted + 0.06] as const;
  const expectNear = (wanted: number) => {
    const [least, most] = near(wanted);
    const shown = ec();
    expect(shown).toBeGreaterThanOrEqual(least);
    expect(shown).toBeLessThanOrEqual(most);
  };
  expectNear(0.6);
  machine.post("FM-0002", "503", "185");
  machine.post("FM-0002", "212", "1010");
  expectNear(1.85);
  machine.post("FM-0002", "503", "220");
  expectNear(2.2);
  machine.post("FM-0002", "601", "200");
  expectNear(2);
  machine.post("FM-0002", "212", "1001");
  expectNear(0.6);
});
