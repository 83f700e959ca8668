import { createServer, request as httpRequest } from "node:http";
import net from "node:net";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SimulatorControl } from "../../src/simulator/control.js";
import { startMosquitto } from "../support/mosquitto.js";
import type { Page } from "playwright-core";
import { axe, card, command, logIn, opened, operator, scene, visit, withBrowser } from "./scene.js";

type Control = SimulatorControl;

withBrowser();

const overEvery = ["#/", "#/controller/gh-0001", "#/journal", "#/alarms", "#/diagnostics", "#/log"];
/** What shows a part of a line of its text and cuts the rest, and words of the head that are broken in two. */
const cutTexts = (page: Page) =>
  page.evaluate(() => {
    const linesOf = (one: HTMLElement) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return [...range.getClientRects()];
    };
    const isCut = (one: HTMLElement) => {
      const box = one.getBoundingClientRect();
      // What scrolls is not cut.
      const isOpen = ["visible", "auto"].includes(getComputedStyle(one).overflowX);
      return !isOpen && linesOf(one).some(({ top, right }) => top < box.bottom && right > box.right + 1);
    };
    const isBroken = (one: HTMLElement) =>
      one.closest("header") !== null && one.children.length === 0 && linesOf(one).length > 1;
    return [...document.querySelectorAll<HTMLElement>("main *, header *")]
      .filter((one) => one.clientWidth > 1 && (isCut(one) || isBroken(one)))
      .map(({ textContent }) => textContent);
  });

const seconds = (count: number) => ({ timeout: count * 1000 });

describe("the bundle", () => {
  const folder = "dist/page/assets";
  const sizes = readdirSync(folder).map((name) => ({
    name,
    bytes: gzipSync(readFileSync(`${folder}/${name}`)).length,
  }));
  const sum = (found: readonly { readonly bytes: number }[]) =>
    found.reduce((all, { bytes }) => all + bytes, 0);

  it("is at most 53.6 kB at first and 119.5 kB with what is loaded when it is opened, compressed", () => {
    const document = readFileSync("dist/page/index.html", "utf8");
    const first = sizes.filter(({ name }) => document.includes(name));
    expect(sum(first)).toBeLessThanOrEqual(53_600);
    expect(sum(sizes)).toBeLessThanOrEqual(119_500);
    console.log(
      `bundle: ${sum(sizes)} bytes gzip, ${sizes.map(({ name, bytes }) => `${name} ${bytes}`).join(", ")}`,
    );
  });
});

describe("every view", () => {
  it.each(["en-GB", "zh-CN"])(
    "in %s, 320 px wide: nothing serious for axe, no foreign request, nothing cut off",
    async (locale) => {
      const { url } = await scene();
      const { page, complaints } = await visit(url, "", { locale, viewport: { width: 320, height: 640 } });
      await page.getByRole("button", { name: /Log in|登录/ }).waitFor();
      expect(await axe(page), "login").toEqual([]);
      await logIn(page);
      await page.locator(".row").first().waitFor();
      expect(await page.locator("html").getAttribute("lang")).toBe(
        locale.startsWith("zh") ? "zh-Hans" : "en",
      );
      for (const hash of overEvery) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.locator("main h1").waitFor();
        if (hash.includes("controller")) await page.locator(".card").first().waitFor();
        expect(await axe(page), hash).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), hash).toBeLessThanOrEqual(
          320,
        );
        expect(await cutTexts(page), hash).toEqual([]);
      }
      expect(complaints).toEqual([]);
    },
  );

  it("of a controller has no heading without anything below it, and of one that has nothing says so", async () => {
    const { url } = await scene({ http: "  page: true", simulator: { mix: "all" } });
    const { page } = await visit(url, "#/controller/ws-0001");
    await page.getByRole("heading", { name: "Readings" }).waitFor(seconds(20));
    expect(await page.locator("main h2").allTextContents()).toEqual(["Readings"]);
    expect(await page.getByRole("button", { name: "Actuators" }).count()).toBe(0);
    await page.evaluate(() => (location.hash = "#/controller/cam-0001"));
    await page.getByText("Nothing is known of this controller yet.").waitFor(seconds(20));
    expect(await page.locator("main h2").count()).toBe(0);
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByText("还没有这个控制器的任何数据。").waitFor(seconds(5));
  });

  it("shows 200 hostile names as text", async () => {
    const hostile = '<img src=x onerror="document.title=1">\u202e${7*7}{{7*7}}" onmouseover="';
    const lines = Array.from({ length: 200 }, (_, at) => {
      const code = `GH-${String(at + 1).padStart(4, "0")}`;
      return `  ${code}: { name: ${JSON.stringify(`${hostile}${at}`)}, actuators: { a: { kind: machine, address: "150", name: ${JSON.stringify(hostile)} } } }`;
    });
    const { url } = await scene({ controllers: `\n${lines.join("\n")}\n`, simulator: { controllers: 200 } });
    const { page, complaints } = await visit(url);
    await logIn(page);
    await page.getByText(`${hostile}0`, { exact: true }).waitFor(seconds(30));
    await page.evaluate(() => (location.hash = "#/controller/gh-0001"));
    await page.locator(".card").first().waitFor(seconds(20));
    expect(await page.locator("img:not([src='./icon.svg'])").count()).toBe(0);
    expect(await page.title()).toBe("Greenhouse");
    expect(complaints).toEqual([]);
  });
});

