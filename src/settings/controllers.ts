import type { Text } from "../language/text.js";
import anyAscii from "any-ascii";
import { controllerTopicId as topicIdOf } from "../greenhouse/topic-ids.js";
import { suggestion } from "../runtime/similar-words.js";
import { type Draft, sectionsAt, textOf } from "./draft.js";

/* By which names the controllers of a file go. */

/** The topic id of a controller that was given none: the bridge, `check` and the command line must mean the same one. */
export const controllerTopicId = (code: string): string => topicIdOf(code, anyAscii);

interface NamedController {
  readonly code: string;
  readonly id: string;
  readonly section: Draft;
}

interface ControllerIndex {
  readonly byCode: ReadonlyMap<string, NamedController>;
  readonly byId: ReadonlyMap<string, NamedController>;
  /** `, did you mean "gh-0001"?` or nothing. */
  readonly suggested: (name: string) => Text;
}

/** As many problems are shown, and each suggestion looks at all names. */
const mostSuggestions = 100;

interface MayBeIgnored {
  readonly ignore: boolean;
}

/** What is mirrored and commanded of a controller of the configuration, by id. */
export const mirroredActuators = <Actuator extends MayBeIgnored>(
  section: (MayBeIgnored & { readonly actuators: Readonly<Record<string, Actuator>> }) | undefined,
): readonly (readonly [id: string, actuator: Actuator])[] =>
  section === undefined || section.ignore
    ? []
    : Object.entries(section.actuators).filter(([, { ignore }]) => !ignore);

const indexes = new WeakMap<Draft, ControllerIndex>();

/** The controllers of a file by their names: guards, groups and scenes refer to them as often as there are controllers. */
export function controllersIn(root: Draft): ControllerIndex {
  const known = indexes.get(root);
  if (known !== undefined) return known;
  const byCode = new Map<string, NamedController>();
  const byId = new Map<string, NamedController>();
  for (const { path, section } of sectionsAt(root, "controllers.*")) {
    const code = String(path[1]);
    const one = { code, id: textOf(section, "id") ?? controllerTopicId(code), section };
    byCode.set(code, one);
    // Another rule says that two have one id.
    if (!byId.has(one.id)) byId.set(one.id, one);
  }
  const names = [...byCode.keys(), ...byId.keys()];
  let left = mostSuggestions;
  const index = { byCode, byId, suggested: (name: string) => (left-- > 0 ? suggestion(name, names) : "") };
  indexes.set(root, index);
  return index;
}
