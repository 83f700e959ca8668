import type { Pair, YAMLMap } from "yaml";
import {
  likenessOf,
  type SeenAddress,
  suggestedActuator,
  valuesText,
} from "../../greenhouse/addresses-seen.js";
import { type ActuatorKind, textOf, takesDegrees } from "../../greenhouse/actuator-kinds.js";
import { deviceTypes, isCamera, statusesOfKind, typeName, typeRows } from "../../greenhouse/device-types.js";
import { defineSensor } from "../../greenhouse/fold-sensors.js";
import { statusState } from "../../greenhouse/fold-statuses.js";
import { mayBeDegree } from "../../greenhouse/group-listing.js";
import type { Language } from "../../greenhouse/labels.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import { assignIds } from "../../greenhouse/topic-ids.js";
import {
  actuatorIds,
  combinedAutomatic,
  controllerIds,
  findingsOf,
  isCombinedAutomatic,
  parameterIds,
  stateWord,
} from "./findings.js";
import { type KnownController, type KnownFile, sectionIn } from "./given-file.js";
import {
  type Answer,
  type Ask,
  type DeviceSurvey,
  isUsableCode,
  type ListedDevice,
  type Survey,
} from "./survey.js";
import {
  commentText,
  entryOf,
  flowNode,
  keyOf,
  nameOr,
  pairOf,
  plainNumber,
  sectionOf,
  wrap,
  yamlText,
} from "../yaml-text.js";

/** Enough for any real device; a broken answer must not make the file unreadable. */
const mostItems = 200;
const mostAddresses = 1_000;

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

/** Readings and running statuses, which the bridge mirrors by itself, and what is missing. */
function deviceRemarks({ device, answers, unanswered, isOffline }: DeviceSurvey): readonly string[] {
  const asked = [...answers.keys(), ...unanswered.map(({ ask }) => ask)];
  const isAskedForAddresses = isOffline || asked.some((ask) => typeof ask === "number");
  const notAsked = `not asked for addresses, \`discover --controller ${shellWord(commentText(device.code))}\` does that`;
  return [
    ...(device.isOfStations === true ? [ofStations] : []),
    ...[...answers.values()].flatMap(answerLines),
    ...(isOffline ? ["not connected, so its addresses could not be read: run discover again later"] : []),
    ...(isAskedForAddresses ? [] : [notAsked]),
    ...refusedLines(answers),
    ...unanswered.map(
      ({ ask, why }) => `no answer about ${askName(ask)}, run discover again: ${commentText(why, 160)}`,
    ),
  ];
}

const ofStations =
  "the list of stations alone names it: it is followed only because it stands here, and without an online flag";

const askName = (ask: Ask): string =>
  ask === "sensors" ? "readings" : ask === "statuses" ? "running statuses" : typeName(ask);

function answerLines(answer: Answer): readonly string[] {
  if (answer.type !== "sensors" && answer.type !== "statuses") return [];
  const more = answer.items.length - mostItems;
  const rest = more > 0 ? [`and ${more} more of them`] : [];
  if (answer.type === "statuses") {
    const texts = answer.items
      .slice(0, mostItems)
      .map(({ number, name, value }) =>
        joinParts(String(number ?? ""), commentText(name), commentText(statusState(value), 30)),
      );
    return [...wrap("running statuses: ", texts), ...rest];
  }
  const read = answer.items
    .slice(0, mostItems)
    .map((item) => ({ item, ...defineSensor(item, { key: "", id: "" }, undefined) }));
  const texts = (areKnown: boolean) =>
    read
      .filter(({ kind }) => (kind !== "other") === areKnown)
      .map(({ item, kind, unit }) => sensorText(item, areKnown ? kind : "", unit));
  return [
    ...wrap("readings: ", texts(true)),
    ...wrap("readings of unknown kind (say kind and unit under sensors): ", texts(false)),
    ...rest,
  ];
}

