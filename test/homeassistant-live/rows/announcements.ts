import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { sensorKinds } from "../../../src/greenhouse/sensors.js";
import { controllerDocument } from "../../../src/homeassistant/device-documents.js";
import { sensorClasses } from "../../../src/homeassistant/sensor-classes.js";
import { controller, sensor, settings } from "../../homeassistant/fixtures.js";
import type { Installation } from "../support/process.js";
import { judged } from "../support/python.js";
import { registered, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";

/* What is announced is taken, whole. */

const goldenFolder = new URL("../../homeassistant/golden/", import.meta.url);

const golden = (): readonly unknown[] =>
  readdirSync(goldenFolder).map(
    (name) => JSON.parse(readFileSync(new URL(name, goldenFolder), "utf8")) as unknown,
  );

/** A reading of every kind in every unit that has a row, and the meters. */
function everyUnit(): unknown {
  const units = sensorKinds.flatMap((kind) =>
    ["", ...Object.keys(sensorClasses[kind].units)].map((unit) => ({ platformName: kind, kind, unit })),
  );
  const meters = { 累计流量: ["L", "m³", "t"], 用水量: ["L"], 电能: ["kWh", "Wh", "MWh"] };
  const summed = Object.entries(meters).flatMap(([platformName, own]) =>
    own.map((unit) => ({ platformName, kind: "other" as const, unit })),
  );
  const sensors = [...units, ...summed].map(({ unit, ...one }, at) =>
    sensor({ ...one, key: `channel:${at}`, id: `channel_${at}`, unit: unit === "" ? null : unit }),
  );
  return controllerDocument(controller({ sensors }), settings());
}

export function announcements(installation: Installation, world: () => World, rows: Rows): void {
  it("its own schemas and units take every golden and every live message, and a reading of every kind in every unit", async () => {
    const live = [
      ...world()
        .watch.current(/^homeassistant\/device\/[^/]+\/config$/)
        .values(),
    ];
    const messages = [...golden(), everyUnit(), ...live.map((text) => JSON.parse(text) as unknown)];
    const lines = await judged(installation, "schema.py", messages);
    const [faults, components] = [lines.slice(0, -1), Number(lines.at(-1)?.replace("checked ", ""))];
    rows.tell(
      "schema check",
      `${messages.length} messages, ${components} components, ${faults.length} refused`,
    );
    expect(faults).toEqual([]);
    expect(components).toBeGreaterThan(200);
  });

  it("every entity that is announced is created, enabled or not as announced, and its log is clean", async () => {
    const one = world();
    await one.settled();
    const total = await one.untilComplete();
    const entries = (await one.ha.registry()).filter(({ platform }) => platform === "mqtt");
    const there = await registered(one);
    const disabled = entries.filter(({ disabled_by: by }) => by !== null).length;
    const announcedDisabled = [...one.announced().values()].filter((c) => c["enabled_by_default"] === false);
    rows.tell("announced = created", `${total} = ${there.size}, ${disabled} disabled`);
    expect(disabled).toBe(announcedDisabled.length);
    await untilAvailable(one, "created");
    expect(one.trouble()).toEqual([]);
  });
}

/** Enabled entities that show `unavailable`. */
const unavailable = ({ ha }: World): readonly string[] =>
  ha
    .states()
    .filter(({ state }) => state === "unavailable")
    .map(({ entity_id: id }) => id);

/** Waits until no enabled entity is unavailable; else says which are. */
export const untilAvailable = (world: World, when: string, timeoutMs?: number): Promise<void> =>
  world.ha
    .until(when, () => unavailable(world).length === 0, timeoutMs)
    .catch((error: unknown) => {
      throw new Error(`${String(error)}: unavailable are ${unavailable(world).join(" ")}`);
    });
