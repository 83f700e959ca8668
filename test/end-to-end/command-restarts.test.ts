import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, vi } from "vitest";
import { brokers } from "./support/brokers.js";
import { createCommandRig } from "./support/command-rig.js";
import { containing, matching } from "./support/expected.js";
import type { House, Result } from "./support/house.js";
import { isResultOf, journalOf, untilJournaled } from "./support/journal.js";
import { it } from "./support/staged.js";
import { fields } from "./support/watch.js";

/* What becomes of commands when the bridge is told to end, starts again, cannot write or is flooded. */

vi.setConfig({ maxConcurrency: 60 });

const isoTime = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const sentence = matching(/^\S+ \S.+$/);

/** What the bridge may still write into one file: the disk is full, or not any more. Linux only. */
const limitFiles = (pid: number, bytes: number | "unlimited") =>
  promisify(execFile)("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`]);

describe.concurrent.each(brokers)("commands over $name", { timeout: 300_000 }, (broker) => {
  it("end at each step as the contract says: refused before sending, finished by the next start after", async ({
    stage,
  }) => {
    const rig = await createCommandRig(stage, broker, { houses: 9 });
    const [waiting, checking, posting, hanging, mode, confirming, done] = Array.from({ length: 7 }, () =>
      rig.house(),
    ) as [House, House, House, House, House, House, House];
    for (const [actuator, id] of [
      ["fan", "done"],
      ["valve", "scene"],
    ] as const)
      expect(await done.command(actuator, { command: "on", id })).toMatchObject({ outcome: "confirmed" });
    await checking.fault({ fault: "slow", operation: "mqtt-client-status", delay: "5m" });
    await checking.send("fan", { command: "on", id: "checking" });
    await checking.untilPhase("fan", "checking", "checking");
    expect(await waiting.command("heater", "on")).toMatchObject({ outcome: "confirmed" });
    await waiting.send("heater", { command: "off", id: "scene" });
    await waiting.untilPhase("heater", "scene", "waiting");
    await waiting.send("heater", { command: "off", id: "waiting" });
    await waiting.untilPhase("heater", "waiting", "waiting");
    await hanging.fault({ fault: "slow", operation: "set-value", delay: "5m" });
    await hanging.send("fan", { command: "on", id: "hanging" });
    await hanging.untilPosted("150", 1);
    await confirming.fault({ fault: "ignore", address: "400" });
    await confirming.send("special", { command: "low", id: "confirming" });
    await confirming.untilPhase("special", "confirming", "confirming");
    // These two are held for less than the 5 s a POST is given to finish, so they come last.
    await mode.fault({ fault: "slow", operation: "set-value", delay: "4s" });
    await posting.fault({ fault: "slow", operation: "set-value", delay: "4s" });
    await mode.send("roof", { command: 40, id: "mode" });
    await posting.send("fan", { command: "on", id: "posting" });
    await Promise.all([mode.untilPosted("101", 1), posting.untilPosted("150", 1)]);
    const mark = rig.watch.mark();
    const start = performance.now();
    const { code, stderr } = await rig.bridge.end("SIGTERM");
    expect(code).toBe(0);
    // Five of them are for the POST that never ends; a busy machine gets more than the ten of the contract.
    expect(performance.now() - start, stderr.slice(-2_000)).toBeLessThan(20_000);
    const told = (id: string) =>
      rig.watch.seen
        .slice(mark)
        .filter(
          ({ topic, payload }) => /\/actuator\/[^/]+\/result$/.test(topic) && fields(payload)["id"] === id,
        );
    // The embedded broker ends with the bridge, and with it what it had not delivered.
    await rig.watch.untilTrue(
      () => ["scene", "waiting", "checking"].every((id) => told(id).length === 1),
      "the results of what was not sent",
      20_000,
    );
    for (const id of ["scene", "waiting", "checking"])
      expect(fields(told(id)[0]?.payload ?? "")).toMatchObject({
        ...{ outcome: "refused", reason: "shutting_down", message: sentence, sent_at: null, steps: [] },
      });
    if (!broker.embedded)
      await rig.watch.untilTrue(
        () => rig.watch.latest("greenhouse/bridge/state") === "offline",
        "bridge/state is offline",
        10_000,
      );
    // What can be told truthfully before the end may be: the one whose POST was answered in time.
    for (const id of ["hanging", "mode", "confirming"]) expect(told(id), id).toEqual([]);
    const posts = (await rig.platform.posts()).length;

    await rig.start({ commands: { require_age: true } });
    const results = new Map<string, Result>();
    for (const id of ["posting", "hanging", "mode", "confirming"])
      results.set(id, (await untilJournaled(stage, isResultOf(id)))["result"] as Result);
    expect(results.get("posting")).toMatchObject({
      outcome: "confirmed",
      read_back: "1010",
      sent_at: isoTime,
    });
    expect(results.get("hanging")).toMatchObject({ outcome: "confirmed", read_back: "1010" });
    expect(results.get("mode")).toMatchObject({
      ...{ outcome: "failed", read_back: "10100", sent_at: isoTime },
      message: containing("before it sent 40 to address"),
      steps: [{ purpose: "mode", address: "101", value: "10100", attempts: 1, code: "200" }],
    });
    expect(results.get("confirming")).toMatchObject({ outcome: "unconfirmed", read_back: "1001" });
    expect((await rig.platform.posts()).length, "POSTs since SIGTERM").toBe(posts);

    // The same ids again, after the restart.
    const at = new Date().toISOString();
    const again = (house: House, actuator: string, command: string | number, id: string) =>
      house.command(actuator, { command, id, at });
    expect(await again(done, "fan", "on", "done")).toMatchObject({
      ...{ reason: "duplicate", original: { id: "done", outcome: "confirmed" } },
    });
    expect(await again(posting, "fan", "on", "posting")).toMatchObject({ reason: "duplicate" });
    expect(await again(mode, "roof", 40, "mode")).toMatchObject({ reason: "duplicate" });
    expect(await again(done, "valve", "on", "scene")).toMatchObject({ reason: "duplicate" });
    expect(await again(waiting, "heater", "off", "scene")).toMatchObject({ reason: "duplicate" });
    expect(await again(done, "fan", "off", "done")).toMatchObject({ reason: "bad_payload" });
    expect(await done.command("fan", { command: "off", id: "ageless" })).toMatchObject({
      ...{ outcome: "refused", reason: "no_age", message: sentence },
    });
    expect(await again(done, "fan", "off", "aged")).toMatchObject({ outcome: "confirmed" });
    expect((await rig.platform.posts()).length).toBe(posts + 1);

    // Nothing is in flight this time, and still the result comes before the end.
    await done.send("heater", { command: "on", id: "heat", at });
    expect(await done.result("heater", "heat")).toMatchObject({ outcome: "confirmed" });
    await done.send("heater", { command: "off", id: "last", at: new Date().toISOString() });
    await done.untilPhase("heater", "last", "waiting");
    const idleAt = performance.now();
    rig.bridge.signal("SIGTERM");
    expect(await done.result("heater", "last")).toMatchObject({ reason: "shutting_down", repeated: false });
    expect(await rig.bridge.ended).toMatchObject({ code: 0 });
    expect(performance.now() - idleAt).toBeLessThan(10_000);
  });

  it("are refused while the journal cannot be written, or all but stops; a flood is answered and counted", async ({
    stage,
  }) => {
    const rig = await createCommandRig(stage, broker, { houses: 2 });
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
    expect(await house.command("motor", { command: "stop", id: "gone", max_age: "5s" })).toMatchObject({
      ...{ outcome: "failed", reason: "not_sent", message: sentence, sent_at: null },
      steps: [{ purpose: "stop", attempts: 0, code: null, read_back: null }],
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
    const records = (await journalOf(stage)).filter(({ controller }) => controller === flooded.code);
    const single = records.filter(({ type }) => type === "refusal").length;
    const counted = records.filter(({ type }) => type === "refusals_counted");
    expect(single).toBeLessThanOrEqual(120);
    expect(single + counted.reduce((sum, { count }) => sum + Number(count), 0)).toBe(flood);
    const stops = (await journalOf(stage)).filter(
      ({ result }) => (result as Result | undefined)?.["id"] === "stop",
    );
    expect(stops.map(({ type }) => type)).toEqual(["result"]);
  });
});
