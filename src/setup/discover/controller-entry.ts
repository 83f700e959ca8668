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
import { type Language, ofNames } from "../../greenhouse/labels.js";
import { joined, msg, row as line, type Text } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import { alternatives } from "../../language/lists.js";
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
} from "../../saving/yaml-text.js";

/** Enough for any real device; a broken answer must not make the file unreadable. */
const mostItems = 200;
const mostAddresses = 1_000;

/** A comment line that says what a device is. */
function deviceLine(
  { code, name, type, typeName: platforms, stationName, online }: ListedDevice,
  tell: Tell,
): string {
  const known = type === null ? null : (deviceTypes.get(type) ?? platforms);
  const kind = nameOr(known === null ? null : tell(known), tell(msg`device of unknown type`));
  return [
    nameOr(name, commentText(code)),
    type === null ? kind : `${kind} (${commentText(type, 20)})`,
    ...(stationName === null ? [] : [tell(msg`station ${commentText(stationName)}`)]),
    ...(online === null ? [] : [tell(online ? msg`online` : msg`offline`)]),
  ].join(", ");
}

/** Comments on readings and running statuses, which the bridge mirrors by itself, and on what is missing. */
function deviceRemarks(
  { device, answers, unanswered, isOffline }: DeviceSurvey,
  tell: Tell,
): readonly string[] {
  const asked = [...answers.keys(), ...unanswered.map(({ ask }) => ask)];
  const isAskedForAddresses = isOffline || asked.some((ask) => typeof ask === "number");
  const notAsked = msg`not asked for addresses, \`discover --controller ${shellWord(commentText(device.code))}\` does that`;
  return [
    ...(device.isOfStations === true ? [tell(ofStations)] : []),
    ...[...answers.values()].flatMap((answer) => answerLines(answer, tell)),
    ...(isOffline
      ? [tell(msg`not connected, so its addresses could not be read: run discover again later`)]
      : []),
    ...(isAskedForAddresses ? [] : [tell(notAsked)]),
    ...refusedLines(answers, tell),
    ...unreadLines(answers, tell),
    ...byReason(
      unanswered.map(({ ask, why }) => [commentText(tell(why), 160), ask]),
      (why) => msg`no answer, run discover again (${why}): `,
      tell,
    ),
  ];
}

const ofStations = msg`only the list of stations names it: the bridge follows it because it stands here, without an online flag`;

const askName = (ask: Ask): Text =>
  ask === "sensors" ? msg`readings` : ask === "statuses" ? msg`running statuses` : typeName(ask);

function answerLines(answer: Answer, tell: Tell): readonly string[] {
  if (answer.type !== "sensors" && answer.type !== "statuses") return [];
  const more = answer.items.length - mostItems;
  const rest = more > 0 ? [tell(msg`and ${more} more of them`)] : [];
  if (answer.type === "statuses") {
    const texts = answer.items
      .slice(0, mostItems)
      .map(({ number, name, value }) =>
        joinParts(String(number ?? ""), commentText(name), commentText(statusState(value), 30)),
      );
    return [...wrap(tell(msg`running statuses: `), texts), ...rest];
  }
  const read = answer.items
    .slice(0, mostItems)
    .map((item) => ({ item, ...defineSensor(item, { key: "", id: "" }, undefined) }));
  const texts = (areKnown: boolean) =>
    read
      .filter(({ kind }) => (kind !== "other") === areKnown)
      .map(({ item, kind, unit }) => sensorText(item, areKnown ? kind : "", unit, tell));
  return [
    ...wrap(tell(msg`readings: `), texts(true)),
    ...wrap(tell(msg`readings of unknown kind (say kind and unit under sensors): `), texts(false)),
    ...rest,
  ];
}

/** `空气温度 @1 temperature 17.3 °C`. */
function sensorText(
  { name, factor, channel, value }: SensorItem,
  kind: string,
  unit: string | null,
  tell: Tell,
): string {
  return joinParts(
    nameOr(name === "" ? factor : name, tell(msg`without name`)),
    channel === null ? "" : `@${commentText(channel, 20)}`,
    kind,
    value === null ? "--" : commentText(String(value), 30),
    commentText(unit ?? "", 20),
  );
}

const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join(" ");

