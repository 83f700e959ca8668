import { clauses, statements } from "../language/lists.js";
import { msg, type Text } from "../language/text.js";
import { actuatorKinds } from "../greenhouse/actuator-kinds.js";
import { readWanted, type Target, vocabulary } from "../greenhouse/command/words.js";
import {
  commonTarget,
  type Group,
  type Member,
  memberName,
  type Scene,
  type GroupsAndScenes,
} from "../greenhouse/groups.js";
import { atKey, atValue, type Finding, type Path } from "../settings/problem.js";
import { suggestion } from "../runtime/similar-words.js";
import { controllersIn } from "../settings/controllers.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { Parsed } from "../settings/values.js";
import type { groupsSection, scenesSection } from "./section.js";
import { asDraft, type Draft, isGiven, itemsOf, sectionOf, sectionsAt, textOf } from "../settings/draft.js";

/*
 * Reads `groups` and `scenes`, and finds their mistakes. A member that does not exist would be missing at every
 * command.
 */

interface Found {
  readonly member: Member;
  readonly target: Target;
  readonly inverted: boolean;
  readonly isReadOnly: boolean;
}

const isFound = (found: Found | Text): found is Found => typeof found === "object" && "member" in found;

const isList = (found: readonly Found[] | Text): found is readonly Found[] => Array.isArray(found);

/** The actuator of `controller/actuator`, or why there is none. A code may contain slashes, an actuator's id cannot. */
function actuatorAt(reference: string, root: Draft): Found | Text {
  const at = reference.lastIndexOf("/");
  const named = reference.slice(0, at);
  const actuator = reference.slice(at + 1);
  const { byCode, byId, suggested } = controllersIn(root);
  const found = byCode.get(named) ?? byId.get(named);
  if (found === undefined) return msg`there is no controller "${named}" under controllers${suggested(named)}`;
  const { code, id, section } = found;
  if (section.ignore === true) return msg`the controller ${code} is ignored, so it takes no commands`;
  const actuators = sectionOf(section, "actuators");
  if (!isGiven(actuators, actuator))
    return msg`controller ${code} has no actuator "${actuator}"${suggestion(actuator, Object.keys(actuators))}`;
  const own = sectionOf(actuators, actuator);
  if (own.ignore === true) return msg`this actuator is ignored, so it takes no commands`;
  const member = { code, controllerId: id, actuator };
  const inverted = sectionOf(own, "homeassistant").inverted === true;
  return { member, target: targetOf(own, root), inverted, isReadOnly: own.read_only === true };
}

/** The target, as far as its kind is readable; another rule reports mistakes in it. */
function targetOf(section: Draft, root: Draft): Target {
  const kind = actuatorKinds.find((known) => known === section.kind) ?? "custom";
  const ofKind = sectionOf(sectionOf(sectionOf(root, "kinds"), kind), "values");
  const values = Object.entries({ ...ofKind, ...sectionOf(section, "values") }).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  const stop = isGiven(section, "stop") ? { stop: { address: "", value: "" } } : {};
  return { kind, address: "", values: Object.fromEntries(values), ...stop };
}

interface Read<T> {
  readonly item: T | null;
  readonly findings: readonly Finding[];
}

function groupAt(path: Path, section: Draft, root: Draft): Read<Group> {
  const id = String(path.at(-1));
  const references = itemsOf(section, "members").flatMap((member, at) =>
    typeof member === "string" && member.includes("/") ? [{ member, at: [...path, "members", at] }] : [],
  );
  const findings: Finding[] = [];
  const found: Found[] = [];
  for (const { member, at } of references) {
    const actuator = actuatorAt(member, root);
    const problem = isFound(actuator) ? memberProblem(actuator, found) : actuator;
    if (problem !== null) findings.push(atValue(at, problem));
    else if (isFound(actuator)) found.push(actuator);
  }
  const target = commonTarget(found.map((one) => ({ ...one.target, inverted: one.inverted })));
  if (Array.isArray(section.members) && section.members.length === 0)
    findings.push(atValue([...path, "members"], msg`expected at least one actuator`));
  if (target === null && found.length > 0)
    findings.push(atValue([...path, "members"], nothingInCommon(found)));
  const name = textOf(section, "name") ?? id;
  const item = target && { id, name, target, members: found.map(({ member }) => member) };
  return { item, findings };
}

function memberProblem({ member, isReadOnly }: Found, before: readonly Found[]): Text | null {
  if (isReadOnly) return msg`this actuator is read-only, so no command would reach it`;
  return before.some((other) => memberName(other.member) === memberName(member))
    ? msg`this actuator is a member already`
    : null;
}

const nothingInCommon = (found: readonly Found[]): Text => {
  const each = found.map(({ member, target }) => {
    const { words, degrees } = vocabulary(target);
    return msg`${memberName(member)} takes ${[...words, ...(degrees ? ["0..100"] : [])].join(", ")}`;
  });
  return msg`these take no command in common: ${statements(each)}`;
};