/** `空气温度 @1 temperature 17.3 °C`. */
function sensorText({ name, factor, channel, value }: SensorItem, kind: string, unit: string | null): string {
  return joinParts(
    nameOr(name === "" ? factor : name, "without name"),
    channel === null ? "" : `@${commentText(channel, 20)}`,
    kind,
    value === null ? "--" : commentText(String(value), 30),
    commentText(unit ?? "", 20),
  );
}

const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join(" ");

/** Types refused with the same words in one line. */
function refusedLines(answers: DeviceSurvey["answers"]): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const [ask, answer] of answers) {
    if (answer.type !== "refused") continue;
    const why = commentText(answer.why, 160);
    byReason.set(why, [...(byReason.get(why) ?? []), typeof ask === "number" ? `type ${ask}` : askName(ask)]);
  }
  return [...byReason].flatMap(([why, asks]) => wrap(`refused by the platform with ${why}: `, asks));
}

/** One word of a command line, in quotes where a shell would take it apart. */
const shellWord = (text: string): string =>
  /^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What the section of a configuration about one controller is made of. */
export interface ControllerPart {
  readonly code: string;
  /** One line about the device, for a comment. */
  readonly title: string;
  /** A topic id it needs, because its code alone would clash. */
  readonly id: string | null;
  /** Comments about the controller as a whole. */
  readonly remarks: readonly string[];
  /** Below `actuators:`. */
  readonly actuators: readonly Pair[];
  /** Comments: entries below `actuators:` of what is not sure, to be switched on by taking away the `#`. */
  readonly offers: readonly string[];
  /** Comments: addresses that nothing can be made of without knowing more. */
  readonly doubtful: readonly string[];
  /** Comments: entries below `parameters:`, to be switched on by taking away the `#`. */
  readonly parameters: readonly string[];
  /** What the given file says about it already. */
  readonly given: YAMLMap;
}

const nothingKnown: KnownController = {
  actuatorIds: new Set(),
  parameterIds: new Set(),
  addresses: new Set(),
};

/** What was found on a controller and is not known yet. */
function newsOf(survey: DeviceSurvey, known: KnownController, language: Language) {
  const fresh = <One extends { readonly address: string }>(found: readonly One[]) =>
    found.filter(({ address }) => !known.addresses.has(address)).slice(0, mostAddresses);
  const found = findingsOf(survey);
  const actuators = fresh(found.actuators);
  const parameters = fresh(found.parameters);
  const ids = actuatorIds(actuators, known.actuatorIds);
  const ownIds = parameterIds(parameters, known.parameterIds);
  const taken = new Set([...known.actuatorIds, ...ids.values()]);
  const heard = heardNews(fresh(heardOnly(survey.heard ?? [], found)), taken);
  const isResolved = ({ address }: { readonly address: string }) => heard.resolved.has(address);
  const doubtful = fresh(found.doubtful).filter((one) => !isResolved(one));
  return {
    actuators: [
      ...actuators.map((one) =>
        actuatorEntry(one, ids.get(one.address) ?? "", language, {
          running: runningIn(survey, one.row.kind),
          degrees: doubtful.filter(({ group, raw }) => group === one.group && mayBeDegree(textOf(raw))),
        }),
      ),
      ...heard.actuators,
    ],
    doubtful: [...doubtful.filter(hasNoEntry).map(doubtLine), ...heard.doubtful],
    offers: offeredEntries(doubtful, taken, language),
    parameters: [
      ...parameters.map((one) => parameterEntry(one, ownIds.get(one.address) ?? "", language)),
      ...offeredParameters(
        doubtful,
        new Set([...known.parameterIds, ...ownIds.values()]),
        found.actuators.filter(({ address }) => known.addresses.has(address)),
      ),
    ],
  };
}

type Findings = ReturnType<typeof findingsOf>;

function parameterEntry(
  { address, group, raw, row }: Findings["parameters"][number],
  id: string,
  language: Language,
): string {
  const name = nameFor(row[language], row.word === id, address);
  const values = { name, address: plainNumber(address), type_id: group };
  return yamlText(sectionOf([entryOf(id, values, `now ${commentText(String(raw), 40)}`)])).trimEnd();
}

