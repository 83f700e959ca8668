import { type Node, YAMLMap } from "yaml";
import { deviceTypes, isCamera, typeName } from "../../greenhouse/device-types.js";
import { defineSensor } from "../../greenhouse/fold-sensors.js";
import { statusState } from "../../greenhouse/fold-statuses.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import {
  actuatorIds,
  controllerIds,
  type DoubtfulAddress,
  findingsOf,
  type FoundActuator,
  type FoundParameter,
  parameterIds,
  stateWord,
} from "./findings.js";
import { type KnownController, type KnownFile, nameOf, sectionIn } from "./given-file.js";
import {
  type Answer,
  type Ask,
  type DeviceSurvey,
  isUsableCode,
  type ListedDevice,
  type Survey,
} from "./survey.js";
import { commentText, flowText, keyText, nameOr, nodeLines, plainNumber } from "./text.js";

const width = 100;
/** Enough for any real device; a broken answer must not make the file unreadable. */
const mostItems = 200;

/** Who a device is, for one comment line. */
function deviceLine({ code, name, type, typeName: platforms, stationName, online }: ListedDevice): string {
  const kind = nameOr(type === null ? null : (deviceTypes.get(type) ?? platforms), "device of unknown type");
  return [
    nameOr(name, commentText(code)),
    type === null ? kind : `${kind} (${commentText(type, 20)})`,
    ...(stationName === null ? [] : [`station ${commentText(stationName)}`]),
    ...(online === null ? [] : [online ? "online" : "offline"]),
  ].join(", ");
}

/** Readings and running statuses, which the bridge mirrors by itself and a brief text leaves out, and what is missing. */
function deviceRemarks(
  { device, answers, unanswered, isOffline }: DeviceSurvey,
  isBrief: boolean,
): readonly string[] {
  const asked = [...answers.keys(), ...unanswered.map(({ ask }) => ask)];
  const isAskedForAddresses = isOffline || asked.some((ask) => typeof ask === "number");
  return [
    ...(isBrief ? [] : [...sensorLines(answers.get("sensors")), ...statusLines(answers.get("statuses"))]),
    ...(isOffline ? ["not connected, so its addresses could not be read: run discover again later"] : []),
    ...(isAskedForAddresses
      ? []
      : [
          `not asked for addresses, \`discover --controller ${shellWord(commentText(device.code))}\` does that`,
        ]),
    ...refusedLines(answers),
    ...unanswered.map(
      ({ ask, why }) => `no answer about ${askName(ask)}, run discover again: ${commentText(why, 160)}`,
    ),
  ];
}

const askName = (ask: Ask): string =>
  ask === "sensors" ? "readings" : ask === "statuses" ? "running statuses" : typeName(ask);

function sensorLines(answer: Answer | undefined): readonly string[] {
  if (answer?.type !== "sensors") return [];
  const read = answer.items
    .slice(0, mostItems)
    .map((item) => ({ item, ...defineSensor(item, { key: "", id: "" }, undefined) }));
  const [known, unknown] = [
    read.filter(({ kind }) => kind !== "other").map(({ item, kind, unit }) => sensorText(item, kind, unit)),
    read.filter(({ kind }) => kind === "other").map(({ item, unit }) => sensorText(item, "", unit)),
  ];
  return [
    ...wrapped("readings: ", known),
    ...wrapped("readings of unknown kind (say kind and unit under sensors): ", unknown),
    ...moreThan(answer.items.length),
  ];
}

/** `空气温度 @1 temperature 17.3 °C`. */
function sensorText({ name, factor, channel, value }: SensorItem, kind: string, unit: string | null): string {
  return spaced(
    nameOr(name === "" ? factor : name, "without name"),
    channel === null ? "" : `@${commentText(channel, 20)}`,
    kind,
    value === null ? "--" : commentText(String(value), 30),
    commentText(unit ?? "", 20),
  );
}

const spaced = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join(" ");

function statusLines(answer: Answer | undefined): readonly string[] {
  if (answer?.type !== "statuses") return [];
  const texts = answer.items
    .slice(0, mostItems)
    .map(({ number, name, value }) =>
      spaced(String(number ?? ""), commentText(name), commentText(statusState(value), 30)),
    );
  return [...wrapped("running statuses: ", texts), ...moreThan(answer.items.length)];
}