/** One line for all questions with the same reason. */
function byReason(
  all: readonly (readonly [why: string, ask: Ask])[],
  head: (why: string) => Text,
  tell: Tell,
): readonly string[] {
  const asked = new Map<string, string[]>();
  for (const [why, ask] of all)
    asked.set(why, [
      ...(asked.get(why) ?? []),
      tell(typeof ask === "number" ? msg`type ${ask}` : askName(ask)),
    ]);
  return [...asked].flatMap(([why, asks]) => wrap(tell(head(why)), asks));
}

const refusedLines = (answers: DeviceSurvey["answers"], tell: Tell): readonly string[] =>
  byReason(
    [...answers].flatMap(([ask, answer]) =>
      answer.type === "refused" ? [[commentText(answer.why, 160), ask] as const] : [],
    ),
    (why) => msg`refused by the platform with ${why}: `,
    tell,
  );

const mostUnread = 3;

/** Lines about answers that could not be read. */
const unreadLines = (answers: DeviceSurvey["answers"], tell: Tell): readonly string[] =>
  byReason(
    [...answers].flatMap(([ask, answer]) =>
      answer.type === "refused"
        ? []
        : (answer.unread ?? [])
            .slice(0, mostUnread)
            .map((what) => [commentText(tell(what), 160), ask] as const),
    ),
    (what) => msg`could not be read (${what}); \`greenhouse2mqtt doctor\` may say what helps: `,
    tell,
  );

/** One word of a command line, quoted where a shell would split it. */
const shellWord = (text: string): string =>
  /^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The parts of one controller's section of a configuration. */
export interface ControllerPart {
  readonly code: string;
  /** One line about the device, for a comment. */
  readonly title: string;
  /** A topic id, if the code alone would clash. */
  readonly id: string | null;
  /** Comments about the controller as a whole. */
  readonly remarks: readonly string[];
  /** Entries below `actuators:`. */
  readonly actuators: readonly Pair[];
  /** Comments: uncertain entries below `actuators:`, switched on by removing the `#`. */
  readonly offers: readonly string[];
  /** Comments: addresses of which nothing can be made without more knowledge. */
  readonly doubtful: readonly string[];
  /** Comments: entries below `parameters:`, switched on by removing the `#`. */
  readonly parameters: readonly string[];
  /** What the given file says about the controller already. */
  readonly given: YAMLMap;
}

const nothingKnown: KnownController = {
  actuatorIds: new Set(),
  parameterIds: new Set(),
  addresses: new Set(),
};

/** The languages of names and explanations. */
interface Words {
  /** The language for names of actuators and parameters. */
  readonly language: Language;
  readonly tell: Tell;
}

const unknownIn = <One extends { readonly address: string }>(
  found: readonly One[],
  known: KnownController,
): readonly One[] => found.filter(({ address }) => !known.addresses.has(address));

/** Says how many addresses are left out because there are too many. */
function tooMany(found: Findings, known: KnownController, tell: Tell): readonly string[] {
  const all = [found.actuators, found.parameters, found.doubtful, found.unread, found.bare];
  const left = all.reduce(
    (sum, some) =>
      sum + Math.max(0, unknownIn<{ readonly address: string }>(some, known).length - mostAddresses),
    0,
  );
  return left > 0 ? [tell(msg`and ${left} more addresses, which are left out here`)] : [];
}

/** What was found on a controller and is not in the file yet. */
function newsOf(survey: DeviceSurvey, known: KnownController, words: Words) {
  const fresh = <One extends { readonly address: string }>(found: readonly One[]) =>
    unknownIn(found, known).slice(0, mostAddresses);
  const found = findingsOf(survey);
  const actuators = fresh(found.actuators);
  const ids = actuatorIds(actuators, known.actuatorIds);
  const taken = new Set([...known.actuatorIds, ...ids.values()]);
  const heard = heardNews(fresh(heardOnly(survey.heard ?? [], found)), taken, words.tell);
  const isResolved = ({ address }: { readonly address: string }) => heard.resolved.has(address);
  const doubtful = fresh(found.doubtful).filter((one) => !isResolved(one));
  const withoutValue = fresh(found.unread).filter((one) => !isResolved(one));
  const bare = fresh(found.bare).filter((one) => !isResolved(one));
  const unread = unreadNews(withoutValue, doubtful, taken, words);
  return {
    actuators: [
      ...actuators.map((one) =>
        actuatorEntry(one, ids.get(one.address) ?? "", words, {
          running: runningIn(survey, one.row.kind),
          degrees: degreesIn(doubtful, one.group),
        }),
      ),
      ...heard.actuators,
    ],
    doubtful: [
      ...doubtLines(doubtful, words.tell),
      ...unread.doubtful,
      ...bareLines(bare, words.tell),
      ...heard.doubtful,
      ...tooMany(found, known, words.tell),
    ],
    offers: [...unread.offers, ...offeredEntries(doubtful, new Set([...taken, ...unread.ids]), words)],
    parameters: parameterNews({ parameters: fresh(found.parameters), doubtful, found }, known, words),
  };
}

