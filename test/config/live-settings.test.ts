import { describe, expect, it } from "vitest";
import { changedKeys, LiveSettings, reloadableKeys } from "../../src/config/live-settings.js";
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
  ])("%s", (_, before, next, changed) => expect(changedKeys(before, next)).toEqual(changed)));

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
        "controllers: { GH-0001: { name: East } }",
      ].join("\n"),
      simulator,
    );
    const live = new LiveSettings(before);
    const told: unknown[] = [];
    live.onReload((reloaded) => told.push(reloaded));
    const first = live.reload(next);
    expect(first).toEqual({
      applied: ["commands.max_age", "commands.read_only", "http.allowed_hosts", "http.token", "log.level"],
      needRestart: ["commands.min_interval", "controllers.GH-0001"],
    });
    expect(told).toEqual([first]);
    expect(live.current).toMatchObject({
      commands: { read_only: true, max_age: 30_000, min_interval: before.commands.min_interval },
      http: { token: "second-token", allowed_hosts: ["pi.local"] },
      log: { level: "debug" },
      controllers: {},
    });
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

  it("every key that is said to be reloadable really comes into force", async () => {
    const before = await settings("http: { port: 0 }");
    const changed = {
      ...before,
      updates: true,
      log: { ...before.log, level: "trace" as const },
      commands: {
        ...before.commands,
        ...{ read_only: true, dry_run: true, max_age: 1, require_age: true, require_by: true },
      },
      http: before.http && {
        ...before.http,
        ...{ token: "new-token", allowed_hosts: ["x"], settings: false, overview: [] },
        users: [{ username: "anna", password: "x", role: "admin" as const }],
      },
    };
    const live = new LiveSettings(before);
    expect(new Set(live.reload(changed).applied)).toEqual(reloadableKeys);
    expect(changedKeys(live.current, changed)).toEqual([]);
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
