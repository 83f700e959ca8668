import type { GroupsAndScenes } from "../greenhouse/groups.js";
import type { Language } from "../greenhouse/labels.js";
import type { Tell } from "../language/words.js";
import type { Topics } from "../mqtt/topics.js";
import {
  componentKey,
  defaultEntityId,
  type Owner,
  type Platform,
  type RawKey,
  uniqueId,
} from "./identity.js";
import { templates } from "./labels.js";

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Fields by Home Assistant's long key names; `undefined` leaves a key out. */
export type Fields = Readonly<Record<string, Json | undefined>>;

export interface Component {
  readonly platform: Platform;
  readonly [key: string]: Json | undefined;
}

/** The content of a `<prefix>/device/<id>/config` message. */
export interface DeviceDocument {
  readonly device: Fields;
  readonly origin: Fields;
  readonly availability?: Json;
  readonly availability_mode?: "all";
  readonly components: Readonly<Record<string, Component>>;
}

export interface DocumentSettings {
  readonly topics: Topics;
  readonly language: Language;
  /** Translates the bridge's own names. */
  readonly tell: Tell;
  /** `homeassistant.sensor_names`. */
  readonly sensorNames: "translated" | "platform";
  /** Whether polling has a budget of requests, so that a rest of it can be shown. */
  readonly hasBudget: boolean;
  readonly version: string;
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
  /** The MQTT client id, which distinguishes several bridges on one broker. */
  readonly clientId: string;
  /** The bridge's own page, if others can reach it. */
  readonly pageUrl?: string | undefined;
  /** Groups and scenes; none when absent. */
  readonly groupsAndScenes?: GroupsAndScenes;
  /** A web page for people who need help; none when absent. */
  readonly supportUrl?: string;
}

export const originName = "greenhouse2mqtt";

export interface Entity {
  readonly platform: Platform;
  readonly key: RawKey;
  /** Follows the device's name in the suggested entity id. */
  readonly slug: string;
  readonly name: string;
  readonly fields: Fields;
}

/** A device document. `needs`: the availability of entities that give none themselves. */
export const documentOf = (
  device: Fields,
  owner: Owner,
  entities: readonly Entity[],
  { version, supportUrl }: DocumentSettings,
  needs?: ReturnType<typeof available>,
): DeviceDocument => ({
  device,
  origin: { name: originName, sw_version: version, support_url: supportUrl },
  ...needs,
  components: Object.fromEntries(
    entities.map(({ platform, key, slug, name, fields }) => {
      const names = {
        unique_id: uniqueId(owner, key),
        default_entity_id: defaultEntityId(platform, owner, slug),
      };
      return [componentKey(platform, key), { platform, ...names, name, ...fields, qos: 1 }];
    }),
  ),
});

/** Brokers and Home Assistant limit the size of packets; the smallest usual limit is 256 KiB. */
export const maxDocumentBytes = 240 * 1024;

/** The document cut to `maxDocumentBytes`: the last components are left out and counted. */
export function fittingDocument(document: DeviceDocument) {
  let excess = Buffer.byteLength(JSON.stringify(document)) - maxDocumentBytes;
  if (excess <= 0) return { document, leftOut: 0 };
  const kept = Object.entries(document.components);
  const all = kept.length;
  while (excess > 0 && kept.length > 0) excess -= Buffer.byteLength(JSON.stringify(kept.pop())) - 2;
  return { document: { ...document, components: Object.fromEntries(kept) }, leftOut: all - kept.length };
}

/**
 * Fields of a command topic. Commands are not retained and expire after 30 s, so that no old click moves an actuator.
 */
export const commandFields = (topic: string): Fields => ({
  command_topic: topic,
  retain: false,
  message_expiry_interval: 30,
});

/** The same, for platforms that could otherwise show a state before it was read back. */
export const confirmedCommandFields = (topic: string): Fields => ({
  ...commandFields(topic),
  optimistic: false,
});

/**
 * A topic's JSON object as attributes. An emptied topic gives none; without the template Home Assistant would log an
 * error.
 */
export const attributes = (topic: string, template: string = templates.orNothing): Fields => ({
  json_attributes_topic: topic,
  json_attributes_template: template,
});

/**
 * The availability of an entity: the bridge; for a controller's entity also the platform and the controller, or with
 * `null` the platform alone; for a reading also its quality. Home Assistant replaces lists instead of merging them, so
 * each is complete. The mode is always `all`, as by default the last message wins.
 */
export function available(topics: Topics, controller?: string | null, sensor?: string) {
  const needed: Readonly<Record<string, string>>[] = [{ topic: topics.bridge.state }];
  if (controller !== undefined)
    needed.push({ topic: topics.bridge.platform, value_template: templates.platformReachable });
  if (typeof controller === "string") {
    const { availability } = topics.controller(controller);
    needed.push({ topic: availability, value_template: templates.controllerReachable });
    if (sensor !== undefined)
      needed.push({
        topic: topics.sensor(controller, sensor).quality,
        value_template: templates.usableQuality,
      });
  }
  return { availability: needed, availability_mode: "all" } as const;
}