/** Certain set points, and addresses that may be one or something else. */
function parameterNews(
  { parameters, doubtful, found }: Pick<Findings, "parameters" | "doubtful"> & { readonly found: Findings },
  known: KnownController,
  words: Words,
): readonly string[] {
  const ids = parameterIds(parameters, known.parameterIds);
  return [
    ...parameters.map((one) => parameterEntry(one, ids.get(one.address) ?? "", words)),
    ...offeredParameters(
      doubtful,
      new Set([...known.parameterIds, ...ids.values()]),
      found.actuators.filter(({ address }) => known.addresses.has(address)),
      words.tell,
    ),
  ];
}

type Findings = ReturnType<typeof findingsOf>;

/** Addresses of a type that may be the degree of another address of it. */
const degreesIn = (
  doubtful: Findings["doubtful"],
  type: Findings["doubtful"][number]["group"],
): Findings["doubtful"] =>
  doubtful.filter(
    ({ group, raw, unit }) => group === type && mayBeDegree(textOf(raw)) && (unit === null || unit === "%"),
  );

/** Addresses listed without a value: a positioner's mode may be write-only if a degree stands beside it. */
function unreadNews(
  unread: Findings["unread"],
  doubtful: Findings["doubtful"],
  taken: ReadonlySet<string>,
  words: Words,
) {
  const placed = unread.map((one) => ({
    ...one,
    degrees: takesDegrees(one.row.kind) && one.unclear === undefined ? degreesIn(doubtful, one.group) : [],
  }));
  const modes = placed.filter(({ degrees }) => degrees.length > 0);
  const ids = actuatorIds(modes, taken);
  const idOf = ({ address }: { readonly address: string }) => ids.get(address) ?? "";
  return {
    ids: [...ids.values()],
    offers: modes.flatMap(({ degrees, ...one }) =>
      degrees.slice(0, mostPlaces).map((degree) => unreadMode(one, degree, idOf(one), words)),
    ),
    doubtful: placed.filter(({ degrees }) => degrees.length === 0).map((one) => words.tell(unreadLine(one))),
  };
}

function unreadMode(
  { address, group, row }: Findings["unread"][number],
  degree: Findings["doubtful"][number],
  id: string,
  { language, tell }: Words,
): string {
  const values = {
    ...{ kind: row.kind, name: nameFor(row[ofNames(language)], row.word === id, address) },
    ...{ address: plainNumber(address), position_address: plainNumber(degree.address) },
    ...{ mode_reads: "never", type_id: group },
  };
  const now = commentText(textOf(degree.raw), 40);
  const remark = msg`listed without a value, as a mode that may only be written; right where ${degree.address}, now ${now}, follows it`;
  return yamlText(sectionOf([entryOf(id, values, tell(remark))])).trimEnd();
}

const lacks = {
  doubtful: msg`is listed twice, with different values: look again`,
  strange: msg`is listed with what is no text and no number: a value that cannot be read`,
} as const;

const unreadLine = ({ address, group, unclear }: Findings["unread"][number]): Text =>
  msg`address ${commentText(address, 70)} of ${typeName(group)} ${unclear === undefined ? msg`is listed without a value: look again when it has one` : lacks[unclear]}`;

/** Lines about addresses without a value: of parameters, of unknown types, and those that no configuration can hold. */
function bareLines(bare: Findings["bare"], tell: Tell): readonly string[] {
  const groups = new Map<Findings["bare"][number]["group"], string[]>();
  for (const { group, address } of bare)
    groups.set(group, [...(groups.get(group) ?? []), commentText(address, 70)]);
  return [...groups].flatMap(([group, all]) =>
    wrap(tell(msg`listed without a value below ${typeName(group)}: `), all),
  );
}

