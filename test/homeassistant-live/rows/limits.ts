import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { World } from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { idsOf } from "./outcomes.js";

/* What limits commands, as Home Assistant shows it: a lock, why something is not to be had, and alarms. */

async function scene(world: World) {
  const { ha, watch } = world;
  const { entities } = await idsOf(world);
  const id = (suggested: string) => entities.get(suggested) ?? suggested;
  const skylight = id("cover.gh_0001_right_skylight");
  const lock = id("lock.gh_0001_right_skylight_lock");
  const result = id("event.gh_0001_command_result");
  const rules = () =>
    ((ha.state(skylight)?.attributes["because"] ?? []) as readonly { readonly rule: string }[]).map(
      ({ rule }) => rule,
    );
  return {
    ...{ ha, watch, id, skylight, lock, rules },
    ask: (request: string, fields: object) =>
      watch.publish(`greenhouse/bridge/request/${request}`, JSON.stringify(fields)),
    wind: (speed: number) => watch.publish("weather/wind", JSON.stringify({ speed })),
    untilBecause: (...wanted: string[]) =>
      ha.until(`because of ${wanted.join(", ") || "nothing"}`, () => rules().join() === wanted.join()),
    /** Opens it, which is refused; nothing moves. */
    refused: async () => {
      const since = performance.now();
      const before = ha.state(skylight)?.state;
      await ha.act("cover.open_cover", skylight);
      const isTold = () =>
        ha
          .shown(result, since)
          .some(
            ({ attributes: { event_type: type, reason, actuator } }) =>
              type === "refused" && reason === "interlock" && actuator === "right_skylight",
          );
      await ha.until("it is refused", isTold);
      expect(ha.state(skylight)?.state).toBe(before);
    },
  };
}

export function limits(world: () => World, rows: Rows): void {
  it("a lock is locked and unlocked, what it refuses is told, and somebody else's stays", async () => {
    const { ha, watch, lock, skylight, ask, wind, refused, untilBecause } = await scene(world());
    const shows = (state: string, by?: string) =>
      ha.until(`the lock is ${state} by ${by ?? "nobody"}`, () => {
        const now = ha.state(lock);
        return now?.state === state && now.attributes["by"] === by;
      });
    await wind(3);
    await untilBecause();
    await shows("unlocked");
    expect(ha.state(skylight)?.attributes).toMatchObject({ degrees: { min: 0, max: 100 } });
    await ha.act("lock.lock", lock);
    await shows("locked", "home-assistant");
    await untilBecause("lock");
    await refused();
    await ha.act("lock.unlock", lock);
    await shows("unlocked");
    await untilBecause();
    await ask("lock", {
      controller: "gh-0001",
      actuator: "right_skylight",
      by: "anna",
      reason: "glass work",
    });
    await shows("locked", "anna");
    const answer = watch.untilTrue(
      () => watch.latest("greenhouse/bridge/response/lock")?.includes("locked by anna") === true,
      "the bridge says whose lock it is",
      20_000,
    );
    await ha.act("lock.unlock", lock);
    await answer;
    expect(ha.state(lock)).toMatchObject({ state: "locked", attributes: { reason: "glass work" } });
    await world().endBridge("SIGKILL");
    await world().startBridge();
    await shows("locked", "anna");
    await ask("unlock", { controller: "gh-0001", actuator: "right_skylight", by: "bert", force: true });
    await shows("unlocked");
    rows.tell("lock", "locked, refused, unlocked; another's kept, over kill -9 too");
  });

  it("a guard that holds shows as attributes of the cover, without the number, and a card says it in words", async () => {
    const { ha, skylight, wind, refused, untilBecause, id } = await scene(world());
    // What came before the bridge's start has no age.
    await wind(3);
    await untilBecause();
    await wind(14.5);
    await untilBecause("wind");
    expect(ha.state(skylight)?.attributes).toMatchObject({
      words: ["close"],
      degrees: { min: 0, max: 10 },
      because: [{ rule: "wind", input: "weather/wind", limit: 12, quality: "good", until: null }],
    });
    const [because] = ha.state(skylight)?.attributes["because"] as readonly object[];
    expect(because).not.toHaveProperty("value");
    const card = readFileSync("deploy/home-assistant/cards/limits.yaml", "utf8");
    const [, content = ""] = /content: \|-\n([^]*?)\n {2}- type/.exec(card) ?? [];
    const text = await ha.render(content.replace("cover.gh_0001_left_skylight", id(skylight)));
    expect(text.replace(/\s+/g, " ").trim()).toBe(
      "**Only** close and 0 to 10 %, **because of** - wind (weather/wind)",
    );
    await refused();
    await wind(3);
    await untilBecause();
    rows.tell("guard", "attributes while it holds, refused, nothing after");
  });

  it("an alarm is one event and one problem with its remedy; acknowledged it stays, and a restart tells nothing again", async () => {
    const one = world();
    const { ha, id } = await scene(one);
    const [event, alarm] = [id("event.greenhouse2mqtt_alert"), id("binary_sensor.greenhouse2mqtt_alarm")];
    const began = performance.now();
    const told = (type: string) =>
      ha.shown(event, began).filter(({ attributes }) => {
        const isOurs = attributes["alarm"] === "controller_offline.gh-0003";
        return attributes["event_type"] === type && isOurs;
      });
    const listed = () =>
      JSON.stringify(ha.state(alarm)?.attributes["alarms"] ?? []).includes("controller_offline.gh-0003");
    await one.platform.tell("set_online", { controller: "GH-0003", online: false });
    try {
      await ha.until("the alarm shows", () => ha.state(alarm)?.state === "on" && listed());
      await ha.until("the event tells it", () => told("alarm").length > 0);
      expect(told("alarm")[0]?.attributes["remedy"]).toMatch(/power and network/);
      await ha.act("button.press", id("button.greenhouse2mqtt_acknowledge_alarms"));
      await ha.until("it is seen", () => ha.state(alarm)?.attributes["unacknowledged"] === 0);
      expect(ha.state(alarm)?.state).toBe("on");
      await one.endBridge();
      await one.startBridge();
      await ha.until("the alarm is back", () => ha.state(alarm)?.state === "on" && listed());
      expect(ha.state(alarm)?.attributes["unacknowledged"]).toBe(0);
    } finally {
      await one.platform.tell("set_online", { controller: "GH-0003", online: true });
    }
    await ha.until("its end is told", () => told("alarm_cleared").length > 0);
    await ha.until("the problem is over", () => !listed());
    // Each event has a time of its own, and `unavailable` between says nothing.
    expect(new Set(told("alarm").map(({ state }) => state)).size).toBe(1);
    rows.tell("alarm", "1 event, 1 problem with its remedy, acknowledged, over; 0 told again by a restart");
  });
}
