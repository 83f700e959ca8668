import { at, isContainer, type Fields } from "./wire.js";

/** For each role of an item, the names platforms give it; earlier ones win. */
export type RoleTable<R extends string> = Readonly<Record<R, readonly string[]>>;
export type Roles<R extends string> = Readonly<Partial<Record<R, unknown>>>;
export type ReadRoles<R extends string> = (fields: Fields) => Roles<R>;

interface Place<R> {
  readonly role: R;
  readonly rank: number;
}

const nullRank = 1_000;

/**
 * Finds an item's roles in one pass over its fields. Lists and objects are no candidates; `null` is one only where nothing
 * better is there. A configured path replaces the table's names for its role. Spelling variants (`dateTime`, `datetime`,
 * `date_time`, `DateTime`) need not be listed.
 */
export function roleReader<R extends string>(
  table: RoleTable<R>,
  paths: Readonly<Partial<Record<R, string | undefined>>>,
): ReadRoles<R> {
  const places = placesOf(table, paths);
  const configured = Object.entries(paths).filter(
    (entry): entry is [R, string] => typeof entry[1] === "string",
  );
  return (fields) => {
    const roles: Partial<Record<R, unknown>> = {};
    const ranks: Partial<Record<R, number>> = {};
    for (const name in fields) {
      const place = places.get(name);
      if (place === undefined) continue;
      const value = fields[name];
      if (isContainer(value)) continue;
      const rank = value === null || value === "" ? place.rank + nullRank : place.rank;
      const best = ranks[place.role];
      if (best !== undefined && best <= rank) continue;
      roles[place.role] = value;
      ranks[place.role] = rank;
    }
    for (const [role, path] of configured) {
      const value = at(fields, path);
      if (value !== undefined) roles[role] = value;
    }
    return roles;
  };
}

function placesOf<R extends string>(
  table: RoleTable<R>,
  paths: Readonly<Partial<Record<R, string | undefined>>>,
): ReadonlyMap<string, Place<R>> {
  const places = new Map<string, Place<R>>();
  for (const [role, names] of Object.entries(table) as [R, readonly string[]][]) {
    if (paths[role] !== undefined) continue;
    names.forEach((name, rank) => {
      for (const spelling of spellings(name)) {
        const known = places.get(spelling);
        if (known === undefined || known.rank > rank) places.set(spelling, { role, rank });
      }
    });
  }
  return places;
}

function spellings(name: string): readonly string[] {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const pascal = name.slice(0, 1).toUpperCase() + name.slice(1);
  return [name, name.toLowerCase(), name.toUpperCase(), snake, snake.toUpperCase(), pascal];
}