const nowText = (raw: Findings["parameters"][number]["raw"]): Text =>
  msg`now ${commentText(String(raw), 40)}`;

function parameterEntry(
  { address, group, raw, row }: Findings["parameters"][number],
  id: string,
  { language, tell }: Words,
): string {
  const name = nameFor(row[ofNames(language)], row.word === id, address);
  const values = { name, address: plainNumber(address), type_id: group };
  return yamlText(sectionOf([entryOf(id, values, tell(nowText(raw)))])).trimEnd();
}

const hasNoEntry = ({ offers, isParameter }: Findings["doubtful"][number]): boolean =>
  offers.length === 0 && !isParameter;

const doubtLines = (doubtful: Findings["doubtful"], tell: Tell): readonly string[] =>
  doubtful.filter(hasNoEntry).map((one) => tell(doubtLine(one)));

const doubtLine = ({ address, group, raw, why }: Findings["doubtful"][number]): Text =>
  msg`address ${commentText(address, 70)} of ${typeName(group)} holds ${commentText(String(raw), 40)}: ${why}`;

/** Entries for what may be an actuator or something else, each with the reason. */
function offeredEntries(
  doubtful: Findings["doubtful"],
  taken: ReadonlySet<string>,
  { language, tell }: Words,
): readonly string[] {
  const offered = doubtful.flatMap(({ offers, ...one }) => offers.map((offer) => ({ ...one, ...offer })));
  const ids = new Set(taken);
  return offered.map(({ address, group, raw, row, why }) => {
    const id = actuatorIds([{ address, row }], ids).get(address) ?? "";
    ids.add(id);
    const text = textOf(raw);
    const isCombined = isCombinedAutomatic(row.kind, text);
    const values = {
      ...{ kind: row.kind, name: nameFor(row[ofNames(language)], row.word === id, address) },
      ...{ address: plainNumber(address), type_id: group },
      ...(isCombined && { reads: { auto: combinedAutomatic(row.kind) } }),
    };
    const remark = tell(msg`now ${commentText(text, 40)}: ${why}`);
    return yamlText(sectionOf([entryOf(id, values, remark)])).trimEnd();
  });
}

/**
 * Entries for what may be a set point or something else. The file already has `givenActuators`, of which one may have
 * its degree there.
 */
function offeredParameters(
  doubtful: Findings["doubtful"],
  taken: ReadonlySet<string>,
  givenActuators: Findings["actuators"],
  tell: Tell,
): readonly string[] {
  const offered = doubtful.filter(({ isParameter }) => isParameter);
  const wanted = offered.map(({ address }) => ({ key: address, wanted: `p_${address}` }));
  const ids = assignIds(wanted, { reserved: taken });
  return offered.map((one) => {
    const { address, group, raw, why } = one;
    const text = textOf(raw);
    const guessed = one.unit === null ? guessedUnit(one) : null;
    const unit = one.unit === null ? guessed : commentText(one.unit, 20);
    const values = {
      ...(one.name !== null && { name: commentText(one.name, 60) }),
      ...{ address: plainNumber(address), type_id: group, ...(unit !== null && { unit }) },
    };
    const remark = msg`now ${commentText(text, 40)}${guessed === null ? "" : msg`, unit guessed`}: ${why}${keyFor(one, givenActuators)}`;
    return yamlText(sectionOf([entryOf(ids.get(address) ?? "", values, tell(remark))])).trimEnd();
  });
}

/** Values beside an actuator that takes degrees may be degrees if they are 0 to 100; whole minutes are mostly times. */
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
  { language, tell }: Words,
  { running, degrees }: { readonly running: readonly number[]; readonly degrees: Findings["doubtful"] },
): Pair {
  const state = stateWord(row.kind, raw);
  const remarks = [
    line`${nowText(raw)}${state === null ? "" : ` (${state})`}`,
    ...(row.assumption === undefined ? [] : [row.assumption]),
    ...(alsoIn.length === 0 ? [] : [msg`also in ${joined(alsoIn.map(typeName), ", ")}`]),
  ];
  const remark = tell(joined(remarks, "; "));
  const names = { kind: row.kind, name: nameFor(row[ofNames(language)], row.word === id, address) };
  const own = { ...names, address: plainNumber(address), type_id: group };
  const values = running.length === 0 ? own : { ...own, running };
  const places = takesDegrees(row.kind)
    ? degrees.slice(0, mostPlaces).map((one) => placeLine(one, tell))
    : [];
  const after = [
    ...(isCombinedAutomatic(row.kind, textOf(raw)) ? [tell(readsHead), readsLine(row.kind)] : []),
    ...(places.length > 0 ? [tell(placesHead), ...places] : []),
  ];
  if (after.length === 0) return entryOf(id, values, remark);
  const pairs = Object.entries(values).map(([key, value]) => pairOf(key, flowNode(value)));
  return pairOf(id, sectionOf(pairs, { after }), [remark]);
}