/** The actuators that one line of a scene addresses. */
function findAddressed(
  reference: string,
  groups: GroupsAndScenes["groups"],
  root: Draft,
): readonly Found[] | Text {
  if (!reference.startsWith("group/")) {
    const found = actuatorAt(reference, root);
    return isFound(found) ? [found] : found;
  }
  const id = reference.slice("group/".length);
  const members = groups
    .get(id)
    ?.members.map(({ code, actuator }) => actuatorAt(`${code}/${actuator}`, root));
  // Mistakes of an existing group are reported only once.
  if (members === undefined && isGiven(sectionOf(root, "groups"), id)) return [];
  return (
    members?.filter(isFound) ??
    msg`there is no group "${id}" under groups${suggestion(id, Object.keys(sectionOf(root, "groups")))}`
  );
}

function sceneAt(path: Path, section: Draft, groups: GroupsAndScenes["groups"], root: Draft): Read<Scene> {
  const findings: Finding[] = [];
  const commands: { readonly member: Member; readonly command: string }[] = [];
  const lines = sectionOf(section, "commands");
  // The schema reports keys of another form.
  for (const [reference, command] of Object.entries(lines).filter(([key]) => key.includes("/"))) {
    const at = [...path, "commands", reference];
    const found = findAddressed(reference, groups, root);
    if (!isList(found)) findings.push(atKey(at, found));
    else if (typeof command === "string")
      for (const one of found) {
        const problem = commandProblem(one, command, commands);
        if (problem === null) commands.push({ member: one.member, command });
        else findings.push(problem.isOfKey ? atKey(at, problem.message) : atValue(at, problem.message));
      }
  }
  if (isGiven(section, "commands") && Object.keys(lines).length === 0)
    findings.push(atValue([...path, "commands"], msg`expected at least one command`));
  const id = String(path.at(-1));
  return { item: { id, name: textOf(section, "name") ?? id, commands }, findings };
}

function commandProblem(
  { member, target, isReadOnly }: Found,
  command: string,
  before: Scene["commands"],
): { readonly message: Text; readonly isOfKey: boolean } | null {
  const name = memberName(member);
  if (isReadOnly) return { message: msg`${name} is read-only, so no command would reach it`, isOfKey: true };
  if (before.some((other) => memberName(other.member) === name))
    return { message: msg`${name} is commanded by this scene already`, isOfKey: true };
  const wanted = readWanted(command, target);
  return "reason" in wanted ? { message: msg`${name}: ${wanted.message}`, isOfKey: false } : null;
}

function readGroupOrScene(root: Draft): GroupsAndScenes & { readonly findings: readonly Finding[] } {
  const placed = sectionsAt(root, "groups.*").map(({ path, section }) => groupAt(path, section, root));
  const groups = new Map(placed.flatMap(({ item }) => (item === null ? [] : [[item.id, item] as const])));
  const read = sectionsAt(root, "scenes.*").map(({ path, section }) => sceneAt(path, section, groups, root));
  const scenes = new Map(read.flatMap(({ item }) => (item === null ? [] : [[item.id, item] as const])));
  return { groups, scenes, findings: [...placed, ...read].flatMap(({ findings }) => findings) };
}

export const soundGroups = (root: Draft): Finding[] => [...readGroupOrScene(root).findings];

/** The groups and scenes of a valid configuration. */
export const groupsAndScenesIn = ({ kinds, controllers, groups, scenes }: GroupsSections): GroupsAndScenes =>
  readGroupOrScene(asDraft({ kinds, controllers, groups, scenes }));

interface GroupsSections extends Pick<CoreConfiguration, "kinds" | "controllers"> {
  readonly groups: Parsed<typeof groupsSection>;
  readonly scenes: Parsed<typeof scenesSection>;
}

const withoutCover = (group: string): Text =>
  msg`groups.${group}: has a select and no cover in Home Assistant, as only some of its members have homeassistant.inverted: true.`;

/** Plain sentences about what each group and scene does. */
export function groupSentences(configuration: GroupsSections): readonly Text[] {
  const { groups, scenes } = groupsAndScenesIn(configuration);
  return [
    ...[...groups.values()].flatMap(({ id, members, target }) => {
      const { words, degrees } = vocabulary(target);
      const takes = [...words, ...(degrees ? ["0..100"] : [])].join(", ");
      const sentence = msg`groups.${id}: takes ${takes}, for ${members.map(memberName).join(", ")}.`;
      return target.inverted === null ? [sentence, withoutCover(id)] : [sentence];
    }),
    ...[...scenes.values()].map(({ id, commands }) => {
      const each = commands.map(({ member, command }) => msg`${command} to ${memberName(member)}`);
      return msg`scenes.${id}: sends ${clauses(each)}.`;
    }),
  ];
}
