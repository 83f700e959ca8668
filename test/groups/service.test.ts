import { describe, expect, it } from "vitest";
import type { CommandRequest } from "../../src/commands/command.js";
import type { GroupResult, Member, GroupsAndScenes } from "../../src/greenhouse/groups.js";
import type { RecordBody } from "../../src/journal/records.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { Receipts } from "../../src/commands/service.js";
import { GroupService } from "../../src/groups/service.js";
import type { Surplus } from "../../src/mqtt/connection/settings.js";
import type { Outbox } from "../../src/mqtt/outbox.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import type { GreenhouseStore } from "../../src/sync/store.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";
import { settled } from "../support/virtual-clock.js";

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

/** Until all that waits for nothing has had its turn. */

interface World {
  readonly store?: Pick<GreenhouseStore, "get">;
  readonly append?: (record: RecordBody, options: { readonly durable: boolean }) => Promise<number>;
  readonly keep?: () => Promise<void>;
}

const nobody = { get: () => undefined };

/** A commander that takes everything, and ends what it is told to end. */
function scene({
  append = () => Promise.resolve(1),
  keep = () => Promise.resolve(),
  store = nobody,
}: World = {}) {
  const sent: CommandRequest[] = [];
  const told: GroupResult[] = [];
  const wanted: (readonly [string, string])[] = [];
  const counted: unknown[] = [];
  const left: string[] = [];
  const repeated: string[] = [];
  const unanswerable: string[] = [];
  const now = { ms: 1_000 };
  const refuses = new Set<string>();
  let ids = 0;
  const commands = {
    onSurplus: (_: null, { count, isUrgent }: Surplus) => void counted.push({ count, isUrgent }),
    commander: {
      submit: (request: CommandRequest) => {
        sent.push(request);
        const text = new TextDecoder().decode(request.payload);
        const own = text.startsWith("{") ? (JSON.parse(text) as { readonly id?: string }).id : undefined;
        return { id: own ?? request.givenId ?? "", isTaken: !refuses.has(request.givenId ?? "") };
      },
    },
    outbox: {
      send: ({ document }: Parameters<Outbox["send"]>[0]) => void told.push(document as GroupResult),
      restore: () => undefined,
    },
    keepResult: () => keep().then(() => () => undefined),
    deliveryOf: () => () => undefined,
    receipts: new Receipts(),
    unanswerable: (topic: string) => void unanswerable.push(topic),
  };
  const configured = { groupsAndScenes };
  const core = {
    groupsAndScenes: () => configured.groupsAndScenes,
    topics: topicsUnder("greenhouse"),
    mirror: { store: { get: (code: string) => store.get(code), onChange: () => () => false } },
    commands,
    journal: { append, history: () => ({ groups: [] }) },
    signal: new AbortController().signal,
    retained: {
      wanted: (topic: string, payload: string) => void wanted.push([topic, payload]),
      forget: () => undefined,
      unwanted: (topic: string) => void left.push(topic),
      repeat: (topics: readonly string[]) => void repeated.push(...topics),
    },
    rules: () => ({ response_topics: ["clients/anna"] }),
    clock: { now: () => now.ms, monotonic: () => now.ms, wait: () => new Promise<void>(() => undefined) },
  };
  const service = new GroupService(core, () => `new-${++ids}`);
  const end = async (
    controllerId: string,
    id: string,
    over: Partial<CommandResult> = {},
    isRefusal = false,
  ) => {
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
    service.result(result as CommandResult, { ...about, response: null }, isRefusal);
    await settled();
  };
  const send = (payload: string, kind: "group" | "scene" = "group", id = "roofs", isKept = false) =>
    service.submit({
      kind,
      id,
      payload: new TextEncoder().encode(payload),
      retained: false,
      isKept,
      expiryMs: null,
      by: null,
      via: null,
      response: null,
    });
  const keptAgain = (payload: string) => send(payload, "group", "roofs", true);
  const heard = { told, counted, wanted, left, repeated, unanswerable };
  return { service, sent, ...heard, end, send, keptAgain, now, refuses, configured, wanted };
}

