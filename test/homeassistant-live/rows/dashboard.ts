import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { Rows } from "../support/rows.js";
import type { World } from "../support/world.js";

/* What `greenhouse2mqtt dashboard` prints, put into Home Assistant as a user does, and looked at in a browser. */

interface Card {
  readonly type: string;
  readonly entity?: string;
  readonly visibility?: unknown;
  readonly cards?: readonly Card[];
  readonly features?: readonly { readonly type: string }[];
}

interface Dashboard {
  readonly views: readonly {
    readonly title: string;
    readonly path: string;
    readonly sections: readonly Card[];
  }[];
}

const cardsIn = (card: Card): readonly Card[] => [card, ...(card.cards ?? []).flatMap(cardsIn)];

const patientMs = 60_000;

/** Texts by which the interface says that a card is wrong, or that its entity is not there. */
const faults = "hui-error-card, hui-warning, hui-warning-element, ha-card.error, .not-found";

/** A page of a browser that is signed in as the first user. */
export async function signedIn(
  browser: Browser,
  { ha, account }: World,
  options: BrowserContextOptions = { viewport: { width: 1280, height: 1000 } },
): Promise<Page> {
  const { url, refreshToken } = account;
  const page = await browser.newPage(options);
  const tokens = {
    ...{ hassUrl: url, clientId: `${url}/`, refresh_token: refreshToken },
    ...{ access_token: ha.token, expires: Date.now() + 1_700_000, expires_in: 1800, token_type: "Bearer" },
  };
  await page.addInitScript((kept) => {
    (
      globalThis as unknown as { readonly localStorage: { setItem(key: string, value: string): void } }
    ).localStorage.setItem("hassTokens", kept);
  }, JSON.stringify(tokens));
  return page;
}

export function dashboards(world: () => World, rows: Rows): void {
  it("the printed dashboard names entities that are there, and Home Assistant shows every tile of it without a fault", async () => {
    const one = world();
    await one.untilComplete();
    const printed = await one.stage.program(["dashboard"]).ended;
    expect(printed).toMatchObject({ code: 0 });
    const config = parse(printed.stdout) as Dashboard;
    const cards = config.views.flatMap(({ sections }) => sections.flatMap(cardsIn));
    const tiles = cards.filter(({ type }) => type === "tile");
    expect(tiles.length).toBeGreaterThan(40);
    expect(tiles.filter(({ entity = "" }) => one.ha.state(entity) === undefined)).toEqual([]);
    const place = {
      url_path: "green-houses",
      title: "Greenhouses",
      mode: "storage",
      show_in_sidebar: true,
      require_admin: false,
    };
    await one.ha.call("lovelace/dashboards/create", place);
    await one.ha.call("lovelace/config/save", { url_path: place.url_path, config });
    const browser = await chromium.launch({
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox"],
    });
    try {
      const page = await signedIn(browser, one);
      for (const { path, sections } of config.views) {
        await page.goto(`${one.account.url}/${place.url_path}/${path}`);
        const wanted = sections
          .flatMap(cardsIn)
          .filter(({ type, visibility }) => type === "tile" && !visibility);
        const shown = page.locator("hui-tile-card");
        await expect.poll(() => shown.count(), { timeout: patientMs }).toBeGreaterThanOrEqual(wanted.length);
        const features = wanted.flatMap(({ features: all = [] }) => all);
        for (const type of new Set(features.map(({ type: name }) => name)))
          await expect
            .poll(() => page.locator(`hui-${type}-card-feature`).count(), { timeout: patientMs })
            .toBe(features.filter(({ type: name }) => name === type).length);
        expect(await page.locator(faults).allTextContents()).toEqual([]);
        const picture = process.env["PICTURES"];
        if (picture !== undefined)
          await page.screenshot({ path: `${picture}/dashboard-${path}.png`, fullPage: true });
      }
    } finally {
      await browser.close();
      const all = (await one.ha.call("lovelace/dashboards/list")) as readonly {
        readonly id: string;
        readonly url_path: string;
      }[];
      const own = all.find(({ url_path: name }) => name === place.url_path);
      if (own) await one.ha.call("lovelace/dashboards/delete", { dashboard_id: own.id });
    }
    rows.tell("printed dashboard", `${config.views.length} views, ${tiles.length} tiles, 0 faults`);
  });
}
