import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator } from "../../src/simulator/simulator.js";
import { startProgram } from "../end-to-end/support/program.js";
import { startMosquitto } from "../support/mosquitto.js";
import { axe, card, command, logIn, visit, withBrowser } from "./scene.js";

/* From an empty folder to the first command in a browser alone: `init --web`, then `run`. */

withBrowser();

const seconds = (count: number) => ({ timeout: count * 1000 });

describe("init --web", () => {
  it("asks in the browser, writes what init and discover write, and the bridge's page takes its place", async () => {
    const simulator = await startSimulator({ controllers: 2, seed: 1, speed: 20 }, systemClock);
    // The usual port of the embedded one may be another's.
    const mosquitto = await startMosquitto();
    const folder = await mkdtemp(join(tmpdir(), "setup-"));
    const init = startProgram(["init", "--web"], { folder });
    onTestFinished(async () => {
      init.signal("SIGKILL");
      await simulator.close();
      await mosquitto.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const startedAt = performance.now();
    await expect.poll(() => init.stdout, seconds(20)).toMatch(/the code is {2}\S{9}/);
    const [, url = "", code = ""] = /(http:\S+?)\/ .* {2}(\S{9})$/m.exec(init.stdout) ?? [];
    const asked = (body: object, headers = {}) =>
      fetch(`${url}/api/setup/brokers`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    expect((await asked({ code: "AAAA-AAAA" })).status).toBe(401);
    expect((await asked({ code }, { origin: "http://evil.example" })).status).toBe(403);
    expect((await asked({ code }, { "x-forwarded-for": "192.0.2.1" })).status).toBe(403);

    const { page, complaints } = await visit(url);
    await page.getByLabel("Code that init --web printed").fill(code);
    await page.getByRole("button", { name: "Begin" }).click();
    // A token that others can read on the way has to be allowed by a person.
    await page.getByLabel("Business host").fill("http://192.0.2.9");
    const allowed = page.getByLabel(/others can read the token on the way/);
    await allowed.waitFor();
    expect([await allowed.isChecked(), await allowed.getAttribute("required")]).toEqual([false, ""]);
    await page.getByLabel("Business host").fill(simulator.businessUrl);
    expect(await allowed.count()).toBe(0);
    await page.getByLabel("Realtime host").fill("two words");
    await page.locator("input[name=token]").fill("simulator");
    await page.getByRole("button", { name: "Try and go on" }).click();
    await page.getByText("Realtime host: expected an address such as").waitFor(seconds(20));
    await page.getByLabel("Realtime host").fill("http://127.0.0.1:9");
    await page.getByRole("button", { name: "Try and go on" }).click();
    await page.getByText("127.0.0.1:9").first().waitFor(seconds(20));
    await page.getByLabel("Realtime host").fill(simulator.realtimeUrl);
    await page.getByRole("button", { name: "Try and go on" }).click();
    await page.locator("select").selectOption("other", seconds(20));
    await page.getByLabel("Address").fill(`mqtt://127.0.0.1:${mosquitto.port}`);
    await page.getByRole("button", { name: "Try and go on" }).click();
    await page.getByText("Who may command on the page").waitFor(seconds(20));
    await page.getByLabel("Name").fill("anna");
    await page.getByLabel(/^Password/).fill("sunflowers in a row");
    await page.getByLabel(/Phones and other computers in this network too/).check();
    await page.getByText("far too low 2").waitFor(seconds(5));
    await page.getByLabel(/Begin with these limits/).check();
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Go on", exact: true }).click();
    await page.getByRole("button", { name: "Look for controllers and actuators" }).click();
    // Greenhouses come first, and what is right needs no look.
    await page.locator("summary").first().waitFor(seconds(60));
    const found = await page.locator("form > details > summary").allTextContents();
    expect([found[0], found.length > 1]).toEqual([expect.stringContaining("GH-0001"), true]);
    expect(await page.locator("fieldset:visible").count()).toBe(0);
    expect(await axe(page)).toEqual([]);
    await page.locator("summary").first().click();
    await page.locator('input[name="GH-0001 name"]').fill("East house");
    await page.locator('input[name="GH-0001 left_skylight name"]').fill("Roof");
    await page.locator('input[name="GH-0001 inner_shade shown"]').uncheck();
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Write the configuration" }).click();
    await page.getByText("config.yaml is written.").waitFor(seconds(20));
    await page.locator(".qr img").waitFor();
    expect(await axe(page)).toEqual([]);
    expect(await init.ended).toMatchObject({ code: 0 });
    expect(init.stdout).toMatch(/its page is at http:\S+, for phones in this network too/);

    const text = await readFile(join(folder, "config.yaml"), "utf8");
    expect(text).toMatch(/token: !secret platform_token/);
    expect(text).toMatch(/name: Roof/);
    expect(text).not.toMatch(/inner_shade:/);
    expect(text).not.toContain("sunflowers");
    expect(text).toMatch(/host: 0\.0\.0\.0/);
    expect(text).toMatch(/temperature:\n? *\{? *low_low: 2/);
    expect((await stat(join(folder, "config.yaml"))).mode & 0o777).toBe(0o600);

    const run = startProgram(["run"], { folder });
    onTestFinished(async () => {
      run.signal("SIGKILL");
      await run.ended;
    });
    await expect.poll(() => run.stderr, seconds(20)).toContain("the page is at");
    await page.getByRole("button", { name: "Log in" }).waitFor(seconds(30));
    await logIn(page, "anna", "sunflowers in a row");
    await page.getByRole("button", { name: "Take commands until the next restart" }).click();
    await page.goto(`${url}/#/controller/gh-0001`);
    await command(page, "Circulation fan", "On");
    await card(page, "Circulation fan")
      .getByText(/^(?:confirmed|already)$/)
      .first()
      .waitFor(seconds(30));
    console.log(`from an empty folder to a command: ${Math.round((performance.now() - startedAt) / 1000)} s`);
    expect(complaints.filter((one) => !/40[013]|ERR_/.test(one))).toEqual([]);
  });
});
