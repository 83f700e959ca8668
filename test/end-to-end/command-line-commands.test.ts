import { userInfo } from "node:os";
import { describe, expect, vi } from "vitest";
import { brokers } from "./support/brokers.js";
import { createCommandRig } from "./support/command-rig.js";
import { anyText, containing } from "./support/expected.js";
import { type Result } from "./support/house.js";
import { it, staged } from "./support/staged.js";
import { fields } from "./support/watch.js";

/* `set`, `journal`, `lock` and `alarms` of the built program, beside a running bridge and without one. */

vi.setConfig({ maxConcurrency: 12 });

const [mosquitto, , embedded] = brokers;

describe.concurrent.each([mosquitto, embedded])(
  "commands of the program beside a bridge on $name",
  { timeout: 120_000 },
  (broker) => {
    const shared = staged((stage) => createCommandRig(stage, broker, { houses: 6 }));
    const run = (...args: readonly string[]) => shared().stage.program(args).ended;

    it("set goes through the running bridge, prints the result and ends with 0 for confirmed and already", async () => {
      const house = shared().house();
      const set = await run("set", house.code, "fan", "ON", "--by", "shift lead");
      expect({ code: set.code, stderr: set.stderr }).toMatchObject({ code: 0 });
      const result = fields(set.stdout);
      expect(result).toMatchObject({
        outcome: "confirmed",
        command: "on",
        by: "shift lead",
        repeated: false,
        interlock: null,
      });
      expect(await house.result("fan", String(result["id"]))).toEqual(result);
      expect(house.results("fan")).toHaveLength(1);
      // Named by its id, a degree, and the user's name where none is given.
      const degree = await run("set", house.id, "roof", "30");
      expect(degree.code).toBe(0);
      expect(fields(degree.stdout)).toMatchObject({
        outcome: "confirmed",
        by: userInfo().username,
        value: "30",
      });
      const already = await run("set", house.code, "fan", "on");
      expect([already.code, fields(already.stdout)["outcome"]]).toEqual([0, "already"]);
      expect(await house.posted()).toEqual(["1010", "10100", "30"]);
    });

    it("set --dry-run sends nothing and ends with 0; every other outcome ends with 3", async () => {
      const house = shared().house();
      const dry = await run("set", house.code, "fan", "on", "--dry-run");
      expect([dry.code, fields(dry.stdout)["outcome"]]).toEqual([0, "dry_run"]);
      for (const [args, outcome] of [
        [["fan", "fly"], "refused"],
        [["chimney", "open"], "refused"],
        [["locked", "open"], "refused"],
      ] as const) {
        const { code, stdout } = await run("set", house.code, ...args);
        expect([code, fields(stdout)["outcome"]], args.join(" ")).toEqual([3, outcome]);
      }
      expect(await house.posted()).toEqual([]);
      await house.fault({ fault: "ignore", address: "310" });
      const unconfirmed = await run("set", house.code, "co2", "on");
      expect([unconfirmed.code, fields(unconfirmed.stdout)["outcome"]]).toEqual([3, "unconfirmed"]);
    });

    it("journal reads beside the bridge: a table, JSON lines, by controller and by time", async () => {
      const house = shared().house();
      const first = await house.command("fan", { command: "on", id: "j-1", by: "grower" });
      await house.command("roof", { command: "fly", id: "j-2" });
      const json = await run("journal", "--json", "--controller", house.id);
      const records = json.stdout.trim().split("\n").map(fields);
      expect(json.code).toBe(0);
      expect(records.map(({ type, controller }) => [type, controller])).toEqual([
        ["result", house.code],
        ["refusal", house.code],
      ]);
      expect(records[0]?.["result"]).toEqual(first);
      const table = await run("journal", "--controller", house.code);
      expect(table).toMatchObject({ code: 0, stdout: containing("confirmed") });
      expect(table.stdout).toContain("unknown_command");
      const since = await run("journal", "--json", "--since", "2099-01-01");
      expect(since).toMatchObject({ code: 0, stdout: "" });
      expect(await run("journal", "--since", "yesterday")).toMatchObject({ code: 2, stdout: "" });
    });

    it("lock, unlock and release ask the running bridge, and a locked actuator refuses", async () => {
      const house = shared().house();
      const lock = await run(
        "lock",
        house.code,
        "fan",
        "--by",
        "anna",
        "--reason",
        "belt off",
        "--until",
        "2h",
      );
      expect(lock).toMatchObject({ code: 0, stderr: "" });
      expect(fields(lock.stdout)).toMatchObject({ controller: house.id, actuators: ["fan"], by: "anna" });
      await shared().watch.untilTrue(
        () => house.latest("fan", "lock").includes("belt off"),
        "the lock is shown",
        20_000,
      );
      const set = await run("set", house.code, "fan", "on");
      expect([set.code, fields(set.stdout)["reason"]]).toEqual([3, "interlock"]);
      const foreign = await run("unlock", house.id, "--by", "ben");
      expect(foreign).toMatchObject({ code: 1, stdout: "", stderr: containing("locked by anna") });
      expect(await run("unlock", house.id, "--by", "ben", "--force")).toMatchObject({ code: 0 });
      expect(await house.command("fan", { command: "on", hold: "1h" })).toMatchObject({
        outcome: "confirmed",
      });
      expect(await house.command("fan", "off")).toMatchObject({ interlock: { rule: "hold" } });
      expect(await run("release", house.id, "fan")).toMatchObject({ code: 0 });
      expect(await house.command("fan", "off")).toMatchObject({ outcome: "confirmed" });
      const wrong = await run("lock", "GH-9999");
      expect(wrong).toMatchObject({ code: 1, stderr: containing('no controller "GH-9999"') });
    });

    it("alarms lists what is wrong, and acknowledges it", async () => {
      const house = shared().house();
      await house.fault({ fault: "ignore", address: "310" });
      expect(await house.command("co2", "on")).toMatchObject({ outcome: "unconfirmed" });
      const alarm = `command_problem.${house.id}.co2`;
      const listed = async () =>
        (await run("alarms", "--json")).stdout
          .split("\n")
          .filter((line) => line !== "")
          .map(fields)
          .find(({ id }) => id === alarm);
      await shared().watch.untilTrue(
        () => shared().watch.latest(`greenhouse/alarm/${alarm}`)?.includes("active") === true,
        "the alarm is shown",
        20_000,
      );
      expect(await listed()).toMatchObject({ state: "active", severity: "error", by: null, remedy: anyText });
      expect((await run("alarms", "--acknowledge", alarm, "--by", "anna")).code).toBe(0);
      expect(await listed()).toMatchObject({ state: "acknowledged", by: "anna" });
      expect((await run("alarms")).stdout).toMatch(new RegExp(`^${alarm} +acknowledged `, "m"));
      expect(await run("alarms", "--acknowledge", "flood")).toMatchObject({ code: 1, stdout: "" });
    });

    it("journal --follow goes on with new commands until it is told to end", async () => {
      const house = shared().house();
      await house.command("fan", { command: "on", id: "f-1" });
      const follow = shared().stage.program(["journal", "--json", "--follow", "--controller", house.id]);
      await follow.untilPrinted(/"f-1"/, 20_000);
      await house.command("fan", { command: "off", id: "f-2" });
      await follow.untilPrinted(/"f-2"/, 20_000);
      expect(await follow.end("SIGTERM")).toMatchObject({ code: 0 });
      const ids = follow.stdout
        .trim()
        .split("\n")
        .map((line) => (fields(line)["result"] as Result)["id"]);
      expect(ids).toEqual(["f-1", "f-2"]);
    });
  },
);