describe("groups that are changed while the bridge runs", () => {
  const windows = {
    groups: new Map([
      [
        "windows",
        { id: "windows", name: "Windows", members: [east], target: { kind: "skylight", values: {} } },
      ],
    ]),
    scenes: new Map(),
  } as const satisfies GroupsAndScenes;

  it("are commanded at once, and those that are gone are left over at the broker", () => {
    const { service, configured, send, sent, left, wanted } = scene();
    configured.groupsAndScenes = windows;
    service.reload();
    expect(left).toEqual(
      ["position", "state", "quality", "json"].map((leaf) => `greenhouse/group/roofs/${leaf}`),
    );
    expect(wanted.map(([topic]) => topic)).toContain("greenhouse/group/windows/state");
    expect(send("close", "group", "windows").refused).toBeNull();
    expect(sent.map(({ controllerId }) => controllerId)).toEqual(["east"]);
    expect(send("close").refused?.reason).toBe("unknown_actuator");
  });

  it("end what is under way with the members that it was handed to", async () => {
    const { service, configured, send, told, end } = scene();
    send('{"command":20,"id":"x"}');
    configured.groupsAndScenes = windows;
    service.reload();
    await end("west", "x/west/roof");
    await end("east", "x/east/roof");
    expect(told).toMatchObject([{ group: "roofs", id: "x", outcome: "confirmed" }]);
  });
});

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

  it.each([
    ["OPEN", "group", "roofs", "open"],
    ['{"command":"Closed"}', "group", "roofs", "close"],
    ['{"command":10010}', "group", "roofs", "open"],
    ["Stop", "group", "roofs", "stop"],
    ["ON", "scene", "night", "activate"],
    ["Activate", "scene", "night", "activate"],
  ] as const)("%s to a %s has in its result the command as an actuator's result has it", async (...line) => {
    const [payload, kind, name, command] = line;
    const { send, end, told } = scene();
    const { id } = send(payload, kind, name);
    await end("east", `${id}/east/roof`);
    await end("west", `${id}/west/roof`);
    await settled();
    expect(told.at(-1)).toMatchObject({ id, outcome: "confirmed", command });
  });

  it("under an id of its own is the same however it is spelt, as it is for one actuator, and one that was refused takes no id", () => {
    const { send, sent } = scene();
    expect(send('{"command":"sideways","id":"x","at":1}').refused).toMatchObject({ reason: "bad_payload" });
    expect(send('{"command":20,"id":"x"}').refused).toBeNull();
    expect(send('{ "id": "x", "command": "20" }').refused).toMatchObject({ reason: "duplicate" });
    expect(send('{"command":20,"id":"x"}', "scene", "night").refused).toMatchObject({
      reason: "unknown_command",
    });
    expect(sent).toHaveLength(2);
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
      ["east", "new-1/east/roof"],
      ["west", "new-1/west/roof"],
    ] as const)
      await end(controller, id);
    expect(told).toHaveLength(1);
  });

  it("goes on where another message under a member's id is refused, whatever the reason", async () => {
    const { send, told, end } = scene();
    send('{"command":20,"id":"x"}');
    for (const reason of ["bad_payload", "duplicate", "overloaded"] as const)
      await end("west", "x/west/roof", { outcome: "refused", reason }, true);
    await end("east", "x/east/roof");
    expect(told).toEqual([]);
    await end("west", "x/west/roof");
    expect(told).toMatchObject([{ outcome: "confirmed" }]);
  });

  it("has of a member that was refused its own refusal, not the end of the command it collides with", async () => {
    const { send, told, end, refuses } = scene();
    refuses.add("x/west/roof");
    send('{"command":20,"id":"x"}');
    await end("east", "x/east/roof");
    await end("west", "x/west/roof");
    expect(told).toEqual([]);
    await end("west", "x/west/roof", { outcome: "refused", reason: "bad_payload" }, true);
    expect(told).toMatchObject([{ members: [{}, { controller: "west", reason: "bad_payload" }] }]);
  });

  it("has its members in the answer to a repetition as long as they are of the newest", async () => {
    const { send, end, service, now } = scene();
    for (let n = 0; n < 2_600; n += 1) {
      now.ms += 2_000;
      send(`{"command":20,"id":"n${n}"}`);
      for (const name of ["east", "west"])
        service.result(
          { id: `n${n}/${name}/roof`, outcome: "confirmed" } as CommandResult,
          { ...{ code: "", controllerId: name, target: "actuator", targetId: "roof" }, response: null },
          false,
        );
      if (n % 100 === 99) await settled();
    }
    await end("none", "");
    const originalOf = (id: string) => send(`{"command":20,"id":"${id}"}`).refused?.original;
    expect(originalOf("n2599")).toMatchObject({ outcome: "confirmed", members: [{}, {}] });
    expect(originalOf("n1700")).toMatchObject({ outcome: "confirmed", members: [] });
  });

  it("to a scene sends each its own command, and takes no other", () => {
    const { send, sent } = scene();
    send("ON", "scene", "night");
    expect(new TextDecoder().decode(sent[0]?.payload)).toBe("close");
    expect(send("close", "scene", "night").refused).toMatchObject({ reason: "unknown_command" });
    expect(send("on", "scene", "nigth").refused?.message).toContain('did you mean "night"?');
  });
});

