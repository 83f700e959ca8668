import { isMap, Pair, Scalar, YAMLMap, type Node } from "yaml";
import { mostConfigurationBytes } from "../../config/read-text.js";
import type { Style } from "./controller-entry.js";
import { controllerLines, indented } from "./controller-lines.js";
import { controllerParts, otherDevices } from "./controller-parts.js";
import { wrapped } from "./device-text.js";
import { nameOf, type GivenFile } from "./given-file.js";
import type { KnownFile } from "./known-file.js";
import { commentText, nameOr } from "./safe-text.js";
import type { ListedStation, Survey } from "./survey.js";
import { nodeLines } from "./yaml-lines.js";

export interface WholeFile {
  readonly given: GivenFile;
  readonly known: KnownFile;
  readonly survey: Survey;
  readonly style: Style;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface FittingText {
  readonly text: string;
  readonly isBrief: boolean;
  /** Of a text that is too large for a configuration even so; null for all others. */
  readonly excessBytes: number | null;
}

/** The whole text, without what the bridge mirrors by itself where it would be too large for a configuration. */
export function fittingText(file: WholeFile, mostBytes = mostConfigurationBytes): FittingText {
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
    ...indented(controllerParts(file).flatMap(controllerLines)),
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
  const others = new YAMLMap();
  if (isMap(given)) others.items = given.items.filter(({ key }) => nameOf(key) !== "read_only");
  return [
    "commands:",
    "  # Every command is refused while this is true. Once the actuators below are right, set it to false.",
    "  read_only: true",
    ...(others.items.length === 0 ? [] : indented(nodeLines(others))),
  ];
}