describe("a command", () => {
  it("takes two steps, shows its phase, and never the wished state before the platform shows it", async () => {
    const { url } = await scene();
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    const fan = await opened(page, "Fan");
    const before = await fan.locator(".state").textContent();
    expect(before).not.toBe("On");
    await fan.getByRole("button", { name: "On", exact: true }).click();
    expect(await fan.locator(".state").textContent()).toBe(before);
    await fan.getByRole("button", { name: "Send On to Fan" }).click();
    await fan.getByText("confirmed", { exact: true }).waitFor(seconds(15));
    await expect.poll(() => fan.locator(".state").textContent(), seconds(5)).toBe("On");
    await command(page, "Fan", "On");
    await fan.getByText("already so", { exact: true }).waitFor(seconds(15));
    const skylight = await opened(page, "Left skylight");
    await skylight.getByRole("slider").fill("45");
    await skylight.getByRole("button", { name: "Send 45 % to Left skylight" }).click();
    await skylight.getByText("confirmed", { exact: true }).waitFor(seconds(20));
    await expect.poll(() => skylight.locator(".state").textContent(), seconds(5)).toBe("45 %");
    expect(complaints).toEqual([]);
  });

  it.each([
    [
      "rejected",
      "rejected",
      ({ fault }: Control) => fault({ fault: "body_code", operation: "set-value", code: 500 }),
    ],
    ["unconfirmed", "not confirmed", ({ fault }: Control) => fault({ fault: "ignore" })],
    [
      "failed",
      "failed",
      ({ fault }: Control) => fault({ fault: "reset", operation: "set-value", when: "before", count: 9 }),
    ],
    // Of a controller that goes offline the page would take the button away as soon as it hears of it.
    [
      "refused",
      "refused",
      ({ fault }: Control) => {
        for (const operation of ["get-value", "set-value/flush"] as const)
          fault({ fault: "body_code", operation, code: 500, chance: 1 });
      },
    ],
  ] as const)("that ends %s says so in a sentence", async (_, word, spoil) => {
    const { url, simulator } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await (await opened(page, "Fan")).getByRole("button", { name: "On", exact: true }).click();
    spoil(simulator.control);
    await card(page, "Fan").getByRole("button", { name: "Send On to Fan" }).click();
    await card(page, "Fan").locator(".result", { hasText: word }).waitFor(seconds(30));
    expect((await card(page, "Fan").locator(".result").textContent())?.length).toBeGreaterThan(60);
  });

  it("of which nobody can tell what became of it says that", async () => {
    const { url, simulator } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    simulator.control.fault({ fault: "slow", operation: "set-value", delay: 3_000 });
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("is being sent").waitFor(seconds(10));
    for (const operation of ["get-value", "set-value/flush"] as const)
      simulator.control.fault({ fault: "body_code", operation, code: 500, chance: 1 });
    await card(page, "Fan").locator(".result", { hasText: "unknown" }).waitFor(seconds(40));
  });

  it("that a newer one takes the place of is overtaken, and a dry run sends nothing", async () => {
    const { url } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await opened(page, "Left skylight");
    for (const degree of ["20", "60", "80"]) {
      await card(page, "Left skylight").getByRole("slider").fill(degree);
      await card(page, "Left skylight")
        .getByRole("button", { name: `Send ${degree} % to Left skylight` })
        .click();
    }
    await card(page, "Left skylight").locator(".result", { hasText: "80 %" }).waitFor(seconds(30));
    await page.getByRole("link", { name: "Journal" }).click();
    await page.locator("td .badge", { hasText: "overtaken" }).first().waitFor(seconds(10));
    const dry = await scene({ commands: "dry_run: true" });
    const other = await visit(dry.url, "#/controller/gh-0001");
    await logIn(other.page);
    await command(other.page, "Fan", "On");
    await card(other.page, "Fan").locator(".result", { hasText: "dry run" }).waitFor(seconds(15));
  });

  it("of stop goes out with one tap", async () => {
    const { url } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await (await opened(page, "Vent motor")).getByRole("button", { name: "Stop", exact: true }).click();
    await opened(page, "Fan");
    await card(page, "Vent motor").locator(".result").waitFor(seconds(20));
    expect(await card(page, "Vent motor").locator(".result strong").textContent()).toBe("Stop");
    expect(await card(page, "Fan").getByRole("button", { name: "Stop" }).count()).toBe(0);
  });

  it("can be given with the keyboard alone", async () => {
    const { url } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await page.getByLabel("Name").press("Tab");
    await page.getByLabel("Name").focus();
    await page.keyboard.type("anna");
    await page.keyboard.press("Tab");
    await page.keyboard.type("operator-anna");
    await page.keyboard.press("Enter");
    await card(page, "Fan").waitFor(seconds(15));
    const focused = () =>
      page.evaluate(() =>
        document.activeElement?.closest("article")?.getAttribute("aria-label") === "Fan"
          ? document.activeElement.textContent
          : "",
      );
    for (const wanted of [/^Fan/, /^On$/]) {
      for (let times = 0; times < 80 && !wanted.test(await focused()); times += 1)
        await page.keyboard.press("Tab");
      if (wanted.test("Fan")) await page.keyboard.press("Enter");
    }
    await page.keyboard.press("Enter");
    for (let times = 0; times < 10 && !(await focused()).startsWith("Send"); times += 1)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await card(page, "Fan").getByText("confirmed", { exact: true }).waitFor(seconds(15));
  });
});

