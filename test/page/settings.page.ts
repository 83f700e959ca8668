import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
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

const save = async (page: Page) => {
  const button = page.getByRole("button", { name: /^(Save|保存)$/ });
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.click();
};

describe("settings", () => {
  it("a house is named, guarded and alarmed without an editor", async () => {
    const { url, folder, program } = await house();
    const { page, complaints } = await settingsOf(url);
    const before = await readFile(join(folder, "config.yaml"), "utf8");
    await page.locator("summary", { hasText: "East house" }).click();
    const field = page.getByLabel("Name", { exact: true }).first();
    await field.fill("West house");
    await picture(page, "settings-en-360-rename");
    await page.getByText("What changes in the file").click();
    await expect.poll(() => page.locator(".saving pre").innerText()).toContain("+    name: West house");
    await save(page);
    await expect
      .poll(() => readFile(join(folder, "config.yaml"), "utf8"))
      .toBe(before.replace("East house", "West house"));
    await expect
      .poll(() => page.locator("summary", { hasText: "West house" }).count(), { timeout: 20_000 })
      .toBeGreaterThan(0);
    await partButton(page, "Alarms and messages").click();
    await page
      .getByLabel(/^New name/)
      .first()
      .selectOption("temperature");
    await page.getByRole("button", { name: "Add" }).first().click();
    await page.getByLabel("Too low", { exact: true }).fill("5");
    await page.getByLabel("Too high", { exact: true }).fill("abc");
    await expect
      .poll(() => page.locator(".error").allInnerTexts())
      .toContainEqual(expect.stringContaining("expected a number"));
    await page.getByLabel("Too high", { exact: true }).fill("35");
    await save(page);
    await expect
      .poll(() => readFile(join(folder, "config.yaml"), "utf8"))
      .toContain("alarms:\n  temperature: { low: 5, high: 35 }");
    expect(program().hasEnded).toBe(false);
    expect(complaints).toEqual([]);
  }, 120_000);

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