const hasNoEntry = ({ offers, isParameter }: Findings["doubtful"][number]): boolean =>
  offers.length === 0 && !isParameter;

const doubtLine = ({ address, group, raw, why }: Findings["doubtful"][number]): string =>
  `address ${commentText(address, 70)} of ${typeName(group)} holds ${commentText(String(raw), 40)}: ${why}`;

/** What may be an actuator and may be something else, each as its entry with the reason. */
function offeredEntries(
  doubtful: Findings["doubtful"],
  taken: ReadonlySet<string>,
  language: Language,
): readonly string[] {
  const offered = doubtful.flatMap(({ offers, ...one }) => offers.map((offer) => ({ ...one, ...offer })));
  const ids = new Set(taken);
  return offered.map(({ address, group, raw, row, why }) => {
    const id = actuatorIds([{ address, row }], ids).get(address) ?? "";
    ids.add(id);
    const text = textOf(raw);
    const isCombined = isCombinedAutomatic(row.kind, text);
    const values = {
      ...{ kind: row.kind, name: nameFor(row[language], row.word === id, address) },
      ...{ address: plainNumber(address), type_id: group },
      ...(isCombined && { reads: { auto: combinedAutomatic(row.kind) } }),
    };
    const remark = `now ${commentText(text, 40)}: ${why}`;
    return yamlText(sectionOf([entryOf(id, values, remark)])).trimEnd();
  });
}

/** What may be a set point and may be something else; `givenActuators` stand in the file already and may have their degree there. */
function offeredParameters(
  doubtful: Findings["doubtful"],
  taken: ReadonlySet<string>,
  givenActuators: Findings["actuators"],
): readonly string[] {
  const offered = doubtful.filter(({ isParameter }) => isParameter);
  const wanted = offered.map(({ address }) => ({ key: address, wanted: `p_${address}` }));
  const ids = assignIds(wanted, { reserved: taken });
  return offered.map((one) => {
    const { address, group, raw, why } = one;
    const text = textOf(raw);
    const unit = guessedUnit(one);
    const values = { address: plainNumber(address), type_id: group, ...(unit !== null && { unit }) };
    const remark = `now ${commentText(text, 40)}${unit === null ? "" : ", unit guessed"}: ${why}${keyFor(one, givenActuators)}`;
    return yamlText(sectionOf([entryOf(ids.get(address) ?? "", values, remark)])).trimEnd();
  });
}

/** Beside what takes degrees 0 to 100 may be one; whole minutes are times more often than not. */
function guessedUnit({ group, raw }: Findings["doubtful"][number]): string | null {
  const row = typeRows.get(group);
  const text = textOf(raw);
  if (row?.role === "actuator" && takesDegrees(row.kind) && mayBeDegree(text)) return "%";
  const seconds = /^[1-9]\d{2,4}$/.test(text) ? Number(text) : 0;
  return seconds >= 120 && seconds <= 86_400 && seconds % 60 === 0 ? "s" : null;
}

function actuatorEntry(
  { address, group, raw, row, alsoIn }: Findings["actuators"][number],
  id: string,
  language: Language,
  { running, degrees }: { readonly running: readonly number[]; readonly degrees: Findings["doubtful"] },
): Pair {
  const state = stateWord(row.kind, raw);
  const remarks = [
    `now ${commentText(String(raw), 40)}${state === null ? "" : ` (${state})`}`,
    ...(row.assumption === undefined ? [] : [row.assumption]),
    ...(alsoIn.length === 0 ? [] : [`also in ${alsoIn.map(typeName).join(", ")}`]),
  ];
  const names = { kind: row.kind, name: nameFor(row[language], row.word === id, address) };
  const own = { ...names, address: plainNumber(address), type_id: group };
  const values = running.length === 0 ? own : { ...own, running };
  const places = takesDegrees(row.kind) ? degrees.slice(0, mostPlaces).map(placeLine) : [];
  const after = [
    ...(isCombinedAutomatic(row.kind, textOf(raw)) ? [readsHead, readsLine(row.kind)] : []),
    ...(places.length > 0 ? [placesHead, ...places] : []),
  ];
  if (after.length === 0) return entryOf(id, values, remarks.join("; "));
  const pairs = Object.entries(values).map(([key, value]) => pairOf(key, flowNode(value)));
  return pairOf(id, sectionOf(pairs, { after }), [remarks.join("; ")]);
}

