import type { Component, Json, Platform } from "./document.js";
import { componentKey, defaultEntityId, type Owner, type RawKey, uniqueId } from "./identity.js";

export type Fields = Readonly<Record<string, Json | undefined>>;

export interface Entity {
  readonly platform: Platform;
  readonly key: RawKey;
  /** Behind the device in the suggested entity id. */
  readonly slug: string;
  readonly name: string;
}

export type Entry = readonly [key: string, component: Component];

/** One entity under its component key; `fields` are those of its platform. */
export function entry(owner: Owner, entity: Entity, fields: Fields): Entry {
  const { platform, key, slug, name } = entity;
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
 * Where commands go. Nothing is retained and the broker drops what nobody took within 30 s, so that no actuator moves
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
