import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/*
 * Pictures of the page for the documents: `node build/pictures.mjs [FOLDER]` after `npm run build`. The built program runs
 * with the simulated platform, and a Chromium (`CHROMIUM` names another) looks at it, in both languages. `ONLY=calm,storm` and
 * `LANGUAGES=zh` take some of them.
 */

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const folder = process.argv[2] ?? fileURLToPath(new URL("../docs/pictures", import.meta.url));
const largestBytes = 150_000;
const sizes = { desk: { width: 1280, height: 860 }, phone: { width: 360, height: 780 } };
const languages = { en: "en-GB", zh: "zh-CN" };

const running = new Set();

function start(args, cwd) {
  const child = spawn(process.execPath, [main, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const printed = async (pattern) => {
    for (let tries = 0; tries < 600; tries += 1) {
      const found = pattern.exec(output);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`${args[0]} did not print ${pattern}:\n${output}`);
  };
  return { child, printed, output: () => output };
}

async function end({ child }) {
  if (child.exitCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function picture(page, name, language, size) {
  const file = join(folder, `page-${name}-${size}${language === "zh" ? "-zh" : ""}.png`);
  await page.mouse.move(0, 0);
  const { width, height } = sizes[size];
  // A picture that is too large for a repository shows less of the foot.
  for (const less of [0, 80, 160, 240]) {
    await page.setViewportSize({ width, height: height - less });
    await page.screenshot({ path: file });
    if ((await stat(file)).size <= largestBytes) break;
  }
  await page.setViewportSize(sizes[size]);
  console.log(`${file} ${(await stat(file)).size}`);
}

/** A browser of its own in each size, at a page with its user logged in. */
async function visited(browser, url, language, login, look) {
  for (const [size, viewport] of Object.entries(sizes)) {
    const context = await browser.newContext({ viewport, locale: languages[language], colorScheme: "light" });
    const page = await context.newPage();
    await page.goto(url);
    if (login) {
      await page.fill("input[name=username]", login.username);
      await page.fill("input[name=password]", login.password);
      await page.press("input[name=password]", "Enter");
    }
    await page.waitForSelector("main#content");
    await wait(3_000);
    await look(page, (name) => picture(page, name, language, size), size);
    await context.close();
  }
}

const at = async (page, hash) => {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await wait(2_000);
};

const names = {
  en: { skylights: "All skylights", night: "Night" },
  zh: { skylights: "全部天窗", night: "夜间" },
};

/** A quiet day: overview, one controller, groups and scenes. */
async function calm(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const [platform, port, broker] = [await freePort(), await freePort(), await freePort()];
  const simulator = start(
    ["simulate", "--port", String(platform), "--controllers", "6", "--speed", "20", "--language", language],
    work,
  );
  await simulator.printed(/controllers:/);
  await wait(500);
  const { skylights, night } = names[language];
  const written = simulator
    .output()
    .slice(simulator.output().indexOf("platform:"))
    .split(/^\{|^\d\d:\d\d/m)[0];
  const text = [
    written.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `language: ${language}`,
    `broker: { port: ${broker} }`,
    `http: { port: ${port}, users: [{ username: anna, password: operator-anna, role: operator }] }`,
    "polling: { controllers: 10s, sensors: 2s, running_status: 5s, actuators: 2s }",
    "groups:",
    `  skylights: { name: ${skylights}, members: [GH-0001/left_skylight, GH-0001/right_skylight] }`,
    "scenes:",
    `  night: { name: ${night}, commands: { group/skylights: close, GH-0001/grow_light: off } }`,
    "",
  ].join("\n");
  await writeFile(join(work, "config.yaml"), text, { mode: 0o600 });
  const bridge = start(["run"], work);
  await bridge.printed(/the page is at/);
  await wait(12_000);
  const login = { username: "anna", password: "operator-anna" };
  await visited(browser, `http://127.0.0.1:${port}/`, language, login, async (page, take) => {
    await take("overview");
    await page.getByText(skylights).first().click();
    await wait(500);
    await take("groups");
    await page.reload();
    await wait(3_000);
    await at(page, "#/controller/gh-0001");
    await take("controller");
    for (const view of ["journal", "diagnostics", "log"]) {
      await at(page, `#/${view}`);
      await take(view);
    }
  });
  await end(bridge);
  await end(simulator);
  await rm(work, { recursive: true, force: true });
}

/** Nobody is there yet: the first operator is to be made. */
async function firstVisit(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const [platform, port, broker] = [await freePort(), await freePort(), await freePort()];
  const simulator = start(
    ["simulate", "--port", String(platform), "--controllers", "3", "--language", language],
    work,
  );
  await simulator.printed(/controllers:/);
  await wait(500);
  const written = simulator
    .output()
    .slice(simulator.output().indexOf("platform:"))
    .split(/^\{|^\d\d:\d\d/m)[0];
  const more = `language: ${language}\nbroker: { port: ${broker} }\nhttp: { port: ${port} }\n`;
  await writeFile(join(work, "config.yaml"), `${written}\n${more}`, { mode: 0o600 });
  const bridge = start(["run"], work);
  await bridge.printed(/the page is at/);
  await wait(12_000);
  await visited(browser, `http://127.0.0.1:${port}/`, language, null, async (page, take) => {
    await page
      .getByText(/Make the first operator|创建第一个操作员/)
      .first()
      .click();
    await wait(500);
    await take("first-visit");
  });
  await end(bridge);
  await end(simulator);
  await rm(work, { recursive: true, force: true });
}

/** In the storm of the demo, once the guards hold. */
async function storm(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const demo = start(["demo", "--storm", "--language", language, "--log-level", "error"], work);
  const [, url] = await demo.printed(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  await demo.printed(/guard_unmet\.gh-0001\.right_skylight \S+ [^\n]*(?:active|报警中)/);
  const login = { username: "demo", password: "demo" };
  await visited(browser, url, language, login, async (page, take) => {
    await take("storm-overview");
    await at(page, "#/controller/gh-0001");
    await take("storm");
    await at(page, "#/alarms");
    await take("alarms");
  });
  await end(demo);
  await rm(work, { recursive: true, force: true });
}

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const wanted = (process.env.ONLY ?? "calm,firstVisit,storm").split(",");
try {
  for (const language of (process.env.LANGUAGES ?? Object.keys(languages).join(",")).split(","))
    for (const [name, make] of Object.entries({ calm, firstVisit, storm }))
      if (wanted.includes(name)) await make(browser, language);
} finally {
  await browser.close();
  for (const child of running) child.kill("SIGKILL");
}
