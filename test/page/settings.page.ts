import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Aedes } from "aedes";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { startProgram } from "../end-to-end/support/program.js";
import { axe, logIn, scene, type SceneOptions, visit, withBrowser } from "./scene.js";

withBrowser();

const http =
  "  users:\n    - { username: anna, password: operator-anna-1, role: admin } # the boss\n    - { username: ben, password: viewer-ben-2, role: operator }";

const house = (more: SceneOptions = {}) => scene({ http, ...more });

const pictures = process.env["PICTURES"];

async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

const partButton = (page: Page, name: string) =>
  page.locator(".parts").getByRole("button", { name, exact: true });

async function settingsOf(url: string, options: Parameters<typeof visit>[2] = {}) {
  const visited = await visit(url, "#/settings", options);
  await logIn(visited.page, "anna", "operator-anna-1");
  await expect.poll(() => visited.page.locator(".parts").count()).toBe(1);
  return visited;
}

const brokerAddress = (page: Page) =>
  page
    .locator("details", { has: page.getByText("MQTT broker", { exact: true }) })
    .getByLabel("Address", { exact: true })
    .first();

/** The address of one that somebody else runs. */
async function otherBroker(): Promise<string> {
  const broker = await Aedes.createBroker();
  const server = createServer((socket) => broker.handle(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    broker.close();
    server.close();
  });
  const address = server.address();
  return `mqtt://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

const words = {
  en: {
    ...{ locale: "en-GB", house: "West house", roofs: "All roofs", differs: "What changes in the file" },
    ...{ name: "Name", id: "Id (a-z, 0-9, _)", newName: /^New name/, add: "Add", save: "Save" },
    ...{ groups: "Groups and scenes", members: "Members", limits: "Limits", guards: "Guards" },
    ...{ sensor: "Sensor", above: "Above", allow: "Still allowed", messages: "Alarms and messages" },
    ...{ low: "Too low", high: "Too high", lasting: "For at least" },
    ...{ means: /left_skylight.*air_temperature.*-50/i, number: /expected a number/ },
    ...{ alarm: /West house[^]*above -50 °C/ },
  },
  zh: {
    ...{ locale: "zh-CN", house: "西棚", roofs: "全部天窗", differs: "文件中的变化" },
    ...{ name: "名称", id: "标识（a-z、0-9、_）", newName: /^新名称/, add: "添加", save: "保存" },
    ...{ groups: "分组和场景", members: "成员", limits: "限制", guards: "条件限制" },
    ...{ sensor: "传感器", above: "高于", allow: "仍然允许", messages: "报警和通知" },
    ...{ low: "偏低限值", high: "偏高限值", lasting: "持续时间" },
    ...{ means: /\p{Script=Han}[^]*-50/u, number: /\p{Script=Han}/u },
    ...{ alarm: /西棚[^]*-50/ },
  },
} as const;

const save = async (page: Page) => {
  const button = page.getByRole("button", { name: /^(Save|保存)$/ });
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.click();
};

describe("settings", () => {
  it.each([
    ["en", 360],
    ["zh", 360],
    ["en", 1440],
    ["zh", 1440],
  ] as const)(
    "a house is renamed, grouped, guarded and alarmed without an editor, and then is so: %s, %i px",
    async (spoken, width) => {
      const w = words[spoken];
      const { url, folder, program } = await house();
      const viewport = { width, height: width > 1000 ? 900 : 780 };
      const { page, complaints } = await settingsOf(url, { locale: w.locale, viewport });
      const file = () => readFile(join(folder, "config.yaml"), "utf8");
      const before = await file();
      /** Looked at by a person, and by axe. */
      const isShown = async (name: string) => {
        await picture(page, `house-${spoken}-${width}-${name}`);
        expect([name, await axe(page)]).toEqual([name, []]);
        const fits = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
        expect([name, fits]).toEqual([name, true]);
      };

      await page.locator("summary", { hasText: "East house" }).click();
      await page.getByLabel(w.name, { exact: true }).first().fill(w.house);
      await page.getByText(w.differs).click();
      await expect.poll(() => page.locator(".saving pre").innerText()).toContain(`+    name: ${w.house}`);
      await isShown("1-renamed");
      // A long line of the file pushes no button off the screen.
      const box = await page.getByRole("button", { name: w.save }).boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
      await page.getByText(w.differs).click();

      await partButton(page, w.groups).click();
      await page.getByLabel(w.id, { exact: true }).first().fill("roofs");
      await page.getByRole("button", { name: w.add, exact: true }).first().click();
      await page.getByLabel(w.name, { exact: true }).first().fill(w.roofs);
      await page.getByLabel(w.members, { exact: true }).fill("GH-0001/left_skylight, GH-0001/roof");
      await page.getByLabel(w.members, { exact: true }).blur();
      await expect
        .poll(() => page.locator(".error").allInnerTexts(), { timeout: 20_000 })
        .toContainEqual(expect.stringContaining("roof"));
      await isShown("2-grouped-wrongly");
      await page.getByLabel(w.members, { exact: true }).fill("GH-0001/left_skylight, GH-0001/vent");
      await page.getByLabel(w.members, { exact: true }).blur();

      await partButton(page, w.limits).click();
      await page.locator("summary", { hasText: `${w.house} / Left skylight` }).click();
      const guards = page.locator("summary", { hasText: w.guards }).locator("..");
      await guards.locator("summary").first().click();
      await guards.getByLabel(w.id, { exact: true }).fill("hot");
      await guards.getByRole("button", { name: w.add, exact: true }).click();
      await page.getByLabel(w.sensor, { exact: true }).fill("air_temperature");
      await page.getByLabel(w.above, { exact: true }).fill("-50");
      await page.getByLabel(w.allow, { exact: true }).fill("close, stop");
      await page.getByLabel(w.allow, { exact: true }).blur();
      await expect
        .poll(
          () =>
            page
              .locator(".saving ul")
              .innerText()
              .catch(() => ""),
          { timeout: 20_000 },
        )
        .toMatch(w.means);
      await isShown("3-guarded");

      await partButton(page, w.messages).click();
      await page.getByLabel(w.newName).first().selectOption("temperature");
      await page.getByRole("button", { name: w.add, exact: true }).first().click();
      await page.getByLabel(w.low, { exact: true }).fill("-60");
      await page.getByLabel(w.high, { exact: true }).fill("abc");
      await expect
        .poll(() => page.locator(".error").allInnerTexts(), { timeout: 20_000 })
        .toContainEqual(expect.stringMatching(w.number));
      await page.getByLabel(w.high, { exact: true }).fill("-50");
      await page.getByLabel(w.lasting, { exact: true }).fill("0s");
      await expect.poll(() => page.locator(".error").count(), { timeout: 20_000 }).toBe(0);
      await isShown("4-alarmed");
      await save(page);
      await expect.poll(file, { timeout: 20_000 }).not.toBe(before);

      // Nothing but what was changed is other than before.
      const [old, now] = [before.split("\n"), (await file()).split("\n")];
      expect(old.filter((line) => !now.includes(line))).toEqual([
        "    name: East house",
        expect.stringContaining("left_skylight: {"),
      ]);
      expect(parse(await file())).toMatchObject({
        controllers: {
          "GH-0001": {
            name: w.house,
            actuators: {
              left_skylight: {
                limits: {
                  guards: { hot: { sensor: "air_temperature", above: -50, allow: ["close", "stop"] } },
                },
              },
            },
          },
        },
        groups: { roofs: { name: w.roofs, members: ["GH-0001/left_skylight", "GH-0001/vent"] } },
        alarms: { temperature: { low: -60, high: -50, delay: "0s" } },
      });
      await page.goto(`${url}/#/alarms`);
      await expect.poll(() => page.locator("main").innerText(), { timeout: 30_000 }).toMatch(w.alarm);
      await isShown("5-alarm");
      await page.goto(`${url}/#/controller/gh-0001`);
      // By its id it is named where a guard holds alone.
      await expect
        .poll(() => page.locator("main").innerText(), { timeout: 30_000 })
        .toMatch(/air_temperature[^]*Left skylight/);
      expect(await page.locator("main").innerText()).toContain(w.house);
      await isShown("6-guard");
      await page.goto(`${url}/#/`);
      await expect.poll(() => page.locator("main").innerText(), { timeout: 30_000 }).toContain(w.roofs);
      await isShown("7-overview");
      expect(program().hasEnded).toBe(false);
      expect(complaints).toEqual([]);
    },
    180_000,
  );

  it.each([
    ["en-GB", 1_000, "Sensors", "Air temperature", "Alarm limits", "Too high", "For at least"],
    ["zh-CN", 360, "传感器", "空气温度", "报警限值", "偏高限值", "持续时间"],
  ])(
    "a sensor that the file does not name gets its first limit where it is seen, without a new run: %s",
    async (locale, width, sensors, air, limits, high, lasting) => {
      const { url, folder } = await house();
      const { page, complaints } = await settingsOf(url, { locale, viewport: { width, height: 900 } });
      const startedAt = () =>
        page.evaluate(async () => {
          const overview = await fetch("api/overview").then((answer) => answer.text());
          return /"started_at":"[^"]+"/.exec(overview)?.[0];
        });
      const before = await startedAt();
      const fold = (text: string) => page.locator("summary", { hasText: text });
      await fold("East house").click();
      await fold(sensors).first().click();
      await fold(air).click();
      await fold(air).locator("..").locator("summary", { hasText: limits }).click();
      await page.getByLabel(high, { exact: true }).fill("-50");
      await page.getByLabel(lasting, { exact: true }).fill("0s");
      await picture(page, `first-limit-${locale}-${width}`);
      expect(await axe(page)).toEqual([]);
      await save(page);
      await expect
        .poll(async () => parse(await readFile(join(folder, "config.yaml"), "utf8")) as unknown)
        .toMatchObject({
          controllers: {
            "GH-0001": {
              sensors: { airtemp: { from: "空气温度", alarm: { high: -50, delay: "0s" } } },
            },
          },
        });
      await page.goto(`${url}/#/alarms`);
      await expect.poll(() => page.locator("main").innerText(), { timeout: 30_000 }).toContain("-50");
      expect(await startedAt()).toBe(before);
      expect(complaints).toEqual([]);
    },
    120_000,
  );

  it.each([
    ["en-GB", /Somebody else changed the file/, "West house", "North house"],
    ["zh-CN", /文件同时被别人修改了/, "西棚", "北棚"],
  ])(
    "of two who save at once the later one is told beside the button, sees what differs, and loses nothing: %s",
    async (locale, told, west, north) => {
      const { url, folder } = await house();
      const file = () => readFile(join(folder, "config.yaml"), "utf8");
      const options = { locale, viewport: { width: 360, height: 780 } };
      const change = async (key: RegExp, value: string) => {
        const { page } = await settingsOf(url, options);
        await page.locator("summary", { hasText: "East house" }).click();
        await page.getByLabel(key).first().fill(value);
        const button = page.getByRole("button", { name: /^(Save|保存)$/ });
        await expect.poll(() => button.isEnabled()).toBe(true);
        return page;
      };
      const [first, later] = [await change(/^(Name|名称)$/, west), await change(/^(Name|名称)$/, north)];
      await save(first);
      await expect.poll(file).toContain(`name: ${west}`);
      await later.evaluate(() => scrollTo(0, document.body.scrollHeight));
      await save(later);
      const answer = later.locator(".saving").getByText(told);
      await answer.waitFor();
      await expect.poll(() => later.locator(".saving pre").innerText()).toContain(`-    name: ${west}`);
      const box = await answer.boundingBox();
      expect([box !== null && box.y > 0, (box?.y ?? Infinity) < 780]).toEqual([true, true]);
      await picture(later, `two-at-once-${locale}`);
      expect(await axe(later)).toEqual([]);
      await save(later);
      await expect.poll(file).toContain(`name: ${north}`);
      // What was said of one change is gone with the next.
      await later.getByText(/^(Saved, and in force\.|已保存并生效。)$/).waitFor();
      await later
        .getByLabel(/^(Area|区域)$/)
        .first()
        .fill("1");
      await expect.poll(() => later.getByText(/^(Saved, and in force\.|已保存并生效。)$/).count()).toBe(0);
    },
    120_000,
  );

  it("people are added, and the last admin stays one", async () => {
    const { url, folder } = await house();
    const { page } = await settingsOf(url);
    await partButton(page, "People").click();
    await page.getByRole("button", { name: "Add somebody" }).click();
    await page.getByLabel("Name", { exact: true }).last().fill("cleo");
    await page.getByLabel(/^May/).last().selectOption("operator");
    await page
      .getByLabel(/^New password/)
      .last()
      .fill("green-pot-in-rain");
    await save(page);
    await expect.poll(() => readFile(join(folder, "config.yaml"), "utf8")).toContain("username: cleo");
    const text = await readFile(join(folder, "config.yaml"), "utf8");
    expect(text).toContain("role: admin } # the boss");
    expect(text).not.toContain("green-pot-in-rain");
    await expect
      .poll(() => page.locator(".settings summary").allInnerTexts())
      .toContainEqual(expect.stringContaining("cleo"));
  }, 120_000);

  it("a connection is tried before it is saved, and one that fails only goes by a second word", async () => {
    const { url, folder } = await house();
    const other = await otherBroker();
    const { page } = await settingsOf(url);
    const file = () => readFile(join(folder, "config.yaml"), "utf8");
    const before = await file();
    await partButton(page, "Connections").click();
    await brokerAddress(page).fill("mqtt://127.0.0.1:1");
    await save(page);
    await expect
      .poll(() => page.locator(".findings").allInnerTexts(), { timeout: 30_000 })
      .toContainEqual(expect.stringContaining("127.0.0.1:1"));
    await expect.poll(() => page.getByRole("button", { name: "Save anyway" }).count()).toBe(1);
    await picture(page, "settings-en-390-tried");
    expect(await file()).toBe(before);
    await brokerAddress(page).fill(other);
    await save(page);
    await expect.poll(file, { timeout: 30_000 }).toContain(other);
    expect((await file()).startsWith(before)).toBe(true);
  }, 120_000);

  it("what the account has and the file does not is added where it is found", async () => {
    const { url, folder } = await house();
    const { page } = await settingsOf(url, { viewport: { width: 1_000, height: 900 } });
    await page.getByText("Found, not configured yet").click();
    await page.getByRole("button", { name: "Look for controllers and actuators" }).click();
    await expect
      .poll(() => page.getByRole("button", { name: /^Add all/ }).count(), { timeout: 60_000 })
      .toBe(1);
    await picture(page, "settings-en-1000-found");
    const row = page.locator(".found li", { hasText: "skylight" }).first();
    const told = await row.innerText();
    await row.getByRole("button", { name: "Add" }).click();
    await save(page);
    await expect
      .poll(() => readFile(join(folder, "config.yaml"), "utf8"))
      .toMatch(
        /\n {4}actuators:[^]*address: "?\d+[^]*kind: \w*skylight|kind: \w*skylight[^]*kind: \w*skylight/,
      );
    expect(told).toContain("skylight");
  }, 120_000);

  it("a test of the ways to people says of each what came of it", async () => {
    const controllers =
      '\n  GH-0001: { name: East house }\nnotify:\n  ways:\n    desk: { webhook: { url: "http://127.0.0.1:9/hook" } }\n';
    const { url } = await house({ controllers });
    const { page, complaints } = await settingsOf(url);
    await partButton(page, "Alarms and messages").click();
    await page.getByRole("button", { name: "Send a test message" }).click();
    const way = page.locator(".findings li", { hasText: "desk (webhook)" });
    await way.getByText("failed").waitFor({ timeout: 40_000 });
    expect(await way.textContent()).toMatch(/it was not reached/);
    expect(await axe(page)).toEqual([]);
    await picture(page, "test-of-ways");
    expect(complaints).toEqual([]);
  });

  it("a house is moved before another in the file, and an actuator hidden", async () => {
    const { url, folder } = await house();
    const { page } = await settingsOf(url, { viewport: { width: 1_000, height: 900 } });
    const file = async () =>
      parse(await readFile(join(folder, "config.yaml"), "utf8")) as {
        readonly controllers: Readonly<
          Record<string, { readonly actuators?: Readonly<Record<string, object>> }>
        >;
      };
    const [first = "", ...others] = Object.keys((await file()).controllers);
    expect(others).toEqual([]);
    // The file does not name it yet.
    await page.locator("summary", { hasText: "FM-0002" }).click();
    await page.getByRole("button", { name: "Move up" }).last().click();
    expect(await page.getByRole("button", { name: "Move up" }).first().isDisabled()).toBe(true);
    const summary = (text: string) => page.locator("summary", { hasText: text });
    await summary(first).click();
    await summary(first).locator("..").locator("summary", { hasText: "Actuators" }).click();
    await summary("left_skylight").click();
    await summary("left_skylight")
      .locator("..")
      .getByLabel(/^Hide it/)
      .selectOption("true");
    await save(page);
    await expect.poll(async () => Object.keys((await file()).controllers)).toEqual(["FM-0002", first]);
    expect((await file()).controllers[first]?.actuators).toMatchObject({ left_skylight: { ignore: true } });
  }, 120_000);

  it("who is logged in is seen, and logged out elsewhere", async () => {
    const { url } = await house();
    const other = await visit(url, "#/journal");
    await logIn(other.page, "ben", "viewer-ben-2");
    await expect.poll(() => other.page.getByRole("navigation").count()).toBeGreaterThan(0);
    const { page } = await settingsOf(url);
    await partButton(page, "People").click();
    await page.getByText("Who is logged in").click();
    const row = page.locator(".found li", { hasText: "ben" });
    await expect.poll(() => row.count()).toBe(1);
    await picture(page, "settings-en-390-logins");
    await row.getByRole("button", { name: "Log out" }).click();
    await expect.poll(() => row.count()).toBe(0);
    await expect
      .poll(() => other.page.getByLabel("Password", { exact: true }).count(), { timeout: 20_000 })
      .toBe(1);
    expect(await page.locator(".found li", { hasText: "anna" }).innerText()).toContain("this browser");
  }, 120_000);

  it("this computer says its version, and why it cannot be restarted from here", async () => {
    const { url } = await house();
    const { page } = await settingsOf(url);
    await partButton(page, "This computer").click();
    await expect
      .poll(() => page.locator(".settings").innerText())
      .toMatch(/greenhouse2mqtt \d+\.\d+\.\d+, Node\.js/);
    expect(await page.locator(".settings").innerText()).toContain("nothing would start it again");
    await page.getByText("Restore", { exact: true }).click();
    await page.getByText("greenhouse2mqtt init --web").waitFor();
    expect(await axe(page)).toEqual([]);
  }, 120_000);

  it("a number says its unit, each field when it takes effect, and the limits of an actuator stand at one place", async () => {
    const sensor = "air: { from: airtemp, unit: °C, offset: -0.4 }";
    const guards = "guards: { hot: { sensor: air, above: 30, allow: [close] } }";
    const controllers = `
  GH-0001:
    name: East house
    sensors: { ${sensor} }
    actuators: { roof: { kind: skylight, address: "101", limits: { ${guards} } } }`;
    const { url } = await house({ controllers });
    const { page } = await settingsOf(url);
    const open = (name: string) => page.locator("summary", { hasText: name }).first().click();
    await open("East house");
    await open("Sensors");
    await page.locator("summary", { hasText: /air\s*$/ }).click();
    const offset = page.locator(".set", { has: page.getByLabel("Correction", { exact: true }) });
    await offset.getByText("°C", { exact: true }).waitFor();
    expect(await offset.innerText()).toContain("the bridge starts again");
    await open("Actuators");
    await open("roof");
    expect(await page.locator("summary", { hasText: "Guards" }).count()).toBe(0);
    await partButton(page, "Limits").click();
    await open("East house / roof");
    await open("Guards");
    await page.locator("summary", { hasText: /^hot\s*$/ }).click();
    await page.locator(".set", { hasText: "°C" }).first().waitFor();
    // What a guard can look at is offered by its name.
    const field = page.getByLabel("Sensor", { exact: true });
    const offered = page.locator(`datalist#${(await field.getAttribute("list")) ?? ""} option`);
    await expect.poll(() => offered.count()).toBeGreaterThan(3);
    expect(await offered.locator('xpath=self::*[@value="airhumi"]').textContent()).toBe("Air humidity");
    expect(await axe(page)).toEqual([]);
  }, 120_000);

  it("a backup is downloaded, and makes the same bridge in init --web", async () => {
    const { url, folder } = await house();
    const { page } = await settingsOf(url);
    await partButton(page, "This computer").click();
    await page.getByText("Backup", { exact: true }).click();
    await page.getByLabel(/^Password for it/).fill("blue-kettle-on-snow");
    const [download] = await Promise.all([
      page.waitForEvent("download", { timeout: 60_000 }),
      page.getByRole("button", { name: "Download" }).last().click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^greenhouse2mqtt-[\d-]+\.tar\.gz\.age$/);
    const next = await mkdtemp(join(tmpdir(), "restored-"));
    const file = join(next, "backup.age");
    await download.saveAs(file);
    const init = startProgram(["init", "--web"], { folder: next });
    onTestFinished(async () => {
      init.signal("SIGKILL");
      await rm(next, { recursive: true, force: true });
    });
    await expect.poll(() => init.stdout, { timeout: 30_000 }).toMatch(/the code is {2}\S{9}/);
    const [, at = "", code = ""] = /(http:\S+?)\/ .* {2}(\S{9})$/m.exec(init.stdout) ?? [];
    const other = await visit(at);
    await other.page.getByLabel("Code that init --web printed").fill(code);
    await other.page.getByRole("button", { name: "Begin" }).click();
    await other.page.getByText("Restore a backup instead").click();
    await other.page.getByLabel("Backup", { exact: true }).setInputFiles(file);
    await other.page.getByLabel(/^Its password/).fill("another-kettle-on-snow");
    await other.page.getByRole("button", { name: "Restore", exact: true }).click();
    await expect
      .poll(() => other.page.locator("main").innerText(), { timeout: 30_000 })
      .toContain("another password");
    await other.page.getByLabel(/^Its password/).fill("blue-kettle-on-snow");
    await other.page.getByRole("button", { name: "Restore", exact: true }).click();
    await other.page.getByText("config.yaml is written.").waitFor({ timeout: 30_000 });
    expect(await init.ended).toMatchObject({ code: 0 });
    const text = (name: string) => (where: string) => readFile(join(where, name), "utf8");
    expect(await text("config.yaml")(next)).toBe(await text("config.yaml")(folder));
    expect(await text("data/format")(next)).toBe(await text("data/format")(folder));
  }, 180_000);

  it("are seen by an admin alone", async () => {
    const { url } = await house();
    const { page } = await visit(url, "#/settings");
    await logIn(page, "ben", "viewer-ben-2");
    await expect.poll(() => page.getByRole("navigation").count()).toBeGreaterThan(0);
    expect(await page.getByRole("link", { name: "Settings" }).count()).toBe(0);
    expect(await page.locator(".parts").count()).toBe(0);
  }, 120_000);

  it.each([
    ["en", "en-GB", 360],
    ["zh", "zh-CN", 360],
    ["en", "en-GB", 1440],
    ["zh", "zh-CN", 1440],
  ])(
    "nothing overflows and nothing serious is found by axe: %s, %s, %i px",
    async (name, locale, width) => {
      const { url } = await house();
      const { page } = await settingsOf(url, {
        locale,
        viewport: { width, height: width > 1000 ? 900 : 780 },
      });
      const count = await page.locator(".parts button").count();
      expect(count).toBe(8);
      for (let at = 0; at < count; at += 1) {
        await page.locator(".parts button").nth(at).click();
        if (at === 0) await page.locator(".settings details details summary").first().click();
        await picture(page, `settings-${name}-${width}-${at}`);
        const fits = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
        expect([at, fits]).toEqual([at, true]);
        expect([at, await axe(page)]).toEqual([at, []]);
      }
    },
    120_000,
  );
});
