import { execFile, spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import en from "../../locales/en.json" with { type: "json" };
import zh from "../../locales/zh.json" with { type: "json" };
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { endsWithThisProcess } from "../support/at-exit.js";
import { freePort } from "../support/mosquitto.js";

/* A language is one file of `locales`: with a made-up one beside the others, and nothing else changed, it can be chosen everywhere. */

const run = promisify(execFile);

/** What each word of it begins with. */
const mark = "¿";
const marked = (words: Readonly<Record<string, string>>, keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, `${mark}${words[key] ?? ""}`]));

/** The program with that file, built as it is in the repository. */
let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-language-"));
  for (const name of ["src", "locales", "build", "package.json", "tsconfig.json", "LICENSE"])
    await cp(resolve(name), join(copy, name), { recursive: true });
  await symlink(resolve("node_modules"), join(copy, "node_modules"));
  const sections = Object.entries<Readonly<Record<string, string>>>(zh).map(([section, words]) => [
    section,
    marked(
      (en as Readonly<Record<string, Readonly<Record<string, string>>>>)[section] ?? {},
      Object.keys(words),
    ),
  ]);
  await writeFile(join(copy, "locales/eo.json"), JSON.stringify(Object.fromEntries(sections)));
  await run(process.execPath, ["build/build.mjs"], { cwd: copy });
}, 180_000);
afterAll(() => rm(copy, { recursive: true, force: true }));

const program = () => join(copy, "dist/main.js");

async function said(folder: string, ...args: readonly string[]): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  const ended = await run(process.execPath, [program(), ...args], { cwd: folder, env }).catch(
    (error: unknown) => error as { readonly stdout: string; readonly stderr: string },
  );
  return ended.stdout + ended.stderr;
}

const hosts = (url: string) =>
  `platform: { business_url: "${url}", realtime_url: "${url}", token: simulator }`;

it("check speaks it, and names it where there is no such language", async () => {
  const folder = await tempFolder({
    "config.yaml": `${hosts("http://127.0.0.1:1")}\nlanguage: eo\npoling: {}\n`,
    "other.yaml": `${hosts("http://127.0.0.1:1")}\nlanguage: yy\n`,
  });
  expect(await said(folder, "check")).toContain(`poling: ${mark}unknown key`);
  expect(await said(folder, "check", "other.yaml")).toMatch(/language: expected one of en, eo, zh/);
});

it("the page has its words, each with the part that says them", async () => {
  const folder = join(copy, "dist/page/assets");
  const files = await readdir(folder);
  const texts = await Promise.all(
    files.filter((name) => name.endsWith(".js")).map((name) => readFile(join(folder, name), "utf8")),
  );
  const having = (words: string) => texts.filter((text) => text.includes(`${mark}${words}`));
  const [main] = having(en.page.group_by_nothing);
  expect([having(en.page.group_by_nothing).length, main?.includes(`${mark}${en.settings.remove}`)]).toEqual([
    1,
    false,
  ]);
  expect(having(en.settings.remove)).toHaveLength(1);
  expect(having(en.setup.setup_what)).toHaveLength(1);
  expect(main).toMatch(/["`]eo["`]/);
});

it("requests, Home Assistant and messages speak it", async () => {
  const { url, seen, client } = await brokerAndClient();
  const { businessUrl } = await platform();
  const port = await freePort();
  const text = `${hosts(businessUrl)}
language: eo
mqtt: { url: "${url}" }
http: { port: ${port} }
notify: { daily: { at: "07:00" }, ways: { me: { webhook: { url: "http://127.0.0.1:1/" } } } }
controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: 150 } } } }
`;
  const folder = await tempFolder({ "config.yaml": text });
  const bridge = spawn(process.execPath, [program(), "run"], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: "ignore",
  });
  endsWithThisProcess(bridge);
  onTestFinished(() => void bridge.kill("SIGKILL"));
  const find = (topic: RegExp, about = "") =>
    seen.findLast((one) => topic.test(one.topic) && one.text.includes(about))?.text;
  const patience = { timeout: 30_000, interval: 50 };
  const device = await vi.waitUntil(() => find(/^homeassistant\/device\//, "actuator/fan"), patience);
  expect(device).toContain(`"name":"${mark}${en.entities["entity.connectivity"]}"`);
  const request = { controller: "none", actuator: "none", by: "anna", language: "eo" };
  client.publish("greenhouse/bridge/request/lock", JSON.stringify(request));
  const answer = await vi.waitUntil(() => find(/bridge\/response\/lock$/), patience);
  expect(answer).toContain(mark);
  expect(await said(folder, "notify", "--daily", "--print")).toContain(mark);
}, 90_000);