describe("what cannot be done now", () => {
  it.each([
    ["for a viewer", "Only an operator can send commands.", {}, "ben", "viewer-ben"],
    [
      "with a read-only bridge",
      "The bridge is read-only.",
      { commands: "read_only: true" },
      "anna",
      "operator-anna",
    ],
  ] as const)("%s is a disabled button with the reason", async (_, why, options, name, password) => {
    const { url } = await scene(options);
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page, name, password);
    await opened(page, "Fan");
    await card(page, "Fan").getByText(why).waitFor(seconds(15));
    expect(await card(page, "Fan").getByRole("button", { name: "On", exact: true }).isDisabled()).toBe(true);
  });

  it("because of the configuration, a controller or a platform that is away, is said as well", async () => {
    const { url, simulator } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await opened(page, "Fan");
    await (
      await opened(page, "Pinned")
    )
      .getByText("This actuator is read-only in the configuration.")
      .waitFor(seconds(15));
    simulator.control.setOnline("GH-0001", false);
    await card(page, "Fan").getByText("The controller is offline.").waitFor(seconds(30));
    // A stop waits for no controller and no platform.
    const vent = await opened(page, "Vent motor");
    const canStop = () => vent.getByRole("button", { name: "Stop", exact: true }).isEnabled();
    const canOpen = () => vent.getByRole("button", { name: "Open", exact: true }).isEnabled();
    expect([await canStop(), await canOpen()]).toEqual([true, false]);
    simulator.control.setOnline("GH-0001", true);
    await expect
      .poll(() => card(page, "Fan").getByRole("button", { name: "On", exact: true }).isEnabled(), seconds(30))
      .toBe(true);
    await simulator.control.hostDown("realtime", "refuse");
    await page.getByText("Platform not reached").waitFor(seconds(40));
    await card(page, "Fan").getByText("The platform is not reached.").waitFor(seconds(10));
    expect([await canStop(), await canOpen()]).toEqual([true, false]);
    await page.locator(".quality.stale").first().waitFor(seconds(10));
  });
});

