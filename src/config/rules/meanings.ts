import { msg } from "../../language/text.js";
import {
  type ActuatorKind,
  actuatorKinds,
  degreeOf,
  type KindRow,
  kindRows,
  spellingOf,
  stateOfWord,
  type ValueTable,
  takesDegrees,
} from "../../greenhouse/actuator-kinds.js";
import { statusWords } from "../../greenhouse/fold-statuses.js";
import { atKey, atValue, type Finding, type Path } from "../../settings/problem.js";
import { type Draft, itemsOf, sectionOf, sectionsAt } from "../../settings/draft.js";

/* The meanings of values, with what the configuration adds: a value that is read may mean one word only. */

/** The configuration's defaults for a kind. */
const kindDefaults = (root: Draft, kind: ActuatorKind): Draft => sectionOf(sectionOf(root, "kinds"), kind);

/** Command words that the configuration adds to those of the kind. */
export const addedWords = (root: Draft, kind: ActuatorKind, actuator: Draft): readonly string[] => [
  ...Object.keys(sectionOf(kindDefaults(root, kind), "values")),
  ...Object.keys(sectionOf(actuator, "values")),
];

/** Words that are only read, and never sent. */
export const readWords = (root: Draft, kind: ActuatorKind, actuator: Draft): readonly string[] => [
  ...Object.keys(sectionOf(kindDefaults(root, kind), "reads")),
  ...Object.keys(sectionOf(actuator, "reads")),
];

/** A value and the word that it means. */
interface Meaning {
  readonly word: string;
  /** The word that is shown for it. */
  readonly state: string;
  readonly value: string;
  /** Null if the interface defines it. */
  readonly path: Path | null;
}

/** The meanings that a section of a kind or an actuator adds. */
function meaningsIn(section: Draft, kind: ActuatorKind, path: Path): readonly Meaning[] {
  const meaning = (word: string, value: unknown, at: Path): readonly Meaning[] =>
    typeof value === "string" ? [{ word, state: stateOfWord(kind, word), value, path: at }] : [];
  const values = sectionOf(section, "values");
  const reads = sectionOf(section, "reads");
  return [
    ...Object.entries(values).flatMap(([word, value]) => meaning(word, value, [...path, "values", word])),
    ...Object.keys(reads).flatMap((word) =>
      itemsOf(reads, word).flatMap((value, nth) => meaning(word, value, [...path, "reads", word, nth])),
    ),
  ];
}

function meaningsOfKind(kind: ActuatorKind): readonly Meaning[] {
  const row: KindRow = kindRows[kind];
  const mode: ValueTable = row.positionMode === null ? {} : { position: row.positionMode };
  return Object.entries({ ...row.values, ...mode }).map(([word, value]) => ({
    word,
    state: stateOfWord(kind, word),
    value,
    path: null,
  }));
}

/** Reports a value of two words at the word for which `isOwn` holds; if it holds for both, at the later one. */
function ambiguous(meanings: readonly Meaning[], isOwn: (path: Path) => boolean): Finding[] {
  const firsts = new Map<string, Meaning>();
  return meanings.flatMap((again) => {
    const first = firsts.get(spellingOf(again.value));
    firsts.set(spellingOf(again.value), first ?? again);
    if (first === undefined || first.state === again.state) return [];
    const [named, other] = again.path !== null && isOwn(again.path) ? [again, first] : [first, again];
    const { path } = named;
    if (path === null || !isOwn(path)) return [];
    return [
      atValue(
        path,
        msg`"${other.word}" has the same value; the words could not be told apart when read back`,
      ),
    ];
  });
}

/** Reports words that mean something else already, and values that are a degree or the mode of one. */
function unusableValues(section: Draft, kind: ActuatorKind, path: Path): Finding[] {
  const row: KindRow = kindRows[kind];
  return Object.entries(sectionOf(section, "values")).flatMap(([word, value]) => {
    const at = [...path, "values", word];
    const fixed = row.configured ? undefined : row.values[word];
    if (typeof value === "string" && fixed !== undefined && spellingOf(fixed) !== spellingOf(value))
      return [
        atValue(
          at,
          msg`"${word}" of a ${kind} is sent as ${fixed}, as the interface says; give another value a word of its own`,
        ),
      ];
    const shown = Object.entries(row.states).find(([, state]) => state === word);
    if (shown !== undefined)
      return [atKey(at, msg`"${word}" already means "${shown[0]}"; choose another word`)];
    if (!takesDegrees(kind)) return [];
    if (word === "position") return [atKey(at, msg`"position" is what a degree shows; choose another word`)];
    return typeof value === "string" && degreeOf(spellingOf(value)) !== null
      ? [atValue(at, msg`${value} is a degree of a ${kind}; expected a value above 100`)]
      : [];
  });
}

/** All problems with the words and values of one actuator, or of a kind. */
function problemsIn(root: Draft, section: Draft, kind: ActuatorKind, path: Path): Finding[] {
  const isDefault = path[0] === "kinds";
  const defaults = isDefault ? [] : meaningsIn(kindDefaults(root, kind), kind, ["kinds", kind]);
  const own = meaningsIn(section, kind, path);
  // An actuator's own word replaces its kind's.
  const replaced = new Set(own.map(keyOf));
  const standard = meaningsOfKind(kind).filter(
    ({ word }) => !kindRows[kind].configured || !replaced.has(`values ${word}`),
  );
  const all = [...standard, ...defaults.filter((one) => !replaced.has(keyOf(one))), ...own];
  const isOwn = (at: Path) => path.every((key, place) => at[place] === key);
  return [...ambiguous(all, isOwn), ...unusableValues(section, kind, path)];
}

const keyOf = ({ path, word }: Meaning): string => `${path?.at(-2) === word ? "reads" : "values"} ${word}`;

const kindOf = (name: unknown): ActuatorKind | undefined => actuatorKinds.find((known) => known === name);

/** Reports values that cannot be told apart, or mean something already. */
export const distinctMeanings = (root: Draft): Finding[] => [
  ...sectionsAt(root, "controllers.*.actuators.*").flatMap(({ path, section }) => {
    const kind = kindOf(section.kind);
    return kind === undefined ? [] : problemsIn(root, section, kind, path);
  }),
  ...sectionsAt(root, "kinds.*").flatMap(({ path, section }) => {
    const kind = kindOf(path.at(-1));
    return kind === undefined ? [] : problemsIn(root, section, kind, path);
  }),
];

/** The same for running statuses, in which on and off have values of their own. */
export function distinctStatusReads(root: Draft): Finding[] {
  const reads = sectionOf(sectionOf(root, "running_status"), "reads");
  const fixed = Object.entries(statusWords).flatMap(([word, values]) =>
    values.map((value): Meaning => ({ word, state: word, value, path: null })),
  );
  const own = Object.keys(reads).flatMap((word) =>
    itemsOf(reads, word).flatMap((value, nth): readonly Meaning[] => {
      const path = ["running_status", "reads", word, nth];
      return typeof value === "string" ? [{ word, state: word, value: value.toLowerCase(), path }] : [];
    }),
  );
  return ambiguous([...fixed, ...own], () => true);
}
