import { chmod } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { createStage } from "../end-to-end/support/stage.js";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { startMosquitto } from "../support/mosquitto.js";
import { englishOn } from "./english.js";
import { logIn, opened, scene, visit, withBrowser } from "./scene.js";

/* The page in Chinese: no view shows English but names, ids, values and what a person types. */

withBrowser();

const days: readonly (readonly [day: string, args: readonly string[], begun: RegExp])[] = [
  ["on a calm day", [], /./],
  ["in a storm", ["--storm"], /guard_unmet\.gh-0001\.right_skylight/],
];

it.each(days)(
  "no view of the page shows English to who reads Chinese %s",
  { timeout: 240_000 },
  async (_, args, begun) => {
    const stage = await createStage();
    onTestFinished(() => stage.clear());
    const demo = stage.program(["demo", "--language", "zh", "--controllers", "3", ...args], {
      env: { LC_ALL: "zh_CN.UTF-8" },
    });
    const [, url = ""] = await demo.untilPrinted(/(http:\/\/127\.0\.0\.1:\d+)\//, 60_000);
    if (args.length > 0) await demo.untilPrinted(begun, 150_000);
    // Its address is printed when the broker listens, moments before the page.
    const answers = () =>
      fetch(url).then(
        () => true,
        () => false,
      );
    await expect.poll(answers, { timeout: 30_000 }).toBe(true);
    const { page } = await visit(url, "", { locale: "zh-CN" });
    await page.fill("input[name=username]", "demo");
    await page.fill("input[name=password]", "demo");
    await page.press("input[name=password]", "Enter");
    await page.waitForSelector("a.row", { timeout: 60_000 });
    const found = new Map<string, readonly string[]>();
    const look = async (view: string) => {
      const lines = await englishOn(page);
      if (lines.length > 0) found.set(view, lines);
    };
    const at = async (hash: string) => {
      await page.goto(`${url}/${hash}`);
      await page.waitForSelector("main h1, main h2");
    };
    for (const view of ["overview", "wall", "journal", "alarms", "diagnostics", "log"]) {
      await at(`#/${view}`);
      await look(view);
    }
    await at("#/controller/gh-0001");
    const lines = page.locator("article.card .line");
    for (let card = 0; card < (await lines.count()); card += 1) await lines.nth(card).click();
    await look("controller");
    await page.locator(".readings button").first().click();
    await page.waitForSelector("dialog");
    await look("trend");
    expect(Object.fromEntries(found)).toEqual({});
  },
);

const http = "  users: [{ username: anna, password: operator-anna-1, role: admin }]";

/** What cannot be reached, refuses, or is broken, so that there is something to tell. */
const troubled = `
  GH-0001:
    name: 东棚
    actuators:
      left_skylight: { kind: skylight, address: "101", name: 左天窗, travel_time: 2s, settle: 0s, confirm_within: 2s }
      mist: { kind: irrigation, address: "210", name: 喷雾, settle: 0s, confirm_within: 2s, limits: { at_most: 45s } }
groups: { roofs: { name: 全部天窗, members: [GH-0001/left_skylight] } }
notify:
  language: zh
  ways:
    desk: { webhook: { url: "http://127.0.0.1:9/hook" } }
`;

it("no part of the settings, no answer and no line about a command shows English to who reads Chinese", async () => {
  const { url, folder } = await scene({ http, controllers: troubled });
  const { page } = await visit(url, "#/controller/gh-0001", { locale: "zh-CN" });
  await logIn(page, "anna", "operator-anna-1");
  const found = new Map<string, readonly string[]>();
  const look = async (view: string) => {
    const lines = await englishOn(page);
    if (lines.length > 0) found.set(view, lines);
  };
  const mist = await opened(page, "喷雾");
  await mist.getByRole("button", { name: "开启", exact: true }).click();
  await look("a time");
  await mist.locator(".primary").click();
  await mist.locator(".result").waitFor({ timeout: 20_000 });
  await look("a result");
  await page.evaluate(() => (location.hash = "#/log"));
  await page
    .locator(".log li", { hasText: /gh-0001.mist on/ })
    .last()
    .waitFor({ timeout: 20_000 });
  const lines = page.locator(".log li", { hasText: /gh-0001.mist on/ });
  for (const line of await lines.all())
    expect(await line.locator("summary").innerText()).toMatch(/\p{Script=Han}/u);
  await look("log");
  // A line that stays English is one line all the same.
  const whole = page.locator(".log summary", { hasText: "push channel" }).first();
  expect((await whole.boundingBox())?.height ?? Infinity).toBeLessThan(60);
  await page.evaluate(() => (location.hash = "#/diagnostics"));
  await page.getByRole("button", { name: "发送测试消息" }).click();
  await page.locator(".findings li", { hasText: "desk" }).waitFor({ timeout: 40_000 });
  await look("diagnostics");
  await chmod(folder, 0o500);
  onTestFinished(() => chmod(folder, 0o700));
  await page.goto(`${url}/#/settings`);
  await page.reload();
  await page.waitForSelector(".parts button");
  // Root writes wherever it likes.
  if (process.getuid?.() !== 0) await page.getByText("这里无法保存").first().waitFor();
  const parts = page.locator(".parts button");
  for (const part of await parts.all()) {
    await part.click();
    // Closed ones make others when they are opened.
    for (let round = 0; round < 4; round += 1)
      for (const fold of await page.locator(".settings details:not([open]) > summary").all())
        if (await fold.isVisible()) await fold.click();
    await look(`settings: ${await part.innerText()}`);
    if (process.env["PICTURES"] !== undefined)
      await page.screenshot({
        path: `${process.env["PICTURES"]}/zh-${await part.innerText()}.png`,
        fullPage: true,
      });
  }
  expect(Object.fromEntries(found)).toEqual({});
});

it("init --web asks nothing in English of who reads Chinese", async () => {
  const stage = await createStage();
  onTestFinished(() => stage.clear());
  const simulator = stage.keep(await startSimulator({ controllers: 1, seed: 1, speed: 20 }, systemClock));
  const mosquitto = await startMosquitto();
  onTestFinished(() => mosquitto.stop());
  const init = stage.program(["init", "--web"]);
  const [, url = "", code = ""] = await init.untilPrinted(/(http:\S+?)\/ [^]* {2}(\S{9})$/m, 30_000);
  const { page } = await visit(url, "", { locale: "zh-CN" });
  const found = new Map<string, readonly string[]>();
  const look = async (step: string) => {
    const lines = await englishOn(page);
    if (lines.length > 0) found.set(step, lines);
  };
  const send = () => page.locator("form.setup .primary").first().click();
  await page.waitForSelector("input[name=code]");
  await look("code");
  await page.fill("input[name=code]", code);
  await send();
  await page.fill("input[name=business_url]", "http://127.0.0.1:9");
  await page.fill("input[name=realtime_url]", "http://127.0.0.1:9");
  await page.fill("input[name=token]", "simulator");
  await look("platform");
  await send();
  await page.getByText("127.0.0.1:9").first().waitFor({ timeout: 20_000 });
  await look("a platform that is not reached");
  await page.fill("input[name=business_url]", simulator.businessUrl);
  await page.fill("input[name=realtime_url]", simulator.realtimeUrl);
  await send();
  await page.locator("select").selectOption("other", { timeout: 20_000 });
  await page.fill("input[name=url]", "mqtt://127.0.0.1:9");
  await look("broker");
  await send();
  await page.getByText("127.0.0.1:9").first().waitFor({ timeout: 20_000 });
  await look("a broker that is not reached");
  await page.fill("input[name=url]", `mqtt://127.0.0.1:${mosquitto.port}`);
  await send();
  await page.fill("input[name=username]", "anna", { timeout: 20_000 });
  await page.fill("input[name=password]", "sunflowers in a row");
  await look("user");
  await send();
  await page.locator("form.setup .primary").first().waitFor();
  await look("before the search");
  await send();
  await page.locator("form > details > summary").first().waitFor({ timeout: 60_000 });
  await page.evaluate(() => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
  await look("found");
  expect((await page.locator("fieldset").allTextContents()).join("\n")).not.toMatch(
    /\((?:open|closed|auto|off|on)\)/,
  );
  await send();
  await page.getByText("config.yaml").first().waitFor({ timeout: 20_000 });
  await look("done");
  expect(Object.fromEntries(found)).toEqual({});
});
