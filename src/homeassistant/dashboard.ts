import { word } from "../language/text.js";
import type { Tell } from "../language/words.js";
import { keysOf } from "../runtime/objects.js";

/*
 * Makes a Home Assistant dashboard from the announcements: a view of all houses, then one for each house, in sections
 * of tiles. Entities and names come from the announcements, so nothing is guessed.
 */

type Fields = Readonly<Record<string, unknown>>;

export interface AnnouncedHouse {
  readonly code: string;
  readonly name: string;
  readonly components: Readonly<Record<string, Fields>>;
}

interface Entity {
  readonly key: string;
  readonly id: string;
  readonly platform: string;
  readonly name: string;
  readonly deviceClass: string;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Entities enabled by default; those for a technician stay on the device's own page. */
function entitiesOf({ components }: AnnouncedHouse): readonly Entity[] {
  return Object.entries(components).flatMap(([key, fields]) => {
    const id = textOf(fields["default_entity_id"]);
    const isShown = fields["enabled_by_default"] !== false && fields["entity_category"] === undefined;
    return isShown && id !== ""
      ? [
          {
            ...{ key, id, platform: textOf(fields["platform"]) },
            ...{ name: textOf(fields["name"]), deviceClass: textOf(fields["device_class"]) },
          },
        ]
      : [];
  });
}

/** The controls of each kind of entity; other kinds only show something, or are pressed as they are. */
const features: Readonly<Record<string, readonly Fields[]>> = {
  cover: [{ type: "cover-open-close" }, { type: "cover-position" }],
  select: [{ type: "select-options" }],
  number: [{ type: "numeric-input", style: "buttons" }],
  lock: [{ type: "lock-commands" }],
};

const tile = ({ id, name, platform }: Entity): Fields => ({
  type: "tile",
  entity: id,
  name,
  ...(features[platform] && { features: features[platform] }),
});

export const headings = {
  houses: "Greenhouses",
  readings: "Readings",
  windows: "Windows",
  curtains: "Curtains",
  water: "Water",
  light: "Light",
  machines: "Machines",
  settings: "Settings",
  states: "What runs",
  locks: "Locks",
} as const;

type Heading = keyof typeof headings;

const icons: Readonly<Record<Heading, string>> = {
  houses: "mdi:greenhouse",
  readings: "mdi:thermometer",
  windows: "mdi:window-open-variant",
  curtains: "mdi:curtains",
  water: "mdi:water",
  light: "mdi:lightbulb-on",
  machines: "mdi:fan",
  settings: "mdi:tune",
  states: "mdi:play-circle-outline",
  locks: "mdi:lock",
};

const ofPlatform: Readonly<Record<string, Heading>> = {
  valve: "water",
  light: "light",
  switch: "machines",
  button: "machines",
  number: "settings",
  binary_sensor: "states",
  lock: "locks",
};

/** The heading of a sensor. State and position of a read-only actuator are machines, not readings. */
function sensorHeading(key: string): Heading {
  if (key.startsWith("sensor_parameter_")) return "settings";
  return /^sensor_(?:state|position)_/.test(key) ? "machines" : "readings";
}

/**
 * The heading of an entity. A select joins the other entity of the same address: a window's mode stands below the
 * window.
 */
function headingOf(entity: Entity, all: readonly Entity[]): Heading {
  const { key, platform, deviceClass } = entity;
  if (platform === "cover") return deviceClass === "window" || deviceClass === "" ? "windows" : "curtains";
  if (platform === "sensor") return sensorHeading(key);
  if (platform !== "select") return ofPlatform[platform] ?? "machines";
  const place = key.slice("select_".length);
  const beside = all.find((one) => one.platform !== "select" && one.key === `${one.platform}_${place}`);
  return beside === undefined ? "machines" : headingOf(beside, all);
}

type Told = (heading: Heading) => string;

const section = (heading: string, icon: string, cards: readonly Fields[]): Fields => ({
  type: "grid",
  cards: [{ type: "heading", heading, icon }, ...cards],
});

/** Cards that appear while a house has a problem. */
function problemCards({ components }: AnnouncedHouse): readonly Fields[] {
  return ["binary_sensor_problem", "binary_sensor_readings"].flatMap((key) => {
    const entity = textOf(components[key]?.["default_entity_id"]);
    const visibility = [{ condition: "state", entity, state: "on" }];
    return entity === "" ? [] : [{ type: "tile", entity, color: "red", visibility }];
  });
}

const keyClasses: ReadonlySet<string> = new Set(["temperature", "humidity", "carbon_dioxide", "moisture"]);
const mostKeys = 4;

function houseView(house: AnnouncedHouse, path: string, told: Told): Fields {
  const all = entitiesOf(house);
  const sections = keysOf(headings).flatMap((heading) => {
    const own = all.filter((one) => headingOf(one, all) === heading);
    return own.length === 0 ? [] : [section(told(heading), icons[heading], own.map(tile))];
  });
  const problems = problemCards(house);
  const first = problems.length === 0 ? [] : [{ type: "grid", cards: problems }];
  return { title: house.name, path, type: "sections", max_columns: 4, sections: [...first, ...sections] };
}

function overviewSection(house: AnnouncedHouse, path: string): Fields {
  const all = entitiesOf(house);
  const seen = new Set<string>();
  const keys = all.filter(({ platform, deviceClass }) => {
    if (platform !== "sensor" || !keyClasses.has(deviceClass) || seen.has(deviceClass)) return false;
    seen.add(deviceClass);
    return true;
  });
  const lead = { type: "heading", heading: house.name, icon: icons.houses };
  const tap = { tap_action: { action: "navigate", navigation_path: path } };
  return {
    type: "grid",
    cards: [{ ...lead, ...tap }, ...problemCards(house), ...keys.slice(0, mostKeys).map(tile)],
  };
}

const pathOf = (code: string, at: number): string =>
  code
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "") || `house-${at + 1}`;

/** A dashboard for the raw configuration editor; names of houses are as announced. */
export function dashboardOf(houses: readonly AnnouncedHouse[], tell: Tell): Fields {
  const told: Told = (heading) => tell(word(headings[heading], `heading.${heading}`));
  const paths = houses.map(({ code }, at) => pathOf(code, at));
  const overview = {
    title: told("houses"),
    path: "greenhouses",
    icon: icons.houses,
    type: "sections",
    max_columns: 4,
    sections: houses.map((house, at) => overviewSection(house, paths[at] ?? "")),
  };
  return {
    views: [overview, ...houses.map((house, at) => houseView(house, paths[at] ?? "", told))],
  };
}
