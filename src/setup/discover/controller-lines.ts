import { YAMLMap } from "yaml";
import type { ControllerEntry } from "./controller-entry.js";
import { nameOf, sectionIn } from "./given-file.js";
import { keyText, nodeLines } from "./yaml-lines.js";

export interface ControllerPart {
  readonly code: string;
  /** One line about the device, for a comment. */
  readonly title: string;
  /** A topic id it needs, because its code alone would clash. */
  readonly id: string | null;
  readonly entry: ControllerEntry;
  /** What the given file says about it already; null where it does not name it. */
  readonly given: YAMLMap | null;
}

export const indented = (lines: readonly string[], by = "  "): readonly string[] =>
  lines.map((line) => (line === "" ? "" : by + line));

const parametersHead =
  "# parameters: # shown only, never set: take away the # here and before each line to be mirrored";

/** One controller below `controllers:`; what the given file holds comes first and is kept as it is. */
export function controllerLines({ code, title, id, entry, given }: ControllerPart): readonly string[] {
  const actuators = [...linesOf(sectionIn(given, "actuators")), ...entry.actuators];
  const parameters = linesOf(sectionIn(given, "parameters"));
  const shown = parameters.length === 0 ? indented(entry.parameters).map(inComment) : [];
  const inside = [
    ...entry.remarks.map((remark) => `# ${remark}`),
    ...(id === null ? [] : [`id: ${id}`]),
    ...linesOf(without(given, ["actuators", "parameters"])),
    ...(actuators.length === 0 ? [] : ["actuators:", ...indented(actuators)]),
    ...entry.doubtful,
    ...(parameters.length === 0 ? [] : ["parameters:", ...indented([...parameters, ...entry.parameters])]),
    ...(shown.length === 0 ? [] : [parametersHead, ...shown]),
  ];
  return [`# ${title}`, `${keyText(code)}:`, ...indented(inside)];
}

/** `#   key: …` instead of `  # key: …`, so that taking away the `#` leaves the indentation. */
const inComment = (line: string): string => line.replace(/^( +)# /, "# $1");

function linesOf(section: YAMLMap): readonly string[] {
  if (section.items.length === 0) return [];
  section.flow = false;
  return nodeLines(section);
}

function without(section: YAMLMap | null, keys: readonly string[]): YAMLMap {
  const rest = new YAMLMap();
  rest.items = (section?.items ?? []).filter(({ key }) => !keys.includes(nameOf(key)));
  return rest;
}
