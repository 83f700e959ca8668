import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mosquittoSection } from "../end-to-end/support/stage.js";
import { countFrom } from "../proof/figures.js";
import { announcements } from "./rows/announcements.js";
import { availability, seconds } from "./rows/availability.js";
import { blueprints } from "./rows/blueprints.js";
import { changesOf } from "./rows/changes.js";
import { dashboards } from "./rows/dashboard.js";
import { limits } from "./rows/limits.js";
import { outcomes } from "./rows/outcomes.js";
import { readings } from "./rows/readings.js";
import { recipes } from "./rows/recipes.js";
import { restarts } from "./rows/restarts.js";
import { scale } from "./rows/scale.js";
import { services } from "./rows/services.js";
import { templateRenderings } from "./rows/templates.js";
import { type Installation, installed, type Which } from "./support/process.js";
import { printRows, type Rows, rowsOf } from "./support/rows.js";
import { createWorld, type World } from "./support/world.js";

/*
 * A real Home Assistant beside Mosquitto, the built bridge and the simulated platform.
 *
 * HOMEASSISTANT_VERSIONS `newest floor`, or one of them: the newest release that the tests have seen, and the oldest
 * promised. `latest` is whatever PyPI has today.
 * HOMEASSISTANT_ROWS `all` for what takes many minutes too: restarts in every order, 500 controllers, each recipe 40 times.
 * HOMEASSISTANT_HALF `0` or `1` leaves one half of the other rows out: CI draws which, everybody else runs both.
 */

const versions = (process.env["HOMEASSISTANT_VERSIONS"] ?? "newest floor").split(/[ ,]+/) as Which[];
const isShort = process.env["HOMEASSISTANT_ROWS"] !== "all";
const half = process.env["HOMEASSISTANT_HALF"];
if (half !== undefined)
  process.stdout.write(
    `NOT RUN, left out by HOMEASSISTANT_HALF=${half}: ${half === "0" ? "dashboards, blueprints, availability" : "readings, limits, recipes"}\n`,
  );

for (const which of versions) {
  const found = await installed(which).catch((error: unknown) => String(error));
  if (typeof found === "string") {
    process.stdout.write(`NOT RUN: the ${which} Home Assistant: ${found}\n`);
    describe.skip(`the ${which} Home Assistant cannot be had here`, () => it("is not run", () => undefined));
  } else describe(`Home Assistant ${found.version}`, () => withVersion(found));
}

function withVersion(installation: Installation): void {
  const rows = rowsOf(installation.version);
  templateRenderings(installation, rows);
  describe("beside the other three", () => {
    const world = worldOf(() => createWorld(installation), rows);
    announcements(installation, world, rows);
    services(world, rows);
    outcomes(world, rows);
    if (half !== "1") {
      readings(world, rows);
      limits(world, rows);
      recipes(world, rows, isShort ? 4 : 40, installation.which === "floor");
    }
    if (half !== "0") {
      dashboards(world, rows);
      blueprints(world, rows);
      availability(world, rows);
    }
    if (!isShort) {
      changesOf(world, rows);
      restarts(world, rows, false);
    }
    it("its log says nothing about MQTT at warning or above", () =>
      expect(
        world()
          .trouble()
          .filter((line) => !isOfABroker(line)),
      ).toEqual([]));
  });
  if (isShort) return;
  describe("with a broker that remembers", () => {
    const world = worldOf(() => createWorld(installation, { mosquitto: { persistence: true } }), rows);
    restarts(world, rows, true);
  });
  describe("with a bridge that speaks MQTT 3.1.1", () => {
    const configuration = (url: string) => mosquittoSection(url, 4);
    const world = worldOf(() => createWorld(installation, { broker: configuration }), rows);
    announcements(installation, world, { tell: (row, figure) => rows.tell(`MQTT 3.1.1, ${row}`, figure) });
    services(world, { tell: (row, figure) => rows.tell(`MQTT 3.1.1, ${row}`, figure) });
  });
  scale(installation, rows, countFrom("CONTROLLERS", 500));
}

/** What it says while there is no broker. */
const isOfABroker = (line: string): boolean =>
  /Failed to connect|Error returned from MQTT server|Disconnected/i.test(line);

function worldOf(create: () => Promise<World>, rows: Rows): () => World {
  const state: { world?: World } = {};
  beforeAll(async () => {
    const began = performance.now();
    state.world = await create();
    rows.tell("start of all four", seconds(performance.now() - began));
  });
  afterAll(() => state.world?.clear());
  return () => {
    if (state.world === undefined) throw new Error("Home Assistant did not start");
    return state.world;
  };
}

afterAll(() => printRows(isShort));
