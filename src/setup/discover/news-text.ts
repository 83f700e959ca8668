import { hasNothing } from "./controller-entry.js";
import { controllerLines, indented, type ControllerPart } from "./controller-lines.js";
import { foundParts, otherDevices, type PartSources } from "./controller-parts.js";
import { commentText } from "./safe-text.js";

export interface News {
  readonly text: string;
  readonly newControllers: number;
  readonly newActuators: number;
}

/**
 * What was found and does not stand in `file` yet: lines to be pasted under the same keys of it. What stands there in a
 * comment counts as seen. The file itself is not touched.
 */
export function newsText(file: string, writtenBy: string, sources: PartSources): News {
  const { known, survey } = sources;
  const parts = foundParts(sources);
  const isKnown = ({ code }: ControllerPart) => known.controllers.has(code);
  const added = parts.filter((part) => !isKnown(part));
  const grown = parts.filter((part) => isKnown(part) && !hasNothing(part.entry));
  const controllers = [...grown.map(withoutRemarks), ...added];
  const others = otherDevices(survey, (code) => !known.mentions(code));
  const name = commentText(file, 200);
  const title =
    controllers.length === 0 && others.length === 0
      ? `# Nothing new against ${name}: ${parts.length} devices compared by \`discover\` of ${writtenBy}.`
      : `# New against ${name}, by \`discover\` of ${writtenBy}. Paste the lines under the same keys there.`;
  const lines = [
    title,
    ...doubts(sources),
    ...(controllers.length === 0 ? [] : ["controllers:", ...indented(controllers.flatMap(controllerLines))]),
    ...others,
    "",
  ];
  return {
    text: lines.join("\n"),
    newControllers: added.length,
    newActuators: controllers.reduce((sum, { entry }) => sum + entry.actuators.length, 0),
  };
}

/** Its readings are no news. */
const withoutRemarks = (part: ControllerPart): ControllerPart => ({
  ...part,
  title: `${part.title}; stands in the file already, with other addresses`,
  entry: { ...part.entry, remarks: [] },
});

/** A device that could not be read may have news of its own. */
const doubts = ({ survey, known }: PartSources): readonly string[] =>
  survey.devices
    .filter(
      ({ device, isOffline, unanswered }) =>
        known.controllers.has(device.code) && (isOffline || unanswered.length > 0),
    )
    .map(({ device, isOffline }) => {
      const why = isOffline ? "not connected" : "not every question was answered";
      return `# ${commentText(device.code)} may have more: ${why}; run discover again.`;
    });
