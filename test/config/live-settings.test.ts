import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/config/at-once.js";
import { changedKeys, keysForRun, LiveSettings, withLiveKeys } from "../../src/config/live-settings.js";
import type { Configuration } from "../../src/config/schema.js";
import { schemaTree } from "../../src/saving/schema-tree.js";
import type { SettingNode } from "../../src/page/protocol.js";
import { withoutSecrets } from "../../src/runtime/redaction.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";

describe("what changed between two configurations", () =>
  it.each([
    ["nothing", { a: 1 }, { a: 1 }, []],
    ["a value", { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, ["a.c"]],
    ["a key that came", { a: {} }, { a: { b: 1 } }, ["a.b"]],
    ["a key that went", { a: { b: 1 } }, { a: {} }, ["a.b"]],
    ["a list is one value", { a: [1, 2] }, { a: [1, 3] }, ["a"]],
    ["a section turned off", { http: { port: 1 } }, { http: false }, ["http"]],
    [
      "the order of houses",
      { controllers: { a: {}, b: {} } },
      { controllers: { b: {}, a: {} } },
      ["controllers"],
    ],
    [
      "a house that came before the others",
      { controllers: { b: { id: "b" } } },
      { controllers: { a: { id: "a" }, b: { id: "b" } } },
      ["controllers.a"],
    ],
    ["an order that nobody sees", { a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }, []],
    ["several, by name", { b: 1, a: { x: 1 } }, { b: 2, a: { x: 2 } }, ["a.x", "b"]],
  ])("%s", (_, before, next, changed) =>
    expect(changedKeys(before as never, next as never)).toEqual(changed),
  ));

describe("a configuration read again", () => {
  const settings = async (text: string) => configurationOf(text, await platform());

  it("is in force for what can change, and names what needs a restart, again and again", async () => {
    const simulator = await platform();
    const before = await configurationOf("http: { port: 0, token: first-token }", simulator);
    const next = await configurationOf(
      [
        "http: { port: 0, token: second-token, allowed_hosts: [pi.local] }",
        "log: { level: debug }",
        "commands: { read_only: true, max_age: 30s, min_interval: 5s }",
        "controllers: { GH-0001: { name: East, id: east } }",
      ].join("\n"),
      simulator,
    );
    const live = new LiveSettings(before);
    const told: unknown[] = [];
    live.onReload((reloaded) => told.push(reloaded));
    const first = live.reload(next);
    expect(first).toEqual({
      applied: [
        ...["commands.max_age", "commands.read_only", "controllers.GH-0001.name"],
        ...["http.allowed_hosts", "http.token", "log.level"],
      ],
      needRestart: ["commands.min_interval", "controllers.GH-0001.id"],
    });
    expect(told).toEqual([first]);
    expect(live.current).toMatchObject({
      commands: { read_only: true, max_age: 30_000, min_interval: before.commands.min_interval },
      http: { token: "second-token", allowed_hosts: ["pi.local"] },
      log: { level: "debug" },
      controllers: { "GH-0001": { name: "East" } },
    });
    expect(live.current.controllers["GH-0001"]).not.toHaveProperty("id");
    expect(live.reload(next)).toEqual({ applied: [], needRestart: first.needRestart });
    expect(JSON.stringify(first)).not.toContain("second-token");
  });

  it("keeps out of the log what it brings and what it replaces, from the moment of the reload", async () => {
    const live = new LiveSettings(await settings("http: { port: 0, token: first-token }"));
    const hide = withoutSecrets(() => live.secrets);
    const next = await settings("http: { port: 0, token: second-token }");
    const atOnce: string[] = [];
    live.onReload(() => atOnce.push(hide("a second-token b")));
    live.reload(next);
    expect(atOnce).toEqual(["a [hidden] b"]);
    expect(hide("first-token second-token")).toBe("[hidden] [hidden]");
    for (let times = 0; times < 500; times += 1)
      live.reload({ ...next, http: next.http && { ...next.http, token: `token-number-${times}` } });
    expect(hide("first-token token-number-499")).toBe("[hidden] [hidden]");
    expect(live.secrets.length).toBeLessThan(300);
  });

  it("does not end a read-only run after a crash loop", async () => {
    const before = await settings("http: false");
    const live = new LiveSettings(before);
    live.forceReadOnly("crash_loop");
    live.reload({ ...before, log: { ...before.log, level: "debug" } });
    expect(live.current.commands.read_only).toBe(true);
    expect(live.readOnlyBecause).toBe("crash_loop");
  });
});

/** Of each key that counts at once one that is other than before, behind its path; what it needs beside it stands in both. */
const changes: Readonly<Record<(typeof atOnce)[number], readonly [before: string, next: string]>> = {
  "log.level": ["log: { level: info }", "log: { level: trace }"],
  updates: ["", "updates: true"],
  "commands.read_only": ["", "commands: { read_only: true }"],
  "commands.dry_run": ["", "commands: { dry_run: true }"],
  "commands.max_age": ["", "commands: { max_age: 1s }"],
  "commands.require_age": ["", "commands: { require_age: true }"],
  "commands.require_by": ["", "commands: { require_by: true }"],
  "http.token": ["", "http: { token: new-token-of-the-page }"],
  "http.allowed_hosts": ["", "http: { allowed_hosts: [pi.local] }"],
  "http.users": ["", "http: { users: [{ username: anna, password: Sun-and-rain-7 }] }"],
  "broker.users": ["", "broker: { users: [{ username: ha, password: Sun-and-rain-7 }] }"],
  "http.settings": ["", "http: { settings: false }"],
  "http.overview": ["", "http: { overview: [humidity] }"],
  alarms: ["", "alarms: { temperature: { low: 5 } }"],
  notify: ["", "notify: { ways: { phone: { ntfy: { topic: house } } } }"],
  groups: [house("roof: ROOF"), `${house("roof: ROOF")}\ngroups: { roofs: { members: [east/roof] } }`],
  scenes: [
    house("roof: ROOF"),
    `${house("roof: ROOF")}\nscenes: { night: { commands: { east/roof: close } } }`,
  ],
  "controllers.*.name": ["", "controllers: { GH-0001: { name: East } }"],
  "controllers.*.area": [
    "controllers: { GH-0001: { id: east } }",
    "controllers: { GH-0001: { id: east, area: E } }",
  ],
  "controllers.*.sensors.*.name": [
    "controllers: { GH-0001: { sensors: { air: { from: t } } } }",
    "controllers: { GH-0001: { sensors: { air: { from: t, name: Air } } } }",
  ],
  "controllers.*.sensors.*.alarm": [
    "controllers: { GH-0001: { sensors: { air: { from: t, alarm: { low: 4 } } } } }",
    "controllers: { GH-0001: { sensors: { air: { from: t, alarm: false } } } }",
  ],
  "controllers.*.actuators.*.name": [house("roof: ROOF"), house("roof: ROOF", "name: Roof")],
  "controllers.*.actuators.*.homeassistant.icon": [
    house("roof: ROOF"),
    house("roof: ROOF", 'homeassistant: { icon: "mdi:fan" }'),
  ],
  "controllers.*.parameters.*.name": [
    'controllers: { GH-0001: { parameters: { ec: { address: "501" } } } }',
    'controllers: { GH-0001: { parameters: { ec: { address: "501", name: EC } } } }',
  ],
};

function house(roof: string, more = ""): string {
  const own = `{ kind: skylight, address: "101"${more === "" ? "" : `, ${more}`} }`;
  return `controllers: { GH-0001: { id: east, actuators: { ${roof.replace("ROOF", own)} } } }`;
}

describe("a key that counts at once", () => {
  it.each(Object.entries(changes))("%s takes no new run, and is in force", async (_, [before, next]) => {
    const simulator = await platform();
    const [one, other] = [await configurationOf(before, simulator), await configurationOf(next, simulator)];
    const live = new LiveSettings(one);
    const { applied, needRestart } = live.reload(other);
    expect(needRestart).toEqual([]);
    expect(applied).toHaveLength(1);
    expect(changedKeys(live.configured, other)).toEqual([]);
    expect(live.reload(one).needRestart).toEqual([]);
    expect(changedKeys(live.configured, one)).toEqual([]);
  });

  it("is one of the schema, of which the page says so", () => {
    const found = (path: readonly string[], keys: readonly SettingNode[]): SettingNode | undefined => {
      const [name, ...rest] = path;
      const node = keys.find((one) => one.name === name);
      if (node === undefined || rest.length === 0) return node;
      if (node.type !== "map" || node.entry === undefined) return found(rest, innerOf(node));
      return found(rest, [{ ...node.entry, name: "*" }]);
    };
    const innerOf = (node: SettingNode): readonly SettingNode[] =>
      node.keys ?? node.options?.flatMap(innerOf) ?? [];
    for (const key of atOnce) {
      expect([key, found(key.split("."), schemaTree())?.effect]).toEqual([key, "now"]);
    }
  });

  it("in a group waits for the new run that brings its members", async () => {
    const simulator = await platform();
    const before = await configurationOf("", simulator);
    const next = await configurationOf(
      `${house("roof: ROOF")}\ngroups: { roofs: { members: [east/roof] } }`,
      simulator,
    );
    expect(keysForRun(before, next)).toEqual([
      "controllers.GH-0001.actuators.roof",
      "controllers.GH-0001.id",
    ]);
    expect(withLiveKeys(before, next).groups).toEqual({});
  });

  it("in a group whose members are there already waits for no other key", async () => {
    const simulator = await platform();
    const group = "groups: { roofs: { members: [east/roof] } }";
    const before = await configurationOf(house("roof: ROOF"), simulator);
    const next = await configurationOf(`${house("roof: ROOF")}\n${group}\nmirror: listed`, simulator);
    expect(keysForRun(before, next)).toEqual(["mirror"]);
    expect(Object.keys(withLiveKeys(before, next).groups)).toEqual(["roofs"]);
  });

  it("of a sensor is one also where the file named it for the first time, if the run shows it so anyway", async () => {
    const simulator = await platform();
    const knows = (code: string, id: string, from: string) =>
      `${code} ${id} ${from}` === "GH-0001 air 空气温度";
    const [nothing, alarmed, scaled] = await Promise.all(
      ["", "alarm: { low: 4 }", "alarm: { low: 4 }, offset: 1"].map((more) =>
        configurationOf(
          more === "" ? "" : `controllers: { GH-0001: { sensors: { air: { from: 空气温度, ${more} } } } }`,
          simulator,
        ),
      ),
    );
    if (!nothing || !alarmed || !scaled) throw new Error("three are made");
    expect(keysForRun(nothing, alarmed)).toEqual(["controllers.GH-0001.sensors.air"]);
    expect(keysForRun(nothing, scaled, knows)).toEqual(["controllers.GH-0001.sensors.air.offset"]);
    const live = new LiveSettings(nothing);
    expect(live.reload(alarmed, knows)).toEqual({
      applied: ["controllers.GH-0001.sensors.air.alarm"],
      needRestart: [],
    });
    expect(live.configured.controllers["GH-0001"]?.sensors["air"]?.alarm).toEqual({ low: 4 });
    expect(live.reload(nothing, knows).needRestart).toEqual([]);
    expect(live.reload(nothing, knows)).toEqual({ applied: [], needRestart: [] });
    expect(live.configured.controllers["GH-0001"]?.sensors["air"]?.alarm).toBeUndefined();
  });

  it("the order of houses and actuators counts at once", async () => {
    const simulator = await platform();
    const ordered = (...codes: readonly string[]) =>
      configurationOf(
        `controllers: { ${codes.map((code) => `${code}: { name: ${code} }`).join(", ")} }`,
        simulator,
      );
    const [before, next] = [await ordered("A-1", "B-2"), await ordered("B-2", "A-1")];
    expect(keysForRun(before, next)).toEqual([]);
    expect(Object.keys(withLiveKeys(before, next).controllers)).toEqual(["B-2", "A-1"]);
  });

  it("a house without a word in the file is as one of which nothing is said, unless only listed ones are mirrored", async () => {
    const simulator = await platform();
    const named = "controllers: { GH-0001: { name: East } }";
    const [nothing, east] = [await configurationOf("", simulator), await configurationOf(named, simulator)];
    expect(keysForRun(nothing, east)).toEqual([]);
    expect(keysForRun(east, nothing)).toEqual([]);
    const listed = (one: Configuration): Configuration => ({ ...one, mirror: "listed" });
    expect(keysForRun(listed(nothing), listed(east))).toEqual(["controllers.GH-0001"]);
  });

  it("the first or last user of a broker that others reach waits for the run in which it listens to them or to itself", async () => {
    const simulator = await platform();
    const users = "users: [{ username: ha, password: Sun-and-rain-7 }]";
    const [open, shut] = [
      await configurationOf(`broker: { host: 0.0.0.0, ${users} }`, simulator),
      await configurationOf("broker: { host: 127.0.0.1 }", simulator),
    ];
    expect(keysForRun(open, shut)).toEqual(["broker.host", "broker.users"]);
    expect(withLiveKeys(open, shut).broker.users).toBe(open.broker.users);
    expect(keysForRun(shut, open)).toEqual(["broker.host"]);
    expect(withLiveKeys(shut, open).broker).toMatchObject({ host: "127.0.0.1", users: [{ username: "ha" }] });
  });

  it("the first users need no new run where ingress serves the page anyway, and one where the page begins with them", async () => {
    const simulator = await platform();
    const users = "users: [{ username: anna, password: Sun-and-rain-7 }]";
    const at = (more: string) =>
      configurationOf(`http: { host: 0.0.0.0, token: a-token-for-programs${more} }`, simulator);
    const ingress = ", ingress: { enabled: true }";
    expect(keysForRun(await at(ingress), await at(`${ingress}, ${users}`))).toEqual([]);
    expect(keysForRun(await at(""), await at(`, ${users}`))).toEqual(["http.users"]);
  });
});

describe("read-only that was chosen where the account ran before", () => {
  const live = async () => new LiveSettings(await configurationOf("", await platform()));

  it.each([
    ["is taken over", null, { read_only: true, by: "anna" }, true],
    ["goes before what was let pass here", false, { read_only: true, by: "anna" }, true],
    ["is over once somebody let commands pass there", true, { read_only: false, by: "anna" }, false],
    ["is over once the file was read again there", true, null, false],
    ["that commands pass is taken over from nobody", null, { read_only: false, by: "anna" }, false],
  ] as const)("%s", async (_, here, last, isReadOnly) => {
    const settings = await live();
    const place = settings.placeOfChoice();
    if (here !== null) settings.chooseReadOnly(here, "bob", place);
    settings.choiceKept(place);
    settings.recall(last);
    expect(settings.commandRules().read_only).toBe(isReadOnly);
  });

  it.each([null, { read_only: false, by: "anna" }])(
    "leaves what forbids here and no journal has taken yet (%j)",
    async (last) => {
      const settings = await live();
      const earlier = settings.placeOfChoice();
      settings.chooseReadOnly(true, "bob");
      settings.choiceKept(earlier);
      settings.recall(last);
      expect(settings.commandRules().read_only).toBe(true);
    },
  );
});

describe("read-only for a run, as an operator chooses", () => {
  const settings = async (text: string) => configurationOf(text, await platform());

  it("goes before the file, for rules too, until the file is changed and read again", async () => {
    const live = new LiveSettings(await settings("commands: { read_only: true }"));
    let told = 0;
    live.onReadOnlyChosen(() => (told += 1));
    live.chooseReadOnly(false, "anna");
    expect(live.current.commands.read_only).toBe(false);
    expect(live.commandRules()).toMatchObject({ read_only: false, readOnlyForRules: false });
    expect(live.readOnlyBecause).toBeNull();
    live.chooseReadOnly(true, "anna");
    expect(live.commandRules()).toMatchObject({ read_only: true, readOnlyForRules: true });
    expect(live.readOnlyBecause).toBe("operator");
    expect(told).toBe(2);
    live.reload(await settings("commands: { read_only: false }"));
    expect(live.current.commands.read_only).toBe(false);
  });

  it("switches off nothing that the program gave itself", async () => {
    const live = new LiveSettings(await settings(""));
    live.forceReadOnly("crash_loop");
    live.chooseReadOnly(false, "anna");
    expect(live.commandRules()).toMatchObject({ read_only: true, readOnlyForRules: false });
    expect(live.forcedBecause).toBe("crash_loop");
  });
});

it("a run that is over hears of no reload, and why it refused commands says nothing of the next", async () => {
  const settings = await configurationOf("", await platform());
  const live = new LiveSettings(settings);
  const heard: string[] = [];
  live.onReload(() => heard.push("reload"));
  live.onReadOnlyChosen(() => heard.push("chosen"));
  live.forceReadOnly("journal_unread");
  live.noteOtherBridge(true);
  expect(live.commandRules().otherBridge).toBe(true);
  live.endRun();
  expect(live.forcedBecause).toBeNull();
  expect(live.commandRules().otherBridge).toBe(false);
  live.reload({ ...settings, commands: { ...settings.commands, dry_run: true } });
  live.chooseReadOnly(true, "anna");
  expect(heard).toEqual([]);
  live.endRun();
  expect(live.readOnlyBecause).toBe("operator");
});
