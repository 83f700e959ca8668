import { controllerTopicId } from "../../config/controller-topic-id.js";
import { assignIds, slug } from "../../greenhouse/topic-ids.js";
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
 * Topic ids of new controllers that a reader could not tell from the code: it would clash or is reserved, or holds
 * characters that a topic cannot. The others need none in the configuration.
 */
export function controllerIds(
  codes: readonly string[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const reserved = new Set([...taken, "bridge"]);
  const wanted = codes.map((code) => ({
    key: code,
    wanted: slug(code).exact ? code : controllerTopicId(code),
  }));
  const ids = assignIds(wanted, { reserved });
  return new Map([...ids].filter(([code, id]) => !slug(code).exact || id !== slug(code).text));
}
