import { degreeRead, type KindRow, kindRows, stateAddresses, textOf } from "./actuator-kinds.js";
import type { ParameterGroup } from "./device-types.js";
import type { RawValue } from "./ports.js";
import type { ActuatorSettings } from "./settings.js";

/*
 * Finds position addresses. The interface names "the mode address of each specified-position address", so a
 * positioner's degree may have an address of its own. The platform then accepts a degree at the mode address and moves
 * nothing, like a degree that is never shown. The difference: the type lists an unowned address with a number from 0 to
 * 100.
 */

/** An address that no configured thing owns and that may hold a degree. */
export interface FreeAddress {
  readonly address: string;
  readonly value: string;
}

/** The part of the newest answer about a control-parameter type that shows where a degree may be. */
export interface GroupListing {
  /** Addresses of configured things. */
  readonly owned: readonly string[];
  readonly free: readonly FreeAddress[];
}

/** Other addresses that may hold the actuator's degree; `unknown` before its type was read. */
export type DegreePlaces = "unknown" | readonly FreeAddress[];

export function listingOf(
  values: ReadonlyMap<string, RawValue>,
  isOwned: (address: string) => boolean,
): GroupListing {
  const owned: string[] = [];
  const free: FreeAddress[] = [];
  for (const [address, raw] of values) {
    const value = textOf(raw);
    if (isOwned(address)) owned.push(address);
    else if (mayBeDegree(value)) free.push({ address, value });
  }
  return { owned, free };
}

export const mayBeDegree = (text: string): boolean => degreeRead(text) !== null;

/** Possible places of the degree. A type that does not list the actuator's own address may not be its type. */
export function degreePlaces(
  settings: Pick<ActuatorSettings, "kind" | "address" | "modeAddress" | "positionAddress">,
  listing: GroupListing | undefined,
): DegreePlaces {
  if (listing === undefined) return "unknown";
  const [mode] = stateAddresses(settings);
  return listing.free.length > 0 || listing.owned.includes(mode) ? listing.free : "unknown";
}

/** Whether a type has a positioner, so that its further addresses matter. */
export const hasPositioner = (
  actuators: Iterable<{ readonly settings: Pick<ActuatorSettings, "kind" | "group"> }>,
  group: ParameterGroup,
): boolean => {
  for (const { settings } of actuators) {
    const row: KindRow = kindRows[settings.kind];
    if (settings.group === group && row.positionMode !== null) return true;
  }
  return false;
};

export const sameListing = (one: GroupListing | undefined, other: GroupListing): boolean =>
  one !== undefined && JSON.stringify(one) === JSON.stringify(other);

const mostNamed = 6;

/** Such as `109 (0), 110 (45)`. */
export function freeText(free: readonly FreeAddress[]): string {
  const named = free.slice(0, mostNamed).map(({ address, value }) => `${address} (${value})`);
  const more = free.length > mostNamed ? ["…"] : [];
  return [...named, ...more].join(", ");
}
