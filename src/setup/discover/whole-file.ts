import {
  controllerPair,
  type ControllerPart,
  type Found,
  foundParts,
  hasNews,
  otherDevices,
} from "./controller-entry.js";
import { type GivenFile, sectionIn } from "./given-file.js";
import { commentText, keyOf, nameOr, pairOf, sectionOf, wrap, yamlText } from "../yaml-text.js";

interface WholeFile extends Found {
  readonly given: GivenFile;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** Epoch ms. */
  readonly at: number;
}

const readOnlyRemark =
  "Every command is refused while this is true. Once the actuators below are right, set it to false.";

/** The text of a whole configuration: everything of the given file but its comments, and what was found. */
export function wholeFileText(file: WholeFile): string {
  const { given, survey } = file;
  const commands = sectionIn(given.root, "commands").items.filter(({ key }) => keyOf(key) !== "read_only");
  const controllers = controllerParts(file).map(controllerPair);
  const sections = [
    ...given.root.items.filter(({ key }) => !["commands", "controllers"].includes(keyOf(key))),
    // Whatever the given file allows: nothing is to move before a person has looked through the list.
    pairOf("commands", sectionOf([pairOf("read_only", true, [readOnlyRemark]), ...commands])),
    pairOf("controllers", sectionOf(controllers)),
  ];
  for (const { key } of sections.slice(1)) Object.assign(key as object, { spaceBefore: true });
  return yamlText(sectionOf(sections), head(file), otherDevices(survey));
}

const head = ({ writtenBy, at, given, survey }: WholeFile): readonly string[] => [
  `Found by \`discover\` of ${writtenBy}, ${new Date(at).toISOString().slice(0, 16)}Z. Nothing was sent to any actuator.`,
  "Which address moves what is told by its type alone: compare every actuator with the real one before it is used.",
  ...given.replaced.map(({ path, tag, name }) => {
    const remedy =
      tag === "!env" ? `set ${name} in the environment instead` : `now ${name} in secrets.yaml does`;
    return `${commentText(path.join("."))} stood in the file; ${remedy}.`;
  }),
  ...wrap(
    "Stations: ",
    survey.stations.slice(0, 500).map(({ id, name }) => nameOr(name, commentText(id))),
  ),
];

/** What was found, and last the controllers of the file that were not asked. */
function controllerParts(file: WholeFile): readonly ControllerPart[] {
  const given = sectionIn(file.given.root, "controllers");
  const parts = foundParts(file, given);
  const asked = new Set(parts.map(({ code }) => code));
  const others = [...file.known.controllers.keys()].filter((code) => !asked.has(code));
  const nothing = { id: null, remarks: [], actuators: [], offers: [], doubtful: [], parameters: [] };
  const title = "not asked this time";
  return [...parts, ...others.map((code) => ({ ...nothing, code, title, given: sectionIn(given, code) }))];
}

/**
 * What was found and does not stand in `file` yet: lines to be pasted under the same keys of it. What stands there in a
 * comment counts as seen. The file itself is not touched.
 */
export function newsText(file: string, writtenBy: string, found: Found) {
  const { known, survey } = found;
  const parts = foundParts(found);
  const isKnown = ({ code }: ControllerPart) => known.controllers.has(code);
  const added = parts.filter((part) => !isKnown(part));
  const grown = parts.filter((part) => isKnown(part) && hasNews(part));
  const controllers = [...grown.map(withoutRemarks), ...added];
  const others = otherDevices(survey, (code) => !known.mentions(code));
  const name = commentText(file, 200);
  const title =
    controllers.length === 0 && others.length === 0
      ? `Nothing new against ${name}: ${parts.length} devices compared by \`discover\` of ${writtenBy}.`
      : `New against ${name}, by \`discover\` of ${writtenBy}. Paste the lines under the same keys there.`;
  const sections =
    controllers.length === 0 ? [] : [pairOf("controllers", sectionOf(controllers.map(controllerPair)))];
  return {
    text: yamlText(sectionOf(sections), [title, ...doubts(found)], others),
    newControllers: added.length,
    newActuators: controllers.reduce((sum, { actuators }) => sum + actuators.length, 0),
  };
}

/** Its readings are no news. */
const withoutRemarks = (part: ControllerPart): ControllerPart => ({
  ...part,
  title: `${part.title}; stands in the file already, with other addresses`,
  remarks: [],
});

/** A device that could not be read may have news of its own. */
const doubts = ({ survey, known }: Found): readonly string[] =>
  survey.devices
    .filter(
      ({ device, isOffline, unanswered }) =>
        known.controllers.has(device.code) && (isOffline || unanswered.length > 0),
    )
    .map(({ device, isOffline }) => {
      const why = isOffline ? "not connected" : "not every question was answered";
      return `${commentText(device.code)} may have more: ${why}; run discover again.`;
    });
