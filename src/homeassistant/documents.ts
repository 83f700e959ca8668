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

/** Home Assistant's long key names; `undefined` stands for a key that is left out. */
export type Fields = Readonly<Record<string, Json | undefined>>;

export interface Component {
  readonly platform: Platform;
  readonly [key: string]: Json | undefined;
}

/** What a `<prefix>/device/<id>/config` message holds. */
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
  /** Says the bridge's own names in that language. */
  readonly tell: Tell;
  /** `homeassistant.sensor_names`. */
  readonly sensorNames: "translated" | "platform";
  /** Whether polling has a budget of requests, of which something can be left. */
  readonly hasBudget: boolean;
  /** Of this program. */
  readonly version: string;
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
  /** The MQTT client id: tells several bridges on one broker apart. */
  readonly clientId: string;
  /** The bridge's own page, where others reach it. */
  readonly pageUrl?: string | undefined;
  /** What is commanded together; nothing when absent. */
  readonly groupsAndScenes?: GroupsAndScenes;
  /** A web page for people who need help; left out when absent. */
  readonly supportUrl?: string;
}

export const originName = "greenhouse2mqtt";

/** One entity of a device. */
export interface Entity {
  readonly platform: Platform;
  readonly key: RawKey;
  /** Behind the device in the suggested entity id. */
  readonly slug: string;
  readonly name: string;
  readonly fields: Fields;
}

/** `needs` is what all entities need that say nothing else. */
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

/** Brokers and Home Assistant's users have limits on packets; the usual smallest is 256 KiB. */
export const maxDocumentBytes = 240 * 1024;

/** The message's text; the last components are left out where it would be too large, and counted. */
export function fittingDocument(document: DeviceDocument) {
  let excess = Buffer.byteLength(JSON.stringify(document)) - maxDocumentBytes;
  if (excess <= 0) return { document, leftOut: 0 };
  const kept = Object.entries(document.components);
  const all = kept.length;
  while (excess > 0 && kept.length > 0) excess -= Buffer.byteLength(JSON.stringify(kept.pop())) - 2;
  return { document: { ...document, components: Object.fromEntries(kept) }, leftOut: all - kept.length };
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

/**
 * What must hold for an entity to be usable: the bridge; for what a controller shows the platform and the controller too, the platform alone
 * where several do (`null`); for a reading its quality. Home Assistant replaces lists, it does not merge them, so each is given whole; the mode is `all` everywhere, because its
 * default lets the last message win.
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
