import { controllerTopicId } from "../../config/controller-topic-id.js";
import { assignIds, freeId } from "../../greenhouse/topic-ids.js";
import type { FoundActuator, FoundParameter } from "./findings.js";

/**
 * An id for each address. The first address of a type has the type's word, the others word and address; only the
 * addresses and the ids in use decide, so every run gives the same, and a later address changes none of the earlier.
 */
export function actuatorIds(
  found: readonly Pick<FoundActuator, "address" | "group" | "row">[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const named = new Set(taken);
  const wanted = found.map(({ address, row: { word } }) => {
    const isFirst = !named.has(word);
    named.add(word);
    return { key: address, wanted: isFirst ? word : `${word}_${address}` };
  });
  return assignIds(wanted, { reserved: taken });
}

/** Parameters are many of a type, so each is named with its address. */
export const parameterIds = (
  found: readonly Pick<FoundParameter, "address" | "row">[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> =>
  assignIds(
    found.map(({ address, row }) => ({ key: address, wanted: `${row.word}_${address}` })),
    { reserved: taken },
  );

/**
 * Topic ids of new controllers that a reader could not tell from the code, or that another controller of the file was given. The others
 * need none in the configuration.
 */
export const controllerIds = (
  codes: readonly string[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> =>
  new Map(
    codes
      .map((code) => [code, freeId(controllerTopicId(code), code, (id) => taken.has(id))] as const)
      .filter(([code, id]) => id !== code.toLowerCase()),
  );
