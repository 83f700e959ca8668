import { isMap, type Node, Pair, Scalar, YAMLMap } from "yaml";
import { mostConfigurationBytes } from "../../config/load.js";
import {
  controllerLines,
  type ControllerPart,
  controllerParts,
  type Found,
  foundParts,
  hasNews,
  indented,
  otherDevices,
  without,
  wrapped,
} from "./controller-entry.js";
import type { GivenFile } from "./given-file.js";
import type { ListedStation } from "./survey.js";
import { commentText, nameOr, nodeLines } from "./text.js";

interface WholeFile extends Found {
  readonly given: GivenFile;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * The whole text, without what the bridge mirrors by itself where it would be too large for a configuration.
 * `excessBytes`: the size of a text that is too large even so; null for all others.
 */
export function fittingText(file: WholeFile, mostBytes = mostConfigurationBytes) {
  const text = wholeFileText(file);
  if (Buffer.byteLength(text) <= mostBytes) return { text, isBrief: false, excessBytes: null };
  const brief = wholeFileText({ ...file, style: { ...file.style, isBrief: true } });
  const bytes = Buffer.byteLength(brief);
  return { text: brief, isBrief: true, excessBytes: bytes > mostBytes ? bytes : null };
}

/** The text of a whole configuration: everything of the given file but its comments, and what was found. */
export function wholeFileText(file: WholeFile): string {
  const { given, survey } = file;
  const kept = [...given.sections].filter(([key]) => key !== "commands" && key !== "controllers");
  return [
    ...head(file),
    ...stationLines(survey.stations),
    ...kept.flatMap(([key, node]) => (node === null ? [] : ["", ...nodeLines(mapOf(key, node))])),
    "",
    ...commandLines(given),
    "",
    "controllers:",
    ...indented(controllerParts(file, given.sections.get("controllers")).flatMap(controllerLines)),
    ...otherDevices(survey),
    "",
  ].join("\n");
}

const head = ({ writtenBy, at, given }: WholeFile): readonly string[] => [
  `# Found by \`discover\` of ${writtenBy}, ${new Date(at).toISOString().slice(0, 16)}Z. Nothing was sent to any actuator.`,
  "# Which address moves what is told by its type alone: compare every actuator with the real one before it is used.",
  ...given.replaced.map(
    ({ path, variable }) =>
      `# ${commentText(path.join("."))} stood in the file; set ${variable} in the environment instead.`,
  ),
];

const stationLines = (stations: readonly ListedStation[]): readonly string[] =>
  wrapped(
    "# Stations: ",
    stations.slice(0, 500).map(({ id, name }) => nameOr(name, commentText(id))),
  ).map((line) => (line.startsWith("#") ? line : `# ${line}`));

function mapOf(key: string, node: Node): YAMLMap {
  const map = new YAMLMap();
  map.items = [new Pair(new Scalar(key), node)];
  return map;
}

/** Whatever the given file allows: nothing is to move before a person has looked through the list. */
function commandLines({ sections }: GivenFile): readonly string[] {
  const given = sections.get("commands");
  const others = without(isMap(given) ? given : new YAMLMap(), ["read_only"]);
  return [
    "commands:",
    "  # Every command is refused while this is true. Once the actuators below are right, set it to false.",
    "  read_only: true",
    ...(others.items.length === 0 ? [] : indented(nodeLines(others))),
  ];
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
      ? `# Nothing new against ${name}: ${parts.length} devices compared by \`discover\` of ${writtenBy}.`
      : `# New against ${name}, by \`discover\` of ${writtenBy}. Paste the lines under the same keys there.`;
  const lines = [
    title,
    ...doubts(found),
    ...(controllers.length === 0 ? [] : ["controllers:", ...indented(controllers.flatMap(controllerLines))]),
    ...others,
    "",
  ];
  return {
    text: lines.join("\n"),
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
      return `# ${commentText(device.code)} may have more: ${why}; run discover again.`;
    });