describe.concurrent("set without a bridge", { timeout: 120_000 }, () =>
  it("does the work itself, with the same path and journal, and exit codes 0 and 3", async ({ stage }) => {
    const rig = await createCommandRig(stage, mosquitto, { houses: 1 });
    const house = rig.house();
    await house.command("fan", { command: "on", id: "by the bridge" });
    await rig.bridge.end("SIGTERM");
    const run = (...args: readonly string[]) => stage.program(args).ended;
    const set = await run("set", house.code, "fan", "off", "--by", "me");
    expect(set.code).toBe(0);
    expect(fields(set.stdout)).toMatchObject({
      ...{
        outcome: "confirmed",
        command: "off",
        by: "me",
        via: containing(userInfo().username),
        message: null,
      },
      steps: [{ purpose: "value", address: "150", value: "1001", read_back: "1001" }],
    });
    const refused = await run("set", house.code, "nowhere", "on");
    expect(refused.code).toBe(3);
    expect(fields(refused.stdout)).toMatchObject({
      outcome: "refused",
      reason: "no_read_back",
      message: anyText,
    });
    expect((await run("set", house.code, "fan")).code).toBe(2);
    expect(await run("lock", house.code)).toMatchObject({
      code: 1,
      stderr: containing("no bridge is running"),
    });
    await rig.platform.program.end("SIGKILL");
    const gone = await run("set", house.code, "fan", "on");
    expect(gone.code).toBe(3);
    expect(fields(gone.stdout)).toMatchObject({ reason: "platform_unavailable" });
    const journal = (await run("journal", "--json")).stdout.trim().split("\n").map(fields);
    const told = journal.map(({ result }) => {
      const { outcome, reason } = result as Result;
      return reason ?? outcome;
    });
    expect(told).toEqual(["confirmed", "confirmed", "no_read_back", "platform_unavailable"]);
    expect((await stage.program(["journal"]).ended).stdout).toContain("platform_unavailable");
  }),
);
