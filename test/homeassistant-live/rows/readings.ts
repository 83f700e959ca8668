import { expect, it } from "vitest";
import { house, registered, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { idsOf } from "./outcomes.js";

/* A platform that takes the interface's words otherwise, with the settings for it: what a person sees and does in Home Assistant. */

export function readings(world: () => World, rows: Rows): void {
  it("an inverted cover is open where the platform says closed, and moves the other way round", async () => {
    const { ha, platform } = world();
    await world().untilComplete();
    const cover = (await registered(world())).get(`cover/greenhouse2mqtt_${house}_cover:106`) ?? "";
    const shown = (state: string, position: number) => () =>
      ha.state(cover)?.state === state && ha.state(cover)?.attributes["current_position"] === position;
    await ha.until("it shows what is read", shown("closed", 0));
    await ha.act("cover.open_cover", cover);
    await ha.until("it shows open", shown("open", 100));
    expect(await platform.register(house, "106")).toBe("10001");
    await ha.act("cover.set_cover_position", cover, { position: 30 });
    await ha.until("it shows 30 %", shown("open", 30));
    expect(await platform.register(house, "106")).toBe("70");
    await ha.act("cover.close_cover", cover);
    await ha.until("it shows closed", shown("closed", 0));
    expect(await platform.register(house, "106")).toBe("10010");
    rows.tell("inverted cover", "open, 30 %, closed: three commands, three states");
  });

  it("a further value that means automatic by `reads` shows as Automatic, without an alarm", async () => {
    const { ha, platform } = world();
    await world().untilComplete();
    const { entities } = await idsOf(world());
    const mode = entities.get("select.gh_0001_mist_cooling_mode") ?? "";
    await ha.until("it shows what is read", () => ha.state(mode)?.state === "Off");
    const since = performance.now();
    await platform.fault({
      fault: "wrong_read_back",
      controller: house,
      address: "330",
      value: "1110",
      for: "20s",
    });
    await ha.until("it shows Automatic", () => ha.state(mode)?.state === "Automatic");
    expect(ha.shown(mode, since).map(({ state }) => state)).not.toContain("unknown");
    expect(ha.state("binary_sensor.gh_0001_command_problem")?.state ?? "off").toBe("off");
    await platform.tell("clear_faults");
    await ha.until("it shows what is read again", () => ha.state(mode)?.state !== "Automatic");
    rows.tell("reads", "1110 shows as Automatic");
  });
}
