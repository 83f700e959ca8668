import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Configuration } from "../end-to-end/support/stage.js";
import { signedIn } from "./rows/dashboard.js";
import { idsOf } from "./rows/outcomes.js";
import { installed } from "./support/process.js";
import { actuators, createWorld, house, parameters, type World } from "./support/world.js";

/*
 * The pictures of Home Assistant that the documents show, in both languages, taken from a real one:
 * `npx vitest run --config vitest.proof.config.ts --mode homeassistant-pictures`, after a build. FOLDER takes them elsewhere.
 */

const folder = process.env["FOLDER"] ?? join(import.meta.dirname, "../../docs/pictures");

interface Told {
  readonly locale: string;
  /** Of files and cards. */
  readonly suffix: string;
  readonly house: string;
  readonly area: string;
  readonly target: string;
  readonly people: string;
  readonly reason: string;
  readonly names: Readonly<Record<string, string>>;
}

const told = {
  en: {
    ...{
      locale: "en-US",
      suffix: "",
      house: "East house",
      area: "East",
      target: "EC target",
      people: "anna",
      reason: "glass work",
    },
    names: {
      ...{ left_skylight: "Left skylight", inner_shade: "Inner shade", louvre: "Louvre" },
      ...{ roof_fans: "Roof fans", valve_1: "Bed 1", grow_light: "Grow light", co2_supply: "CO2 supply" },
    },
  },
  zh: {
    ...{
      locale: "zh-CN",
      suffix: "-zh",
      house: "东棚",
      area: "东区",
      target: "EC 目标值",
      people: "张工",
      reason: "换玻璃",
    },
    names: {
      ...{ left_skylight: "左天窗", inner_shade: "内遮阳", louvre: "百叶窗" },
      ...{ roof_fans: "风机湿帘", valve_1: "一号苗床", grow_light: "补光灯", co2_supply: "二氧化碳补气" },
    },
  },
} satisfies Readonly<Record<"en" | "zh", Told>>;

const guards = {
  wind: { sensor: "weather/wind", above: 12, clear_at: 9, allow: ["close", "stop", "0..10"] },
};

const controllerOf = ({ names, house: name, area, target }: Told): Configuration => ({
  ...{ name, area },
  parameters: { ec_target: { ...(parameters["ec_target"] as Configuration), name: target } },
  actuators: Object.fromEntries(
    Object.entries(names).map(([key, called]) => [
      key,
      {
        ...actuators[key],
        name: called,
        ...(key === "left_skylight" && { limits: { guards } }),
      },
    ]),
  ),
});

describe.each(["en", "zh"] as const)("Home Assistant in %s", (language) => {
  const words = told[language];
  const now: { world?: World } = {};
  beforeAll(async () => {
    now.world = await createWorld(await installed("newest"), {
      configuration: {
        homeassistant: { language },
        controllers: { [house]: controllerOf(words) },
      },
    });
  });
  afterAll(() => now.world?.clear());

  it("is pictured with a window, a lock, a command that was not confirmed, and an alarm", async () => {
    const { world } = now;
    if (world === undefined) throw new Error("it did not start");
    await world.untilComplete();
    const { entities } = await idsOf(world);
    const id = (suggested: string) => entities.get(suggested) ?? suggested;
    await happen(world, words, id);
    const browser = await chromium.launch({
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox"],
    });
    try {
      const options = { locale: words.locale, colorScheme: "light", reducedMotion: "reduce" } as const;
      const wide = await signedIn(browser, world, { ...options, viewport: { width: 1100, height: 1060 } });
      const picture = (name: string) => join(folder, `home-assistant-${name}${words.suffix}.png`);
      const device = await deviceOf(world, house);
      await opened(wide, `${world.account.url}/config/devices/device/${device}`);
      await wide.screenshot({ path: picture("device") });
      await wide.setViewportSize({ width: 1100, height: 3000 });
      await settled(wide);
      await wide.screenshot({ path: picture("lock"), clip: await lastCards(wide) });
      await wide.setViewportSize({ width: 1100, height: 860 });
      await opened(
        wide,
        `${world.account.url}/config/devices/device/${await deviceOf(world, "greenhouse2mqtt")}`,
      );
      await wide.screenshot({ path: picture("alarm") });
      await wide.setViewportSize({ width: 820, height: 560 });
      await opened(wide, `${world.account.url}/${await cardsIn(world, words, id)}/cards`);
      await wide.screenshot({ path: picture("card") });
      const phone = await signedIn(browser, world, { ...options, viewport: { width: 400, height: 860 } });
      await opened(phone, `${world.account.url}/config/devices/device/${device}`);
      await phone.screenshot({ path: picture("phone") });
    } finally {
      await browser.close();
    }
    expect(world.available().length).toBeGreaterThan(10);
  });
});

