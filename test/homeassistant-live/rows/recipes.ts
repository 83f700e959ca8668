import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { house, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { untilAvailable } from "./announcements.js";
import { idsOf } from "./outcomes.js";

/* The recipes of deploy/home-assistant as a user copies them, loaded by Home Assistant and run again and again. */

const folder = resolve("deploy/home-assistant");

/** Files of the recipes for a configuration folder; a reading that is missing is told sooner. */
const recipeFiles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /^(packages|blueprints)\/.*\.yaml$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name), "utf8").replace("00:15:00", "00:00:01")]),
  ),
  "packages/blueprint.yaml": `
automation:
  - id: blueprint_use
    alias: The blueprint
    use_blueprint:
      path: greenhouse2mqtt/command_not_confirmed.yaml
      input: { result: event.gh_0001_command_result, refused: true }
`,
};

/** An entity id as a file of ours writes it. */
const written = /\b[a-z_]+\.(?:gh_0001|greenhouse2mqtt)_[a-z0-9_]+/g;

interface Notification {
  readonly notification_id: string;
  readonly title: string | null;
  readonly message: string;
}

async function notifications({ ha }: World): Promise<readonly Notification[]> {
  return (await ha.call("persistent_notification/get")) as readonly Notification[];
}

/** Waits for a notification that says this; then none is left. */
async function notified(world: World, title: string, saying: RegExp = /./): Promise<void> {
  const end = performance.now() + 20_000;
  for (;;) {
    const found = (await notifications(world)).filter(
      (one) => one.title === title && saying.test(one.message),
    );
    if (found.length > 0) break;
    if (performance.now() > end)
      throw new Error(`no notification "${title}": ${JSON.stringify(await notifications(world))}`);
    await new Promise((resolve_) => setTimeout(resolve_, 50));
  }
  await world.ha.act("persistent_notification.dismiss_all", "all");
}

/** The texts of a card and of the cards in it. */
const contentsOf = (card: unknown): readonly string[] =>
  typeof card !== "object" || card === null
    ? []
    : Object.entries(card).flatMap(([key, value]) =>
        key === "content" && typeof value === "string" ? [value] : contentsOf(value),
      );

const reject = { fault: "body_code", operation: "set-value", controller: house, code: 500, count: 1 };

