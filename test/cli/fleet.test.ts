import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type AskSocket, atSocket } from "../../src/beside/own-socket.js";
import { platform, tokenEnv } from "../config/loading.js";
import { folder, greenhouse2mqtt } from "./in-process.js";

/** A fleet with one account, at hosts and a broker that are not there, and a program that runs until the test ends. */
async function fleet(own = "") {
  const place = await folder();
  await mkdir(join(place, "accounts"));
  const file = join(place, "fleet.yaml");
  const north = join(place, "accounts/north.yaml");
  await writeFile(file, "defaults: { mqtt: { url: mqtt://127.0.0.1:1 } }\n");
  await writeFile(north, `${platform}\n${own}`, { mode: 0o600 });
  const stop = new AbortController();
  const lines: Record<string, unknown>[] = [];
  const said = (text: string) => {
    for (const line of text.split("\n").filter((one) => one.startsWith("{")))
      lines.push(JSON.parse(line) as Record<string, unknown>);
  };
  const run = (...words: readonly string[]) => {
    const ended = greenhouse2mqtt([...words, "-c", file], { env: tokenEnv, stop: stop.signal, said });
    onTestFinished(async () => {
      stop.abort();
      await ended;
    });
  };
  const ask = <Answer>(work: (ask: AskSocket) => Promise<Answer>) =>
    atSocket({ data_dir: join(place, "data/north") }, work, stop.signal);
  return { north, lines, run, ask };
}

it("the level of the command line holds in the logs of all accounts, over that of their files", async () => {
  const { lines, run } = await fleet("log: { level: warn }\n");
  run("fleet", "--log-level", "info");
  await expect
    .poll(() => lines.find(({ account }) => account === "north")?.["msg"])
    .toBe("starting an account");
});

it("one account that runs by itself shows and changes its own file on the page", async () => {
  const { north, lines, run, ask } = await fleet();
  run("run", "--account", "north");
  const settings = () => ask(async (asked) => (await asked("/api/settings")).document);
  await expect.poll(settings, { timeout: 10_000 }).toMatchObject({ file: north });
  expect(lines.find(({ msg }) => msg === "starting")).toMatchObject({ config: north });
});

it.each<readonly [readonly string[]]>([
  [["journal"]],
  [["journal", "import"]],
  [["journal", "export", "out"]],
  [["run"]],
  [["discover"]],
  [["doctor"]],
  [["doctor", "--watch", "1h"]],
  [["alarms"]],
  [["tags"]],
  [["get", "station"]],
  [["read", "GH-1", "1"]],
  [["set", "GH-1", "roof", "10"]],
  [["history", "GH-1"]],
  [["cleanup"]],
  [["lock", "GH-1", "roof"]],
  [["unlock", "GH-1", "roof"]],
  [["config", "set", "polling.sensors", "2m"]],
  [["config", "unset", "polling.sensors"]],
])("%j with the file of a fleet asks for the account in one sentence", async (words) => {
  const place = await folder({ "fleet.yaml": "accounts: accounts\ndefaults: { mqtt: { url: mqtt://a } }\n" });
  const file = join(place, "fleet.yaml");
  const { code, err } = await greenhouse2mqtt([...words, "-c", file]);
  expect([code, err]).toEqual([
    2,
    `${file}: this is the file of a fleet: say which account is meant with --account NAME\n`,
  ]);
  expect(await readFile(file, "utf8")).toContain("accounts: accounts\ndefaults:");
});

it("the file of a fleet among others that are checked is named as one, in one sentence", async () => {
  const place = await folder({
    "config.yaml": `${platform}\n`,
    "fleet.yaml": "accounts: accounts\ndefaults: { mqtt: { url: mqtt://a } }\n",
  });
  const { code, out } = await greenhouse2mqtt([
    "check",
    ...["config.yaml", "fleet.yaml"].map((name) => join(place, name)),
  ]);
  const about = out.split("\n").filter((line) => line.includes("fleet.yaml"));
  expect([code, about]).toEqual([
    2,
    [`${join(place, "fleet.yaml")}: this is the file of a fleet: check it by itself`],
  ]);
});
