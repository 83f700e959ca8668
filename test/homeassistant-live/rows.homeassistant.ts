import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { announcements } from "./rows/announcements.js";
import { recipeFiles, recipes } from "./rows/recipes.js";
import { services } from "./rows/services.js";
import { type Installation, installed, type Which } from "./support/process.js";
import { printRows, rowsOf } from "./support/rows.js";
import { createWorld, type World } from "./support/world.js";

/*
 * A real Home Assistant beside Mosquitto, the built bridge and the simulated platform.
 *
 * HOMEASSISTANT_VERSIONS `newest floor`, or one of them: the newest release that can be installed, and the oldest promised.
 * HOMEASSISTANT_ROWS `all` for what takes many minutes too: restarts in every order, 500 controllers, each recipe 40 times.
 */

const versions = (process.env["HOMEASSISTANT_VERSIONS"] ?? "newest floor").split(/[ ,]+/) as Which[];
const isShort = process.env["HOMEASSISTANT_ROWS"] !== "all";

for (const which of versions) {
  const found = await installed(which).catch((error: unknown) => String(error));
  if (typeof found === "string") {
    process.stdout.write(`NOT RUN: the ${which} Home Assistant: ${found}\n`);
    describe.skip(`the ${which} Home Assistant cannot be had here`, () => it("is not run", () => undefined));
  } else describe(`Home Assistant ${found.version}`, () => withVersion(found));
}

function withVersion(installation: Installation): void {
  const rows = rowsOf(installation.version);
  const state: { world?: World } = {};
  const world = () => {
    if (state.world === undefined) throw new Error("Home Assistant did not start");
    return state.world;
  };
  beforeAll(async () => {
    const began = performance.now();
    const files = installation.which === "newest" ? recipeFiles : {};
    state.world = await createWorld(installation, { files });
    rows.tell("start of all four", `${Math.round((performance.now() - began) / 1000)} s`);
  });
  afterAll(() => state.world?.clear());
  announcements(installation, world, rows);
  services(world, rows);
  // Their entity ids are suggested by the bridge, which releases before 2025.10 do not hear.
  if (installation.which === "newest") recipes(world, rows, isShort ? 4 : 40);
  it("its log says nothing about MQTT at warning or above", () => expect(world().trouble()).toEqual([]));
}

afterAll(() => printRows(isShort));
