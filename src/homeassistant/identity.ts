import { createHash } from "node:crypto";

/*
 * Names that Home Assistant keeps for ever: identifiers, unique ids and component keys. They are made from the
 * platform's names (device code, factor, channel, address), so renaming anything leaves every entity in place.
 */

/** Platforms of Home Assistant that the bridge announces; all of them exist since 2024.11. */
export const platforms = [
  ...(["binary_sensor", "button", "cover", "event", "light", "lock"] as const),
  ...(["number", "scene", "select", "sensor", "switch", "valve"] as const),
] as const;

export type Platform = (typeof platforms)[number];

/** The device of an entity; `unique` and `entity` begin its unique ids and entity ids. */
export interface Owner {
  readonly unique: string;
  readonly entity: string;
}

/**
 * The entity's identity on the platform: a word of a closed set, mostly followed by `:` and a text (`factor:ecfii`,
 * `cover:101`, `problem`).
 */
export type RawKey = string;

/** Short hash of a text. It hashes UTF-16, as UTF-8 turns every lone surrogate into the same character. */
export const digest = (text: string): string =>
  createHash("sha256").update(text, "utf16le").digest("hex").slice(0, 16);

const safeCode = /^(?!bridge)(?!.*__)[A-Za-z0-9_-]{1,64}$/;
const safeClientId = /^(?!.*__)[A-Za-z0-9_-]{1,64}$/;
const readable = (text: string) =>
  text
    .replace(/[^A-Za-z0-9-]+/g, "_")
    .slice(0, 24)
    .replace(/^_+|_+$/g, "");
const hash = (text: string) => `${readable(text)}__${digest(text)}`;

/**
 * A device code as part of topics and identifiers. A plain code stays; others become a readable rest and a hash behind
 * `__`, which no plain code contains. A code `bridge…` is hashed too, as the bridge's own device is called so.
 */
export function codePart(code: string): string {
  return safeCode.test(code) ? code : hash(code);
}

export const deviceIdentifier = (code: string): string => `greenhouse2mqtt_${codePart(code)}`;

export const bridgeIdentifier = (clientId: string): string =>
  `greenhouse2mqtt_bridge_${safeClientId.test(clientId) ? clientId : hash(clientId)}`;

export const controllerOwner = (code: string): Owner => ({
  unique: deviceIdentifier(code),
  entity: slug(code) || `device_${digest(code)}`,
});

export const bridgeOwner = (clientId: string): Owner => ({
  unique: bridgeIdentifier(clientId),
  entity: slug(clientId) || `bridge_${digest(clientId)}`,
});

const printable = /^\P{C}{1,100}$/u;

/**
 * The unique id, readable if the raw key is printable; control characters and lone surrogates would invalidate the
 * whole document.
 */
export const uniqueId = (owner: Owner, key: RawKey): string =>
  `${owner.unique}_${printable.test(key) ? key : `${parts(key).word}:__${digest(key)}`}`;

/**
 * The component's key, of `[A-Za-z0-9_-]`. It begins with the platform, as a key must never change from one platform to
 * another.
 */
export function componentKey(platform: Platform, key: RawKey): string {
  const { word, rest } = parts(key);
  const start = word === platform ? platform : `${platform}_${word}`;
  if (rest === "") return start;
  const plain = /^[A-Za-z0-9-][A-Za-z0-9_-]{0,47}$/.test(rest);
  return `${start}_${plain ? rest : `_${digest(rest)}`}`;
}

/** The suggested entity id; Home Assistant uses it once, and numbers those that collide. */
export const defaultEntityId = (platform: Platform, owner: Owner, name: string): string =>
  `${platform}.${slug(`${owner.entity}_${name}`)}`;

function parts(key: RawKey): { readonly word: string; readonly rest: string } {
  const [, word, rest] = /^([a-z][a-z-]{0,31})(?::([^]*))?$/.exec(key) ?? [];
  return word === undefined ? { word: "item", rest: key } : { word, rest: rest ?? "" };
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .slice(0, 140)
    .replace(/^_+|_+$/g, "");

/** A name as people see it: one line, well-formed, of limited length. */
export function displayName(text: string, fallback: string): string {
  const line = text
    .slice(0, 400)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return Buffer.from(Array.from(line).slice(0, 120).join(""), "utf8").toString("utf8").trim() || fallback;
}

/**
 * Matches every device announcement on the broker, ours or not. Many bridges on one broker do not use it, as each would
 * read all others'.
 */
export const discoveryFilter = (prefix: string): string => `${prefix}/device/+/config`;