/** What to write for an actuator in the file, of the same type, that may have its degree at this address. */
function keyFor(found: Findings["doubtful"][number], givenActuators: Findings["actuators"]): Text {
  const { address, group } = found;
  const own = givenActuators.filter((one) => one.group === group && takesDegrees(one.row.kind));
  if (own.length === 0 || degreesIn([found], group).length === 0) return "";
  const those = own.slice(0, mostPlaces).map((one) => commentText(one.address, 70));
  return msg`; where it follows ${alternatives(those)}, write position_address: ${commentText(address, 70)} there`;
}

const readsHead = msg`it seems to be in automatic, combined with what runs: where it is, take away the # before the next line, or auto is never confirmed`;

const readsLine = (kind: ActuatorKind): string =>
  yamlText(sectionOf([pairOf("reads", flowNode({ auto: combinedAutomatic(kind) }))])).trimEnd();

const mostPlaces = 12;
const placesHead = msg`where one of these follows it, its degree has that address: take away the # before that line, or degrees move nothing`;

/** A key, ready to be switched on. */
const placeLine = ({ address, raw }: Findings["doubtful"][number], tell: Tell): string =>
  yamlText(sectionOf([pairOf("position_address", flowNode(plainNumber(address)))])).trimEnd() +
  ` # ${tell(nowText(raw))}`;

/** The running statuses that the interface's table gives a kind, as far as the device lists them. */
function runningIn({ answers }: DeviceSurvey, kind: ActuatorKind): readonly number[] {
  const statuses = answers.get("statuses");
  if (statuses?.type !== "statuses") return [];
  const listed = new Set(statuses.items.map(({ number }) => number));
  return (statusesOfKind.get(kind) ?? []).filter((number) => listed.has(number));
}

/** Heard addresses about which the scan itself knows nothing certain. */
function heardOnly(
  heard: readonly SeenAddress[],
  { actuators, parameters }: Findings,
): readonly SeenAddress[] {
  const found = new Set([...actuators, ...parameters].map(({ address }) => address));
  return heard.filter(({ address }) => !found.has(address));
}

/** Entries and comments for addresses that were only heard while somebody moved things. */
function heardNews(heard: readonly SeenAddress[], taken: ReadonlySet<string>, tell: Tell) {
  const suggested = heard.flatMap((one) => {
    const actuator = suggestedActuator(one);
    return actuator === null ? [] : [{ one, actuator }];
  });
  const wanted = suggested.map(({ one, actuator }) => ({ key: one.address, wanted: actuator.id }));
  const ids = assignIds(wanted, { reserved: taken });
  const heardText = ({ values, lastAt }: SeenAddress) =>
    msg`heard ${commentText(valuesText(values), 100)} at ${new Date(lastAt).toISOString().slice(0, 19)}Z`;
  return {
    resolved: new Set(suggested.map(({ one }) => one.address)),
    actuators: suggested.map(({ one, actuator: { kind, values } }) =>
      entryOf(
        ids.get(one.address) ?? "",
        { kind, address: plainNumber(one.address), ...(values === null ? {} : { values }) },
        tell(
          values === null
            ? msg`${heardText(one)}, which fits this kind: name it by what moved`
            : msg`${heardText(one)}, rename the words by what moved`,
        ),
      ),
    ),
    doubtful: heard
      .filter((one) => suggestedActuator(one) === null)
      .map((one) =>
        tell(msg`address ${one.address} was ${heardText(one)}: looks like ${likenessOf(one.values).text}`),
      ),
  };
}

