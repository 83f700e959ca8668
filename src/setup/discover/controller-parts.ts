import { isMap, type YAMLMap } from "yaml";
import { isCamera } from "../../greenhouse/device-types.js";
import { controllerEntry, nothingKnown, type Style } from "./controller-entry.js";
import type { ControllerPart } from "./controller-lines.js";
import { deviceLine, wrapped } from "./device-text.js";
import { controllerIds } from "./entry-ids.js";
import { sectionIn, type GivenFile } from "./given-file.js";
import type { KnownFile } from "./known-file.js";
import { isUsableCode } from "./plan.js";
import { commentText, nameOr } from "./safe-text.js";
import type { ListedDevice, Survey } from "./survey.js";

export interface PartSources {
  readonly survey: Survey;
  readonly known: KnownFile;
  readonly style: Style;
}

/** Everything found that can have an entry, without what is known already. */
export function foundParts({ survey, known, style }: PartSources): readonly ControllerPart[] {
  const listed = survey.devices.filter(({ device }) => isEntry(device));
  const fresh = listed.map(({ device }) => device.code).filter((code) => !known.controllers.has(code));
  const ids = controllerIds(fresh, known.topicIds);
  return listed.map((one) => {
    const { code } = one.device;
    const entry = controllerEntry(one, known.controllers.get(code) ?? nothingKnown, style);
    return { code, title: deviceLine(one.device), id: ids.get(code) ?? null, entry, given: null };
  });
}

/** Everything found, on top of what the given file holds; its controllers that were not asked come last. */
export function controllerParts(
  sources: PartSources & { readonly given: GivenFile },
): readonly ControllerPart[] {
  const section = sources.given.sections.get("controllers");
  const controllers = isMap(section) ? section : null;
  const { known } = sources;
  const givenFor = (code: string) => (known.controllers.has(code) ? sectionIn(controllers, code) : null);
  const found = foundParts(sources).map((part) => ({ ...part, given: givenFor(part.code) }));
  const asked = new Set(found.map(({ code }) => code));
  const others = [...known.controllers.keys()].filter((code) => !asked.has(code));
  return [...found, ...others.map((code) => unasked(code, givenFor(code)))];
}

const unasked = (code: string, given: YAMLMap | null): ControllerPart => ({
  code,
  title: "not asked this time",
  id: null,
  entry: { remarks: [], actuators: [], doubtful: [], parameters: [] },
  given,
});

/** Cameras need no entry, and some codes can have none. */
const isEntry = ({ code, type }: ListedDevice): boolean => !isCamera(type) && isUsableCode(code);

/** Comment lines about the devices without an entry. */
export function otherDevices(
  survey: Survey,
  isNews: (code: string) => boolean = () => true,
): readonly string[] {
  const others = survey.devices
    .map(({ device }) => device)
    .filter((one) => !isEntry(one) && isNews(one.code));
  const texts = (some: readonly ListedDevice[]) =>
    some.map(({ code, name }) => `${commentText(code)} ${nameOr(name, "")}`.trim());
  return [
    ...wrapped("Cameras, which have neither readings nor addresses: ", texts(others.filter(isCameraDevice))),
    ...wrapped(
      "Devices whose code no configuration can hold, which are not asked: ",
      texts(others.filter((one) => !isCameraDevice(one))),
    ),
  ].map((line) => `# ${line}`);
}

const isCameraDevice = ({ type }: ListedDevice): boolean => isCamera(type);
