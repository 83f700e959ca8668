import { tellIn } from "../language/languages.js";
import { Document } from "yaml";
import { CommandFailure } from "../runtime/ending.js";
import type { CommandCall } from "../feature/command.js";
import type { Configured } from "../feature/feature.js";
import { msg } from "../language/text.js";
import { fieldsOf } from "../runtime/objects.js";
import { foundDocument } from "./announced.js";
import { type AnnouncedHouse, dashboardOf } from "./dashboard.js";
import type { keys } from "./section.js";

/* The command `dashboard`: a Home Assistant dashboard made from what the running bridge has announced. */

/** The house in an announcement; null for the bridge's own device and for other bridges. */
function houseIn(payload: string, baseTopic: string): AnnouncedHouse | null {
  const code = foundDocument(payload, baseTopic)?.code ?? null;
  if (code === null) return null;
  const { device, components } = fieldsOf(JSON.parse(payload));
  const { name } = fieldsOf(device);
  const entities = Object.entries(fieldsOf(components)).map(([key, one]) => [key, fieldsOf(one)] as const);
  return {
    code,
    name: typeof name === "string" ? name : code,
    components: Object.fromEntries(entities),
  };
}

/** The houses that the configuration names, in its order; all houses where it names none. */
function inConfiguredOrder(
  houses: readonly AnnouncedHouse[],
  { controllers }: Pick<Configured<typeof keys>, "controllers">,
): readonly AnnouncedHouse[] {
  const codes = Object.entries(controllers).flatMap(([code, { ignore }]) => (ignore ? [] : [code]));
  const named = codes.flatMap((code) => houses.find((one) => one.code === code) ?? []);
  return named.length > 0 ? named : houses;
}

export async function dashboard({
  read,
  retained,
  out,
  tell,
}: CommandCall<Configured<typeof keys>>): Promise<void> {
  const configuration = await read();
  const { enabled, discovery_prefix: prefix, language } = configuration.homeassistant;
  if (!enabled)
    throw new CommandFailure(
      msg`homeassistant.enabled is false, so nothing is announced that a dashboard could show`,
    );
  const texts = await retained(`${prefix}/device/+/config`);
  const announced = [...texts.values()].flatMap((text) => houseIn(text, configuration.mqtt.base_topic) ?? []);
  const houses = inConfiguredOrder(
    announced.toSorted((one, other) => (one.code < other.code ? -1 : 1)),
    configuration,
  );
  if (houses.length === 0)
    throw new CommandFailure(
      msg`no controller is announced to Home Assistant yet; wait until the bridge has read the account`,
    );
  const head = [
    msg`Settings, Dashboards, Add dashboard, New dashboard from scratch; open it, Edit, three dots,`,
    msg`Raw configuration editor: replace what stands there by this text.`,
  ];
  out(yamlOf(dashboardOf(houses, await tellIn(language)), head.map(tell)));
}

/** YAML below head comments. Version 1.1 quotes words such as `on`, which older readers take for booleans. */
function yamlOf(value: unknown, head: readonly string[]): string {
  const document = new Document(value, { version: "1.1", aliasDuplicateObjects: false });
  document.commentBefore = head.map((line) => ` ${line}`).join("\n");
  return document.toString({ lineWidth: 0, indentSeq: true });
}
