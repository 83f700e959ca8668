import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { linesOf, logged, startProcess } from "../bridge/support/program.js";
import { startProgram } from "../end-to-end/support/program.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";

const fan = (code: string) => ({
  [code]: { actuators: { fan: { kind: "circulation_fan", address: "150", settle: "0s" } } },
});

/** Two accounts at one broker; the platform of `east` is dead. */
async function fleet({ before = "", http = {} }: { readonly before?: string; readonly http?: object } = {}) {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  const { url, seen, say } = await brokerAndClient();
  const alive = await platform();
  const dead = `http://127.0.0.1:${await freePort()}`;
  const account = (hosts: string, more: object = {}) => ({
    platform: { business_url: hosts, realtime_url: hosts, token: "simulator" },
    ...more,
  });
  const write = (name: string, content: object) =>
    writeFile(join(folder, name), JSON.stringify(content), { mode: 0o600 });
  const north = account(alive.businessUrl, { controllers: fan("GH-0001") });
  const file = (more: object) => ({
    defaults: { mqtt: { url }, homeassistant: { enabled: false } },
    ...more,
  });
  await write("fleet.yaml", file(http));
  await write("accounts/north.yaml", north);
  await write("accounts/east.yaml", account(dead));
  const program = startProcess({ folder, args: ["fleet"], ...(before === "" ? {} : { before }) });
  const newest = (topic: string) => seen.findLast((one) => one.topic === topic)?.text;
  const shows = (topic: string, text: string) =>
    until(() => newest(topic) === text, `${topic} ${text}`, [program.stderr]);
  await shows("greenhouse/north/bridge/state", "online");
  await shows("greenhouse/east/bridge/state", "online");
  await shows("greenhouse/north/gh-0001/availability", "online");
  const run = async (...args: readonly string[]) => startProgram(args, { folder }).ended;
  const status = async () => {
    const { stdout } = await run("fleet", "status");
    return (JSON.parse(stdout) as { accounts: Record<string, Record<string, unknown>> }).accounts;
  };
  return { folder, program, seen, say, write, file, north, account, alive, newest, shows, run, status };
}

const anna = { username: "anna", password: "operator-anna", role: "operator" };
const ben = { username: "ben", password: "operator-ben-1", role: "operator", accounts: ["north"] };

/** Logged in at the page of a fleet. */
async function loggedIn(
  url: string,
  { username, password }: Readonly<Record<"username" | "password", string>>,
) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ username, password });
  const answer = await fetch(`${url}/api/login`, { method: "POST", headers, body });
  const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  const ask = async (path: string, sent?: object) => {
    const posted = sent && { method: "POST", body: JSON.stringify(sent) };
    const { status, ...answered } = await fetch(`${url}/${path}`, {
      headers: { ...headers, cookie },
      ...posted,
    }).then(async (one) => ({ status: one.status, text: await one.text() }));
    return { status, text: answered.text, json: () => JSON.parse(answered.text) as unknown };
  };
  return { ask };
}

