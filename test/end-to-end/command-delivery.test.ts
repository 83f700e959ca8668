import { describe, expect, vi } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { commandConfiguration } from "./support/command-rig.js";
import { houseOf } from "./support/house.js";
import { isResultOf, untilJournaled } from "./support/journal.js";
import { whileRuns } from "./support/program.js";
import { mosquittoSection, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { fields, untilNew, type Watch } from "./support/watch.js";

/* Results that met a dead broker, and commands that were kept by a living one. */

vi.setConfig({ maxConcurrency: 8 });

const state = "greenhouse/bridge/state";

const code = "GH-0001";

/** The bridge reaches the broker through a door; who watches does not. */
async function scene(stage: Stage, level: 4 | 5) {
  const platform = await stage.platform({ controllers: 1 });
  const broker = await stage.mosquitto();
  const door = stage.keep(await startTcpProxy(broker.port));
  const section = mosquittoSection(`mqtt://127.0.0.1:${door.port}`, level);
  const start = async (watch: Watch) => {
    const mark = watch.mark();
    const bridge = await stage.bridge(commandConfiguration(platform.url, section, [code]));
    await whileRuns(bridge, untilNew(watch, mark, state, "online", 60_000));
    return bridge;
  };
  const watching = async () => {
    const watch = await stage.watch({ url: broker.url, protocolVersion: level });
    return [watch, houseOf(code, { platform, watch })] as const;
  };
  return { broker, door, start, watching };
}

describe.concurrent.each([5, 4] as const)(
  "over Mosquitto with MQTT level %s",
  { timeout: 120_000 },
  (level) => {
    it("a result that met a dead broker follows when it is back, marked as repeated, once", async ({
      stage,
    }) => {
      const { broker, door, start, watching } = await scene(stage, level);
      const [before, house] = await watching();
      const bridge = await start(before);
      await before.untilTrue(
        () => before.latest(`${house.topic("fan")}/state`) === "auto",
        "it is read",
        30_000,
      );
      await house.fault({ fault: "slow", operation: "set-value", delay: "6s" });
      await house.send("fan", { command: "on", id: "cut off" });
      await house.untilPosted("150", 1);
      await door.manner("reset");
      door.cut();
      await before.end();
      await broker.kill();
      await untilJournaled(stage, isResultOf("cut off"));
      await broker.restart();
      const [after, again] = await watching();
      await door.manner("pass");
      const result = await again.result("fan", "cut off");
      expect(result).toMatchObject({ outcome: "confirmed", repeated: true });
      const told = () =>
        after.seen.filter(
          ({ topic, payload }) => /\/result$/.test(topic) && fields(payload)["id"] === "cut off",
        );
      await after.untilTrue(() => told().length === 2, "both topics have it", 10_000);
      expect(
        told()
          .map(({ topic }) => topic)
          .sort(),
      ).toEqual([`${house.topic("fan")}/result`, "greenhouse/gh-0001/result"].sort());
      // What was taken once is not told again: not with the next connection, and not by the next start.
      expect(await again.command("co2", { command: "on", id: "later" })).toMatchObject({ repeated: false });
      door.cut();
      await untilNew(after, after.mark(), state, "online", 60_000);
      expect(await bridge.end("SIGTERM")).toMatchObject({ code: 0 });
      await start(after);
      expect(await again.command("co2", { command: "off", id: "latest" })).toMatchObject({
        repeated: false,
      });
      expect(told()).toHaveLength(2);
      expect(await again.posted()).toEqual(["1010", "1010", "1001"]);
    });

    it("a command kept by the broker is never executed: retained, or sent while the bridge was away", async ({
      stage,
    }) => {
      const { door, start, watching } = await scene(stage, level);
      const [watch, house] = await watching();
      // What the cut link did not acknowledge is told again under the same id.
      const answers = () => new Set(house.results("fan").map(({ id }) => id)).size;
      await house.send("fan", "on", { retain: true });
      await house.send("co2", "on");
      await start(watch);
      // MQTT 5 need not deliver what was retained at all.
      if (level === 4) {
        await watch.untilTrue(() => house.results("fan").length > 0, "an answer", 30_000);
        expect(house.results("fan")).toMatchObject([{ outcome: "refused", reason: "retained" }]);
      }
      door.cut();
      await untilNew(watch, watch.mark(), state, "online", 60_000);
      if (level === 4) await watch.untilTrue(() => answers() > 1, "one a connection", 30_000);
      expect(await house.command("valve", "on")).toMatchObject({ outcome: "confirmed" });
      expect(answers()).toBe(level === 4 ? 2 : 0);
      expect(house.results("co2")).toEqual([]);
      expect(await house.posted()).toEqual(["1010"]);
    });
  },
);