describe("a broker that gives a command again until it is acknowledged", () => {
  const message = (payload: string, acknowledge: () => void, isKept = false) => ({
    ...{ topic: "greenhouse/group/roofs/set", payload: Buffer.from(payload), retain: false },
    ...{ properties: {}, acknowledge, ...(isKept && { isKept: true as const }) },
  });

  it("is told once the journal has it for good, of a refusal once that is told, and at once of what is given once more", async () => {
    let written: (sequence: number) => void = () => undefined;
    let kept: () => void = () => undefined;
    const asked: boolean[] = [];
    const append: World["append"] = (_, { durable }) => {
      asked.push(durable);
      return new Promise((resolve) => (written = resolve));
    };
    const keep = () => new Promise<void>((resolve) => (kept = resolve));
    const { service, sent, told } = scene({ append, keep });
    const acknowledged: string[] = [];
    const give = (what: string, payload: string, isKept = false) =>
      service.onMessage(message(payload, () => void acknowledged.push(what), isKept));
    give("first", '{"command":20,"id":"x"}');
    await settled();
    expect(acknowledged).toEqual([]);
    written(1);
    await settled();
    expect(acknowledged).toEqual(["first"]);
    give("again", '{"command":20,"id":"x"}', true);
    give("refused", "{");
    give("repeated", '{"command":20,"id":"x"}');
    await settled();
    expect(acknowledged).toEqual(["first", "again"]);
    expect(asked).toEqual([true]);
    expect(sent).toHaveLength(2);
    kept();
    await settled();
    expect(told.map(({ reason }) => reason)).toEqual(["duplicate"]);
    expect(acknowledged).toEqual(["first", "again", "repeated"]);
  });

  it("is told with the result where the journal could not take the command", async () => {
    const { service, end } = scene({ append: () => Promise.reject(new Error("full")) });
    const acknowledged: string[] = [];
    service.onMessage(message('{"command":20,"id":"x"}', () => void acknowledged.push("x")));
    await end("west", "x/west/roof");
    expect(acknowledged).toEqual([]);
    await end("east", "x/east/roof");
    expect(acknowledged).toEqual(["x"]);
  });

  it("and without an id of its own is known while it is open and shortly after, a stop never", async () => {
    const { send, keptAgain, end, now, sent } = scene();
    const whole = async (id: string) => {
      await end("west", `${id}/west/roof`);
      await end("east", `${id}/east/roof`);
    };
    send("20");
    expect(keptAgain("20").id).toBe("new-1");
    await whole("new-1");
    now.ms += 2_000;
    expect(keptAgain("20").id).toBe("new-1");
    expect(sent).toHaveLength(2);
    now.ms += 3_600_000;
    expect(keptAgain("20").id).not.toBe("new-1");
    expect(sent).toHaveLength(4);
    send("stop");
    keptAgain("stop");
    expect(sent).toHaveLength(8);
  });

  it("is no repetition where its id was another command's", () => {
    const { send, keptAgain } = scene();
    send('{"command":20,"id":"x"}');
    expect(keptAgain('{"command":20,"id":"x"}').refused).toBeNull();
    expect(keptAgain('{"command":30,"id":"x"}').refused).toMatchObject({ reason: "bad_payload" });
  });
});