describe("one page for the accounts of a fleet", () => {
  it("commands an account for who may, shows him nothing of the others, and takes up at SIGHUP who may by then", async () => {
    const port = await freePort();
    const http = { http: { port, users: [anna, ben] } };
    const { folder, program, write, file, shows, status } = await fleet({ http });
    const url = `http://127.0.0.1:${port}`;
    const [operator, ofNorth] = [await loggedIn(url, anna), await loggedIn(url, ben)];
    const command = { id: "first", controller: "GH-0001", actuator: "fan", command: "on" };
    expect((await ofNorth.ask("api/accounts/north/commands", command)).json()).toEqual({ id: "first" });
    await shows("greenhouse/north/gh-0001/actuator/fan/state", "on");
    const ended = () => ofNorth.ask("api/accounts/north/commands/first").then((one) => one.json());
    await expect
      .poll(ended, { timeout: 20_000 })
      .toMatchObject({ phase: "done", result: { outcome: "confirmed", by: "ben", via: "page:ben" } });
    const log = (await ofNorth.ask("api/accounts/north/journal?kind=login")).text;
    expect(log).toMatch(/"user":"ben".*"user":"anna"/s);
    expect((await operator.ask("api/accounts/east/journal?kind=login")).text).not.toContain("ben");
    expect((await ofNorth.ask("api/accounts/east/overview")).status).toBe(404);
    const metrics = (await ofNorth.ask("api/metrics")).text;
    expect(metrics).toContain('greenhouse2mqtt_platform_state{account="north",state="online"} 1');
    expect(metrics).not.toContain("east");
    const told = async () => ({
      page: ((await operator.ask("api/health")).json() as { accounts: object }).accounts,
      status: await status(),
    });
    await expect
      .poll(told, { timeout: 20_000 })
      .toSatisfy(({ page, status: known }) => isDeepStrictEqual(page, known));
    await write("fleet.yaml", file({ http: { port, users: [anna, { ...ben, accounts: ["east"] }] } }));
    await writeFile(join(folder, "accounts/west.yaml"), "platform: [", { mode: 0o600 });
    program.signal("SIGHUP");
    await expect.poll(async () => (await ofNorth.ask("api/accounts/east/overview")).status).toBe(200);
    expect((await ofNorth.ask("api/accounts/north/overview")).status).toBe(404);
    const west = { state: "refused", error: expect.stringMatching(/^west\.yaml:1:\d+/) as string };
    expect((await operator.ask("api/accounts")).json()).toMatchObject({ accounts: { west } });
    expect((await operator.ask("api/accounts/west/overview")).json()).toMatchObject({
      error: "account_away",
    });
    expect(program.stderr).not.toContain(anna.password);
  });
});

