import type { Topics } from "../mqtt/topics.js";
import type { Component, Json, Platform } from "./documents.js";
import { componentKey, defaultEntityId, type Owner, type RawKey, uniqueId } from "./identity.js";
import { templates } from "./labels.js";

export type Fields = Readonly<Record<string, Json | undefined>>;

/** What an entity is, beside the fields of its platform. */
export interface Entity {
  readonly platform: Platform;
  readonly key: RawKey;
  /** Behind the device in the suggested entity id. */
  readonly slug: string;
  readonly name: string;
}

export type Entry = readonly [key: string, component: Component];

/** One entity under its component key. */
export function entry(owner: Owner, { platform, key, slug, name }: Entity, fields: Fields): Entry {
  const component: Component = {
    platform,
    unique_id: uniqueId(owner, key),
    default_entity_id: defaultEntityId(platform, owner, slug),
    name,
    ...fields,
    qos: 1,
  };
  return [componentKey(platform, key), component];
}

/**
 * Where commands go. Nothing is retained and the broker drops what was not taken within 30 s, so that no actuator moves
 * for a click of long ago.
 */
export const commandFields = (topic: string): Fields => ({
  command_topic: topic,
  retain: false,
  message_expiry_interval: 30,
});

/** As above, for platforms that could show a state before it was read back. */
export const confirmedCommandFields = (topic: string): Fields => ({
  ...commandFields(topic),
  optimistic: false,
});

/** A JSON object of a topic as attributes; none of an emptied one, which would be an error in Home Assistant's log. */
export const attributes = (topic: string, template: string = templates.orNothing): Fields => ({
  json_attributes_topic: topic,
  json_attributes_template: template,
});

interface AvailabilityKeys {
  readonly availability: readonly Json[];
  readonly availability_mode: "all";
}

/**
 * What must hold for an entity to be usable: the bridge; for what a controller shows the platform and the controller too; for a reading
 * its quality. Home Assistant replaces lists, it does not merge them, so each is given whole; the mode is `all` everywhere, because its
 * default lets the last message win.
 */
export function available(topics: Topics, controller?: string, sensor?: string): AvailabilityKeys {
  const needed: (readonly [topic: string, template?: string])[] = [[topics.bridge.state]];
  if (controller !== undefined)
    needed.push(
      [topics.bridge.platform, templates.platformReachable],
      [topics.controller(controller).availability, templates.controllerReachable],
    );
  if (controller !== undefined && sensor !== undefined)
    needed.push([topics.sensor(controller, sensor).quality, templates.usableQuality]);
  const availability = needed.map(([topic, value_template]) => ({
    topic,
    ...(value_template === undefined ? {} : { value_template }),
  }));
  return { availability, availability_mode: "all" };
}
