import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { brokers } from "./support/brokers.js";
import { type CommandRig, createCommandRig } from "./support/command-rig.js";
import { matching } from "./support/expected.js";
import type { Result } from "./support/house.js";
import { journalOf } from "./support/journal.js";

/* What becomes of commands when the bridge cannot write or is flooded. */

vi.setConfig({ maxConcurrency: 60 });

const sentence = matching(/^\S+ \S.+$/);

/** What the bridge may still write into one file: the disk is full, or not any more. Linux only. */
const limitFiles = (pid: number, bytes: number | "unlimited") =>
  promisify(execFile)("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`]);

describe.concurrent.each(brokers)("commands over $name", { timeout: 300_000 }, (broker) => {
  describe("and a bridge in trouble", () => {
    let rig: CommandRig;
    beforeEach(async () => {
      rig = await createCommandRig(broker, { houses: 2 });
    }, 90_000);
    afterEach(() => (rig as CommandRig | undefined)?.stage.clear());

    it("are refused while the journal cannot be written, or all but stops; a flood is answered and counted", async () => {
      const house = rig.house();
      await limitFiles(rig.bridge.pid, 1);
      expect(await house.command("fan", { command: "on", id: "j1" })).toMatchObject({
        ...{ outcome: "refused", reason: "journal_unavailable", message: sentence, steps: [] },
      });
      expect(await house.command("fan", { command: "on", id: "j2" })).toMatchObject({
        reason: "journal_unavailable",
      });
      expect(await house.posted()).toEqual([]);
      expect(await house.command("motor", { command: "stop", id: "stop" })).toMatchObject({
        ...{ outcome: "confirmed", steps: [{ purpose: "stop", address: "300", value: "00000100" }] },
      });
      expect(await rig.request("health")).toMatchObject({ journal: { available: false } });
      await house.moveByHand("140", "11110");
      await rig.request("refresh", { controller: house.id });
      await rig.watch.untilTrue(
        () => rig.watch.latest(`${house.topic("fans")}/state`) === "all_on",
        "mirroring goes on",
        20_000,
      );
      await limitFiles(rig.bridge.pid, "unlimited");
      for (let number = 0, reason: unknown = "journal_unavailable"; reason !== null; number++) {
        expect(reason).toBe("journal_unavailable");
        ({ reason } = await house.command("fan", { command: "on", id: `again ${number}` }));
        // An actuator takes 60 commands a minute.
        if (reason !== null) await pause(1_000);
      }
      expect(await house.posted("150")).toEqual(["1010"]);

      await rig.platform.program.end("SIGKILL");
      expect(await house.command("motor", { command: "stop", id: "gone" })).toMatchObject({
        ...{ outcome: "failed", reason: "not_sent", message: sentence, sent_at: null },
        steps: [{ purpose: "stop", attempts: 1, code: null, read_back: null }],
      });
      expect(await house.command("fan", { command: "off", id: "unreachable" })).toMatchObject({
        ...{ outcome: "refused", reason: "platform_unavailable", message: sentence },
      });

      const flooded = rig.house();
      const answered = `${flooded.topic("fan")}/result`;
      const flood = 1_300;
      const answers = () => rig.watch.seen.filter(({ topic }) => topic === answered).length;
      await Promise.all(Array.from({ length: flood }, () => flooded.send("fan", "050")));
      await rig.watch.untilTrue(() => answers() === flood, "every one answered", 180_000);
      const reasons = flooded.results("fan").map(({ reason }) => reason);
      expect(new Set(reasons)).toEqual(new Set(["bad_payload", "overloaded"]));
      expect(reasons.filter((one) => one === "bad_payload").length).toBeLessThanOrEqual(120);
      expect(await rig.bridge.end("SIGTERM")).toMatchObject({ code: 0 });
      const records = (await journalOf(rig.stage)).filter(({ controller }) => controller === flooded.code);
      const single = records.filter(({ type }) => type === "refusal").length;
      const counted = records.filter(({ type }) => type === "refusals_counted");
      expect(single).toBeLessThanOrEqual(120);
      expect(single + counted.reduce((sum, { count }) => sum + Number(count), 0)).toBe(flood);
      const stops = (await journalOf(rig.stage)).filter(
        ({ result }) => (result as Result | undefined)?.["id"] === "stop",
      );
      expect(stops.map(({ type }) => type)).toEqual(["result"]);
    });
  });
});
