import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { commandFloods } from "../../src/sparkplug/commands.js";
import { payloadSchema } from "../../src/sparkplug/schema.js";
import { sparkplugTopics } from "../../src/sparkplug/topics.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { actuator } from "../support/builders.js";

const topic = "spBv1.0/g/DCMD/n/east";

/** The words that metrics of a device command write, by the names of the metrics; a number stands for an alias. */
const commandOf = (...words: readonly (readonly [string | number, string])[]): Buffer =>
  Buffer.from(
    toBinary(
      payloadSchema,
      create(payloadSchema, {
        metrics: words.map(([metric, value]) => ({
          ...(typeof metric === "string" ? { name: metric } : { alias: BigInt(metric) }),
          value: { case: "stringValue" as const, value },
        })),
      }),
    ),
  );

const vent = "actuator/vent/command";
const backstop = "actuator/backstop/command";

function scene() {
  const told: (readonly unknown[])[] = [];
  const values = { open: "1", stop: "0" };
  const motors = ["vent", "backstop"].map(
    (id) => [id, unreadActuator(actuator({ id, kind: "motor", address: "300", values }))] as const,
  );
  const info = { code: "GH-0001", id: "east" };
  const east = { info, actuators: new Map(motors), parameters: new Map() };
  const flood = commandFloods(
    sparkplugTopics({ group: "g", node: "n" }, "scada"),
    { byId: (id) => (id === "east" ? east : undefined) },
    () => new Map([[7n, vent]]),
    (...surplus) => void told.push(surplus),
  );
  const isUrgent = (payload: Buffer) => flood.allowanceOf(topic)?.isUrgent?.(payload);
  const targetOf = (payload: Buffer) => flood.allowanceOf(topic)?.targetOf?.(payload);
  return { flood, told, isUrgent, targetOf };
}

describe("what hosts send in very great number is counted before it is taken apart", () => {
  it.each([
    ["of a device by itself", topic, topic],
    [
      "of devices that do not exist together",
      "spBv1.0/g/DCMD/n/nowhere",
      "commands to devices that do not exist",
    ],
    ["of the node by itself", "spBv1.0/g/NCMD/n", "commands to the node"],
    ["but not the word of the host", "spBv1.0/STATE/scada", undefined],
  ])("%s", (_, heard, key) => expect(scene().flood.allowanceOf(heard)?.key).toBe(key));

  it.each([
    ["the word", commandOf([vent, "stop"]), true],
    ["the word in JSON", commandOf([vent, '{"command": "STOP"}']), true],
    ["the value", commandOf([vent, "0"]), true],
    ["an alias", commandOf([7, "stop"]), true],
    ["a stop beside another command", commandOf([backstop, "open"], [vent, "stop"]), true],
    ["an actuator that has the word in its id", commandOf([backstop, "open"]), false],
    ["the value within another text", commandOf([vent, '{"command": "open", "id": "a0"}']), false],
    ["a stop for what does not exist", commandOf(["actuator/none/command", "stop"]), false],
    ["what is no payload", Buffer.from("stop"), false],
  ])("a payload with %s gets through as a stop: %s", (_, payload, isOne) =>
    expect(scene().isUrgent(payload)).toBe(isOne),
  );

  it("a stop takes the place of one for the same actuators alone", () => {
    const { targetOf } = scene();
    const one = targetOf(commandOf([vent, "stop"]));
    expect(targetOf(commandOf([7, "0"]))).toBe(one);
    const others = [
      commandOf([backstop, "stop"]),
      commandOf([vent, "stop"], [backstop, "open"]),
      commandOf([vent, "open"], [backstop, "stop"]),
    ].map(targetOf);
    expect(new Set([one, ...others]).size).toBe(4);
  });

  it("commands that were only counted are told of with their controller, births that were asked for are not", () => {
    const { flood, told } = scene();
    for (const key of ["commands to the node", "commands to devices that do not exist"])
      flood.onSurplus({ key, count: 7, isUrgent: false, ids: [] });
    flood.onSurplus({ key: topic, count: 3, isUrgent: true, ids: [] });
    expect(told).toEqual([
      [null, 7, false],
      [{ code: "GH-0001", id: "east" }, 3, true],
    ]);
  });
});
