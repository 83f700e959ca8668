import { describe, expect, it } from "vitest";
import { axe, logIn, operator, scene, visit, withBrowser } from "./scene.js";

/* The page on a phone's home screen: what makes it installable, and what it shows where the bridge is not reached. */

withBrowser();

const seconds = (count: number) => ({ timeout: count * 1000 });

describe("an installed page", () => {
  it("has a manifest and icons below any path, and a worker of its own folder", async () => {
    const { url } = await scene();
    const { page, complaints } = await visit(url);
    await page.getByRole("button", { name: "Log in" }).waitFor(seconds(20));
    const session = await page.context().newCDPSession(page);
    const manifest = await session.send("Page.getAppManifest");
    expect(manifest.errors).toEqual([]);
    const { icons, start_url } = JSON.parse(manifest.data ?? "{}") as {
      icons: { src: string; type: string }[];
      start_url: string;
    };
    expect(start_url).toBe("./");
    for (const { src, type } of icons) {
      expect(src).toMatch(/^\.\//);
      expect((await fetch(`${url}/${src}`)).headers.get("content-type")).toBe(type);
    }
    expect(await page.evaluate(async () => (await navigator.serviceWorker.ready).scope)).toBe(`${url}/`);
    expect(complaints).toEqual([]);
  });

  it.each(["en-GB", "zh-CN"])(
    "without its bridge says in %s since when, shows no value, and comes back by itself",
    async (locale) => {
      const { url, program, restart } = await scene({ http: operator });
      const { page, complaints } = await visit(url, "", { locale });
      await logIn(page);
      await page.locator("a.row").first().getByText("°C").first().waitFor(seconds(30));
      await page.evaluate(async () => (await navigator.serviceWorker.ready).scope);
      // What the worker holds is the page itself and nothing that was measured.
      const kept = async () =>
        page.evaluate(async () => {
          const found: string[] = [];
          for (const name of await caches.keys())
            for (const { url: one } of await (await caches.open(name)).keys())
              found.push(new URL(one).pathname);
          return found;
        });
      await expect.poll(kept, seconds(10)).toContain("/");
      program().signal("SIGKILL");
      await program().ended;
      await page.reload();
      await page.getByText(/The bridge is not reached|无法连接网桥/).waitFor(seconds(20));
      await page.getByText(/Last seen \d\d:\d\d|最近一次连接：\d\d:\d\d/).waitFor();
      expect(await page.locator("main").textContent()).not.toMatch(/°C|%|ppm/);
      expect(await axe(page)).toEqual([]);
      for (const path of await kept())
        expect(path).toMatch(/^\/(?:assets\/[\w.-]+|icon[\w.-]*|manifest\.webmanifest)?$/);
      await restart();
      await page.locator("a.row").first().waitFor(seconds(40));
      expect(complaints.filter((one) => !/ERR_|Failed to/.test(one))).toEqual([]);
    },
  );
});

it("the first operator opens the page to phones with one tick, and is shown where they find it", async () => {
  const { url, program } = await scene({ http: "  page: true", commands: "read_only: true" });
  const { page, complaints } = await visit(url);
  await page.getByText("Nobody can command here yet.").waitFor(seconds(20));
  const [, code = ""] = /first operator with the code (\S+?)["\s]/.exec(program().stderr) ?? [];
  await page.getByRole("button", { name: "Make the first operator" }).click();
  await page.getByLabel("Code").fill(code);
  await page.getByLabel("Name").fill("anna");
  await page.getByLabel(/^Password/).fill("sunflowers in a row");
  await page.getByLabel(/Phones and other computers in this network too/).check();
  await page.getByRole("button", { name: "Make the first operator" }).click();
  await page.locator(".qr img").waitFor(seconds(60));
  const [, phone = ""] = /open (http:\S+)/.exec((await page.locator(".qr").textContent()) ?? "") ?? [];
  expect(await axe(page)).toEqual([]);
  // Others get in with the login alone.
  expect((await fetch(`${phone}api/overview`)).status).toBe(401);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("anna", { exact: true }).waitFor(seconds(20));
  // What is to hold after the next start too is written.
  await page.getByRole("button", { name: "Take commands from now on" }).click();
  await page.getByText("The bridge is read-only").waitFor({ state: "detached", ...seconds(30) });
  expect(complaints.filter((one) => !/40[14]|ERR_|Failed to|WebSocket/.test(one))).toEqual([]);
});