const moreThan = (count: number): readonly string[] =>
  count > mostItems ? [`and ${count - mostItems} more of them`] : [];

/** Types refused with the same words in one line. */
function refusedLines(answers: DeviceSurvey["answers"]): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const [ask, answer] of answers) {
    if (answer.type !== "refused") continue;
    const why = commentText(answer.why, 160);
    byReason.set(why, [...(byReason.get(why) ?? []), typeof ask === "number" ? `type ${ask}` : askName(ask)]);
  }
  return [...byReason].flatMap(([why, asks]) => wrapped(`refused by the platform with ${why}: `, asks));
}

/** One word of a command line, in quotes where a shell would take it apart. */
const shellWord = (text: string): string =>
  /^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Items behind a title, in lines of a readable length. */
export function wrapped(title: string, items: readonly string[]): readonly string[] {
  const lines: string[] = [];
  let line = title;
  for (const [at, item] of items.entries()) {
    const part = at === items.length - 1 ? item : `${item}, `;
    if (line.length + part.length > width && line.trim() !== "" && line !== title) {
      lines.push(line.trimEnd());
      line = "  ";
    }
    line += part;
  }
  return items.length === 0 ? [] : [...lines, line.trimEnd()];
}

type Language = "en" | "zh";

interface Style {
  /** Of the names of actuators and parameters. */
  readonly language: Language;
  /** Without what the bridge mirrors by itself. */
  readonly isBrief: boolean;
}

const nothingKnown: KnownController = {
  actuatorIds: new Set(),
  parameterIds: new Set(),
  addresses: new Set(),
};
const mostAddresses = 1_000;

/** The part of a configuration about one controller; lines without indentation of their own section. */
export interface ControllerPart {
  readonly code: string;
  /** One line about the device, for a comment. */
  readonly title: string;
  /** A topic id it needs, because its code alone would clash. */
  readonly id: string | null;
  /** Comments about the controller as a whole. */
  readonly remarks: readonly string[];
  /** Below `actuators:`. */
  readonly actuators: readonly string[];
  /** Comments: addresses that nothing can be made of without knowing more. */
  readonly doubtful: readonly string[];
  /** Comments: entries below `parameters:`, to be switched on by taking away the `#`. */
  readonly parameters: readonly string[];
  /** What the given file says about it already. */
  readonly given: YAMLMap;
}

/** What was found on a controller and is not known yet. */
function newsOf(survey: DeviceSurvey, known: KnownController, { language }: Style) {
  const isNew = ({ address }: { readonly address: string }) => !known.addresses.has(address);
  const { actuators, doubtful, parameters } = findingsOf(survey);
  const fresh = actuators.filter(isNew).slice(0, mostAddresses);
  const ids = actuatorIds(fresh, known.actuatorIds);
  return {
    actuators: fresh.map((one) => actuatorLine(ids.get(one.address) ?? "", one, language)),
    doubtful: doubtful.filter(isNew).slice(0, mostAddresses).map(doubtfulLine),
    parameters: parameterLines(parameters.filter(isNew).slice(0, mostAddresses), known, language),
  };
}

export const hasNews = ({ actuators, doubtful, parameters }: ControllerPart): boolean =>
  actuators.length + doubtful.length + parameters.length > 0;

function actuatorLine(
  id: string,
  { address, group, raw, row, alsoIn }: FoundActuator,
  language: Language,
): string {
  const names = { kind: row.kind, name: nameFor(row, address, id, language) };
  const entry = flowText({ ...names, address: plainNumber(address), type_id: group });
  const state = stateWord(row.kind, raw);
  const remarks = [
    `now ${commentText(String(raw), 40)}${state === null ? "" : ` (${state})`}`,
    ...(row.assumption === undefined ? [] : [row.assumption]),
    ...(alsoIn.length === 0 ? [] : [`also in ${alsoIn.map(typeName).join(", ")}`]),
  ];
  return `${keyText(id)}: ${entry} # ${remarks.join("; ")}`;
}

type Named = Pick<FoundActuator["row"] | FoundParameter["row"], "word" | Language>;

