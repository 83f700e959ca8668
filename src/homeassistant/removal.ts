import type { Component, Components, DeviceDocument, Platform } from "./document.js";

/*
 * Home Assistant keeps a component that merely is left out of a message. It goes only after a message in which nothing
 * but its `platform` is left; and two messages for one device within a few seconds can make it skip parts of the second.
 */

/** Least time between two messages on one discovery topic. */
export const sameTopicGapMs = 3_000;

/** What Home Assistant needs to find an entity again. */
export interface AnnouncedEntity {
  readonly platform: Platform;
  readonly unique_id: string;
}

/** By component key, what a message announces; components it removes are not in it. */
export type Announced = ReadonlyMap<string, AnnouncedEntity>;

export interface NextDocument {
  readonly publish: DeviceDocument;
  readonly gone: Announced;
  /** When to publish the wanted document alone; null when this already is it. */
  readonly followUpAfterMs: number | null;
}

/**
 * The message that leads from what was announced to what is wanted. A key that changes its platform is removed first,
 * since it cannot stand for both.
 */
export function nextDocument(announced: Announced, wanted: DeviceDocument): NextDocument {
  const gone = goneFrom(announced, wanted.components);
  if (gone.size === 0) return { publish: wanted, gone, followUpAfterMs: null };
  const reduced = [...gone].map(([key, { platform }]): [string, Component] => [key, { platform }]);
  const components = { ...wanted.components, ...Object.fromEntries(reduced) };
  return { publish: { ...wanted, components }, gone, followUpAfterMs: sameTopicGapMs };
}

/** What was announced and is not, or not as that platform, among the wanted components. */
export const goneFrom = (announced: Announced, wanted: Components): Announced =>
  new Map([...announced].filter(([key, { platform }]) => wanted[key]?.platform !== platform));

export const announcedBy = (document: DeviceDocument): Announced =>
  new Map(
    Object.entries(document.components)
      .filter(([, component]) => !isRemoval(component))
      .map(([key, { platform, unique_id: id }]) => [
        key,
        { platform, unique_id: typeof id === "string" ? id : "" },
      ]),
  );

export const isRemoval = (component: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(component).length === 1;
