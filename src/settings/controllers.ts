import type { Text } from "../language/text.js";
import anyAscii from "any-ascii";
import { controllerTopicId as topicIdOf, topicIdPattern } from "../greenhouse/topic-ids.js";
import { suggestion } from "../runtime/similar-words.js";
import { type Draft, sectionsAt, textOf } from "./draft.js";

/* The names of a file's controllers. */

/** The default topic id of a controller; the bridge, `check` and the command line must use the same one. */
export const controllerTopicId = (code: string): string => topicIdOf(code, anyAscii);

/** The topic id of a controller that nobody knows any more, from its code or from that id. */
export const topicIdOfEither = (idOrCode: string): string =>
  topicIdPattern.test(idOrCode) ? idOrCode : controllerTopicId(idOrCode);

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

/** The most suggestions, as each compares all names; no more problems are shown either. */
const mostSuggestions = 100;

interface MayBeIgnored {
  readonly ignore: boolean;
}

/** The configured actuators that are not ignored, by id; none for an ignored controller. */
export const mirroredActuators = <Actuator extends MayBeIgnored>(
  section: (MayBeIgnored & { readonly actuators: Readonly<Record<string, Actuator>> }) | undefined,
): readonly (readonly [id: string, actuator: Actuator])[] =>
  section === undefined || section.ignore
    ? []
    : Object.entries(section.actuators).filter(([, { ignore }]) => !ignore);

const indexes = new WeakMap<Draft, ControllerIndex>();

/** The controllers of a file by their names, cached because guards, groups and scenes refer to them so often. */
export function controllersIn(root: Draft): ControllerIndex {
  const known = indexes.get(root);
  if (known !== undefined) return known;
  const byCode = new Map<string, NamedController>();
  const byId = new Map<string, NamedController>();
  for (const { path, section } of sectionsAt(root, "controllers.*")) {
    const code = String(path[1]);
    const one = { code, id: textOf(section, "id") ?? controllerTopicId(code), section };
    byCode.set(code, one);
    // Another rule reports two controllers with one id.
    if (!byId.has(one.id)) byId.set(one.id, one);
  }
  const names = [...byCode.keys(), ...byId.keys()];
  let left = mostSuggestions;
  const index = { byCode, byId, suggested: (name: string) => (left-- > 0 ? suggestion(name, names) : "") };
  indexes.set(root, index);
  return index;
}