/** Where the word alone does not tell it from others, neither does the name. */
const nameFor = (row: Named, address: string, id: string, language: Language): string =>
  id === row.word ? row[language] : `${row[language]} (${address})`;

const doubtfulLine = ({ address, raw, group, why }: DoubtfulAddress): string =>
  `# address ${commentText(address, 70)} of ${typeName(group)} holds ${commentText(String(raw), 40)}: ${why}`;

function parameterLines(
  found: readonly FoundParameter[],
  known: KnownController,
  language: Language,
): readonly string[] {
  const ids = parameterIds(found, known.parameterIds);
  return found.map(({ address, group, raw, row }) => {
    const id = ids.get(address) ?? "";
    const name = nameFor(row, address, id, language);
    const entry = flowText({ name, address: plainNumber(address), type_id: group });
    return `# ${keyText(id)}: ${entry} # now ${commentText(String(raw), 40)}`;
  });
}

export const indented = (lines: readonly string[], by = "  "): readonly string[] =>
  lines.map((line) => (line === "" ? "" : by + line));

const parametersHead =
  "# parameters: # shown only, never set: take away the # here and before each line to be mirrored";

/** One controller below `controllers:`; what the given file holds comes first and is kept as it is. */
export function controllerLines(part: ControllerPart): readonly string[] {
  const { code, title, id, given } = part;
  const actuators = [...linesOf(sectionIn(given, "actuators")), ...part.actuators];
  const parameters = linesOf(sectionIn(given, "parameters"));
  const shown = parameters.length === 0 ? indented(part.parameters).map(inComment) : [];
  const inside = [
    ...part.remarks.map((remark) => `# ${remark}`),
    ...(id === null ? [] : [`id: ${id}`]),
    ...linesOf(without(given, ["actuators", "parameters"])),
    ...(actuators.length === 0 ? [] : ["actuators:", ...indented(actuators)]),
    ...part.doubtful,
    ...(parameters.length === 0 ? [] : ["parameters:", ...indented([...parameters, ...part.parameters])]),
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

/** A section with some of its keys left out. */
export function without(section: YAMLMap, keys: readonly string[]): YAMLMap {
  const rest = new YAMLMap();
  rest.items = section.items.filter(({ key }) => !keys.includes(nameOf(key)));
  return rest;
}

/** What a scan found, and what need not be said again. */
export interface Found {
  readonly survey: Survey;
  readonly known: KnownFile;
  readonly style: Style;
}

/** Everything found that can have an entry, without what is known already, on top of what the `controllers` of a file hold. */
export function foundParts(
  { survey, known, style }: Found,
  controllers?: Node | null,
): readonly ControllerPart[] {
  const listed = survey.devices.filter(({ device }) => isEntry(device));
  const fresh = listed.map(({ device }) => device.code).filter((code) => !known.controllers.has(code));
  const ids = controllerIds(fresh, known.topicIds);
  return listed.map((one) => {
    const { code } = one.device;
    return {
      code,
      title: deviceLine(one.device),
      id: ids.get(code) ?? null,
      remarks: deviceRemarks(one, style.isBrief),
      ...newsOf(one, known.controllers.get(code) ?? nothingKnown, style),
      given: sectionIn(controllers, code),
    };
  });
}

/** The same, and last the controllers of the file that were not asked. */
export function controllerParts(found: Found, controllers?: Node | null): readonly ControllerPart[] {
  const parts = foundParts(found, controllers);
  const asked = new Set(parts.map(({ code }) => code));
  const others = [...found.known.controllers.keys()].filter((code) => !asked.has(code));
  const nothing = { id: null, remarks: [], actuators: [], doubtful: [], parameters: [] };
  const title = "not asked this time";
  return [
    ...parts,
    ...others.map((code) => ({ ...nothing, code, title, given: sectionIn(controllers, code) })),
  ];
}

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
  const named = (title: string, areCameras: boolean) => {
    const some = others.filter(({ type }) => isCamera(type) === areCameras);
    return wrapped(
      title,
      some.map(({ code, name }) => spaced(commentText(code), nameOr(name, ""))),
    );
  };
  return [
    ...named("Cameras, which have neither readings nor addresses: ", true),
    ...named("Devices whose code no configuration can hold, which are not asked: ", false),
  ].map((line) => `# ${line}`);
}
