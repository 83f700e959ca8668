import { describe, expect, it } from "vitest";
import { incomingCommand } from "../../src/mqtt/command-messages.js";
import { topicsUnder } from "../../src/mqtt/topics.js";

const where = { type: "command", controllerId: "east", target: "actuator", id: "fan" } as const;

const responseOf = (responseTopic: string) =>
  incomingCommand(
    {
      topic: "greenhouse/east/actuator/fan/set",
      payload: Buffer.from("on"),
      ...{ retain: false, qos: 1, dup: false },
      properties: { responseTopic },
    },
    where,
    null,
    topicsUnder("greenhouse"),
  ).response;

describe("a command that asks for an answer", () => {
  it.each([
    ["on a topic of 512 bytes gets one", "x".repeat(512)],
    ["beside the bridge's base topic gets one", "greenhouse2/answers"],
  ])("%s", (_, topic) => {
    expect(responseOf(topic)).toEqual({ topic, correlationData: null });
  });

  it.each([
    ["on a topic of more than 512 bytes", "温".repeat(171)],
    ["on a topic of more levels than brokers take", "a/".repeat(64) + "a"],
    ["on no topic", ""],
    ["with a wildcard", "answers/#"],
    ["under $", "$SYS/answers"],
    ["under the bridge's base topic", "greenhouse/answers"],
    ["where it would be a command", "other/east/actuator/fan/set"],
    ["where it would be an announcement", "homeassistant/device/x/config"],
  ])("%s gets none there", (_, topic) => {
    expect(responseOf(topic)).toBeNull();
  });
});