describe("rules and locks", () => {
  it("a lock is set and taken away on the page; meanwhile the buttons say whose it is", async () => {
    const { url } = await scene();
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    const vent = await opened(page, "Vent motor");
    await vent.locator(".keepers summary").click();
    await vent.getByLabel("Reason (others see it)").fill("cleaning the gutter");
    await vent.getByRole("button", { name: "Lock" }).click();
    await vent.getByText("Locked by anna. (cleaning the gutter)").waitFor(seconds(10));
    expect(await vent.getByRole("button", { name: "Open", exact: true }).isDisabled()).toBe(true);
    expect(await vent.getByRole("button", { name: "Stop", exact: true }).isEnabled()).toBe(true);
    await vent.getByRole("button", { name: "Unlock" }).click();
    await expect
      .poll(() => vent.getByRole("button", { name: "Open", exact: true }).isEnabled(), seconds(10))
      .toBe(true);
    expect(complaints).toEqual([]);
  });

  it("a lock of somebody else, and its end, are shown; taking it away says whose it is", async () => {
    const { url } = await scene();
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    const vent = await opened(page, "Vent motor");
    await vent.locator(".keepers summary").click();
    await page.evaluate(async () => {
      const body = { controller: "gh-0001", actuator: "vent", by: "ben", until: "1h" };
      const headers = { "content-type": "application/json" };
      await fetch("api/requests/lock", { method: "POST", headers, body: JSON.stringify(body) });
    });
    // With the day where the hour ends behind midnight.
    await vent.getByText(/Locked by ben\. Until .*\d\d:\d\d:\d\d\./).waitFor(seconds(10));
    await vent.getByRole("button", { name: "Unlock what ben has locked" }).click();
    await expect
      .poll(() => vent.getByRole("button", { name: "Open", exact: true }).isEnabled(), seconds(10))
      .toBe(true);
    expect(complaints).toEqual([]);
  });

  it("a command can be given a time of its own and a hold, which is released on the page", async () => {
    const { url, simulator } = await scene();
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    const fan = await opened(page, "Fan");
    await fan.getByRole("button", { name: "On", exact: true }).click();
    await fan.getByText("For how long").click();
    await fan.getByLabel("Ends by itself after").first().selectOption("15m");
    await fan.getByLabel("Keeps other commands off for").selectOption("1h");
    await fan.getByRole("button", { name: "Send On to Fan" }).click();
    await fan.getByText(/Ends with “Off” at/).waitFor(seconds(15));
    await fan.getByText(/Held by a command of anna\. Until/).waitFor(seconds(10));
    expect(await fan.getByRole("button", { name: "Off", exact: true }).isDisabled()).toBe(true);
    await fan.getByRole("button", { name: "Release the hold" }).click();
    await expect
      .poll(() => fan.getByRole("button", { name: "Off", exact: true }).isEnabled(), seconds(10))
      .toBe(true);
    // What ends something has no end of its own.
    await fan.getByRole("button", { name: "Off", exact: true }).click();
    await fan.getByText("For how long").click();
    expect(await fan.locator(".confirm").getByLabel("Ends by itself after").count()).toBe(0);
    simulator.control.fault({ fault: "body_code", operation: "set-value", code: 500 });
    await fan.getByRole("button", { name: "Send Off to Fan" }).click();
    await page.locator(".bar").getByText("Problem").waitFor(seconds(15));
    await page.locator(".bar").getByRole("button", { name: "Acknowledge" }).click();
    await page
      .locator(".bar")
      .getByText("Problem")
      .waitFor({ state: "detached", ...seconds(10) });
    expect(complaints).toEqual([]);
  });

  it("in Chinese a refusal, its rule and an alarm are told in Chinese", async () => {
    const { url, simulator } = await scene();
    const { page, complaints } = await visit(url, "#/controller/gh-0001", { locale: "zh-CN" });
    await logIn(page);
    const fan = await opened(page, "Fan");
    await fan.getByRole("button", { name: "开启", exact: true }).click();
    simulator.control.fault({ fault: "body_code", operation: "get-value", code: 500, chance: 1 });
    await fan.getByRole("button", { name: /发送/ }).click();
    await fan.getByText(/发送之前无法读取地址 150/).waitFor(seconds(15));
    expect(await fan.locator(".said").textContent()).not.toMatch(/platform|answered/i);
    simulator.control.setOnline("GH-0001", false);
    await page.getByRole("link", { name: /报警/ }).click();
    await page.getByText("请检查控制器的电源和网络。").waitFor(seconds(30));
    expect(complaints).toEqual([]);
  });

  it("what a guard keeps back is disabled with the rule and its numbers, and its alarm can be acknowledged", async () => {
    const controllers = `
  GH-0001:
    actuators:
      vent: { kind: skylight, address: "101", name: Vent, limits: { guards: { hot: { sensor: airtemp, above: -50, allow: [close, 0..10] } } } }
`;
    const { url, simulator } = await scene({ controllers });
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await opened(page, "Vent");
    await card(page, "Vent")
      .getByText(/Air temperature is .* °C, above the limit of -50 °C\./)
      .waitFor(seconds(20));
    expect(await card(page, "Vent").getByRole("button", { name: "Open", exact: true }).isDisabled()).toBe(
      true,
    );
    expect(await card(page, "Vent").getByRole("button", { name: "Close", exact: true }).isEnabled()).toBe(
      true,
    );
    await card(page, "Vent").getByRole("slider").fill("45");
    expect(
      await card(page, "Vent")
        .getByRole("button", { name: /^Send 45/ })
        .isDisabled(),
    ).toBe(true);
    simulator.control.setOnline("GH-0001", false);
    await page.getByRole("link", { name: /Alarms/ }).click();
    await page.getByRole("button", { name: "Acknowledge" }).first().click(seconds(40));
    await page.getByText("acknowledged").first().waitFor(seconds(10));
  });
});

