import { expect, it } from "vitest";
import { type CommandRig, held } from "../support/command-rig.js";
import { anyNumber, anyText, containing, matching } from "../support/expected.js";
import type { House, Result } from "../support/house.js";
import { fields } from "../support/watch.js";

const isoTime = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = matching(/^[0-9a-f-]{36}$/);
const sentence = matching(/^\S+ \S.+$/);

/** Every field of a result, with the values of one that was refused before anything was known. */
const nothingYet = {
  ...{ id: anyText, controller: anyText, actuator: anyText, command: null, value: null },
  ...{ outcome: anyText, reason: null, message: null, request_id: null, by: null, via: null },
  ...{ steps: [], read_back: null, received_at: isoTime, sent_at: null, finished_at: isoTime },
  ...{ duration_ms: anyNumber, repeated: false, interlock: null },
};

const step = (purpose: string, address: string, value: string, more: object = {}) => ({
  ...{ purpose, address, value, attempts: 1, code: "200", read_back: value },
  ...more,
});

/** Greenhouses these rules take. */
export const housesForOutcomes = 28;

/** Every way a command can end that is no refusal; each rule has a greenhouse to itself. */
export function commandsEnd(rig: () => CommandRig): void {
  const via = () => (rig().broker.embedded ? { client: rig().watch.clientId, user: null } : null);
  /** One message on the actuator's topic and the same on the controller's, and no retained one. */
  const expectOnce = async (house: House, actuator: string, result: Result) => {
    const onTopic = (topic: string) =>
      rig().watch.seen.filter((one) => one.topic === topic && fields(one.payload)["id"] === result["id"]);
    for (const topic of [`${house.topic(actuator)}/result`, `greenhouse/${house.id}/result`]) {
      await rig().watch.untilTrue(() => onTopic(topic).length > 0, `a result on ${topic}`);
      const seen = onTopic(topic);
      expect(seen.map(({ payload, retain }) => [fields(payload), retain])).toEqual([[result, false]]);
    }
  };
  const problem = (house: House) => rig().watch.latest(`greenhouse/${house.id}/problem`);
  const untilProblem = (house: House, wanted: string) =>
    rig().watch.untilTrue(() => problem(house) === wanted, `the problem of ${house.id} is ${wanted}`);

  it("confirmed: the read-back shows the value; the state is published before the result", async () => {
    const house = rig().house();
    const result = await house.command("fan", { command: "ON", id: "c-1", by: "night shift" });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "c-1", controller: house.id, actuator: "fan", command: "on", value: "1010" },
      ...{ outcome: "confirmed", by: "night shift", via: via() },
      ...{ steps: [step("value", "150", "1010")], read_back: "1010", sent_at: isoTime },
    });
    expect(Object.keys(result).sort()).toEqual(Object.keys(nothingYet).sort());
    expect(await house.posted()).toEqual(["1010"]);
    await expectOnce(house, "fan", result);
    const place = (topic: string, payload: RegExp) =>
      rig().watch.seen.findLastIndex((one) => one.topic === topic && payload.test(one.payload));
    const told = place(`${house.topic("fan")}/result`, /"c-1"/);
    const shown = place(`${house.topic("fan")}/state`, /^on$/);
    expect(shown).toBeGreaterThanOrEqual(0);
    expect(shown).toBeLessThan(told);
    expect(house.phases("fan", "c-1")).toEqual(["waiting", "checking", "sending", "confirming", "done"]);
  });

  it("confirmed, as plain text under an id of its own", async () => {
    const house = rig().house();
    const result = await house.command("valve", " Rotation\n");
    expect(result).toMatchObject({ id: uuid, command: "rotation", value: "11111111", outcome: "confirmed" });
    expect(await house.posted()).toEqual(["11111111"]);
    await expectOnce(house, "valve", result);
  });

  it("confirmed, a position only after its mode was sent and read back", async () => {
    const house = rig().house();
    const result = await house.command("roof", "45");
    expect(result).toMatchObject({
      ...{ command: "45", value: "45", outcome: "confirmed", read_back: "45" },
      steps: [step("mode", "101", "10100"), step("value", "101", "45")],
    });
    expect(await house.posted()).toEqual(["10100", "45"]);
    expect(rig().watch.latest(`${house.topic("roof")}/position`)).toBe("45");
    await expectOnce(house, "roof", result);
  });

  it("confirmed, with mode and degree at their own addresses where those differ", async () => {
    const house = rig().house();
    expect(await house.command("louvre", { command: 30, id: "p" })).toMatchObject({
      ...{ outcome: "confirmed", read_back: "30" },
      steps: [step("mode", "108", "10100"), step("value", "109", "30")],
    });
    expect((await house.posts()).map(({ address, value }) => [address, value])).toEqual([
      ["108", "10100"],
      ["109", "30"],
    ]);
  });

  it("confirmed, a light after 1010 was sent and confirmed first, unless it reads 1010", async () => {
    const house = rig().house();
    expect(await house.command("light", "auto")).toMatchObject({
      ...{ outcome: "confirmed", value: "1100" },
      steps: [step("lead_in", "220", "1010"), step("value", "220", "1100")],
    });
    expect(await house.command("light", "on")).toMatchObject({ steps: [step("value", "220", "1010")] });
    expect(await house.command("light", "off")).toMatchObject({ steps: [step("value", "220", "1001")] });
    expect(await house.posted()).toEqual(["1010", "1100", "1010", "1001"]);
  });

  it("already: a fresh read shows it, nothing is sent", async () => {
    const house = rig().house();
    const result = await house.command("co2", { command: "off", id: "a" });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "a", controller: house.id, actuator: "co2", command: "off", value: "1001" },
      ...{ outcome: "already", read_back: "1001", via: via() },
    });
    expect(house.phases("co2", "a")).toEqual(["waiting", "checking", "done"]);
    // A dry run of what is there already is `already` too; force sends it.
    expect(await house.command("co2", { command: "off", id: "d", dry_run: true })).toMatchObject({
      outcome: "already",
    });
    expect(await house.posted()).toEqual([]);
    expect(await house.command("co2", { command: "off", id: "f", force: true })).toMatchObject({
      outcome: "confirmed",
    });
    expect(await house.posted()).toEqual(["1001"]);
  });

  it("dry_run: checked and not sent", async () => {
    const house = rig().house();
    const result = await house.command("roof", { command: "open", id: "dry", dry_run: true });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "dry", controller: house.id, actuator: "roof", command: "open", value: "10010" },
      ...{ outcome: "dry_run", message: sentence, read_back: "10001", via: via() },
    });
    expect(await house.posted()).toEqual([]);
    await expectOnce(house, "roof", result);
  });

  it("superseded before and after sending: the newest waiting wins, a POST in flight is not interrupted", async () => {
    const house = rig().house();
    await house.fault({ fault: "slow", operation: "set-value", delay: held.slow });
    await house.fault({ fault: "ignore", address: "150" });
    await house.send("fan", { command: "on", id: "first" });
    await house.untilPosted("150", 1);
    await house.send("fan", { command: "on", id: "second", force: true });
    await house.untilPhase("fan", "second", "waiting");
    const third = await house.command("fan", { command: "off", id: "third" });
    const [first, second] = [await house.result("fan", "first"), await house.result("fan", "second")];
    expect(first).toMatchObject({
      ...{ outcome: "superseded", reason: "after_sending", message: sentence, sent_at: isoTime },
      ...{ value: "1010" },
      steps: [{ purpose: "value", value: "1010", attempts: 1, code: "200" }],
    });
    expect(second).toEqual({
      ...nothingYet,
      ...{ id: "second", controller: house.id, actuator: "fan", command: "on", value: "1010" },
      ...{ outcome: "superseded", reason: "before_sending", message: sentence, via: via() },
    });
    expect(third).toMatchObject({ outcome: "confirmed", read_back: "1001" });
    expect(await house.posted()).toEqual(["1010", "1001"]);
    for (const one of [first, second, third]) await expectOnce(house, "fan", one);
  });

  it("superseded by an equal command, which takes over the read-backs without a POST", async () => {
    const house = rig().house();
    await house.fault({ fault: "late", address: "400", delay: held.late });
    await house.send("special", { command: "low", id: "older" });
    await house.untilPhase("special", "older", "confirming");
    const newer = await house.command("special", { command: "low", id: "newer" });
    expect(await house.result("special", "older")).toMatchObject({
      ...{ outcome: "superseded", reason: "after_sending", steps: [{ value: "0110" }] },
    });
    expect(newer).toMatchObject({ outcome: "confirmed", read_back: "0110" });
    expect(await house.posted()).toEqual(["0110"]);
  });

  it("rejected: the platform's code, message and request id, one read-back, one POST, a problem and an event", async () => {
    const house = rig().house();
    await house.fault({ fault: "body_code", operation: "set-value", code: 5001, message: "valve stuck" });
    const result = await house.command("valve", { command: "on", id: "r" });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "r", controller: house.id, actuator: "valve", command: "on", value: "1010" },
      ...{ outcome: "rejected", message: containing("valve stuck"), request_id: anyText, via: via() },
      ...{ read_back: "1001", sent_at: isoTime },
      steps: [step("value", "210", "1010", { code: "5001", read_back: "1001" })],
    });
    expect(await house.posted()).toEqual(["1010"]);
    await untilProblem(house, "on");
    await rig().watch.untilTrue(() => house.events("command_rejected").length > 0, "an event");
    expect(house.events("command_rejected")).toMatchObject([
      { severity: "error", message: anyText, at: isoTime, id: "r", actuator: "valve" },
    ]);
    expect(await house.command("valve", "off")).toMatchObject({ outcome: "already" });
    await untilProblem(house, "off");
    await expectOnce(house, "valve", result);
  });

  it("rejected as unauthorized when the credential is refused", async () => {
    const house = rig().house();
    await house.fault({ fault: "unauthorized", operation: "set-value", count: 2 });
    const result = await house.command("valve", { command: "on", id: "u" });
    expect(result).toMatchObject({ outcome: "rejected", reason: "unauthorized", message: anyText });
    expect((await house.posted()).length).toBeLessThanOrEqual(2);
    await untilProblem(house, "on");
    await expectOnce(house, "valve", result);
  });

  it("unconfirmed: accepted, read, never equal; not resent; acknowledge clears the problem", async () => {
    const house = rig().house();
    await house.fault({ fault: "ignore", address: "150" });
    const result = await house.command("fan", { command: "on", id: "n" });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "n", controller: house.id, actuator: "fan", command: "on", value: "1010", via: via() },
      ...{ outcome: "unconfirmed", message: sentence, read_back: "1100" },
      ...{ sent_at: isoTime, steps: [step("value", "150", "1010", { read_back: "1100" })] },
    });
    await untilProblem(house, "on");
    await rig().watch.untilTrue(() => house.events("command_unconfirmed").length > 0, "an event");
    expect(rig().watch.latest(`${house.topic("fan")}/state`)).toBe("auto");
    const acknowledged = await rig().request("acknowledge", { controller: house.id, actuator: "fan" });
    expect(acknowledged).toMatchObject({ controller: house.id, actuator: "fan" });
    await untilProblem(house, "off");
    expect(await house.posted()).toEqual(["1010"]);
    await expectOnce(house, "fan", result);
  });

  it("unconfirmed half way: a mode or lead-in that never shows lets no value follow", async () => {
    const house = rig().house();
    await house.fault({ fault: "ignore", address: "101" });
    await house.fault({ fault: "ignore", address: "220" });
    const [roof, light] = await Promise.all([
      house.command("roof", { command: 60, id: "mode" }),
      house.command("light", { command: "auto", id: "lead" }),
    ]);
    expect(roof).toMatchObject({
      ...{ outcome: "unconfirmed", reason: "mode_not_confirmed", value: "60", read_back: "10001" },
      steps: [step("mode", "101", "10100", { read_back: "10001" })],
    });
    expect(light).toMatchObject({
      ...{ outcome: "unconfirmed", reason: "lead_in_not_confirmed", value: "1100" },
      steps: [step("lead_in", "220", "1010", { read_back: "1001" })],
    });
    expect([await house.posted("101"), await house.posted("220")]).toEqual([["10100"], ["1010"]]);
  });

  it("confirmed late: our own value that comes after unconfirmed is told and clears the problem", async () => {
    const house = rig().house();
    await house.fault({ fault: "late", address: "310", delay: "12s" });
    expect(await house.command("co2", { command: "on", id: "late" })).toMatchObject({
      outcome: "unconfirmed",
    });
    // On a busy machine the value may have come, and cleared it, before anybody looks.
    const wasProblem = () =>
      rig().watch.seen.some(
        ({ topic, payload }) => topic === `greenhouse/${house.id}/problem` && payload === "on",
      );
    await rig().watch.untilTrue(wasProblem, `the problem of ${house.id} is told`);
    await house.untilEffect("310", "taken");
    await rig().request("refresh", { controller: house.id });
    await untilProblem(house, "off");
    await rig().watch.untilTrue(() => house.events("confirmed_late").length > 0, "an event");
    expect(house.events("confirmed_late")).toMatchObject([{ id: "late", actuator: "co2", severity: "info" }]);
    expect(house.results("co2")).toHaveLength(1);
  });

  it("failed: two POSTs at most, the second only after a read that differs", async () => {
    const house = rig().house();
    await house.fault({ fault: "reset", operation: "set-value", address: "140", count: 5 });
    const result = await house.command("fans", { command: "all_on", id: "fail" });
    expect(result).toMatchObject({
      ...{ outcome: "failed", reason: null, message: sentence, read_back: "00000", sent_at: isoTime },
      steps: [step("value", "140", "11110", { attempts: 2, code: null, read_back: "00000" })],
    });
    const posts = await house.posts();
    expect(posts.map(({ effect }) => effect)).toEqual(["not_processed", "not_processed"]);
    expect((posts[1]?.at ?? 0) - (posts[0]?.at ?? 0)).toBeGreaterThanOrEqual(5_000);
    await untilProblem(house, "on");
    await rig().watch.untilTrue(() => house.events("command_failed").length > 0, "an event");
    await expectOnce(house, "fans", result);
  });

  it("failed as expired_midway, with the steps done, when the rest would come too late", async () => {
    const house = rig().house();
    // The mode's first read-backs show something else; when it shows, the command is too old for its degree.
    await house.fault({ fault: "late", address: "101", delay: "11s" });
    const result = await house.command("roof", { command: 20, id: "half", max_age: "10s" });
    expect(result).toMatchObject({
      ...{ outcome: "failed", reason: "expired_midway", message: sentence, value: "20" },
      steps: [step("mode", "101", "10100")],
    });
    expect(await house.posted()).toEqual(["10100"]);
    await expectOnce(house, "roof", result);
  });

  it("unknown: no valid read after an accepted POST", async () => {
    const house = rig().house();
    await house.fault({ fault: "no_value", address: "150", for: "10m" });
    const result = await house.command("fan", { command: "on", id: "x", force: true });
    expect(result).toEqual({
      ...nothingYet,
      ...{ id: "x", controller: house.id, actuator: "fan", command: "on", value: "1010", via: via() },
      ...{ outcome: "unknown", message: sentence, sent_at: isoTime },
      steps: [step("value", "150", "1010", { read_back: null })],
    });
    expect(await house.posted()).toEqual(["1010"]);
    await untilProblem(house, "on");
    await expectOnce(house, "fan", result);
  });

  it.each(["reset", "garbage", "empty", "truncated", "html", "http_status"])(
    "confirmed by reading when the POST was carried out and its answer spoilt (%s)",
    async (fault) => {
      const house = rig().house();
      await house.fault({ fault, when: "after", operation: "set-value" });
      const result = await house.command("co2", { command: "on", id: fault });
      expect(result).toMatchObject({
        ...{ outcome: "confirmed", steps: [step("value", "310", "1010", { code: null })] },
      });
      expect(await house.posted()).toEqual(["1010"]);
    },
  );

  it("confirmed with a second POST when the first was lost on its way", async () => {
    const house = rig().house();
    await house.fault({ fault: "reset", operation: "set-value" });
    expect(await house.command("co2", { command: "on", id: "again" })).toMatchObject({
      ...{ outcome: "confirmed", steps: [step("value", "310", "1010", { attempts: 2 })] },
    });
    expect((await house.posts()).map(({ effect }) => effect)).toEqual(["not_processed", "taken"]);
  });

  it("confirmed, a stop that goes out as soon as the POST in flight ends and lets no further step follow", async () => {
    const house = rig().house();
    await house.fault({ fault: "slow", operation: "set-value", address: "300", delay: held.slow });
    await house.send("motor", { command: "open", id: "open" });
    await house.untilPosted("300", 1);
    await house.send("motor", { command: "close", id: "close" });
    await house.untilPhase("motor", "close", "waiting");
    const stop = await house.command("motor", { command: "STOP", id: "stop" });
    expect(stop).toMatchObject({
      ...{ outcome: "confirmed", command: "stop", steps: [step("stop", "300", "00000100")] },
    });
    expect(await house.result("motor", "open")).toMatchObject({ reason: "after_sending" });
    expect(await house.result("motor", "close")).toMatchObject({ reason: "before_sending" });
    expect(await house.posted()).toEqual(["00000001", "00000100"]);
  });

  it("told on the event topic when somebody else moves an actuator", async () => {
    const house = rig().house();
    expect(await house.command("fan", "on")).toMatchObject({ outcome: "confirmed", read_back: "1010" });
    await house.moveByHand("150", "1001");
    await rig().request("refresh", { controller: house.id });
    await rig().watch.untilTrue(() => house.events("changed_elsewhere").length > 0, "an event");
    expect(house.events("changed_elsewhere")).toMatchObject([
      { actuator: "fan", from: "on", to: "off", severity: "warning", message: sentence, at: isoTime },
    ]);
  });

  it("told on the event topic when irrigation ends by itself, which is no warning", async () => {
    const house = rig().house();
    expect(await house.command("valve", "on")).toMatchObject({ outcome: "confirmed", read_back: "1010" });
    await house.moveByHand("210", "1001");
    await rig().request("refresh", { controller: house.id });
    await rig().watch.untilTrue(() => house.events("ended_by_itself").length > 0, "an event");
    expect(house.events("ended_by_itself")).toMatchObject([{ actuator: "valve", severity: "info" }]);
    expect(house.events("changed_elsewhere")).toEqual([]);
  });
}
