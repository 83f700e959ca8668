import { describe, expect, it } from "vitest";
import { groupsAndScenesIn, groupSentences } from "../../src/groups/judge.js";
import { itFinds, loaded, platform } from "./loading.js";

const house = `${platform}controllers:
  GH-0001: { id: east, actuators: { roof: { kind: skylight, address: 101 }, side: { kind: side_vent, address: 102 }, fan: { kind: circulation_fan, address: 150 }, pinned: { kind: machine, address: 151, read_only: true }, hidden: { kind: machine, address: 152, ignore: true } } }
  GH-0002: { actuators: { roof: { kind: skylight, address: 101, stop: { address: 109, value: "1" } } } }
  GH-0003: { ignore: true, actuators: { roof: { kind: skylight, address: 101 } } }
`;

describe("the members of a group are there, take a command, and are named once", () =>
  itFinds(
    String.raw`
    groups: { vents: { members: [GH-0001/roof, east/side, gh-0002/roof] } }
    groups: { vents: { members: [‸GH-0001/rof] } } → controller GH-0001 has no actuator "rof", did you mean "roof"?
    groups: { vents: { members: [‸GH-001/roof] } } → there is no controller "GH-001" under controllers, did you mean "GH-0001"?
    groups: { vents: { members: [‸GH-0003/roof] } } → the controller GH-0003 is ignored
    groups: { vents: { members: [‸GH-0001/hidden] } } → this actuator is ignored
    groups: { vents: { members: [GH-0001/roof, ‸east/roof] } } → this actuator is a member already
    groups: { vents: { members: [‸GH-0001/pinned] } } → this actuator is read-only
    groups: { vents: { members: [GH-0001/roof, GH-0001/fan] } }
    groups: { vents: { members: ‸[] } } → expected at least one actuator
    groups: { vents: { members: [‸roof] } } → expected an actuator as controller/actuator
    groups: { vents: { ‸member: [GH-0001/roof], members: [GH-0001/roof] } } → unknown key, did you mean "members"?
    groups: { ‸Vents: { members: [GH-0001/roof] } } → such as "vents"
  `,
    { around: (row) => house + row },
  ));

describe("a scene sends what its actuators take, and one command to each", () =>
  itFinds(
    String.raw`
    scenes: { night: { commands: { GH-0001/roof: 20, east/fan: off } } }
    groups: { vents: { members: [GH-0001/roof, GH-0002/roof] } }⏎scenes: { night: { commands: { group/vents: close, GH-0001/fan: on } } }
    groups: { vents: { members: [GH-0001/roof] } }⏎scenes: { night: { commands: { ‸group/vent: close } } } → there is no group "vent" under groups, did you mean "vents"?
    groups: { vents: { members: [GH-0001/roof] } }⏎scenes: { night: { commands: { group/vents: close, ‸GH-0001/roof: open } } } → east/roof is commanded by this scene already
    scenes: { night: { commands: { GH-0001/fan: ‸45 } } } → east/fan: This actuator takes no degree
    scenes: { night: { commands: { GH-0001/roof: ‸shut } } } → east/roof: "shut" is no command of this actuator
    scenes: { night: { commands: { ‸GH-0001/pinned: on } } } → east/pinned is read-only
    scenes: { night: { commands: ‸{} } } → expected at least one command
  `,
    { around: (row) => house + row },
  ));

describe("a group takes what all of its members take", () => {
  const text = `${house}groups:
  vents: { name: All vents, members: [GH-0001/roof, GH-0001/side] }
  roofs: { members: [GH-0001/roof, GH-0002/roof] }
  mixed: { members: [GH-0001/roof, GH-0001/fan] }
scenes: { night: { commands: { group/roofs: close, GH-0001/fan: "off" } } }
`;

  it("as a kind where they are of one, and by common words otherwise", async () => {
    const { groups, scenes } = groupsAndScenesIn((await loaded(text)).configuration);
    const kinds = [...groups.values()].map(({ id, name, target }) => [id, name, target.kind, target.stop]);
    expect(kinds).toEqual([
      ["vents", "All vents", "positioner", undefined],
      ["roofs", "roofs", "skylight", undefined],
      ["mixed", "mixed", "custom", undefined],
    ]);
    expect(groups.get("mixed")?.target.values).toEqual({ auto: "auto" });
    expect(scenes.get("night")?.commands.map(({ member, command }) => [member.code, command])).toEqual([
      ["GH-0001", "close"],
      ["GH-0002", "close"],
      ["GH-0001", "off"],
    ]);
  });

  it("and check says so in a sentence", async () => {
    expect(groupSentences((await loaded(text)).configuration)).toEqual([
      "groups.vents: takes open, close, auto, 0..100, for east/roof, east/side.",
      "groups.roofs: takes open, close, auto, 0..100, for east/roof, gh-0002/roof.",
      "groups.mixed: takes auto, for east/roof, east/fan.",
      "scenes.night: sends close to east/roof, close to gh-0002/roof, off to east/fan.",
    ]);
  });

  it("and nothing in common is a mistake", async () => {
    const fans = house.replace("fan: {", "wet: { kind: fan_wet_curtain, address: 160 }, fan: {");
    await expect(loaded(`${fans}groups: { odd: { members: [east/roof, east/wet] } }`)).rejects.toThrow(
      "groups.odd.members: these take no command in common: east/roof takes open, close, auto, 0..100; east/wet takes",
    );
  });
});

describe("a group of covers is the way round in Home Assistant that all of its members are", () => {
  const curtain = (address: number, inverted: boolean) =>
    `{ kind: shade_curtain, address: ${address}, homeassistant: { inverted: ${inverted} } }`;
  const text = `${platform}controllers:
  GH-0001: { id: east, actuators: { a: ${curtain(111, true)}, b: ${curtain(112, false)}, roof: { kind: skylight, address: 101 }, fan: { kind: circulation_fan, address: 150 } } }
  GH-0002: { actuators: { a: ${curtain(111, true)} } }
groups:
  inverted: { members: [GH-0001/a, GH-0002/a] }
  straight: { members: [GH-0001/b, GH-0001/roof] }
  apart: { members: [GH-0001/a, GH-0001/b] }
  mixture: { members: [GH-0001/a, GH-0001/fan] }
`;

  it.each([
    ["inverted", true],
    ["straight", false],
    ["apart", null],
    ["mixture", undefined],
  ])("%s: %s", async (id, inverted) => {
    const { groups } = groupsAndScenesIn((await loaded(text)).configuration);
    expect(groups.get(id)?.target.inverted).toBe(inverted);
  });

  it("and check says where that leaves it without a cover", async () => {
    const said = groupSentences((await loaded(text)).configuration).map(String);
    expect(said.filter((sentence) => sentence.includes("Home Assistant"))).toEqual([
      "groups.apart: has a select and no cover in Home Assistant, as only some of its members have homeassistant.inverted: true.",
    ]);
  });
});