describe("a fleet of two accounts, one of them at a dead platform", () => {
  it("mirrors and commands the other one, and says of each how it is", async () => {
    const { run, shows, status, seen } = await fleet();
    const { code, stdout } = await run("set", "GH-0001", "fan", "on", "--account", "north");
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "confirmed" });
    expect(code).toBe(0);
    await shows("greenhouse/north/gh-0001/actuator/fan/state", "on");
    await shows("greenhouse/east/bridge/platform", "unreachable");
    expect(seen.some(({ topic }) => topic === "greenhouse/bridge/state")).toBe(false);
    await expect.poll(async () => (await status())["east"]?.["alarms"], { timeout: 30_000 }).toBe(1);
    expect(await status()).toMatchObject({
      north: { state: "running", platform: "online", broker: "online", restarts: 0, alarms: 0 },
      east: { state: "running", platform: "unreachable", worst: "error" },
    });
    expect((await run("journal", "--account", "north", "--json")).stdout).toContain('"confirmed"');
    expect((await run("journal", "--account", "east", "--json")).stdout).toBe("");
  });

  it("takes up at SIGHUP what was added, changed and removed, and the others do not notice", async () => {
    const { folder, program, write, account, alive, north, newest, shows, seen } = await fleet();
    const info = () => newest("greenhouse/north/bridge/info");
    await until(() => info() !== undefined, "shown");
    // What it counts may still change; when it began does not.
    const startedAt = () => (JSON.parse(info() ?? "{}") as { started_at?: string }).started_at;
    const before = startedAt();
    await write("accounts/west.yaml", account(alive.businessUrl, { mirror: "listed" }));
    await rm(join(folder, "accounts/east.yaml"));
    program.signal("SIGHUP");
    await shows("greenhouse/west/bridge/state", "online");
    await shows("greenhouse/east/bridge/state", "offline");
    await writeFile(join(folder, "accounts/north.yaml"), "platform: [", { mode: 0o600 });
    program.signal("SIGHUP");
    await until(() => logged(program, "was not read again") !== undefined, "said", [program.stderr]);
    expect(logged(program, "was not read again")).toMatchObject({ account: "north" });
    expect(
      seen.filter(
        ({ topic, text }) => topic.startsWith("greenhouse/north/bridge/state") && text === "offline",
      ),
    ).toEqual([]);
    await rename(join(folder, "accounts"), join(folder, "away"));
    program.signal("SIGHUP");
    await until(() => logged(program, "folder of the accounts cannot be read") !== undefined, "said");
    await rename(join(folder, "away"), join(folder, "accounts"));
    expect(startedAt()).toBe(before);
    await write("accounts/north.yaml", { ...north, commands: { read_only: true } });
    program.signal("SIGHUP");
    await until(() => info()?.includes('"read_only":true') === true, "shown");
    const { code } = await program.end("SIGTERM");
    expect(code).toBe(0);
    await shows("greenhouse/north/bridge/state", "offline");
  });

  it("carries out the commands of one while another is flooded with them and its disk takes nothing", async () => {
    const before = `
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      const { open } = fs.promises;
      fs.promises.open = async (path, ...rest) => {
        const handle = await open(path, ...rest);
        if (!String(path).includes("/data/west/")) return handle;
        const full = () =>
          fs.existsSync("full") && Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
        for (const name of ["write", "writev", "writeFile", "appendFile", "datasync", "sync"]) {
          const original = handle[name].bind(handle);
          handle[name] = (...given) => full() || original(...given);
        }
        return handle;
      };
      syncBuiltinESMExports();
    `;
    const { folder, program, write, account, shows, say, seen } = await fleet({ before });
    const west = await platform({ controllers: 3 });
    await write("accounts/west.yaml", account(west.businessUrl, { controllers: fan("GH-0003") }));
    await rm(join(folder, "accounts/east.yaml"));
    program.signal("SIGHUP");
    await shows("greenhouse/west/gh-0003/availability", "online");
    await writeFile(join(folder, "full"), "");
    const results = (of: string) =>
      seen
        .filter(
          ({ topic }) => topic.startsWith(`greenhouse/${of}/`) && topic.endsWith("/actuator/fan/result"),
        )
        .map(({ text }) => JSON.parse(text) as { id: string; outcome: string; reason: string });
    const flood = Array.from({ length: 2_000 }, (_, at) =>
      say("greenhouse/west/gh-0003/actuator/fan/set", at % 2 === 0 ? "on" : "off"),
    );
    for (const [at, command] of ["on", "off", "on"].entries()) {
      await say("greenhouse/north/gh-0001/actuator/fan/set", { id: `n${at}`, command });
      await until(() => results("north").some(({ id }) => id === `n${at}`), `n${at} ended`, [program.stderr]);
    }
    await Promise.all(flood);
    expect(results("north").map(({ outcome }) => outcome)).toEqual(["confirmed", "confirmed", "confirmed"]);
    await until(() => results("west").some(({ reason }) => reason === "journal_unavailable"), "refused", [
      program.stderr,
    ]);
    expect(results("west").filter(({ outcome }) => outcome === "confirmed")).toEqual([]);
    expect(program.hasEnded).toBe(false);
  });

  it("ends an account alone by an error that nobody caught there, and starts it again; what it left is in its journal", async () => {
    // Behind the first thing of an account that is due once the file is there: without it something might be waited for that never comes.
    const before = `
      import { AsyncLocalStorage } from "node:async_hooks";
      import { existsSync } from "node:fs";
      const accounts = new Set();
      const { run } = AsyncLocalStorage.prototype;
      AsyncLocalStorage.prototype.run = function (...given) {
        accounts.add(this);
        return run.apply(this, given);
      };
      const later = globalThis.setTimeout;
      let isDone = false;
      globalThis.setTimeout = (call, ms, ...rest) => later(() => {
        const isOfAccount = [...accounts].some((account) => account.getStore() !== undefined);
        const isNow = !isDone && isOfAccount && existsSync("break");
        isDone ||= isNow;
        call(...rest);
        if (isNow) throw new Error("a defect");
      }, ms);
    `;
    const { folder, program, newest, shows } = await fleet({ before });
    await writeFile(join(folder, "break"), "");
    await until(() => logged(program, "ended by an error") !== undefined, "told", [program.stderr]);
    const { account } = logged(program, "ended by an error") ?? {};
    const other = account === "north" ? "east" : "north";
    await shows(`greenhouse/${String(account)}/bridge/state`, "offline");
    expect(newest(`greenhouse/${other}/bridge/state`)).toBe("online");
    await shows(`greenhouse/${String(account)}/bridge/state`, "online");
    expect(linesOf(program).filter(({ msg }) => msg === "starting an account").length).toBe(3);
    const journal = join(folder, "data", String(account), "journal");
    const files = (await readdir(journal)).filter((name) => name.endsWith(".jsonl"));
    const records = await Promise.all(files.map((name) => readFile(join(journal, name), "utf8")));
    expect(records.join("")).toContain("ended at");
    expect(records.join("")).toContain("a defect");
    expect(program.hasEnded).toBe(false);
  });
});