/** Adds the address where a word, and so the name, is used more than once. */
const nameFor = (name: string, isAlone: boolean, address: string): string =>
  isAlone ? name : `${name} (${address})`;

export const hasNews = ({ actuators, doubtful, offers, parameters }: ControllerPart): boolean =>
  actuators.length + doubtful.length + offers.length + parameters.length > 0;

const offersHead = msg`not sure: take away the # here and before each line that is right`;
const moreOffers = msg`not sure: take away the # before each line that is right`;
const parametersHead = msg`shown only, never set: take away the # here and before each line to be mirrored`;

/** One controller below `controllers:`; the given file's content comes first and stays as it is. */
export function controllerPair({ code, title, id, given, ...part }: ControllerPart, tell: Tell): Pair {
  const actuators = [...sectionIn(given, "actuators").items, ...part.actuators];
  const parameters = sectionIn(given, "parameters").items;
  const isMirrored = parameters.length > 0;
  const shown = [`parameters: # ${tell(parametersHead)}`, ...part.parameters.map((line) => `  ${line}`)];
  const hasActuators = actuators.length > 0;
  const isOffered = part.offers.length > 0;
  const offers =
    isOffered && !hasActuators
      ? [`actuators: # ${tell(offersHead)}`, ...part.offers.map((offer) => `  ${offer}`)]
      : [];
  const beside = isOffered ? { after: [tell(moreOffers), ...part.offers] } : {};
  const items = [
    ...(id === null ? [] : [pairOf("id", id)]),
    ...given.items.filter(({ key }) => !["actuators", "parameters"].includes(keyOf(key))),
    ...(hasActuators ? [pairOf("actuators", sectionOf(actuators, beside))] : []),
    ...(isMirrored ? [pairOf("parameters", sectionOf(parameters, { after: part.parameters }))] : []),
  ];
  const after = [...part.doubtful, ...offers, ...(isMirrored || part.parameters.length === 0 ? [] : shown)];
  return pairOf(code, sectionOf(items, { before: part.remarks, after }), [title]);
}

/** What a scan found, and what the file has already. */
export interface Found extends Words {
  readonly survey: Survey;
  readonly known: KnownFile;
}

/** Everything found that can have an entry and is not known yet, added to the `controllers` of a file. */
export function foundParts({ survey, known, ...words }: Found, given?: YAMLMap): readonly ControllerPart[] {
  const listed = survey.devices.filter(isEntry);
  const fresh = listed.map(({ device }) => device.code).filter((code) => !known.controllers.has(code));
  const ids = controllerIds(fresh, known.topicIds);
  return listed.map((one) => {
    const { code } = one.device;
    return {
      code,
      title: deviceLine(one.device, words.tell),
      id: ids.get(code) ?? null,
      remarks: deviceRemarks(one, words.tell),
      ...newsOf(one, known.controllers.get(code) ?? nothingKnown, words),
      given: sectionIn(given, code),
    };
  });
}

/**
 * Cameras need no entry unless they have readings, some codes can have none, and a station is no device before it has
 * readings.
 */
const isEntry = (one: DeviceSurvey): boolean =>
  isUsableCode(one.device.code) &&
  !isSilentStation(one) &&
  (!isCamera(one.device.type) || hasReadings(one.answers));

const isSilentStation = ({ device, answers, unanswered }: DeviceSurvey): boolean =>
  device.isOfStations === true && answers.size === 0 && unanswered.length > 0;

function hasReadings(answers: DeviceSurvey["answers"]): boolean {
  const readings = answers.get("sensors");
  return readings?.type === "sensors" && readings.items.length > 0;
}

/** Comment lines about devices without an entry. */
export function otherDevices(
  { devices }: Survey,
  tell: Tell,
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
      tell(msg`Cameras, which have neither readings nor addresses: `),
      nameThose((one) => isOfCamera(one) && !isAsked(one)),
    ),
    ...wrap(
      tell(msg`Cameras that were asked for readings and gave none now: `),
      nameThose((one) => isOfCamera(one) && isAsked(one)),
    ),
    ...wrap(tell(msg`Stations that did not answer whether they have readings: `), nameThose(isSilentStation)),
    ...wrap(
      tell(msg`Devices whose code no configuration can hold, which are not asked: `),
      nameThose(({ device }) => !isUsableCode(device.code)),
    ),
  ];
}
