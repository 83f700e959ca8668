import { describe, expect, it } from "vitest";
import { commonTarget, type Group, type GroupsAndScenes, type Member } from "../../src/greenhouse/groups.js";
import { bridgeDocument } from "../../src/homeassistant/device-documents.js";
import { templates } from "../../src/homeassistant/labels.js";
import { settings } from "./fixtures.js";

const member = (controllerId: string, actuator: string): Member => ({
  code: controllerId.toUpperCase(),
  controllerId,
  actuator,
});

const ofOne = [member("gh-0001", "left"), member("gh-0001", "right")];
const ofTwo = [member("gh-0001", "left"), member("gh-0002", "left")];

/** What is announced of them, by platform. */
function announced(groupsAndScenes: Partial<GroupsAndScenes>) {
  const { components } = bridgeDocument(
    settings({ groupsAndScenes: { groups: new Map(), scenes: new Map(), ...groupsAndScenes } }),
  );
  const own = Object.values(components).filter(
    ({ default_entity_id: id }) => typeof id === "string" && /_(?:group|scene)_/.test(id),
  );
  return Object.fromEntries(own.map((component) => [component.platform, component]));
}

function group(inverted: readonly boolean[], members: readonly Member[] = ofOne) {
  const target = commonTarget(
    inverted.map((one) => ({ kind: "shade_curtain", values: {}, inverted: one }) as const),
  );
  if (target === null) throw new Error("They take the same.");
  const one: Group = { id: "all", name: "All", members, target };
  return announced({ groups: new Map([["all", one]]) });
}

const scene = (members: readonly Member[]) => {
  const commands = members.map((one) => ({ member: one, command: "close" }));
  return announced({ scenes: new Map([["night", { id: "night", name: "Night", commands }]]) });
};

describe("a group in Home Assistant", () => {
  it("works the same way round as its members", () => {
    expect(group([false, false])["cover"]).toMatchObject({
      payload_open: "open",
      position_template: templates.coverPosition,
    });
    expect(group([true, true])["cover"]).toMatchObject({
      payload_open: "close",
      payload_close: "open",
      value_template: templates.invertedState,
      position_template: templates.invertedPosition,
      set_position_template: templates.invertedDegree,
    });
  });

  it("has the select alone where its members work in different ways", () =>
    expect(Object.keys(group([true, false]))).toEqual(["select"]));
});

describe("groups and scenes are available while bridge and platform are, and the controller where all are of one", () => {
  const topicsOf = (component: unknown): readonly unknown[] =>
    (component as { availability: { topic: string }[] }).availability.map(({ topic }) => topic);
  const both = ["greenhouse/bridge/state", "greenhouse/bridge/platform"];

  it.each([
    ["of one controller", ofOne, [...both, "greenhouse/gh-0001/availability"]],
    ["of two, one of which may be gone", ofTwo, both],
  ])("%s", (_, members, topics) => {
    const { cover, select } = group([false, false], members);
    for (const one of [cover, select, scene(members)["scene"]]) expect(topicsOf(one)).toEqual(topics);
  });
});
