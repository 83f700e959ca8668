import { expect, it } from "vitest";
import type { BrokerUnderTest } from "../support/brokers.js";
import { type CommandRig, held } from "../support/command-rig.js";
import { anyNumber, anyText, containing, matching } from "../support/expected.js";
import type { House, Result } from "../support/house.js";
import { fields } from "../support/watch.js";

const isoTime = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = matching(/^[0-9a-f-]{36}$/);
const sentence = matching(/^\S+ \S.+$/);

const bad: readonly (readonly [what: string, payload: string | Buffer])[] = [
  ["nothing", ""],
  ["white space", " \n"],
  ["a leading zero", "050"],
  ["an exponent", "1e1"],
  ["a hexadecimal number", "0x32"],
  ["a fraction", "45.5"],
  ["broken JSON", '{"command": "open"'],
  ["a JSON list", "[45]"],
  ["no command", '{"force": true}'],
  ["a command that is no word", '{"command": true}'],
  ["a degree with a fraction", '{"command": 45.5}'],
  ["an empty id", '{"command": "open", "id": ""}'],
  ["a time without zone", '{"command": "open", "at": "2026-01-01T00:00:00"}'],
  ["an age that is no duration", '{"command": "open", "max_age": 30}'],
  ["force that is no flag", '{"command": "open", "force": "yes"}'],
  ["bytes that are no UTF-8", Buffer.from([0x6f, 0x70, 0xff, 0xfe])],
];

/** Greenhouses these rules take. */
export const housesForRefusals = 19;

