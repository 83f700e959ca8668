import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Overview, SettingsDocument, SettingsProposal } from "../../src/page/protocol.js";
import { startProgram } from "../end-to-end/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { running } from "./support/settings-page.js";
import { linesOf, logged } from "./support/program.js";

describe("settings of the page", () => {
  it("are for an admin alone, and show no secret", async () => {
    const { ask, logIn, bridge } = await running();
    expect((await ask("settings")).status).toBe(401);
    await logIn("olga");
    expect(await ask("settings")).toMatchObject({ status: 403, body: { error: "role" } });
    expect((await ask("settings/check", { changes: {} })).status).toBe(403);
    await logIn("anna");
    const { status, body } = await ask("settings");
    expect([status, JSON.stringify(body)]).toEqual([200, expect.not.stringMatching(/canary|scrypt/)]);
    expect(body).toMatchObject({
      not_writable: null,
      given: { "controllers.GH-0001.name": { value: "East", from: "file", line: 11 } },
    });
    expect((await ask("session")).body).toMatchObject({ role: "admin", settings: true });
    expect(bridge.stderr).not.toContain("canary");
  }, 60_000);

  it("are saved into the user's file, and count at once where they are names and groups", async () => {
    const { folder, text, ask, logIn, startedAt, seen, bridge } = await running();
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const changes = { "controllers.GH-0001.name": "West", "groups.fans.members": ["GH-0001/fan"] };
    const proposal = (await ask("settings/check", { changes, language: "zh" })).body as SettingsProposal;
    expect(proposal).toMatchObject({ errors: {}, need_run: [] });
    const saved = await ask("settings", { changes, etag });
    expect(saved).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      `${text.replace("name: East #", "name: West #")}groups:\n  fans:\n    members: [GH-0001/fan]\n`,
    );
    await until(async () => JSON.stringify((await ask("controllers")).body).includes('"West"'), "renamed");
    await until(() => seen.some(({ topic }) => topic === "greenhouse/group/fans/state"), "shown");
    expect([bridge.hasEnded, await startedAt()]).toEqual([false, before]);
    // The login outlives it, and the journal says who it was.
    const { body: journal } = await ask("journal?kind=system");
    expect(journal).toMatchObject({
      records: expect.arrayContaining([
        expect.objectContaining({
          type: "configuration_changed",
          by: "anna",
          changes: ["controllers.GH-0001.name", "groups.fans"],
        }),
      ]) as unknown,
    });
    expect(
      seen.some(
        ({ topic, text: event }) => topic.endsWith("bridge/event") && event.includes('"settings_changed"'),
      ),
    ).toBe(true);
    // What this page knew before is not what the file says now.
    expect(await ask("settings", { changes: { "controllers.GH-0001.name": "North" }, etag })).toMatchObject({
      status: 409,
      body: { error: "changed" },
    });
    expect(await readdir(join(folder, "data", "backups"))).toHaveLength(1);
  }, 60_000);

  it("stand once in the journal, with who saved them; what was edited by hand stands there without a name", async () => {
    const { folder, ask, logIn, bridge } = await running();
    await logIn("anna");
    const named = async (name: string) =>
      until(async () => JSON.stringify((await ask("controllers")).body).includes(`"${name}"`), name);
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const changes = { "controllers.GH-0001.name": "West" };
    expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200 });
    await named("West");
    const file = join(folder, "config.yaml");
    await writeFile(file, (await readFile(file, "utf8")).replace("name: West", "name: North"));
    bridge.signal("SIGHUP");
    await named("North");
    const { records } = (await ask("journal?kind=system")).body as {
      records: { type: string; by?: string }[];
    };
    const changed = records.filter(({ type }) => type === "configuration_changed");
    expect(changed.map(({ by }) => by ?? null)).toEqual([null, "anna"]);
  }, 60_000);

  it("stand once in the journal where they say whether commands are refused, and end what was chosen for the run", async () => {
    const { ask, logIn } = await running();
    await logIn("anna");
    const readOnly = async () =>
      ((await ask("overview")).body as { bridge: { read_only: boolean } }).bridge.read_only;
    expect((await ask("requests/read_only", { read_only: false })).status).toBe(200);
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const changes = { "commands.read_only": true };
    expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200 });
    await until(readOnly, "read-only");
    const { records } = (await ask("journal?kind=system")).body as {
      records: { type: string; by?: string; changes?: string[] }[];
    };
    const changed = records.filter(({ type }) => type === "configuration_changed");
    expect(changed.map(({ by, changes: keys }) => [by ?? null, keys])).toEqual([
      ["anna", ["commands.read_only"]],
      [null, ["commands.read_only is false for this run by anna"]],
    ]);
  }, 60_000);

  it("hide an actuator: it is neither mirrored nor commanded, and what was retained of it is cleared", async () => {
    const { folder, text, ask, logIn, nextRun, startedAt, seen } = await running();
    const state = "greenhouse/gh-0001/actuator/fan/state";
    await until(() => seen.some(({ topic, text: shown }) => topic === state && shown !== ""), "shown");
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const changes = { "controllers.GH-0001.actuators.fan.ignore": true };
    expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      text.replace("address: 150 }", "address: 150, ignore: true }"),
    );
    await nextRun(before);
    await until(() => seen.findLast(({ topic }) => topic === state)?.text === "", "cleared");
    const announced = () =>
      seen.findLast(({ topic }) => topic.startsWith("homeassistant/device/"))?.text ?? "";
    await until(() => announced() !== "" && !announced().includes("actuator/fan"), "not announced any more");
    const refused = await ask("commands", { controller: "gh-0001", actuator: "fan", command: "on" });
    expect(refused).toMatchObject({ status: 409, body: { reason: "unknown_actuator" } });
    expect((await ask("controllers/gh-0001")).body).toMatchObject({ actuators: {} });
  }, 60_000);

  it("move a house in the file, with its remarks, and the overview follows", async () => {
    const more = "  # let to Li\n  GH-0002: { name: West } # small\n";
    const { folder, text, ask, logIn, startedAt } = await running(more);
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const order = { controllers: ["GH-0002", "GH-0001"] };
    expect((await ask("settings/check", { order })).body).toMatchObject({
      errors: {},
      keys: ["controllers"],
    });
    expect(await ask("settings", { order: { controllers: ["GH-9"] }, etag })).toMatchObject({ status: 422 });
    expect(await ask("settings", { order, etag })).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      text.replace(more, "").replace("controllers:\n", `controllers:\n${more}`),
    );
    await until(async () => {
      const { controllers } = (await ask("overview")).body as Overview;
      return controllers["gh-0001"]?.place === 1 && controllers["gh-0002"]?.place === 0;
    }, "in order");
    expect(await startedAt()).toBe(before);
  }, 60_000);

  it("that concern users count at once, without a new run", async () => {
    const { ask, logIn, startedAt } = await running();
    await logIn("anna");
    const before = await startedAt();
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const kept = await ask("settings", {
      changes: { "http.users[2]": { username: "cleo", password: "green-pot-in-rain" } },
      etag,
    });
    expect(kept).toMatchObject({ status: 200, body: { need_run: [] } });
    await until(
      async () => (await ask("login", { username: "cleo", password: "green-pot-in-rain" })).status === 204,
      "let in",
    );
    expect(await startedAt()).toBe(before);
    await logIn("anna");
    const { etag: now } = (await ask("settings")).body as SettingsDocument;
    expect(await ask("settings", { changes: { "http.users[0].role": "viewer" }, etag: now })).toMatchObject({
      status: 422,
      body: { errors: { "http.users": [expect.stringContaining("no longer be an admin")] } },
    });
  }, 60_000);

  it("that are a sensor's first limits count at once, whatever the file said of it", async () => {
    const { bridge, ask, logIn, startedAt, seen } = await running();
    const alarms = () => seen.findLast(({ topic }) => topic.endsWith("/gh-0001/reading_alarms"))?.text ?? "";
    const shown = () => seen.some(({ topic }) => topic.endsWith("/sensor/airtemp"));
    await until(shown, "read");
    await logIn("anna");
    const before = await startedAt();
    const at = "controllers.GH-0001.sensors.airtemp";
    const save = async (changes: object) => {
      const { etag } = (await ask("settings")).body as SettingsDocument;
      expect((await ask("settings/check", { changes })).body).toMatchObject({ errors: {}, need_run: [] });
      expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200, body: { need_run: [] } });
    };
    await save({ [at]: { from: "空气温度", alarm: { high: -50, delay: "0s" } } });
    await until(() => alarms().includes('"limit":"high"'), "raised", [bridge.stderr]);
    await save({ [at]: null, "alarms.humidity": { high: 1, delay: "0s" } });
    await until(() => alarms().includes("airhumi") && !alarms().includes("airtemp"), "of the kind", [
      bridge.stderr,
    ]);
    expect([bridge.hasEnded, await startedAt()]).toEqual([false, before]);
    expect(linesOf(bridge).filter(({ msg }) => String(msg).startsWith("connected to"))).toHaveLength(1);
    // Under another id it is another topic.
    const { body } = await ask("settings/check", {
      changes: {
        [at.replace("airtemp", "roof_air")]: { from: "空气温度", alarm: { high: 40 } },
      },
    });
    expect(body).toMatchObject({ errors: {}, need_run: ["controllers.GH-0001.sensors.roof_air"] });
  }, 60_000);

  it("of a text above 64 KiB are saved too", async () => {
    const { folder, text, ask, logIn } = await running();
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const long = `${text}${"# 温室的说明，写得很长很长\n".repeat(4_000)}`;
    expect((await ask("settings", { text: long, etag })).status).toBe(200);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(long);
    // Of everybody else no more is read than before.
    expect((await ask("commands", { x: "y".repeat(70_000) })).status).toBe(413);
  }, 60_000);

  it("leave a lease, a lock and a command under way as any restart does: each is kept, and has one result", async () => {
    const more = `      valve: { kind: irrigation, address: 210 }
      roof: { kind: skylight, address: 101, travel_time: 20s }
`;
    const { ask, logIn, nextRun, startedAt, seen } = await running(more);
    await logIn("anna");
    const of = (actuator: string, leaf: string) => {
      const topic = `greenhouse/gh-0001/actuator/${actuator}/${leaf}`;
      const texts = seen.flatMap((one) => (one.topic === topic && one.text !== "" ? [one.text] : []));
      return texts.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
    };
    const command = (actuator: string, given: object) =>
      ask("commands", { controller: "gh-0001", actuator, ...given });
    await until(() => of("valve", "allowed").length > 0, "commands are taken");
    const lease = { command: "on", for: "12s", id: "water" };
    expect(await command("valve", lease)).toMatchObject({ status: 202 });
    await until(() => of("valve", "result").some(({ id }) => id === "water"), "watering");
    const lock = { controller: "gh-0001", actuator: "fan", reason: "on the ladder" };
    expect(await ask("requests/lock", lock)).toMatchObject({ status: 200 });
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    // The second waits for its distance from the first.
    for (const begun of [{ command: "open" }, { command: "close", id: "under-way" }])
      expect(await command("roof", begun)).toMatchObject({ status: 202 });
    const results = () =>
      of("roof", "result").filter(({ id, repeated }) => id === "under-way" && repeated === false);
    const changes = { "polling.stale_after": "20m" };
    expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200 });
    expect(results()).toEqual([]);
    await nextRun(before);
    expect(await command("fan", { command: "on" })).toMatchObject({
      status: 409,
      body: { reason: "interlock", message: expect.stringContaining("on the ladder") as string },
    });
    const ended = () => of("valve", "result").filter(({ by }) => String(by).startsWith("lease"));
    await until(() => ended().length > 0, "the water is off");
    expect(ended()).toMatchObject([{ command: "off", outcome: "confirmed" }]);
    await until(() => results().length > 0, "a result");
    expect(results()).toMatchObject([
      { command: "close", outcome: expect.stringMatching(/confirmed|refused/) as string },
    ]);
  }, 90_000);

  it("of the command line are taken up by the bridge that runs", async () => {
    const { folder, logIn, nextRun, startedAt } = await running();
    await logIn("anna");
    const before = await startedAt();
    const set = startProgram(["config", "set", "polling.stale_after", "20m"], { folder });
    expect((await set.ended).code).toBe(0);
    expect(set.stdout).toContain("saved; the running bridge uses it now");
    await nextRun(before);
  }, 60_000);

  it("have an app restarted by Home Assistant, whose token nothing else of the program gets to see", async () => {
    const asked: unknown[] = [];
    const supervisor = createHttpServer(({ method, url, headers }, response) => {
      asked.push([method, url, headers.authorization]);
      response.end("{}");
    });
    await once(supervisor.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void supervisor.close());
    const { port: at } = supervisor.address() as AddressInfo;
    const { ask, logIn } = await running("", {
      SUPERVISOR_TOKEN: "canary-of-the-supervisor",
      SUPERVISOR_URL: `http://127.0.0.1:${at}`,
    });
    await logIn("anna");
    const { program } = (await ask("settings")).body as SettingsDocument;
    expect(program.can_restart).toBe(true);
    const text = "controllers: { GH-0001: { name: !env SUPERVISOR_TOKEN } }\n";
    const proposal = (await ask("settings/check", { text })).body as SettingsProposal;
    expect(JSON.stringify(proposal.errors)).toContain("SUPERVISOR_TOKEN is not set");
    expect((await ask("settings/restart", {})).status).toBe(202);
    await expect
      .poll(() => asked)
      .toEqual([["POST", "/addons/self/restart", "Bearer canary-of-the-supervisor"]]);
  }, 60_000);

  it("are not there where http.settings is false", async () => {
    const { folder, text, ask, logIn, bridge } = await running();
    await logIn("anna");
    await writeFile(join(folder, "config.yaml"), text.replace("http:\n", "http:\n  settings: false\n"));
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "in force now: http.settings") !== undefined, "reloaded");
    expect((await ask("settings")).status).toBe(404);
    expect((await ask("session")).body).not.toHaveProperty("settings");
  }, 60_000);
});