/** A window is opened a little, then locked; a valve does not do what it is told; there is no wind, as far as anybody knows. */
async function happen(world: World, { people, reason }: Told, id: (suggested: string) => string) {
  const { ha, watch, platform } = world;
  const problem = id("binary_sensor.gh_0001_command_problem");
  const lock = id("lock.gh_0001_left_skylight_lock");
  await watch.publish("weather/wind", JSON.stringify({ speed: 3 }));
  await ha.act("cover.set_cover_position", id("cover.gh_0001_left_skylight"), { position: 8 });
  await ha.until(
    "the window is at 8",
    () => ha.state(id("cover.gh_0001_left_skylight"))?.attributes["current_position"] === 8,
  );
  await ha.act("select.select_option", id("select.gh_0001_roof_fans"), {
    option: (ha.state(id("select.gh_0001_roof_fans"))?.attributes["options"] as readonly string[])[2],
  });
  await platform.fault({ controller: house, count: 1, fault: "ignore", address: "210" });
  await ha.act("valve.open_valve", id("valve.gh_0001_valve_1"));
  await ha.until("the problem shows", () => ha.state(problem)?.state === "on");
  const asked = { controller: "gh-0001", actuator: "left_skylight", by: people, reason };
  await watch.publish("greenhouse/bridge/request/lock", JSON.stringify(asked));
  await ha.until("it is locked", () => ha.state(lock)?.state === "locked");
}

async function deviceOf({ ha }: World, code: string): Promise<string> {
  const found = (await ha.devices()).find(({ identifiers }) =>
    identifiers.some(([, identifier]) => identifier.endsWith(code)),
  );
  if (found === undefined) throw new Error(`no device ${code}`);
  return found.id;
}

/** Makes a dashboard of the two cards; its path. */
async function cardsIn({ ha }: World, { suffix, area }: Told, id: (suggested: string) => string) {
  const cards = ["window", "limits"].map((name) => {
    const text = readFileSync(
      join(import.meta.dirname, `../../deploy/home-assistant/cards/${name}${suffix}.yaml`),
      "utf8",
    );
    return parse(text.replace(/\b(?:cover|select|binary_sensor|button|lock)\.\w+/g, id)) as unknown;
  });
  const place = { url_path: "two-cards", title: area, mode: "storage" };
  await ha.call("lovelace/dashboards/create", { ...place, show_in_sidebar: true, require_admin: false });
  const config = { views: [{ title: area, path: "cards", cards }] };
  await ha.call("lovelace/config/save", { url_path: place.url_path, config });
  return place.url_path;
}

const patient = { timeout: 60_000 };

async function opened(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator("ha-card").first().waitFor(patient);
  await settled(page);
}

/** Its interface loads what it shows bit by bit, and nothing says when it has all. */
const settled = (page: Page): Promise<void> => page.waitForTimeout(4_000);

/** Around its last cards: events, configuration, diagnostic. */
async function lastCards(page: Page) {
  const cards = await page.locator("ha-device-entities-card").all();
  const boxes = (await Promise.all(cards.slice(-3).map((card) => card.boundingBox()))).filter(
    (box) => box !== null,
  );
  const [x, y] = [Math.min(...boxes.map((box) => box.x)) - 8, Math.min(...boxes.map((box) => box.y)) - 8];
  const width = Math.max(...boxes.map((box) => box.x + box.width)) + 8 - x;
  return { x, y, width, height: Math.max(...boxes.map((box) => box.y + box.height)) + 8 - y };
}