/** Every reason for which a command is refused while the bridge runs; each rule has a greenhouse to itself. */
export function commandsAreRefused(rig: () => CommandRig, broker: BrokerUnderTest): void {
  const refused = (house: House, actuator: string, reason: string, more: object = {}) => ({
    ...{ id: anyText, controller: house.id, actuator, command: null, value: null },
    ...{ outcome: "refused", reason, message: sentence, request_id: null, by: null },
    ...{ via: broker.embedded ? { client: rig().watch.clientId, user: null } : null },
    ...{ steps: [], read_back: null, received_at: isoTime, sent_at: null, finished_at: isoTime },
    ...{ duration_ms: anyNumber, repeated: false, interlock: null },
    ...more,
  });
  /** The platform got nothing, and every result was told once on both topics. */
  const expectNothingSent = async (house: House) => {
    expect(await house.posted()).toEqual([]);
    const told = rig().watch.seen.filter(({ topic }) => topic === `greenhouse/${house.id}/result`);
    const ids = told.map(({ payload }) => fields(payload)["id"]);
    expect(new Set(ids).size).toBe(ids.length);
  };

  it("bad_payload: what cannot be read in one way only", async () => {
    const house = rig().house();
    for (const [what, payload] of bad)
      expect(await house.command("roof", payload), what).toEqual(
        refused(house, "roof", "bad_payload", { id: uuid }),
      );
    // The sender finds the answer by its id, whatever else was wrong.
    const misspelt = await house.command("roof", { comand: "open", id: "typo" });
    expect(misspelt).toMatchObject({ reason: "bad_payload", message: containing('"command"') });
    await expectNothingSent(house);
  });

  it("unknown_command: a word the kind has not, a degree it cannot take, a position without its degree", async () => {
    const house = rig().house();
    for (const [actuator, word] of [
      ["roof", "fly"],
      ["roof", "position"],
      ["roof", "10100"],
      ["roof", "stop"],
      ["fan", "45"],
      ["fan", "rotation"],
    ] as const)
      expect(await house.command(actuator, { command: word, id: `${actuator} ${word}` })).toEqual(
        refused(house, actuator, "unknown_command", { id: `${actuator} ${word}` }),
      );
    await expectNothingSent(house);
  });

  it("out_of_range: a number outside 0 to 100", async () => {
    const house = rig().house();
    for (const degree of [101, -1, 1000])
      expect(await house.command("roof", String(degree))).toEqual(refused(house, "roof", "out_of_range"));
    await expectNothingSent(house);
  });

  it("unknown_actuator, answered beside the topic it was sent to", async () => {
    const house = rig().house();
    expect(await house.command("chimney", { command: "open", id: "c" })).toEqual(
      refused(house, "chimney", "unknown_actuator", { id: "c" }),
    );
    const mark = rig().watch.mark();
    await rig().watch.publish("greenhouse/nobody/actuator/roof/set", "open");
    const answers = () =>
      rig()
        .watch.seen.slice(mark)
        .filter(({ topic }) => topic === "greenhouse/nobody/actuator/roof/result")
        .map(({ payload }) => fields(payload));
    await rig().watch.untilTrue(() => answers().length > 0, "an answer");
    expect(answers()).toMatchObject([
      { controller: "nobody", reason: "unknown_actuator", message: sentence },
    ]);
    await expectNothingSent(house);
  });

  it("read_only where the configuration says so; the true state is published once more", async () => {
    const house = rig().house();
    const mark = rig().watch.mark();
    expect(await house.command("locked", { command: "open", id: "l" })).toEqual(
      refused(house, "locked", "read_only", { id: "l", command: "open" }),
    );
    const again = () =>
      rig()
        .watch.seen.slice(mark)
        .filter(({ topic }) => topic === `${house.topic("locked")}/state`);
    await rig().watch.untilTrue(() => again().length > 0, "the state once more");
    expect([...new Set(again().map(({ payload }) => payload))]).toEqual(["closed"]);
    await expectNothingSent(house);
  });

  it("controller_offline by the single-device status", async () => {
    const house = rig().house();
    await rig().platform.tell("set_online", { controller: house.code, online: false });
    expect(await house.command("fan", { command: "on", id: "o" })).toEqual(
      refused(house, "fan", "controller_offline", { id: "o", command: "on", value: "1010" }),
    );
    await expectNothingSent(house);
  });

  it.each(["mqtt-client-status", "get-value"])(
    "platform_unavailable when %s is not answered before sending",
    async (operation) => {
      const house = rig().house();
      await house.fault({ fault: "http_status", operation, status: 503, for: "10m" });
      expect(await house.command("fan", { command: "on", id: "p" })).toMatchObject({
        ...{ outcome: "refused", reason: "platform_unavailable", message: sentence, value: "1010" },
        ...{ steps: [], sent_at: null },
      });
      await expectNothingSent(house);
    },
  );

  it("no_read_back when the platform answers without the address", async () => {
    const house = rig().house();
    await house.fault({ fault: "no_value", address: "150", for: "10m" });
    expect(await house.command("fan", { command: "on", id: "n" })).toEqual(
      refused(house, "fan", "no_read_back", { id: "n", command: "on", value: "1010" }),
    );
    await expectNothingSent(house);
  });

  it.each([false, true])(
    "platform_unavailable, with its code, message and request id, when it answers with another code (force: %s)",
    async (force) => {
      const house = rig().house();
      await house.fault({ fault: "busy", address: "150", code: 503, for: "10m" });
      expect(await house.command("fan", { command: "on", id: `b ${force}`, force })).toMatchObject({
        ...{ outcome: "refused", reason: "platform_unavailable", steps: [], sent_at: null },
        message: expect.stringMatching(/503.*设备忙/) as string,
        request_id: expect.stringMatching(/./) as string,
      });
      await expectNothingSent(house);
    },
  );

  it("expired: too old by its own time, or while it was checked", async () => {
    const house = rig().house();
    const at = new Date(Date.now() - 600_000).toISOString();
    expect(await house.command("fan", { command: "on", id: "old", at })).toEqual(
      refused(house, "fan", "expired", { id: "old", command: "on" }),
    );
    // A poll of the status may use one of them up.
    await house.fault({ fault: "slow", operation: "mqtt-client-status", delay: "700ms", count: 3 });
    expect(await house.command("fan", { command: "on", id: "slow", max_age: "500ms" })).toEqual(
      refused(house, "fan", "expired", { id: "slow", command: "on", value: "1010" }),
    );
    await expectNothingSent(house);
  });

  it("expired: too old while it waited for min_interval", async () => {
    const house = rig().house();
    expect(await house.command("heater", "on")).toMatchObject({ outcome: "confirmed" });
    const result = await house.command("heater", { command: "off", id: "w", max_age: "1s" });
    expect(result).toMatchObject({ outcome: "refused", reason: "expired", message: sentence });
    expect(house.phases("heater", "w")).toEqual(["waiting", "done"]);
    expect(await house.posted()).toEqual(["1010"]);
  });

  it("clock: a time in the future", async () => {
    const house = rig().house();
    const at = new Date(Date.now() + 120_000).toISOString();
    expect(await house.command("fan", { command: "on", id: "f", at })).toEqual(
      refused(house, "fan", "clock", { id: "f", command: "on" }),
    );
    await expectNothingSent(house);
  });

  it("duplicate: the same payload while it is open, the same id at any time, with the first result", async () => {
    const house = rig().house();
    await house.fault({ fault: "slow", operation: "set-value", delay: held.slow });
    const mark = rig().watch.mark();
    await house.send("fan", "on");
    await house.untilPosted("150", 1);
    expect(await house.command("fan", "on")).toMatchObject({ reason: "duplicate", message: sentence });
    const both = () => house.results("fan");
    await rig().watch.untilTrue(() => both().length === 2, "both results");
    expect(both().map(({ outcome }) => outcome)).toEqual(["refused", "confirmed"]);
    expect(rig().watch.mark()).toBeGreaterThan(mark);

    const first = await house.command("valve", { command: "on", id: 7 });
    expect(first).toMatchObject({ id: "7", outcome: "confirmed" });
    await house.send("valve", { command: "on", id: 7, by: "somebody else" });
    await rig().watch.untilTrue(() => house.results("valve").length === 2, "the second answer");
    expect(house.results("valve")[1]).toMatchObject({ id: "7", reason: "duplicate", original: first });
    await house.send("valve", { command: "off", id: 7 });
    await rig().watch.untilTrue(() => house.results("valve").length === 3, "the third answer");
    expect(house.results("valve")[2]).toMatchObject({ reason: "bad_payload", message: containing('"7"') });
    expect(await house.posted()).toEqual(["1010", "1010"]);
  });

  it("nothing of a scene: one id for several actuators commands each of them", async () => {
    const house = rig().house();
    for (const actuator of ["fan", "valve", "co2"])
      expect(await house.command(actuator, { command: "on", id: "scene" })).toMatchObject({
        outcome: "confirmed",
      });
  });

  // Brokers of MQTT 3.1.1 hand a live message on without its retain flag; what stays behind is tested at a restart.
  const mqtt5 = broker.version === 5 ? it : null;

  mqtt5?.("retained, as long as that can be told; clearing the topic is no command", async () => {
    const house = rig().house();
    const result = await house.command("fan", "on", { retain: true });
    expect(result).toMatchObject({ outcome: "refused", reason: "retained", message: sentence });
    await house.send("fan", "", { retain: true });
    expect(await house.command("fan", "off")).toMatchObject({ outcome: "confirmed" });
    expect(house.results("fan")).toHaveLength(2);
    expect(await house.posted()).toEqual(["1001"]);
  });

  mqtt5?.(
    "nowhere else than it was asked: response topic, correlation data, sender and expiry of MQTT 5",
    async () => {
      const house = rig().house();
      const correlationData = Buffer.from("job 17");
      const userProperties = { by: "scheduler" };
      const answers = (topic: string) => rig().watch.seen.filter((one) => one.topic === topic);
      const result = await house.command(
        "fan",
        { command: "on", id: "m5" },
        { properties: { responseTopic: `greenhouse/response/${house.id}`, correlationData, userProperties } },
      );
      expect(result).toMatchObject({ outcome: "confirmed", by: "scheduler" });
      await rig().watch.untilTrue(() => answers(`greenhouse/response/${house.id}`).length > 0, "an answer");
      expect(
        answers(`greenhouse/response/${house.id}`).map(({ payload, correlationData: data }) => [
          fields(payload),
          data,
        ]),
      ).toEqual([[result, "job 17"]]);

      // An answer is no way to command another actuator or to forge a state.
      const forged = [
        `${house.topic("valve")}/set`,
        "zigbee2mqtt/bridge/request/permit_join",
        "homeassistant/status",
        "homeassistant/device/x/config",
      ];
      for (const responseTopic of forged)
        expect(await house.command("fan", "45", { properties: { responseTopic } })).toMatchObject({
          reason: "unknown_command",
        });
      expect(forged.flatMap((topic) => answers(topic))).toEqual([]);

      await house.fault({ fault: "slow", operation: "mqtt-client-status", delay: "11s", count: 3 });
      expect(
        await house.command(
          "valve",
          { command: "on", id: "e" },
          { properties: { messageExpiryInterval: 10 } },
        ),
      ).toMatchObject({ reason: "expired" });
      expect(await house.posted()).toEqual(["1010"]);
    },
  );

  it("and journaled like every other: bridge/request/journal gives the newest, oldest first", async () => {
    const house = rig().house();
    const sent: Result[] = [];
    for (const payload of ["fly", "on", "off", "101"]) sent.push(await house.command("fan", payload));
    const { records } = (await rig().request("journal", { controller: house.id, limit: 3 })) as {
      readonly records: readonly Result[];
    };
    expect(records.map(({ result }) => result)).toEqual(sent.slice(1));
    expect(records.map(({ type }) => type)).toEqual(["result", "result", "refusal"]);
    await expect(rig().request("journal", { limit: 0 })).rejects.toThrow("limit");
    await expect(rig().request("journal", { since: "yesterday" })).rejects.toThrow("since");
  });
}