/** What to write for an actuator of its type that the file holds already and that may have its degree there. */
function keyFor(
  { address, group, raw }: Findings["doubtful"][number],
  givenActuators: Findings["actuators"],
): string {
  const own = givenActuators.filter((one) => one.group === group && takesDegrees(one.row.kind));
  if (own.length === 0 || !mayBeDegree(textOf(raw))) return "";
  const those = own.slice(0, mostPlaces).map((one) => commentText(one.address, 70));
  return `; where it follows ${those.join(" or ")}, write position_address: ${commentText(address, 70)} there`;
}

const readsHead =
  "it seems to be in automatic, combined with what runs: where it is, take away the # before the next line, or auto is never confirmed";

const readsLine = (kind: ActuatorKind): string =>
  yamlText(sectionOf([pairOf("reads", flowNode({ auto: combinedAutomatic(kind) }))])).trimEnd();

const mostPlaces = 12;
const placesHead =
  "where one of these follows it, its degree has that address: take away the # before that line, or degrees move nothing";

/** Ready to be switched on. */
const placeLine = ({ address, raw }: Findings["doubtful"][number]): string =>
  yamlText(sectionOf([pairOf("position_address", flowNode(plainNumber(address)))])).trimEnd() +
  ` # now ${commentText(String(raw), 40)}`;

/** The numbers of the interface's table that belong to a kind, as far as the device lists them. */
function runningIn({ answers }: DeviceSurvey, kind: ActuatorKind): readonly number[] {
  const statuses = answers.get("statuses");
  if (statuses?.type !== "statuses") return [];
  const listed = new Set(statuses.items.map(({ number }) => number));
  return (statusesOfKind.get(kind) ?? []).filter((number) => listed.has(number));
}

/** What was heard of addresses that the scan itself knows nothing sure of. */
function heardOnly(
  heard: readonly SeenAddress[],
  { actuators, parameters }: Findings,
): readonly SeenAddress[] {
  const found = new Set([...actuators, ...parameters].map(({ address }) => address));
  return heard.filter(({ address }) => !found.has(address));
}

/** Entries and comments for addresses that were only heard while somebody moved things. */
function heardNews(heard: readonly SeenAddress[], taken: ReadonlySet<string>) {
  const suggested = heard.flatMap((one) => {
    const actuator = suggestedActuator(one);
    return actuator === null ? [] : [{ one, actuator }];
  });
  const wanted = suggested.map(({ one, actuator }) => ({ key: one.address, wanted: actuator.id }));
  const ids = assignIds(wanted, { reserved: taken });
  const tell = ({ values, lastAt }: SeenAddress) =>
    `heard ${commentText(valuesText(values), 100)} at ${new Date(lastAt).toISOString().slice(0, 19)}Z`;
  return {
    resolved: new Set(suggested.map(({ one }) => one.address)),
    actuators: suggested.map(({ one, actuator: { kind, values } }) =>
      entryOf(
        ids.get(one.address) ?? "",
        { kind, address: plainNumber(one.address), ...(values === null ? {} : { values }) },
        `${tell(one)}, ${values === null ? "which fits this kind: name it by what moved" : "rename the words by what moved"}`,
      ),
    ),
    doubtful: heard
      .filter((one) => suggestedActuator(one) === null)
      .map((one) => `address ${one.address} was ${tell(one)}: looks like ${likenessOf(one.values).text}`),
  };
}

/** Where the word alone does not tell it from others, neither does the name. */
const nameFor = (name: string, isAlone: boolean, address: string): string =>
  isAlone ? name : `${name} (${address})`;

export const hasNews = ({ actuators, doubtful, offers, parameters }: ControllerPart): boolean =>
  actuators.length + doubtful.length + offers.length + parameters.length > 0;

