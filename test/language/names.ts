import { actuatorKinds, kindRows } from "../../src/greenhouse/actuator-kinds.js";
import { labelledWords, wordLabel } from "../../src/greenhouse/labels.js";
import { headings } from "../../src/homeassistant/dashboard.js";
import { idWords } from "../../src/greenhouse/names-by-id.js";
import { labels } from "../../src/homeassistant/labels.js";
import { schemaTree } from "../../src/saving/schema-tree.js";
import type { SettingNode } from "../../src/page/protocol.js";

/* Names and sentences of the source that are told by a key, in English. */

export const englishStates = Object.fromEntries([
  ...[...labelledWords].map((state) => [`state.${state}`, String(wordLabel(state))] as const),
  ["own_word", "{word}"] as const,
]);

export const englishKinds = Object.fromEntries(actuatorKinds.map((kind) => [kind, kindRows[kind].name]));

const under = (section: string, names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([key, name]) => [`${section}.${key}`, name] as const);

export const englishEntities = Object.fromEntries([
  ...under("entity", labels),
  ...under("heading", headings),
  ...under("id", Object.fromEntries(idWords.map((word) => [word, word]))),
  ["id.name", "{name}"] as const,
]);

interface Setting {
  /** What people choose themselves has none. */
  readonly isNamed: boolean;
  readonly sentence: string;
}

/** Every key of the configuration, with `*` for names that people choose. */
export function everySetting(): ReadonlyMap<string, Setting> {
  const known = new Map<string, Setting>();
  const look = (node: SettingNode, at: string): void => {
    const { isNamed = false, sentence = "" } = known.get(at) ?? {};
    known.set(at, {
      isNamed: isNamed || node.name !== "",
      sentence: sentence === "" ? (node.description ?? "") : sentence,
    });
    for (const inner of node.keys ?? []) look(inner, `${at}.${inner.name}`);
    for (const option of node.options ?? []) look(option, at);
    if (node.entry !== undefined) look(node.entry, `${at}.*`);
  };
  for (const node of schemaTree()) look(node, node.name);
  return known;
}

export function englishKeySentences(keys: readonly string[]): Readonly<Record<string, string>> {
  const settings = everySetting();
  return Object.fromEntries(keys.map((key) => [key, settings.get(key)?.sentence ?? ""]));
}
