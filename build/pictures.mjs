import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/*
 * Pictures of the page for the documents: `node build/pictures.mjs [FOLDER]` after `npm run build`. The built program runs
 * with the simulated platform, and a Chromium (`CHROMIUM` names another) looks at it, in both languages. `ONLY=calm,storm` and
 * `LANGUAGES=zh` take some of them; without a folder only those that a page shows. `firstCommand` needs a Mosquitto, and prints how long each step takes at a person's pace.
 */

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const folder = process.argv[2] ?? fileURLToPath(new URL("../docs/pictures", import.meta.url));
const largestBytes = 150_000;
const sizes = { desk: { width: 1440, height: 900 }, phone: { width: 360, height: 780 } };
const languages = { en: "en-GB", zh: "zh-CN" };

const running = new Set();

function start(args, cwd) {
  return watched(
    spawn(process.execPath, [main, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] }),
    args[0],
  );
}

function watched(child, name) {
  running.add(child);
  child.once("exit", () => running.delete(child));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const printed = async (pattern, seconds = 60) => {
    for (let tries = 0; tries < seconds * 10; tries += 1) {
      const found = pattern.exec(output);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`${name} did not print ${pattern}:\n${output}`);
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

/** What the pages and the first pages of the site show; the documents keep no other picture. */
async function shownPictures() {
  const places = ["docs", "docs/zh", "build/site/.vitepress"].map((place) =>
    fileURLToPath(new URL(`../${place}`, import.meta.url)),
  );
  const names = await Promise.all(
    places.map(async (place) =>
      (await readdir(place)).filter((name) => /\.m(?:d|js)$/.test(name)).map((name) => join(place, name)),
    ),
  );
  const texts = await Promise.all(names.flat().map((file) => readFile(file, "utf8")));
  return new Set(texts.join("\n").match(/[a-z-]+\.png/g));
}

const shown = process.argv[2] === undefined ? await shownPictures() : null;

async function picture(page, name, language, size) {
  const fileName = `page-${name}-${size}${language === "zh" ? "-zh" : ""}.png`;
  if (shown?.has(fileName) === false) return;
  const file = join(folder, fileName);
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
    await page.waitForSelector("main#content:not(.login) h1");
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
  en: {
    skylights: "All skylights",
    night: "Night",
    house: "East house",
    remark: "The houses at the river",
    window: "Left skylight",
    take: "Take commands until the next restart",
    confirmed: "confirmed",
  },
  zh: {
    skylights: "全部天窗",
    night: "夜间",
    house: "东棚",
    remark: "河边的温室",
    window: "左天窗",
    take: "下次重启前接受命令",
    confirmed: "已确认",
  },
};

/** The simulated platform, and the lines of configuration that it prints. */
async function simulated(work, controllers, language) {
  const port = await freePort();
  const more = ["--controllers", String(controllers), "--speed", "20", "--language", language];
  const simulator = start(["simulate", "--port", String(port), ...more], work);
  await simulator.printed(/controllers:/);
  await wait(500);
  const output = simulator.output();
  const written = output.slice(output.indexOf("platform:")).split(/^\{|^\d\d:\d\d/m)[0];
  return { simulator, written, url: `http://127.0.0.1:${port}` };
}

/** A quiet day: overview, one controller, groups and scenes. */
async function calm(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const port = await freePort();
  const broker = await freePort();
  const { simulator, written } = await simulated(work, 6, language);
  const { skylights, night } = names[language];
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
  for (const [actuator, word] of [
    ["left_skylight", "30"],
    ["circulation_fan", "on"],
    ["right_skylight", "close"],
  ]) {
    const { child } = start(["set", "GH-0001", actuator, word, "--by", "anna"], work);
    await once(child, "exit");
  }
  const login = { username: "anna", password: "operator-anna" };
  await visited(browser, `http://127.0.0.1:${port}/`, language, login, async (page, take, size) => {
    await take("overview");
    await page.getByText(skylights).first().click();
    await wait(500);
    await take("groups");
    await page.reload();
    await wait(3_000);
    await at(page, "#/controller/gh-0001");
    await take("controller");
    if (size === "phone") {
      await page.locator("article.card .line").first().click();
      await page.locator(".opened .degree .buttons button").nth(2).click();
      await page.locator(".opened").evaluate((card) => card.scrollIntoView({ block: "center" }));
      await wait(500);
      await take("actuators");
    }
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
  const port = await freePort();
  const broker = await freePort();
  const { simulator, written } = await simulated(work, 3, language);
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

/** A simulated day and more: the curves of two sensors, nights, and what was done. */
async function trend(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const demo = start(["demo", "--speed", "1200", "--language", language, "--log-level", "error"], work);
  const [, url] = await demo.printed(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  const login = { username: "demo", password: "demo" };
  const topic = "gh-0001/actuator/left_skylight/set";
  await demo.printed(/mqtt:\/\/127\.0\.0\.1:(\d+)/);
  for (const command of ["30", "close", "60"]) {
    await wait(25_000);
    const port = /mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(demo.output())[1];
    spawn("mosquitto_pub", ["-p", port, "-q", "1", "-t", `greenhouse/${topic}`, "-m", command]);
  }
  await wait(15_000);
  await visited(browser, url, language, login, async (page, take) => {
    await at(page, "#/controller/gh-0001");
    await page.locator(".readings button").first().click();
    await wait(1_000);
    const second = page.locator("dialog select").last();
    await second.selectOption({ index: 2 });
    // The legend has the time, then each curve.
    await page.locator("dialog .u-legend .u-series").nth(2).waitFor({ timeout: 60_000 });
    await wait(500);
    await take("trend");
  });
  await end(demo);
  await rm(work, { recursive: true, force: true });
}

/** The frost night of the demo: all houses on one screen, what is wrong, and the message that a phone gets. */
async function frost(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const messages = [];
  const phone = createHttpServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      messages.push(JSON.parse(body));
      response.setHeader("content-type", "application/json");
      response.end('{"id":"1"}');
    });
  }).listen(0, "127.0.0.1");
  await once(phone, "listening");
  const ntfy = `http://127.0.0.1:${phone.address().port}/farm`;
  const night = ["--frost", "--controllers", "12", "--ntfy", ntfy, "--language", language];
  const demo = start(["demo", ...night, "--log-level", "error"], work);
  const [, url] = await demo.printed(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  await demo.printed(/Below 5 °C|低于 5 °C，/, 300);
  const login = { username: "demo", password: "demo" };
  await visited(browser, url, language, login, async (page, take) => {
    await take("frost");
    await at(page, "#/wall");
    await take("wall");
  });
  await messagePicture(
    browser,
    language,
    messages.toSorted((one, other) => other.message.length - one.message.length)[0],
  );
  await end(demo);
  phone.close();
  await rm(work, { recursive: true, force: true });
}

/** A message as it comes, with nothing of any service's own looks. */
async function messagePicture(browser, language, { title, message }) {
  const context = await browser.newContext({
    viewport: { width: 360, height: 780 },
    locale: languages[language],
  });
  const page = await context.newPage();
  await page.setContent("<main><h1></h1><p></p></main>");
  await page.addStyleTag({
    content:
      "body{margin:0;background:#dfe5e2;font:15px/1.45 sans-serif;padding:16px}main{background:#fff;border-radius:16px;padding:14px 16px}h1{font-size:15px;margin:0 0 6px}p{margin:0;white-space:pre-line}",
  });
  await page.locator("h1").evaluate((node, text) => (node.textContent = text), title);
  await page.locator("p").evaluate((node, text) => (node.textContent = text), message);
  const file = join(folder, `message-frost${language === "zh" ? "-zh" : ""}.png`);
  await page.locator("main").screenshot({ path: file });
  console.log(`${file} ${(await stat(file)).size}`);
  await context.close();
}

/** The platform away, then the bridge too. */
async function outage(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const port = await freePort();
  const broker = await freePort();
  const { simulator, written } = await simulated(work, 6, language);
  const text = [
    written.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `language: ${language}`,
    `broker: { port: ${broker} }`,
    `http: { port: ${port}, users: [{ username: anna, password: operator-anna, role: operator }] }`,
    "polling: { controllers: 10s, sensors: 2s, running_status: 5s, actuators: 2s, stale_after: 20s }",
    "",
  ].join("\n");
  await writeFile(join(work, "config.yaml"), text, { mode: 0o600 });
  const bridge = start(["run"], work);
  await bridge.printed(/the page is at/);
  await wait(15_000);
  const pages = [];
  for (const [size, viewport] of Object.entries(sizes)) {
    const context = await browser.newContext({ viewport, locale: languages[language], colorScheme: "light" });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.fill("input[name=username]", "anna");
    await page.fill("input[name=password]", "operator-anna");
    await page.press("input[name=password]", "Enter");
    await page.waitForSelector("a.row");
    await wait(3_000);
    pages.push([page, (name) => picture(page, name, language, size)]);
  }
  await end(simulator);
  await wait(45_000);
  for (const [page, take] of pages) {
    await take("outage");
    await at(page, "#/controller/gh-0001");
    await take("outage-controller");
  }
  await end(bridge);
  for (const [page, take] of pages) {
    await page.reload();
    await wait(3_000);
    await take("offline");
    await page.context().close();
  }
  await rm(work, { recursive: true, force: true });
}

/** Accounts of a fleet: one is well, one has no platform, one a mistake in its file. */
async function fleet(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const port = await freePort();
  const broker = await mosquitto(work);
  const dead = `http://127.0.0.1:${await freePort()}`;
  const platforms = [await simulated(work, 1, language), await simulated(work, 3, language)];
  const urls = { north: platforms[0].url, east: platforms[1].url, south: dead };
  await mkdir(join(work, "accounts"));
  const write = (file, content) => writeFile(join(work, file), content, { mode: 0o600 });
  const users = [{ username: "anna", password: "operator-anna", role: "operator" }];
  const polling = { controllers: "10s", sensors: "2s", actuators: "2s" };
  const mqtt = { url: broker.url };
  await write("fleet.yaml", JSON.stringify({ defaults: { mqtt, polling }, http: { port, users } }));
  for (const [name, url] of Object.entries(urls)) {
    const hosts = { business_url: url, realtime_url: url, token: "simulator" };
    await write(`accounts/${name}.yaml`, JSON.stringify({ platform: hosts }));
  }
  await write("accounts/west.yaml", "poling: { sensors: 1m }\n");
  const program = start(["fleet"], work);
  await wait(45_000);
  const login = { username: "anna", password: "operator-anna" };
  await visited(browser, `http://127.0.0.1:${port}/`, language, login, (page, take) => take("fleet"));
  await end(program);
  await end(broker);
  for (const { simulator } of platforms) await end(simulator);
  await rm(work, { recursive: true, force: true });
}

async function mosquitto(work) {
  const port = await freePort();
  const file = join(work, "mosquitto.conf");
  await writeFile(file, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n`);
  const path = `${process.env.PATH}:/usr/sbin`;
  const child = spawn("mosquitto", ["-c", file], { env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"] });
  const broker = watched(child, "mosquitto");
  await broker.printed(/running/);
  return { ...broker, url: `mqtt://127.0.0.1:${port}` };
}

/** How fast a person types, and how long one reads before one presses. */
const typingMs = 200;
const readingMs = 3_000;

/** From an empty folder to a command that is confirmed, in the browser alone. */
async function firstCommand(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const folderOfUser = join(work, "greenhouse");
  await mkdir(folderOfUser);
  const broker = await mosquitto(work);
  const { simulator, url: platform } = await simulated(work, 1, language);
  const beganAt = performance.now();
  let stepAt = beganAt;
  const init = start(["init", "--web"], folderOfUser);
  const [, url, code] = await init.printed(/(http:\/\/\S+?)\/ [\s\S]*?([0-9A-Z]{4}-[0-9A-Z]{4})/);
  const context = await browser.newContext({ viewport: sizes.desk, locale: languages[language] });
  const page = await context.newPage();
  await page.goto(url);
  const primary = page.locator("button.primary");
  const typed = async (field, text) => {
    await field.click({ timeout: 60_000 });
    await field.fill("");
    await field.pressSequentially(text, { delay: typingMs });
  };
  const pressed = async (button) => {
    await wait(readingMs);
    await button.click({ timeout: 60_000 });
  };
  const done = async (step) => {
    const seconds = (since) => ((performance.now() - since) / 1000).toFixed(0);
    console.log(`${language} ${step}: ${seconds(stepAt)} s, ${seconds(beganAt)} s since the start`);
    stepAt = performance.now();
    await picture(page, `setup-${step}`, language, "desk");
  };
  await typed(page.locator("input[name=code]"), code);
  await done("code");
  await pressed(primary);
  await typed(page.locator("input[name=business_url]"), platform);
  await typed(page.locator("input[name=realtime_url]"), platform);
  await typed(page.locator("input[name=token]"), "simulator");
  await done("platform");
  await pressed(primary);
  await page.locator("select").selectOption("other", { timeout: 60_000 });
  await typed(page.locator("input[name=url]"), broker.url);
  await done("broker");
  await pressed(primary);
  // The step before has fields of the same names.
  await page.locator("input[autocomplete=new-password]").waitFor({ timeout: 60_000 });
  await typed(page.locator("input[name=username]"), "anna");
  await typed(page.locator("input[name=password]"), "sunflowers in a row");
  await done("user");
  await pressed(primary);
  await pressed(primary.first());
  await pressed(page.locator("form > details > summary").first());
  await typed(page.locator('input[name="GH-0001 name"]'), names[language].house);
  await done("found");
  await pressed(primary);
  await page.locator("pre").first().waitFor({ timeout: 60_000 });
  await done("written");
  await wait(readingMs);
  const run = start(["run"], folderOfUser);
  await run.printed(/the page is at/);
  await page.locator("input[name=username]").waitFor({ timeout: 60_000 });
  await typed(page.locator("input[name=username]"), "anna");
  await typed(page.locator("input[name=password]"), "sunflowers in a row");
  await pressed(primary);
  await pressed(page.getByRole("button", { name: names[language].take }));
  await pressed(page.locator("a.row", { hasText: names[language].house }));
  const window = page.locator("article.card", { hasText: names[language].window }).first();
  await pressed(window.locator(".line"));
  await pressed(window.locator(".degree .buttons button").nth(2));
  await done("choice");
  await pressed(window.locator(".confirm button.primary"));
  await window.locator(".said").getByText(names[language].confirmed).first().waitFor({ timeout: 60_000 });
  await done("confirmed");
  await context.close();
  await end(run);
  await end(simulator);
  await end(broker);
  await rm(work, { recursive: true, force: true });
}

/** A name changed, connections tried, who is logged in, and what is found in the account. */
async function settings(browser, language) {
  const work = await mkdtemp(join(tmpdir(), "pictures-"));
  const { simulator, url: platform } = await simulated(work, 2, language);
  const [port, broker] = [await freePort(), await freePort()];
  const { house, window } = names[language];
  const text = `# ${names[language].remark}
platform: { business_url: "${platform}", realtime_url: "${platform}", token: !secret token }
broker: { port: ${broker} }
language: ${language}
http:
  port: ${port}
  users: [{ username: anna, password: operator-anna-1, role: admin }]
controllers:
  GH-0001:
    name: ${house}
    actuators:
      left_skylight: { kind: skylight, address: 101, name: ${window} }
`;
  await writeFile(join(work, "config.yaml"), text, { mode: 0o600 });
  await writeFile(join(work, "secrets.yaml"), "token: simulator\n", { mode: 0o600 });
  const run = start(["run"], work);
  await run.printed(/the page is at/);
  await wait(3_000);
  const login = { username: "anna", password: "operator-anna-1" };
  const part = (page, place) => page.locator(".parts button").nth(place);
  await visited(browser, `http://127.0.0.1:${port}/`, language, login, async (page, take) => {
    await at(page, "#/settings");
    await page.locator(".settings details summary", { hasText: house }).first().click();
    await page.locator(".settings .fields input").first().fill(`${house} 2`);
    await page.locator(".saving details summary").click();
    await wait(1_500);
    await take("settings-name");
    await page.locator(".saving .bar button").first().click();
    await part(page, 5).click();
    await page.locator(".settings .acting button").first().click();
    await page.locator(".findings li").nth(5).waitFor({ timeout: 60_000 });
    await wait(2_000);
    await take("settings-connections");
    await part(page, 4).click();
    await page.locator(".settings > details > summary").last().waitFor();
    for (const summary of await page.locator(".settings > details > summary").all()) await summary.click();
    await page.evaluate(() => scrollTo(0, 0));
    await wait(1_000);
    await take("settings-people");
  });
  await end(run);
  await end(simulator);
  await rm(work, { recursive: true, force: true });
}

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const all = { calm, firstVisit, storm, frost, outage, trend, fleet, firstCommand, settings };
const wanted = process.env.ONLY?.split(",") ?? Object.keys(all);
try {
  for (const language of (process.env.LANGUAGES ?? Object.keys(languages).join(",")).split(","))
    for (const [name, make] of Object.entries(all)) if (wanted.includes(name)) await make(browser, language);
} finally {
  await browser.close();
  for (const child of running) child.kill("SIGKILL");
}
