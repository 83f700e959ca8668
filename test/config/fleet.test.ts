import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import {
  accountOf,
  isFleetFile,
  loadFleet,
  ownAccounts,
  partOf,
  refusedAccounts,
} from "../../src/config/fleet.js";
import { formatProblem } from "../../src/settings/problem.js";
import { inChinese } from "../support/chinese.js";
import { tempFolder } from "../mqtt-connection/support.js";

const broker = "defaults: { mqtt: { url: mqtt://broker.example.com } }\n";
const hosts = "business_url: https://business.example.com, realtime_url: https://realtime.example.com";
const account = (token: string, more = "") => `platform: { ${hosts}, token: ${token} }\n${more}`;

/** A folder with these files; `fleet.yaml` has a broker where nothing is said. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  for (const [name, text] of Object.entries({ "fleet.yaml": broker, ...files }))
    await writeFile(join(folder, name), text, { mode: 0o600 });
  return folder;
}

async function loadedFrom(files: Readonly<Record<string, string>>) {
  const folder = await folderWith(files);
  const found = await loadFleet(join(folder, "fleet.yaml"), { env: {} });
  const lines = (all: typeof found.problems) =>
    all.map((one) => formatProblem(one).replaceAll(`${folder}/`, ""));
  return { folder, ...found, problemLines: lines(found.problems), warningLines: lines(found.warnings) };
}

const two = { "accounts/north.yaml": account("n"), "accounts/east.yml": account("e") };

describe("the accounts of a fleet", () => {
  it("are its files; topics, client ids and data directories are told apart by their names", async () => {
    const { folder, accounts, problemLines } = await loadedFrom(two);
    expect(problemLines).toEqual([]);
    expect([...accounts.keys()]).toEqual(["east", "north"]);
    const { mqtt, data_dir: dataDir, http } = accounts.get("north")?.configuration ?? {};
    expect(mqtt).toMatchObject({
      url: "mqtt://broker.example.com",
      base_topic: "greenhouse/north",
      client_id: "greenhouse2mqtt-north",
    });
    expect(dataDir).toBe(join(folder, "data", "north"));
    expect(http).toBe(false);
  });

  it("take their keys over the defaults, section by section, and what they name themselves stays", async () => {
    const { accounts } = await loadedFrom({
      "fleet.yaml":
        "defaults:\n  mqtt: { url: mqtt://a, base_topic: farm, username: u, password: p }\n  polling: { sensors: 2m }\n  commands: { require_by: true }\n",
      "accounts/north.yaml": account(
        "n",
        "mqtt: { url: mqtt://b, base_topic: other }\npolling: { actuators: 9m }\n",
      ),
      "accounts/east.yaml": account("e"),
    });
    expect(accounts.get("north")?.configuration).toMatchObject({
      mqtt: { url: "mqtt://b", base_topic: "other", client_id: "greenhouse2mqtt-north", username: "u" },
      polling: { sensors: 120_000, actuators: 540_000 },
      commands: { require_by: true },
    });
    expect(accounts.get("east")?.configuration.mqtt.base_topic).toBe("farm/east");
  });

  it.each<[why: string, files: Readonly<Record<string, string>>, said: string]>([
    [
      "a name that is no level of topics",
      { ...two, "accounts/North Site.yaml": account("x") },
      'accounts/North Site.yaml: "North Site" cannot be an account, as it becomes a level of topics: name the file with a-z, 0-9, "_" and "-" (at most 64)',
    ],
    [
      "two files of one name",
      { ...two, "accounts/north.yml": account("x") },
      'accounts/north.yml: another file is the account "north" already; keep one of them',
    ],
    [
      "a mistake in the file of an account",
      { ...two, "accounts/west.yaml": account("w", "poling: {}\n") },
      'accounts/west.yaml:2:1 poling: unknown key, did you mean "polling"?',
    ],
    [
      "a value of the defaults that an account cannot have",
      { ...two, "fleet.yaml": `${broker.trimEnd().slice(0, -1)}, polling: { sensors: soon } }\n` },
      "fleet.yaml:1:76 defaults.polling.sensors: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s (account east)",
    ],
    [
      "an unknown key in the defaults",
      { ...two, "fleet.yaml": "defaults: { mqtt: { ulr: mqtt://a } }\n" },
      'fleet.yaml:1:21 defaults.mqtt.ulr: unknown key, did you mean "url"?',
    ],
    [
      "an unknown key of the fleet",
      { ...two, "fleet.yaml": `${broker}acounts: ./a\n` },
      'fleet.yaml:2:1 acounts: unknown key, did you mean "accounts"?',
    ],
    [
      "a shard beyond the last",
      { ...two, "fleet.yaml": `${broker}shard: 5/4\n` },
      "fleet.yaml:2:8 shard: there are 4 parts, so the first number is at most 4",
    ],
    [
      "a shard that is none",
      { ...two, "fleet.yaml": `${broker}shard: first\n` },
      "fleet.yaml:2:8 shard: expected i/n, such as 1/4: this process runs the first of four parts",
    ],
    [
      "two accounts of one base topic",
      { ...two, "accounts/west.yaml": account("w", "mqtt: { base_topic: greenhouse/east }\n") },
      "accounts/west.yaml:2:21 mqtt.base_topic: the same base_topic at the same broker as accounts/east.yml:1:1 mqtt.base_topic",
    ],
    [
      "no broker",
      { "fleet.yaml": "data_dir: ./d\n", "accounts/a.yaml": account("a") },
      "accounts/a.yaml:1:1 mqtt: missing url: the accounts of a fleet use a broker that runs by itself; name it under defaults",
    ],
    [
      "two pages at one port",
      {
        "accounts/a.yaml": account("a", "http: { port: 9000 }\n"),
        "accounts/b.yaml": account("b", "http: { port: 9000 }\n"),
      },
      "accounts/b.yaml:2:15 http.port: the same port as accounts/a.yaml:2:15 http.port",
    ],
    [
      "no account",
      { "accounts/secrets.yaml": "a: b\n" },
      "accounts: holds no configuration; each account is a file such as north.yaml",
    ],
    [
      "no folder",
      { "fleet.yaml": `${broker}accounts: ./sites\n` },
      "sites: there is no such folder, or this user may not read it; it holds one configuration an account",
    ],
    [
      "an empty file",
      { "fleet.yaml": "" },
      "fleet.yaml: the file is empty; docs/fleet.md shows what stands in it",
    ],
  ])("%s is said with its place and what to do", async (_, files, said) => {
    expect((await loadedFrom(files)).problemLines).toContain(said);
  });

  it("are told that a data_dir among them has no effect, in both languages", async () => {
    const { accounts, warnings, problems } = await loadedFrom({
      "fleet.yaml": "defaults: { mqtt: { url: mqtt://a }, data_dir: ./x }\ndata_dir: ./d\n",
      "accounts/north.yaml": account("north"),
    });
    expect(problems).toEqual([]);
    const found = warnings.find(({ path }) => path === "defaults.data_dir");
    expect([found?.line, String(found?.message)]).toEqual([
      1,
      expect.stringMatching(/^has no effect: .*outside defaults$/),
    ]);
    expect(inChinese(found?.message ?? "")).toMatch(/^不起作用/);
    expect(accounts.get("north")?.configuration.data_dir).toMatch(/d\/north$/);
  });

  it("have their data where the fleet's file says, wherever the program is started", async () => {
    const folder = await folderWith({
      ...two,
      "fleet.yaml": "defaults: { mqtt: { url: mqtts://a, tls: { ca: ca.pem } } }\ndata_dir: kept\n",
    });
    const { accounts } = await loadFleet(relative(process.cwd(), join(folder, "fleet.yaml")), { env: {} });
    const { data_dir: dataDir, mqtt } = accounts.get("north")?.configuration ?? {};
    expect(dataDir).toBe(join(folder, "kept", "north"));
    expect(mqtt?.tls.ca).toBe(join(folder, "ca.pem"));
  });

  it("without mistakes are there although others have some", async () => {
    const { accounts, refused } = await loadedFrom({
      ...two,
      "accounts/west.yaml": account("w", "poling: {}\n"),
    });
    expect([...accounts.keys()]).toEqual(["east", "north"]);
    expect(refused).toEqual(["west"]);
  });

  it("with one platform login are warned about, as each would log the other out", async () => {
    const { warningLines, problemLines } = await loadedFrom({ ...two, "accounts/west.yaml": account("n") });
    expect(problemLines).toEqual([]);
    expect(warningLines).toEqual([
      "accounts/west.yaml:1:1 platform: the same platform login as account north: each sign-in of one may end the session of the other, and both ask for the same controllers; give each its own login",
    ]);
  });

  it("with one platform login are warned about once, with their number", async () => {
    const names = Array.from({ length: 47 }, (_, at) => `accounts/a${10 + at}.yaml`);
    const { warningLines } = await loadedFrom({
      ...two,
      ...Object.fromEntries(names.map((name) => [name, account("same")])),
    });
    expect(warningLines).toEqual([
      expect.stringContaining(
        "accounts/a11.yaml:1:1 platform: the same platform login as account a10, which 45 more accounts have too: ",
      ),
    ]);
  });

  it("with one controller are run both, with a warning", async () => {
    const { accounts, warningLines, problemLines } = await loadedFrom({
      "accounts/a.yaml": account("a", "controllers: { GH-1: {} }\n"),
      "accounts/b.yaml": account("b", "controllers: { GH-1: {} }\n"),
    });
    expect(problemLines).toEqual([]);
    expect([...accounts.keys()]).toEqual(["a", "b"]);
    expect(warningLines).toEqual([
      "accounts/b.yaml:2:16 controllers.GH-1: two accounts command one actuator without knowing of each other, unless one has ignore: true: the same controller as accounts/a.yaml:2:16 controllers.GH-1",
    ]);
  });

  it("have a page where their own file says at which port", async () => {
    const { accounts, problemLines } = await loadedFrom({
      ...two,
      "accounts/west.yaml": account("w", "http: { port: 9000 }\n"),
    });
    expect(problemLines).toEqual([]);
    expect(accounts.get("west")?.configuration.http).toMatchObject({ port: 9000, host: "127.0.0.1" });
  });

  it("take secrets from the file beside their own, and defaults from that beside the fleet's", async () => {
    const { accounts, problemLines } = await loadedFrom({
      "fleet.yaml": "defaults: { mqtt: { url: mqtt://a, username: u, password: !secret mqtt } }\n",
      "secrets.yaml": "mqtt: of-the-fleet\n",
      "accounts/north.yaml": account("!secret token"),
      "accounts/secrets.yaml": "token: of-north\n",
    });
    expect(problemLines).toEqual([]);
    expect(accounts.get("north")?.configuration).toMatchObject({
      mqtt: { password: "of-the-fleet" },
      platform: { token: "of-north" },
    });
  });

  it("stay where they are, in their part, until the fleet's next start, which is said", async () => {
    const { folder, fleet, accounts } = await loadedFrom(two);
    const moved = `${broker}accounts: ./sites\nshard: 2/2\ndata_dir: ./elsewhere\nplatform: { requests_per_minute: 9 }\n`;
    await writeFile(join(folder, "fleet.yaml"), moved, { mode: 0o600 });
    const file = join(folder, "fleet.yaml");
    const again = await loadFleet(file, { env: {}, inForce: fleet ?? undefined });
    const dataOf = (all: typeof accounts) =>
      [...all].map(([name, one]) => [name, one.configuration.data_dir]);
    expect([again.fleet, dataOf(ownAccounts(again)), again.problems]).toEqual([fleet, dataOf(accounts), []]);
    expect(again.warnings.map((one) => formatProblem(one).replace(`${folder}/`, ""))).toEqual(
      ["2:1 accounts", "3:1 shard", "4:1 data_dir", "5:1 platform"].map(
        (place) => `fleet.yaml:${place}: changes with the next start of the fleet`,
      ),
    );
    const next = await loadFleet(file, { env: {} });
    expect([next.isFolderUnread, next.accounts.size, next.warnings]).toEqual([true, 0, []]);
  });

  it("are found by name for every other command; a wrong name is told with the nearest one", async () => {
    const folder = await folderWith(two);
    const file = join(folder, "fleet.yaml");
    expect(await accountOf("north", file, { env: {} })).toMatchObject({ ok: true });
    const wrong = await accountOf("nroth", file, { env: {} });
    expect(wrong.ok ? [] : wrong.problems.map(({ message }) => message)).toEqual([
      'there is no account "nroth", did you mean "north"?',
    ]);
  });
});

describe("shards", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `site-${at}`);

  it("take every account once, and about as many each", () => {
    const sizes = [1, 2, 3, 4].map((part) => names.filter((name) => partOf(name, 4) === part).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_000);
    for (const size of sizes) expect(size).toBeGreaterThan(200);
  });

  it("that are one more take accounts from all others, and no account moves between those", () => {
    const moved = names.filter((name) => partOf(name, 4) !== partOf(name, 5));
    expect(moved.every((name) => partOf(name, 5) === 5)).toBe(true);
    expect(moved.length).toBeLessThan(270);
  });

  it("run their own accounts alone", async () => {
    const files = Object.fromEntries(
      names.slice(0, 8).map((name) => [`accounts/${name}.yaml`, account(name)]),
    );
    const found = await loadedFrom({ ...files, "fleet.yaml": `${broker}shard: 2/3\n` });
    expect([...ownAccounts(found).keys()]).toEqual(names.slice(0, 8).filter((name) => partOf(name, 3) === 2));
  });
});

describe("the page of all accounts", () => {
  const served = (keys: string) => ({ ...two, "fleet.yaml": `${broker}http: { ${keys} }\n` });
  const anna = "username: anna, password: correct horse";

  it("has users, each of whom sees the accounts that he is given, or all", async () => {
    const users = `users: [{ ${anna}, role: operator, accounts: [north, east] }, { username: ben, password: a longer one }]`;
    const { fleet, problemLines } = await loadedFrom(served(`host: 0.0.0.0, port: 8100, ${users}`));
    expect(problemLines).toEqual([]);
    expect(fleet?.http).toMatchObject({
      host: "0.0.0.0",
      port: 8100,
      users: [{ username: "anna", role: "operator", accounts: ["north", "east"] }, { username: "ben" }],
    });
    expect(fleet?.secrets).toEqual(["correct horse", "a longer one"]);
  });

  it("is not served where the file does not ask for it", async () => {
    expect((await loadedFrom(two)).fleet?.http).toBe(false);
    expect((await loadedFrom({ ...two, "fleet.yaml": `${broker}http: false\n` })).fleet?.http).toBe(false);
  });

  it.each([
    ["port: 0, page: true", /^fleet\.yaml:2:18 http\.page: unknown key/],
    [`users: [{ ${anna}, accounts: [] }]`, /accounts: such a user sees nothing/],
    [`users: [{ ${anna}, accounts: [North] }]`, /accounts\[0\]: expected/],
    ["host: 0.0.0.0", /http\.host: other machines can reach this address, so http\.users must name/],
    ["host: 0.0.0.0, users: [{ username: a, password: short }]", /password: expected at least 12 characters/],
    [`users: [{ ${anna} }, { ${anna} }]`, /username: another user above has this name/],
  ])("with { %s } is refused where the mistake stands", async (keys, message) => {
    const { fleet, problemLines } = await loadedFrom(served(keys));
    expect(fleet).toBeNull();
    expect(problemLines).toEqual([expect.stringMatching(message)]);
  });

  it("warns of a plain password, and of an account that there is not", async () => {
    const { problemLines, warningLines } = await loadedFrom(
      served(`users: [{ ${anna}, accounts: [nroth] }]`),
    );
    expect(problemLines).toEqual([]);
    expect(warningLines).toEqual([
      expect.stringMatching(/^fleet\.yaml:2:\d+ http\.users\[0\]\.password: plain password/),
      expect.stringMatching(
        /^fleet\.yaml:2:\d+ http\.users\[0\]\.accounts\[0\]: there is no account "nroth", did you mean "north"\?/,
      ),
    ]);
  });

  it("and an account with a page of its own cannot share a port", async () => {
    const { accounts, problemLines } = await loadedFrom({
      ...served("port: 9000"),
      "accounts/west.yaml": account("w", "http: { port: 9000 }\n"),
    });
    expect(problemLines).toEqual([
      expect.stringMatching(
        /^accounts\/west\.yaml:2:1 http: the page of the fleet listens at port 9000 already/,
      ),
    ]);
    expect([...accounts.keys()]).toEqual(["east", "north"]);
  });
});

describe("an account that is not run", () => {
  it("is told with its first mistake and how many more there are, of this process's part alone", async () => {
    const found = await loadedFrom({
      ...two,
      "accounts/west.yaml": account("w", "poling: { sensors: 1m }\nhttp: { prt: 1 }\n"),
    });
    const why = refusedAccounts(found);
    expect([...why.keys()]).toEqual(["west"]);
    expect(String(why.get("west"))).toMatch(/^west\.yaml:2:1 poling: unknown key, .*; and 1 more$/);
    const fleet = found.fleet && { ...found.fleet, shard: { part: 3 - partOf("west", 2), of: 2 } };
    expect(refusedAccounts({ ...found, fleet })).toEqual(new Map());
  });
});

it.each([
  ["accounts: ./a\n", true],
  ['{"defaults": {"mqtt": {"url": "mqtt://nas"}}}', true],
  ['# ours\n{ http: false, "shard": 1/2 }', true],
  ["defaults: {\n", true],
  ["platform: { token: x }\n", false],
  ["mqtt: { defaults: 1 }\n", false],
  ["", false],
])("the file of a fleet is known by its keys, however they are written: %j", async (text, isOfFleet) => {
  const reads = () => Promise.resolve({ ok: true as const, bytes: Buffer.from(text), mode: null });
  expect(await isFleetFile("fleet.yaml", reads)).toBe(isOfFleet);
});
