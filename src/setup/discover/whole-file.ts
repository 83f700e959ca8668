import {
  controllerPair,
  type ControllerPart,
  type Found,
  foundParts,
  hasNews,
  otherDevices,
} from "./controller-entry.js";
import { counted, msg, type Text } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import { type GivenFile, sectionIn } from "./given-file.js";
import type { DeviceSurvey } from "./survey.js";
import { commentText, keyOf, nameOr, pairOf, sectionOf, wrap, yamlText } from "../../saving/yaml-text.js";

interface WholeFile extends Found {
  readonly given: GivenFile;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** Epoch ms. */
  readonly at: number;
}

const readOnlyRemark = msg`Every command is refused while this is true. Once the actuators below are right, set it to false.`;

/** The text of a whole configuration: the given file without its comments, and what was found. */
export function wholeFileText(file: WholeFile): string {
  const { given, survey, tell } = file;
  const commands = sectionIn(given.root, "commands").items.filter(({ key }) => keyOf(key) !== "read_only");
  const controllers = controllerParts(file).map((part) => controllerPair(part, tell));
  const sections = [
    ...given.root.items.filter(({ key }) => !["commands", "controllers"].includes(keyOf(key))),
    // Even if the given file allows commands: nothing may move before a person has looked through the list.
    pairOf("commands", sectionOf([pairOf("read_only", true, [tell(readOnlyRemark)]), ...commands])),
    pairOf("controllers", sectionOf(controllers)),
  ];
  for (const { key } of sections.slice(1)) Object.assign(key as object, { spaceBefore: true });
  return yamlText(sectionOf(sections), head(file), otherDevices(survey, tell));
}

const head = ({ writtenBy, at, given, survey, tell }: WholeFile): readonly string[] => [
  tell(
    msg`Found by \`discover\` of ${writtenBy}, ${new Date(at).toISOString().slice(0, 16)}Z. Nothing was sent to any actuator.`,
  ),
  tell(
    msg`The type of an address says what it moves: compare every actuator with the real one before you use it.`,
  ),
  ...given.replaced.flatMap(({ path, tag, name, isCopy }) => {
    if (isCopy && tag === "!secret") return [];
    const what = commentText(path.join("."));
    return tell(
      tag === "!env"
        ? msg`${what} stood in the file; set ${name} in the environment instead.`
        : msg`${what} stood in the file; now ${name} in secrets.yaml does.`,
    );
  }),
  ...notesOf(survey, tell),
  ...wrap(
    tell(msg`Stations: `),
    survey.stations.slice(0, 500).map(({ id, name }) => nameOr(name, commentText(id))),
  ),
];

const mostNotes = 20;

/** What is missing of the account's lists. */
const notesOf = ({ notes = [] }: Found["survey"], tell: Tell): readonly string[] =>
  notes.slice(0, mostNotes).map((note) => commentText(tell(note), 300));

/** The controllers that were found, then those of the file that were not asked. */
function controllerParts(file: WholeFile): readonly ControllerPart[] {
  const given = sectionIn(file.given.root, "controllers");
  const parts = foundParts(file, given);
  const asked = new Set(parts.map(({ code }) => code));
  const others = [...file.known.controllers.keys()].filter((code) => !asked.has(code));
  const nothing = { id: null, remarks: [], actuators: [], offers: [], doubtful: [], parameters: [] };
  const title = file.tell(msg`not asked this time`);
  return [...parts, ...others.map((code) => ({ ...nothing, code, title, given: sectionIn(given, code) }))];
}

/**
 * What was found and is not in `file`: lines to paste under the same keys. What a comment names counts as seen. The
 * file itself is not touched.
 */
export function newsText(file: string, writtenBy: string, found: Found) {
  const { known, survey, tell } = found;
  const parts = foundParts(found);
  const isKnown = ({ code }: ControllerPart) => known.controllers.has(code);
  const added = parts.filter((part) => !isKnown(part));
  const grown = parts.filter((part) => isKnown(part) && hasNews(part));
  const controllers = [...grown.map((part) => withoutRemarks(part, tell)), ...added];
  const others = otherDevices(survey, tell, (code) => !known.mentions(code));
  const name = commentText(file, 200);
  const title =
    controllers.length === 0 && others.length === 0
      ? msg`Nothing new against ${name}: ${counted(parts.length, "device", "devices")} compared by \`discover\` of ${writtenBy}.`
      : msg`New against ${name}, by \`discover\` of ${writtenBy}. Paste the lines under the same keys there.`;
  const pairs = controllers.map((part) => controllerPair(part, tell));
  const sections = pairs.length === 0 ? [] : [pairOf("controllers", sectionOf(pairs))];
  return {
    text: yamlText(
      sectionOf(sections),
      [tell(title), ...notesOf(survey, tell), ...doubts(found).map(tell)],
      others,
    ),
    newControllers: added.length,
    newActuators: controllers.reduce((sum, { actuators }) => sum + actuators.length, 0),
  };
}

/** Readings of a known controller are no news. */
const withoutRemarks = (part: ControllerPart, tell: Tell): ControllerPart => ({
  ...part,
  title: tell(msg`${part.title}; stands in the file already, with other addresses`),
  remarks: [],
});

/** A device that could not be read may have news too. */
const doubts = ({ survey, known }: Found): readonly Text[] =>
  survey.devices
    .filter(({ device }) => known.controllers.has(device.code))
    .flatMap((one) => {
      const why = doubtAbout(one);
      return why === null ? [] : [msg`${commentText(one.device.code)} may have more: ${why}.`];
    });

function doubtAbout({ isOffline, unanswered, answers }: DeviceSurvey): Text | null {
  if (isOffline) return msg`not connected; run discover again`;
  if (unanswered.length > 0) return msg`not every question answered; run discover again`;
  const isUnread = [...answers.values()].some((answer) => answer.type !== "refused" && answer.unread);
  return isUnread ? msg`not every answer could be read; \`greenhouse2mqtt doctor\` may say what helps` : null;
}