export function recipes(world: () => World, rows: Rows, runs: number, isFloor: boolean): void {
  const told = (name: string) => rows.tell(`recipe: ${name}`, `${runs} of ${runs}`);
  const known = { ids: new Map<string, string>() as ReadonlyMap<string, string> };
  /** An entity as this Home Assistant calls it, by the id that the bridge suggests. */
  const id = (suggested: string) => known.ids.get(suggested) ?? suggested;
  const own = (text: string) => text.replace(written, id);

  it("a user copies them and puts in the entity ids of this Home Assistant", async () => {
    const one = world();
    await one.untilComplete();
    known.ids = (await idsOf(one)).entities;
    const unknown = Object.values(recipeFiles).flatMap((text) =>
      [...text.matchAll(written)].flatMap(([name]) => (known.ids.has(name) ? [] : [name])),
    );
    expect(unknown).toEqual([]);
    await one.endHomeAssistant();
    for (const [name, text] of Object.entries(recipeFiles)) {
      await mkdir(dirname(join(one.folder, name)), { recursive: true });
      await writeFile(join(one.folder, name), own(text));
    }
    await one.startHomeAssistant();
    await one.untilComplete();
    await untilAvailable(one, "with the recipes");
  });

  it("the script waits for the outcome of its own command, an instant refusal included", async () => {
    const { ha } = world();
    const outcomes: string[] = [];
    for (let run = 0; run < runs; run += 1) {
      const command = ["position", "open", "sideways", "close"][run % 4];
      const data = { controller: "gh-0001", actuator: "left_skylight", command };
      const { response } = (await ha.call("call_service", {
        ...{ domain: "script", service: "greenhouse_command", service_data: data },
        return_response: true,
      })) as { readonly response: { readonly outcome: string } };
      outcomes.push(response.outcome);
    }
    const wanted = outcomes.map((_, run) => (run % 2 === 0 ? "refused" : "confirmed"));
    expect(outcomes.map((one) => (one === "already" ? "confirmed" : one))).toEqual(wanted);
    told("a script that waits");
  });

  it("a command that failed is told by the automation, the problem by its own, and both by the blueprint", async () => {
    const one = world();
    await one.ha.act("persistent_notification.dismiss_all", "all");
    for (let run = 0; run < runs; run += 1) {
      const option = run % 2 === 0 ? "All on" : "Fan 1";
      await one.platform.fault(reject);
      await one.ha.act("select.select_option", id("select.gh_0001_roof_fans"), { option });
      const problem = id("binary_sensor.gh_0001_command_problem");
      await one.ha.until("the problem shows", () => one.ha.state(problem)?.state === "on");
      expect(one.ha.state(problem)?.attributes["message"]).toMatch(/roof_fans/);
      const said = () => notifications(one).then((all) => all.map(({ title }) => title ?? "").sort());
      await expect
        .poll(said, { timeout: 20_000 })
        .toEqual(["GH-0001 has a problem", "GH-0001: roof_fans", "roof_fans: rejected"]);
      await one.ha.act("persistent_notification.dismiss_all", "all");
      await one.ha.act("button.press", id("button.gh_0001_acknowledge_problem"));
      await one.ha.until("it is acknowledged", () => one.ha.state(problem)?.state === "off");
    }
    told("an alarm on a command that failed, a problem, the blueprint");
  });

  it("a restart of the bridge tells nobody of an old failure again", async () => {
    const one = world();
    await one.platform.fault(reject);
    await one.ha.act("select.select_option", id("select.gh_0001_roof_fans"), { option: "Fans 1 and 2" });
    await notified(one, "GH-0001: roof_fans", /rejected/);
    await expect.poll(() => notifications(one).then(({ length }) => length)).toBeLessThanOrEqual(2);
    await one.ha.act("persistent_notification.dismiss_all", "all");
    await one.endBridge();
    await one.ha.until(
      "it is away",
      () => one.ha.state(id("event.gh_0001_command_result"))?.state === "unavailable",
    );
    await one.startBridge();
    await one.ha.until("it is back", () => one.ha.state(id("select.gh_0001_roof_fans"))?.state === "Off");
    const problem = id("binary_sensor.gh_0001_command_problem");
    await one.ha.until("the problem shows", () => one.ha.state(problem)?.state === "on");
    // That the bridge was not running is no old failure.
    const told = (await notifications(one)).filter(({ message }) => message !== "The bridge is not running.");
    expect(told).toEqual([]);
    await one.ha.act("button.press", id("button.gh_0001_acknowledge_problem"));
  });

  it("strong wind closes the skylight, each time", async () => {
    const one = world();
    const skylight = id("cover.gh_0001_left_skylight");
    const wind = (value: number) =>
      one.platform.tell("set_sensor", { controller: house, sensor: "室外风速", value });
    const speed = () => Number(one.ha.state(id("sensor.gh_0001_windspeed"))?.state);
    for (let run = 0; run < runs; run += 1) {
      await wind(1);
      await one.ha.until("calm", () => speed() < 10);
      // By hand, as the bridge takes sixty commands a minute for one actuator.
      await one.platform.tell("move_by_hand", { controller: house, address: "101", value: "10010" });
      await one.ha.until("it is open", () => one.ha.state(skylight)?.state === "open");
      await wind(15);
      await one.ha.until("it closes", () => one.ha.state(skylight)?.state === "closed");
      await one.ha.until(
        "the automation has ended",
        () => one.ha.state("automation.close_the_skylight_in_strong_wind")?.attributes["current"] === 0,
      );
    }
    await one.platform.tell("clear_sensor", { controller: house, sensor: "室外风速" });
    told("close on wind");
  });

  it("a reading that is missing is told, with the reason", async () => {
    const one = world();
    const { platform } = one;
    const reading = () => one.ha.state(id("sensor.gh_0001_airtemp"))?.state;
    const away = [
      () => platform.tell("freeze_sensors", { controller: house }),
      () => platform.tell("set_online", { controller: house, online: false }),
    ];
    for (let run = 0; run < runs; run += 1) {
      await away[run % 2]?.();
      await notified(one, "GH-0001 tells no temperature", [/sensor or the platform/, /is offline/][run % 2]);
      await platform.tell("unfreeze_sensors", { controller: house });
      await platform.tell("set_online", { controller: house, online: true });
      await one.ha.until("it is back", () => Number.isFinite(Number(reading())));
    }
    told("a reading that is missing");
  });

  it("a wind direction has statistics where the release has a mean of directions", async () => {
    const { ha } = world();
    await ha.until("the direction", () =>
      Number.isFinite(Number(ha.state(id("sensor.gh_0001_winddir"))?.state)),
    );
    const all = (await ha.call("recorder/list_statistic_ids")) as readonly {
      readonly statistic_id: string;
      readonly mean_type?: number;
    }[];
    const found = all.filter(({ statistic_id: one }) => one === id("sensor.gh_0001_winddir"));
    // 2 is a circular mean; an older release has none and ignores the class.
    expect(found.map(({ mean_type: type }) => type)).toEqual(isFloor ? [] : [2]);
  });

  it.each(["window", "limits", "window-zh", "limits-zh"])(
    "the card %s names entities that are there, and its texts render",
    async (name) => {
      const { ha } = world();
      const text = own(
        readFileSync(join(folder, `cards/${name}.yaml`), "utf8").replaceAll("left_sky", "right_sky"),
      );
      const ids = [...text.matchAll(/entity: (\S+)/g)].map(([, entity]) => entity ?? "");
      expect(ids.length).toBeGreaterThan(2);
      expect(ids.filter((entity) => ha.state(entity) === undefined)).toEqual([]);
      for (const content of contentsOf(parse(text))) expect(await ha.render(content)).not.toBe("");
    },
  );

  it("no recipe logs an error", () => {
    const lines = world().process.log().split("\n");
    const about =
      /(ERROR|WARNING) .*homeassistant\.components\.(automation|script|template|blueprint)|Invalid config/;
    expect(lines.filter((line) => about.test(line))).toEqual([]);
  });
}
