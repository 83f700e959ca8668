import type { Configuration } from "../config/schema.js";
import { foundDocument } from "../homeassistant/announced.js";
import { type AnnouncedHouse, dashboardOf } from "../homeassistant/dashboard.js";
import { plainYaml } from "../setup/yaml-text.js";
import { readConfiguration } from "./common.js";
import { documentOf, isDocument, NotAsked, retainedTexts } from "./running-bridge.js";
import { CommandFailure, type CommonOptions, type ProcessContext } from "./context.js";

/* `dashboard`: what the running bridge has announced to Home Assistant, as a dashboard. */

/** An announcement of a controller; null for the bridge's own, and for what is another one's. */
function houseIn(payload: string, { mqtt }: Configuration): AnnouncedHouse | null {
  const code = foundDocument(payload, mqtt.base_topic)?.code ?? null;
  const document = documentOf(payload);
  if (code === null || document === null) return null;
  const { device, components } = document;
  const name = isDocument(device) && typeof device["name"] === "string" ? device["name"] : code;
  const found = isDocument(components) ? Object.entries(components) : [];
  return {
    code,
    name,
    components: Object.fromEntries(
      found.filter(([, one]) => isDocument(one)),
    ) as AnnouncedHouse["components"],
  };
}

/** Houses that the configuration names, in its order; where it names none, all that there are. */
function configured(houses: readonly AnnouncedHouse[], { controllers }: Configuration) {
  const codes = Object.entries(controllers).flatMap(([code, { ignore }]) => (ignore ? [] : [code]));
  const named = codes.flatMap((code) => houses.find((one) => one.code === code) ?? []);
  return named.length > 0 ? named : houses;
}

export async function dashboard(context: ProcessContext, options: CommonOptions): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const { enabled, discovery_prefix: prefix, language } = configuration.homeassistant;
  if (!enabled)
    throw new CommandFailure(
      "homeassistant.enabled is false, so nothing is announced that a dashboard could show",
    );
  const texts = await retainedTexts(configuration, `${prefix}/device/+/config`);
  if (texts instanceof NotAsked)
    throw new CommandFailure(`the running bridge could not be asked: ${texts.reason}`);
  const announced = [...texts.values()].flatMap((text) => houseIn(text, configuration) ?? []);
  const houses = configured(
    announced.toSorted((one, other) => (one.code < other.code ? -1 : 1)),
    configuration,
  );
  if (houses.length === 0)
    throw new CommandFailure(
      "no controller is announced to Home Assistant yet; wait until the bridge has read the account",
    );
  const head = [
    context.speech.tell(
      "Settings, Dashboards, Add dashboard, New dashboard from scratch; open it, Edit, three dots,",
    ),
    context.speech.tell("Raw configuration editor: put this in the place of what stands there."),
  ];
  context.out(plainYaml(dashboardOf(houses, language), head));
}
