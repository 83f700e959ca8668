import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { startProgram } from "../end-to-end/support/program.js";
import { freePort, startMosquitto } from "../support/mosquitto.js";
import { englishOn } from "./english.js";
import { axe, card, command, logIn, visit, withBrowser } from "./scene.js";

withBrowser();

const users = [
  { username: "anna", password: "operator-anna", role: "operator" },
  { username: "ben", password: "viewer-ben-1", accounts: ["east"] },
];

/** Two accounts that run, one at a dead platform, and one with a mistake in its file. */
async function fleet() {
  const folder = await mkdtemp(join(tmpdir(), "fleet-page-"));
  const mosquitto = await startMosquitto({});
  const simulators = await Promise.all(
    [1, 2].map((seed) => startSimulator({ controllers: 2, seed, speed: 20 }, systemClock)),
  );
  const port = await freePort();
  await mkdir(join(folder, "accounts"));
  const write = (name: string, content: object | string) =>
    writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content), {
      mode: 0o600,
    });
  await write("fleet.yaml", {
    defaults: {
      mqtt: { url: mosquitto.url },
      homeassistant: { enabled: false },
      polling: { controllers: "2s", sensors: "1s", actuators: "1s" },
    },
    http: { port, users },
  });
  const dead = `http://127.0.0.1:${await freePort()}`;
  const hosts = [...simulators.map(({ businessUrl }) => businessUrl), dead];
  for (const [at, name] of ["north", "east", "south"].entries())
    await write(`accounts/${name}.yaml`, {
      platform: {
        business_url: hosts[at],
        realtime_url: hosts[at],
        token: "simulator",
        requests_per_minute: 0,
      },
      controllers: {
        [`GH-000${at + 1}`]: {
          name: `House of ${name}`,
          actuators: { fan: { kind: "circulation_fan", address: "150", name: "Fan", settle: "0s" } },
        },
      },
    });
  await write("accounts/west.yaml", "poling: { sensors: 1m }\n");
  const program = startProgram(["fleet"], { folder });
  onTestFinished(async () => {
    await program.end("SIGKILL");
    await Promise.all(simulators.map((one) => one.close()));
    await mosquitto.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(
      () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      { timeout: 30_000 },
    )
    .toBe(true);
  return { url, program, write };
}

describe("the page of a fleet", () => {
  it.each(["en-GB", "zh-CN"])(
    "in %s begins with the accounts that need somebody, leads into each and back, and shows nobody what is not his",
    async (locale) => {
      const { url, program, write } = await fleet();
      const { page, complaints } = await visit(url, "", { locale, viewport: { width: 390, height: 844 } });
      await logIn(page);
      const rows = page.locator(".accounts .row strong");
      await expect
        .poll(() => rows.allTextContents(), { timeout: 40_000 })
        .toEqual(["west", "south", "east", "north"]);
      await page.locator(".accounts .row", { hasText: "south" }).locator(".badge.bad").first().waitFor();
      expect(await page.locator(".accounts .row", { hasText: "west" }).textContent()).toMatch(
        locale === "en-GB" ? /west\.yaml:1:1 \S+: .* more/ : /west\.yaml:1:1 \S+: .*另有/,
      );
      await write("fleet.yaml", "acounts: ./accounts\n");
      program.signal("SIGHUP");
      await page.locator(".notice.bad", { hasText: "fleet.yaml:1:1 acounts" }).waitFor();
      expect(await axe(page)).toEqual([]);
      if (locale === "zh-CN") expect(await englishOn(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
      await rows.getByText("west").click();
      // Words of the list may be the same.
      await page.getByText(/All accounts|全部账号/).waitFor();
      await page.getByText(/does not run|没有运行/).waitFor();
      if (locale === "zh-CN") expect(await englishOn(page)).toEqual([]);
      await page.getByText(/All accounts|全部账号/).click();
      await rows.getByText("north").click();
      await page.locator(".row strong", { hasText: "House of north" }).click();
      await card(page, "Fan").waitFor();
      expect(await page.title()).toContain("north");
      if (locale === "en-GB") {
        await command(page, "Fan", "On");
        await card(page, "Fan")
          .getByText(/confirmed/i)
          .first()
          .waitFor();
        await page.getByRole("link", { name: "Journal" }).click();
        await page.locator(".list .badge", { hasText: "confirmed" }).first().waitFor();
      }
      await page.getByText(/All accounts|全部账号/).click();
      await rows.getByText("east").click();
      await page.locator(".row strong", { hasText: "House of east" }).waitFor();
      expect(await page.getByText("House of north").count()).toBe(0);
      const other = await visit(url, "", { locale });
      await logIn(other.page, "ben", "viewer-ben-1");
      await expect
        .poll(() => other.page.locator(".accounts .row strong").allTextContents())
        .toEqual(["east"]);
      expect(await other.page.locator(".notice.bad").count()).toBe(0);
      await other.page.evaluate(() => (location.hash = "#/account/north/overview"));
      await other.page.getByText(/may not see it|无权查看/).waitFor();
      expect(complaints.filter((one) => !/404|503/.test(one))).toEqual([]);
    },
  );
});