describe("a first visit", () => {
  it("says once that nobody can command, makes the first operator by the code, and lets commands pass for this run", async () => {
    const { url, program, restart } = await scene({ http: "  page: true", commands: "read_only: true" });
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    const fan = await opened(page, "Fan");
    await page.getByText("Nobody can command here yet.").waitFor(seconds(10));
    expect(await page.getByText(/Nobody (?:can command|is logged in)/).count()).toBe(1);
    const [, code = ""] = /first operator with the code (\S+?)["\s]/.exec(program().stderr) ?? [];
    // Everybody on this computer sees the log of the page.
    expect(JSON.stringify(await (await fetch(`${url}/api/health`)).json())).not.toContain(code);
    await page.getByRole("button", { name: "Make the first operator" }).click();
    await page.getByLabel("Code").fill("AAAA-BBBB");
    await page.getByLabel("Name").fill("anna");
    await page.getByLabel(/^Password/).fill("sunflowers in a row");
    await page.getByRole("button", { name: "Make the first operator" }).click();
    await page.getByText("This is not the code").waitFor(seconds(10));
    expect(await axe(page)).toEqual([]);
    await page.getByLabel("Code").fill(code.toLowerCase());
    await page.getByRole("button", { name: "Make the first operator" }).click();
    await page.getByText("anna", { exact: true }).waitFor(seconds(10));
    // The view is drawn anew for whom it knows now, and what was open in it stays open.
    await fan.waitFor(seconds(10));
    await page.getByRole("button", { name: "Take commands until the next restart" }).click();
    await page.getByText("The bridge is read-only").waitFor({ state: "detached", ...seconds(10) });
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("confirmed", { exact: true }).waitFor(seconds(20));
    expect((await fetch(`${url}/api/overview`)).status).toBe(401);
    program().signal("SIGTERM");
    await program().ended;
    await restart();
    // The login outlives it, and what was chosen for the run does not.
    await page.getByText(/^The bridge was restarted at /).waitFor(seconds(20));
    await page.getByText("The bridge is read-only: every").waitFor(seconds(10));
    await page.getByText("anna", { exact: true }).waitFor(seconds(10));
    expect(program().stderr).not.toContain("first operator with the code");
    expect(complaints.filter((one) => !one.includes("401"))).toEqual([]);
  });
});

describe("a broker that is away", () => {
  it("is said, values go on, and a command is taken all the same", async () => {
    const mosquitto = await startMosquitto();
    const { url } = await scene({ mqtt: `mqtt: { url: "mqtt://127.0.0.1:${mosquitto.port}" }` });
    const { page, complaints } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await card(page, "Fan").waitFor(seconds(15));
    await mosquitto.stop();
    await page.getByText("No link to the MQTT broker.").waitFor(seconds(20));
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("confirmed", { exact: true }).waitFor(seconds(20));
    expect(await page.locator(".silent").count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

describe("a page that is not told anything", () => {
  it("turns grey within 15 s of the bridge's death, takes no command, and comes back by itself", async () => {
    const { url, program, restart } = await scene({ http: "  page: true" });
    const { page } = await visit(url, "#/controller/gh-0001");
    await opened(page, "Fan");
    program().signal("SIGKILL");
    const killedAt = performance.now();
    await page.getByText("Nothing heard from the bridge").waitFor(seconds(20));
    expect(performance.now() - killedAt).toBeLessThan(17_500);
    await card(page, "Fan").getByText("Not now: nothing is heard from the bridge.").waitFor(seconds(5));
    expect(await page.locator(".silent").count()).toBe(1);
    await program().ended;
    await restart();
    await page.locator(".silent").waitFor({ state: "detached", ...seconds(20) });
  });

  it("two browsers show the same", async () => {
    const { url } = await scene();
    const [one, other] = [await visit(url, "#/controller/gh-0001"), await visit(url, "#/controller/gh-0001")];
    await logIn(one.page);
    await logIn(other.page);
    await card(other.page, "Fan").waitFor(seconds(15));
    await command(one.page, "Fan", "On");
    for (const { page } of [one, other])
      await expect.poll(() => card(page, "Fan").locator(".state").textContent(), seconds(20)).toBe("On");
    await (await opened(other.page, "Fan")).getByText("by anna").waitFor(seconds(10));
  });
});

describe("behind Home Assistant's ingress", () => {
  it("the page works below its path, with the browser's Host and Origin, added headers and no encodings", async () => {
    const { url } = await scene({ http: "  ingress: { enabled: true, role: operator, address: 127.0.0.1 }" });
    const prefix = "/api/hassio_ingress/aB3-xyz_9";
    const target = new URL(url);
    const seen: (string | undefined)[] = [];
    const added = { "x-ingress-path": prefix, "x-remote-user-name": "anna", "x-forwarded-for": "10.0.0.9" };
    const forwarded = (headers: Readonly<Record<string, unknown>>) => {
      const kept = Object.entries(headers).filter(([name]) => name !== "accept-encoding");
      return { ...Object.fromEntries(kept), ...added } as Record<string, string>;
    };
    const stand = createServer((asked, answer) => {
      const path = (asked.url ?? "").replace(prefix, "");
      const { hostname: host, port } = target;
      const call = httpRequest(
        { host, port, path, method: asked.method, headers: forwarded(asked.headers) },
        (got) => {
          seen.push(got.headers["content-encoding"]);
          answer.writeHead(got.statusCode ?? 502, got.headers);
          got.pipe(answer);
        },
      );
      asked.pipe(call);
    });
    stand.on("upgrade", (asked, socket) => {
      const inner = net.connect(Number(target.port), target.hostname);
      const headers = Object.entries(forwarded(asked.headers)).map(([key, value]) => `${key}: ${value}`);
      inner.write([`GET ${(asked.url ?? "").replace(prefix, "")} HTTP/1.1`, ...headers, "", ""].join("\r\n"));
      socket.pipe(inner).pipe(socket);
      for (const one of [inner, socket]) one.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => stand.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void stand.close());
    const { port } = stand.address() as net.AddressInfo;
    const { page, complaints } = await visit(
      `http://127.0.0.1:${port}`,
      `${prefix.slice(1)}/#/controller/gh-0001`,
    );
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("by anna").waitFor(seconds(20));
    expect(seen.filter((encoding) => encoding !== undefined)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe("the rest of the page", () => {
  it("journal, alarms, diagnostics, doctor and log tell what happened", async () => {
    const { url, simulator } = await scene({ http: operator });
    const { page, complaints } = await visit(url, "#/controller/gh-0001", {
      viewport: { width: 1280, height: 900 },
    });
    await logIn(page);
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("confirmed", { exact: true }).waitFor(seconds(15));
    await page.getByRole("link", { name: "Journal" }).click();
    await page
      .getByRole("cell", { name: /confirmed/ })
      .first()
      .waitFor(seconds(10));
    // People know the name; the ids of the topics are its title.
    await page.getByRole("cell", { name: "East house / Fan", exact: true }).first().waitFor(seconds(10));
    expect(await page.getByTitle("gh-0001 / fan").count()).toBeGreaterThan(0);
    await page.getByLabel("Outcome").selectOption("rejected");
    await page.getByText("Nothing found.").waitFor(seconds(10));
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("journal.csv");
    // An address that nobody has configured: what is pushed of it stands there with lines to copy.
    simulator.control.moveByHand("GH-0001", "310", "1010");
    await page.getByRole("link", { name: "Diagnostics" }).click();
    await page.getByText("gh-0001 / 310: 1010 looks like kind: machine").waitFor(seconds(20));
    await page.getByText("YAML", { exact: true }).click();
    await page.getByText("machine_310: { kind: machine, address: 310 } # 1010").waitFor(seconds(5));
    await page.getByRole("button", { name: "Run doctor" }).click();
    await page.locator(".findings li").nth(3).waitFor(seconds(30));
    // And what the account holds beside it, as lines that do not make the page wider.
    await page.getByRole("button", { name: "Look for controllers and actuators" }).click();
    await page.getByText("YAML", { exact: true }).nth(1).click(seconds(60));
    await page.getByText("irrigation_plan_1: { kind: irrigation").waitFor(seconds(5));
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
    expect(await axe(page)).toEqual([]);
    await page.getByRole("link", { name: "Log" }).click();
    const ended = page.getByText(/gh-0001\/fan on.*confirmed/);
    await ended.first().waitFor(seconds(10));
    await page.getByLabel("Filter").fill("command taken");
    await expect.poll(() => ended.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("a wrong login says so, and leaving ends it", async () => {
    const { url } = await scene();
    const { page } = await visit(url);
    await logIn(page, "anna", "wrong");
    await page.getByText("Wrong name or password.").waitFor(seconds(10));
    await logIn(page);
    await page.locator(".row").first().waitFor(seconds(10));
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("button", { name: "Log in" }).waitFor(seconds(10));
  });
});

describe("what is well", () => {
  it("a station that no list calls online is not marked while its readings come, and is once they are old", async () => {
    const { url, simulator } = await scene({ polling: "polling: { sensors: 1s, stale_after: 10s }" });
    const { page } = await visit(url);
    await logIn(page);
    const station = page.locator("a.row", { hasText: "气象站" });
    await station.locator(".key:not(.none)").first().waitFor(seconds(30));
    await expect.poll(() => station.locator(".badge", { hasText: "unknown" }).count(), seconds(20)).toBe(0);
    await station.click();
    await page.locator("h1", { hasText: "气象站" }).waitFor(seconds(10));
    expect(await page.locator(".title .badge").count()).toBe(0);
    await page.screenshot({ path: process.env["SHOTS"] ? `${process.env["SHOTS"]}/station.png` : undefined });
    simulator.control.freezeSensors("WS-0001");
    await page.locator(".title .badge", { hasText: "unknown" }).waitFor(seconds(40));
  });

  it("the log says sentences, has what stands behind them folded, and marks the level that is on", async () => {
    const { url } = await scene();
    const { page } = await visit(url, "#/controller/gh-0001");
    await logIn(page);
    await command(page, "Fan", "On");
    await card(page, "Fan").getByText("confirmed", { exact: true }).waitFor(seconds(15));
    await page.evaluate(() => (location.hash = "#/log"));
    const line = page.locator(".log li", { hasText: /gh-0001\/fan on.*confirmed/ });
    await line.waitFor(seconds(10));
    expect(await line.locator("summary").innerText()).not.toMatch(/\w=/);
    expect(await line.locator(".facts").isVisible()).toBe(false);
    const levels = page.locator(".buttons button");
    const on = () =>
      levels.evaluateAll((all) =>
        all.filter((one) => one.ariaPressed === "true").map((one) => one.textContent),
      );
    await expect.poll(on, seconds(5)).toEqual(["info"]);
    await levels.filter({ hasText: "debug" }).click();
    await expect.poll(on, seconds(5)).toEqual(["debug"]);
    await page.screenshot({ path: process.env["SHOTS"] ? `${process.env["SHOTS"]}/log.png` : undefined });
    await line.locator("summary").click();
    await page.screenshot({
      path: process.env["SHOTS"] ? `${process.env["SHOTS"]}/log-open.png` : undefined,
    });
  });
});