describe("what an earlier run retained", () => {
  it("of a group that is not there any more is left over, and of one that is there stays", () => {
    const { service, wanted, left } = scene();
    const before = wanted.length;
    service.onFound("greenhouse/group/gone/state", Buffer.from("open"));
    service.onFound("greenhouse/group/roofs/state", Buffer.from("open"));
    service.onFound("greenhouse/gh-0001/sensor/airtemp", Buffer.from("21.5"));
    expect([left, wanted.slice(before)]).toEqual([["greenhouse/group/gone/state"], []]);
    service.onFound("greenhouse/group/roofs/position", Buffer.from("20"));
    expect(wanted.slice(before)).toEqual([["greenhouse/group/roofs/position", ""]]);
  });
});

describe("what the platform shows of a group is shown again after a command", () => {
  const own = ["position", "state", "json"].map((leaf) => `greenhouse/group/roofs/${leaf}`);

  it.each<[outcome: CommandResult["outcome"], again: readonly string[]]>([
    ["confirmed", []],
    ["unconfirmed", own],
    ["failed", own],
    ["refused", own],
  ])("that is %s: %j", async (outcome, again) => {
    const { send, end, repeated } = scene();
    send('{"command":20,"id":"x"}');
    await end("west", "x/west/roof");
    await end("east", "x/east/roof", { outcome });
    expect(repeated).toEqual(again);
  });

  it("that is refused as a whole, and of a flood that nobody looked at", async () => {
    const { service, send, repeated } = scene();
    send("{");
    await settled();
    expect(repeated.splice(0)).toEqual(own);
    const key = "greenhouse/group/roofs/set";
    service.flood.onSurplus({ key, count: 900, isUrgent: false, ids: [] });
    expect(repeated).toEqual(own);
  });
});

it.each([
  ["clients/anna/answers", []],
  ["somewhere/else", ["somewhere/else"]],
])("an answer that is asked for on %s is missed by: %j", (responseTopic, missed) => {
  const { service, unanswerable } = scene();
  const about = { topic: "greenhouse/group/roofs/set", payload: Buffer.from("open"), retain: false };
  service.onMessage({ ...about, ageMs: 0, properties: { responseTopic } });
  expect(unanswerable).toEqual(missed);
});

describe("of a flood to a group or scene that another broker hands over", () => {
  const surplus = { key: "greenhouse/group/roofs/set", count: 900, isUrgent: false, ids: ["a", "b"] };

  it("what nobody looked at ends in one result that says how many, with the ids of the first", () => {
    const { service, told, sent } = scene();
    expect(service.flood.allowanceOf(surplus.key)?.idOf?.(Buffer.from('{"command":"open","id":"a"}'))).toBe(
      "a",
    );
    service.flood.onSurplus(surplus);
    expect(told).toMatchObject([
      {
        ...{ group: "roofs", scene: null, command: null, outcome: "refused", reason: "overloaded" },
        ...{ members: [], missed: [], count: 900, ids: ["a", "b"], repeated: false },
      },
    ]);
    expect(sent).toEqual([]);
  });

  it.each([
    ["stop", true],
    ["00000100", true],
    ['{"command":"00000100"}', true],
    ["open", false],
    ["{", false],
  ])("%s goes on as a stop, by the word or by the value of one of its members: %s", (payload, isOne) => {
    const settings = controllerSettings({ actuators: [actuator({ id: "roof", kind: "motor" })] });
    const { service } = scene({ store: { get: () => controller(settings) } });
    expect(service.flood.allowanceOf(surplus.key)?.isUrgent?.(Buffer.from(payload))).toBe(isOne);
  });

  it("stops in whose place a newer one came are superseded", () => {
    const { service, told } = scene();
    service.flood.onSurplus({ ...surplus, key: "greenhouse/scene/night/set", isUrgent: true, ids: [] });
    expect(told).toMatchObject([
      { scene: "night", group: null, outcome: "superseded", reason: "before_sending", count: 900 },
    ]);
  });

  it("of those to none that there is nothing is told, and they are counted with commands to no target", () => {
    const { service, told, counted } = scene();
    const key = service.flood.allowanceOf("greenhouse/group/nowhere/set")?.key ?? "";
    service.flood.onSurplus({ ...surplus, key });
    expect({ told, counted }).toEqual({ told: [], counted: [{ count: 900, isUrgent: false }] });
    // Those of others are none of its own.
    service.flood.onSurplus({ ...surplus, key: "commands to targets that do not exist" });
    service.flood.onSurplus(surplus);
    expect(counted.length).toBe(1);
  });
});
