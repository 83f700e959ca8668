import { describe, expect, it } from "vitest";
import { type AnnouncedHouse, dashboardOf } from "../../src/homeassistant/dashboard.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import type { DocumentSettings } from "../../src/homeassistant/documents.js";
import type { Tell } from "../../src/language/words.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { inChinese } from "../support/chinese.js";
import { actuator, controller, parameter, reading, status } from "./fixtures.js";

const settings: DocumentSettings = {
  ...{ topics: topicsUnder("greenhouse"), version: "1", prefix: "homeassistant" },
  ...{
    clientId: "greenhouse2mqtt",
    hasBudget: false,
    language: "en",
    tell: String,
    sensorNames: "translated",
  },
};

function house(code: string): AnnouncedHouse {
  const one = controller({
    code,
    info: { id: code.toLowerCase() },
    sensors: [reading("空气温度", "air", "temperature", "°C"), reading("空气湿度", "hum", "humidity", "%")],
    statuses: [status(16, "fan", 1)],
    actuators: [
      actuator({ id: "roof", kind: "skylight", address: "101", name: "Roof" }),
      actuator({ id: "shade", kind: "shade_curtain", address: "102", name: "Shade" }),
      actuator({ id: "bed", kind: "irrigation", address: "210", name: "Bed 1" }),
      actuator({ id: "fan", kind: "circulation_fan", address: "150", name: "Fan" }),
      actuator({ id: "film", kind: "thermal_curtain", address: "107", name: "Film", readOnly: true }),
      actuator({ id: "wet", kind: "fan_wet_curtain", address: "140", name: "Wet" }),
    ],
    parameters: [parameter({ id: "ec", writable: { min: 0, max: 5, step: 0.1 } })],
  });
  const { components } = controllerDocument(one, settings);
  return { code, name: `House ${code}`, components };
}

interface Card {
  readonly type: string;
  readonly heading?: string;
  readonly entity?: string;
  readonly features?: readonly { readonly type: string }[];
}
interface View {
  readonly path: string;
  readonly type: string;
  readonly sections: readonly { readonly cards: readonly Card[] }[];
}
const viewsOf = (houses: readonly AnnouncedHouse[], tell: Tell = String) =>
  dashboardOf(houses, tell)["views"] as readonly View[];

describe("the dashboard", () => {
  it("has a view with all houses and one a house, in sections, with entities that are announced alone", () => {
    const houses = [house("GH-1"), house("GH-2")];
    const views = viewsOf(houses);
    expect(views.map(({ path, type }) => [path, type])).toEqual([
      ["greenhouses", "sections"],
      ["gh-1", "sections"],
      ["gh-2", "sections"],
    ]);
    const known = houses.flatMap(({ components }) =>
      Object.values(components).map((fields) => fields["default_entity_id"]),
    );
    const shown = views.flatMap(({ sections }) =>
      sections.flatMap(({ cards }) => cards.flatMap((one) => one.entity ?? [])),
    );
    expect(shown.length).toBeGreaterThan(20);
    for (const entity of shown) expect(known).toContain(entity);
  });

  it("has what a person changes on each tile, and a mode beside the machine that it is of", () => {
    const [, view] = viewsOf([house("GH-1")]);
    const cardsUnder = (heading: string) =>
      view?.sections
        .find(({ cards }) => cards[0]?.heading === heading)
        ?.cards.slice(1)
        .map(({ entity, features = [] }) => [entity, ...features.map(({ type }) => type)]);
    expect(cardsUnder("Windows")).toEqual([
      ["cover.gh_1_roof", "cover-open-close", "cover-position"],
      ["select.gh_1_roof_mode", "select-options"],
    ]);
    expect(cardsUnder("Curtains")?.[0]).toEqual(["cover.gh_1_shade", "cover-open-close", "cover-position"]);
    expect(cardsUnder("Water")).toEqual([["valve.gh_1_bed"], ["select.gh_1_bed_mode", "select-options"]]);
    expect(cardsUnder("Machines")).toEqual([
      ["switch.gh_1_fan"],
      ["select.gh_1_fan_mode", "select-options"],
      // Nobody may move it, so it only shows.
      ["sensor.gh_1_film"],
      ["sensor.gh_1_film_position"],
      ["select.gh_1_wet", "select-options"],
    ]);
    expect(cardsUnder("Settings")?.[0]?.[1]).toBe("numeric-input");
  });

  it("shows the problem of a house only while there is one, and says its headings in Chinese where that is spoken", () => {
    const [, view] = viewsOf([house("GH-1")], inChinese);
    expect(view?.sections[0]?.cards[0]).toMatchObject({
      entity: "binary_sensor.gh_1_command_problem",
      visibility: [{ condition: "state", state: "on" }],
    });
    expect(view?.sections.map(({ cards }) => cards[0]?.heading)).toContain("读数");
  });
});
