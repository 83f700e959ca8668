import { describe, expect, it } from "vitest";
import { incomingCommand } from "../../src/commands/service.js";
import { topicsUnder } from "../../src/mqtt/topics.js";

const where = { type: "command", controllerId: "east", target: "actuator", id: "fan" } as const;

const responseOf = (responseTopic: string) =>
  incomingCommand(
    {
      topic: "greenhouse/east/actuator/fan/set",
      payload: Buffer.from("on"),
      retain: false,
      properties: { responseTopic },
    },
    where,
    null,
    { topics: topicsUnder("greenhouse"), responseTopics: ["clients/anna", "panel"] },
  ).response;

describe("a command that asks for an answer", () => {
  it.each([
    ["below the bridge's own topic for answers gets one", "greenhouse/response/anna/1"],
    ["of 512 bytes gets one", `greenhouse/response/${"x".repeat(512 - 20)}`],
    ["below a topic that the configuration allows gets one", "clients/anna/answers"],
    ["below another that it allows gets one", "panel/1"],
  ])("%s", (_, topic) => expect(responseOf(topic)).toEqual({ topic, correlationData: null }));

  it.each([
    ["on a topic of more than 512 bytes", `panel/${"温".repeat(171)}`],
    ["on a topic of more levels than brokers take", "panel/" + "a/".repeat(64) + "a"],
    ["on no topic", ""],
    ["with a wildcard", "panel/#"],
    ["under $", "$SYS/answers"],
    ["elsewhere under the bridge's base topic", "greenhouse/answers"],
    ["on the topic for answers itself", "greenhouse/response"],
    ["on nothing below it", "greenhouse/response/"],
    ["where it would be a command", "greenhouse/east/actuator/fan/set"],
    ["where it would be a request", "greenhouse/bridge/request/refresh"],
    ["where another program would obey it", "zigbee2mqtt/bridge/request/permit_join"],
    ["where it would be an announcement", "homeassistant/device/x/config"],
    ["where it would be Home Assistant's birth", "homeassistant/status"],
    ["where nothing was allowed", "answers/anna"],
    ["beside a topic that is allowed", "panels/1"],
    ["beside the bridge's base topic", "greenhouse2/response/1"],
    ["on a topic that is allowed as a first level only", "clients/anna"],
  ])("%s gets none there", (_, topic) => expect(responseOf(topic)).toBeNull());
});