const offersHead = "actuators: # not sure: take away the # here and before each line that is right";
const moreOffers = "not sure: take away the # before each line that is right";

const parametersHead =
  "parameters: # shown only, never set: take away the # here and before each line to be mirrored";

/** One controller below `controllers:`; what the given file holds comes first and is kept as it is. */
export function controllerPair({ code, title, id, given, ...part }: ControllerPart): Pair {
  const actuators = [...sectionIn(given, "actuators").items, ...part.actuators];
  const parameters = sectionIn(given, "parameters").items;
  const isMirrored = parameters.length > 0;
  const shown = [parametersHead, ...part.parameters.map((line) => `  ${line}`)];
  const hasActuators = actuators.length > 0;
  const isOffered = part.offers.length > 0;
  const offers = isOffered && !hasActuators ? [offersHead, ...part.offers.map((line) => `  ${line}`)] : [];
  const beside = isOffered ? { after: [moreOffers, ...part.offers] } : {};
  const items = [
    ...(id === null ? [] : [pairOf("id", id)]),
    ...given.items.filter(({ key }) => !["actuators", "parameters"].includes(keyOf(key))),
    ...(hasActuators ? [pairOf("actuators", sectionOf(actuators, beside))] : []),
    ...(isMirrored ? [pairOf("parameters", sectionOf(parameters, { after: part.parameters }))] : []),
  ];
  const after = [...part.doubtful, ...offers, ...(isMirrored || part.parameters.length === 0 ? [] : shown)];
  return pairOf(code, sectionOf(items, { before: part.remarks, after }), [title]);
}

/** What a scan found, and what need not be said again. */
export interface Found {
  readonly survey: Survey;
  readonly known: KnownFile;
  /** Of the names of actuators and parameters. */
  readonly language: Language;
}

/** Everything found that can have an entry, without what is known already, on top of what the `controllers` of a file hold. */
export function foundParts({ survey, known, language }: Found, given?: YAMLMap): readonly ControllerPart[] {
  const listed = survey.devices.filter(isEntry);
  const fresh = listed.map(({ device }) => device.code).filter((code) => !known.controllers.has(code));
  const ids = controllerIds(fresh, known.topicIds);
  return listed.map((one) => {
    const { code } = one.device;
    return {
      code,
      title: deviceLine(one.device),
      id: ids.get(code) ?? null,
      remarks: deviceRemarks(one),
      ...newsOf(one, known.controllers.get(code) ?? nothingKnown, language),
      given: sectionIn(given, code),
    };
  });
}

/** Cameras need no entry unless they have readings, and some codes can have none. */
const isEntry = ({ device: { code, type }, answers }: DeviceSurvey): boolean =>
  isUsableCode(code) && (!isCamera(type) || hasReadings(answers));

function hasReadings(answers: DeviceSurvey["answers"]): boolean {
  const readings = answers.get("sensors");
  return readings?.type === "sensors" && readings.items.length > 0;
}

/** Comment lines about the devices without an entry. */
export function otherDevices(
  { devices }: Survey,
  isNews: (code: string) => boolean = () => true,
): readonly string[] {
  const others = devices.filter((one) => !isEntry(one) && isNews(one.device.code));
  const nameThose = (isMeant: (one: DeviceSurvey) => boolean) =>
    others
      .filter(isMeant)
      .map(({ device: { code, name } }) => joinParts(commentText(code), nameOr(name, "")));
  const isAsked = ({ answers, unanswered }: DeviceSurvey) => answers.size + unanswered.length > 0;
  const isOfCamera = ({ device }: DeviceSurvey) => isCamera(device.type) && isUsableCode(device.code);
  return [
    ...wrap(
      "Cameras, which have neither readings nor addresses: ",
      nameThose((one) => isOfCamera(one) && !isAsked(one)),
    ),
    ...wrap(
      "Cameras that were asked for readings and gave none now: ",
      nameThose((one) => isOfCamera(one) && isAsked(one)),
    ),
    ...wrap(
      "Devices whose code no configuration can hold, which are not asked: ",
      nameThose(({ device }) => !isUsableCode(device.code)),
    ),
  ];
}
