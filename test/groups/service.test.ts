import { describe, expect, it } from "vitest";
import type { CommandRequest } from "../../src/commands/command.js";
import type { GroupResult, Member, GroupsAndScenes } from "../../src/greenhouse/groups.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { GroupService } from "../../src/groups/service.js";
import { topicsUnder } from "../../src/mqtt/topics.js";

const roof = (code: string): Member => ({ code, controllerId: code.toLowerCase(), actuator: "roof" });
const [east, west] = [roof("EAST"), roof("WEST")];
const groupsAndScenes: GroupsAndScenes = {
  groups: new Map([
    [
      "roofs",
      { id: "roofs", name: "Roofs", members: [east, west], target: { kind: "skylight", values: {} } },
    ],
  ]),
  scenes: new Map([
    ["night", { id: "night", name: "Night", commands: [{ member: east, command: "close" }] }],
  ]),
};

/** A commander that takes everything, and ends what it is told to end. */
function scene() {
  const sent: CommandRequest[] = [];
  const told: GroupResult[] = [];
  const wanted: (readonly [string, string])[] = [];
  let ids = 0;
  const service = new GroupService({
    groupsAndScenes,
    topics: topicsUnder("greenhouse"),
    store: { get: () => undefined, onChange: () => () => false },
    submit: (request) => {
      sent.push(request);
      const text = new TextDecoder().decode(request.payload);
      const own = text.startsWith("{") ? (JSON.parse(text) as { readonly id?: string }).id : undefined;
      return { id: own ?? `own-${sent.length}`, isTaken: true };
    },
    outbox: { send: ({ document }) => void told.push(document as GroupResult) },
    retained: { wanted: (topic, payload) => void wanted.push([topic, payload]) },
    responseTopics: () => [],
    clock: { now: () => 1_000 },
    newId: () => `new-${++ids}`,
  });
  const end = async (controllerId: string, id: string, over: Partial<CommandResult> = {}) => {
    const result = {
      id,
      command: "20",
      outcome: "confirmed",
      reason: null,
      message: null,
      interlock: null,
      ...over,
    };
    const about = {
      code: controllerId.toUpperCase(),
      controllerId,
      target: "actuator",
      targetId: "roof",
    } as const;
    service.result(result as CommandResult, { ...about, response: null });
    await Promise.resolve();
  };
  const send = (payload: string, kind: "group" | "scene" = "group", id = "roofs") =>
    service.submit({
      kind,
      id,
      payload: new TextEncoder().encode(payload),
      retained: false,
      expiryMs: null,
      by: null,
      via: null,
      response: null,
    });
  return { service, sent, told, wanted, end, send };
}

describe("a command to several", () => {
  it("is told once, when the last member has ended, in the order of the members", async () => {
    const { send, told, end, service } = scene();
    expect(send('{"command":20,"id":"x"}')).toEqual({ id: "x", refused: null });
    await end("west", "x/west/roof");
    expect(told).toEqual([]);
    expect(service.runningOf("group", "roofs")?.ended).toHaveLength(1);
    await end("east", "x/east/roof", { outcome: "rejected", message: "No." });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      outcome: "rejected",
      missed: ["east/roof"],
      members: [{ controller: "east" }, { controller: "west" }],
    });
    await end("east", "x/east/roof");
    expect(told).toHaveLength(1);
  });

  it("under an id that has ended is a duplicate with the first result, which stays that of the id", async () => {
    const { send, end, service } = scene();
    send('{"command":20,"id":"x"}');
    await end("west", "x/west/roof");
    await end("east", "x/east/roof");
    const again = send('{"command":20,"id":"x"}').refused;
    expect(again).toMatchObject({ reason: "duplicate", members: [], original: { outcome: "confirmed" } });
    expect(send('{"command":30,"id":"x"}').refused).toMatchObject({ reason: "bad_payload" });
    expect(service.find("x")).toMatchObject({ outcome: "confirmed" });
  });

  it("under an id that is open is a duplicate, and with another command a mistake; no member is asked again", () => {
    const { send, sent } = scene();
    send('{"command":20,"id":"x"}');
    expect(send('{"command":20,"id":"x"}').refused).toMatchObject({ reason: "duplicate", members: [] });
    expect(send('{"command":30,"id":"x"}').refused).toMatchObject({ reason: "bad_payload" });
    expect(sent).toHaveLength(2);
  });

  it("without an id leaves each member to tell a repeated payload by itself", async () => {
    const { send, sent, end, told } = scene();
    send("20");
    send("20");
    expect(sent.map(({ payload }) => new TextDecoder().decode(payload))).toEqual(["20", "20", "20", "20"]);
    for (const [controller, id] of [
      ["east", "own-1"],
      ["west", "own-2"],
    ] as const)
      await end(controller, id);
    expect(told).toHaveLength(1);
  });

  it("to a scene sends each its own command, and takes no other", () => {
    const { send, sent } = scene();
    send("ON", "scene", "night");
    expect(new TextDecoder().decode(sent[0]?.payload)).toBe("close");
    expect(send("close", "scene", "night").refused).toMatchObject({ reason: "unknown_command" });
    expect(send("on", "scene", "nigth").refused?.message).toContain('did you mean "night"?');
  });
});

describe("what an earlier run retained", () => {
  it("of a group that is not there any more is emptied, and of one that is there stays", () => {
    const { service, wanted } = scene();
    const before = wanted.length;
    service.onFound("greenhouse/group/gone/state", Buffer.from("open"));
    service.onFound("greenhouse/group/roofs/state", Buffer.from("open"));
    service.onFound("greenhouse/gh-0001/sensor/airtemp", Buffer.from("21.5"));
    expect(wanted.slice(before)).toEqual([["greenhouse/group/gone/state", ""]]);
  });
});
