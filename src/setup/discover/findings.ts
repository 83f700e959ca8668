import { byAddress } from "../../greenhouse/addresses-seen.js";
import { controllerTopicId } from "../../settings/controllers.js";
import {
  type ActuatorKind,
  decodeValue,
  type KindRow,
  kindRows,
  kindsWith,
  sameValue,
  tableOf,
  takesDegrees,
  textOf,
} from "../../greenhouse/actuator-kinds.js";
import {
  type ActuatorRow,
  type ParameterGroup,
  type ParameterRow,
  typeName,
  type TypeRow,
  typeRows,
} from "../../greenhouse/device-types.js";
import { addressPattern } from "../../greenhouse/model.js";
import type { ListedAddress, RawValue } from "../../greenhouse/ports.js";
import { joined, msg, type Text } from "../../language/text.js";
import { assignIds, freeId } from "../../greenhouse/topic-ids.js";
import type { DeviceSurvey } from "./survey.js";

/**
 * What a register's value says about the kind of device behind it. `sure`: a control value of the kind, which hardly
 * anything else holds. `possible`: one that settings hold too, such as a degree or a lone 0. `none`: not of this kind.
 */
export type Evidence = "sure" | "possible" | "none";

export function evidenceFor(kind: ActuatorKind, raw: RawValue): Evidence {
  const text = textOf(raw);
  const control = tableOf(kind).find((value) => sameValue(value, text));
  // A number loses its leading zeros; `0`, the rest of `00000`, is no evidence.
  if (control !== undefined) return control === text || Number(text) !== 0 ? "sure" : "possible";
  if (isCombinedAutomatic(kind, text)) return "possible";
  return stateWord(kind, raw) === null ? "none" : "possible";
}

/** In automatic the first two bits are set, and the bits behind them may show what runs (`11010`, `1110`). */
export function isCombinedAutomatic(kind: ActuatorKind, text: string): boolean {
  const row: KindRow = kindRows[kind];
  const { auto } = row.values;
  const isAlike = auto !== undefined && text.length === auto.length && /^11[01]+$/.test(text);
  return isAlike && kindsWith(text).length === 0;
}

/** A kind's values in automatic: while nothing runs, while it opens or is on, and while it closes or is off. */
export function combinedAutomatic(kind: ActuatorKind): readonly string[] {
  const row: KindRow = kindRows[kind];
  const { auto = "" } = row.values;
  const front = auto.slice(0, -2);
  return [auto, `${front}10`, `${front}01`];
}

/** The state that a value means for this kind, a degree as text; null if it means nothing. */
export function stateWord(kind: ActuatorKind, raw: RawValue): string | null {
  const { state, position } = decodeValue({ kind, values: {} }, raw);
  if (state === "unknown") return null;
  return position === null ? state : `${position} %`;
}

interface Found {
  readonly address: string;
  readonly raw: RawValue;
  readonly group: ParameterGroup;
  /** The platform's own name; null where it gives none. */
  readonly name: string | null;
  readonly unit: string | null;
}

interface ActuatorOffer {
  readonly group: ParameterGroup;
  readonly row: ActuatorRow;
}

interface Doubtful extends Found {
  readonly why: Text;
  /** Actuators that the address may be. */
  readonly offers: readonly ActuatorOffer[];
  /** The address may also be a set point, a time or a counter. */
  readonly isParameter: boolean;
}

type FoundAs<Row> = Found & { readonly row: Row };

/** One address in the answer of one type. */
interface Place {
  readonly group: ParameterGroup;
  readonly row: TypeRow | undefined;
  /** The answer lists no other address. */
  readonly isAlone: boolean;
}

interface Sighting extends Omit<Found, "group"> {
  /** Never empty. The deciding type comes first: one of actuators, then one of parameters. */
  readonly places: readonly [Place, ...Place[]];
}

/**
 * What the addresses of a device are. Actuators come with the further types that list them, others with the reason why
 * they are nothing yet. A doubtful address is no actuator: a wrong one would move something.
 */
export function findingsOf({ answers }: Pick<DeviceSurvey, "answers">) {
  const actuators: (FoundAs<ActuatorRow> & { readonly alsoIn: readonly ParameterGroup[] })[] = [];
  const parameters: FoundAs<ParameterRow>[] = [];
  const doubtful: Doubtful[] = [];
  const sightings = sightingsIn(answers);
  for (const sighting of sightings) {
    const { places, ...told } = sighting;
    const [{ group, row }, ...others] = places;
    const found = { ...told, group };
    const why = doubtAbout(sighting);
    if (why !== null || row === undefined)
      doubtful.push({ ...found, why: why ?? unknownType, ...perhaps(sighting) });
    else if (row.role === "parameter") parameters.push({ ...found, row });
    else actuators.push({ ...found, row, alsoIn: others.map((place) => place.group) });
  }
  return {
    actuators,
    parameters,
    doubtful,
    ...withoutValue(answers, new Set(sightings.map(({ address }) => address))),
  };
}

/**
 * Addresses that no type lists with a value, or only with an unclear one: they cannot be read, or not now. `unread`
 * are those of actuators, `bare` all others.
 */
function withoutValue(answers: DeviceSurvey["answers"], read: ReadonlySet<string>) {
  const unread = new Map<
    string,
    Pick<ListedAddress, "address" | "unclear"> & { readonly group: ParameterGroup; readonly row: ActuatorRow }
  >();
  const others = new Map<string, { readonly address: string; readonly group: ParameterGroup }>();
  for (const [ask, answer] of answers) {
    if (typeof ask !== "number" || answer.type !== "values") continue;
    const row = typeRows.get(ask);
    for (const { address, value, unclear } of answer.beside ?? []) {
      if (value !== null) continue;
      if (row?.role !== "actuator" || !addressPattern.test(address))
        others.set(address, { address, group: ask });
      else if (unread.get(address)?.unclear === undefined)
        unread.set(address, { address, group: ask, row, ...(unclear !== undefined && { unclear }) });
    }
  }
  const inOrder = <One extends { readonly address: string }>(found: Iterable<One>) =>
    [...found]
      .filter(({ address }) => !read.has(address))
      .sort((one, other) => byAddress(one.address, other.address));
  return {
    unread: inOrder(unread.values()),
    bare: inOrder(others.values()).filter(({ address }) => !unread.has(address)),
  };
}

/** A value with such a unit belongs to no actuator: a degree is a percentage at most. */
const isMeasured = (unit: string | null): boolean => unit !== null && !/^[%％]?$/.test(unit);

/** What a doubtful address may be, for entries that are ready to be switched on; only one of them is right. */
function perhaps({ address, raw, unit, places }: Sighting): Pick<Doubtful, "offers" | "isParameter"> {
  if (!addressPattern.test(address)) return { offers: [], isParameter: false };
  const offers: ActuatorOffer[] = [];
  for (const { group, row } of places) {
    if (row?.role !== "actuator" || isMeasured(unit) || evidenceFor(row.kind, raw) === "none") continue;
    if (offers.every((offer) => offer.row.kind !== row.kind)) offers.push({ group, row });
  }
  const isSure = offers.some(({ row }) => evidenceFor(row.kind, raw) === "sure");
  return { offers, isParameter: !isSure };
}

/** Every address once, by type and then by address, whatever the order of the answers. */
function sightingsIn(answers: DeviceSurvey["answers"]): readonly Sighting[] {
  const sightings = new Map<string, Sighting>();
  const groups = [...answers].flatMap(([ask, answer]) =>
    typeof ask === "number" && answer.type === "values" ? [{ group: ask, ...answer }] : [],
  );
  const rank = ({ group }: { readonly group: ParameterGroup }) =>
    ["actuator", "parameter", undefined].indexOf(typeRows.get(group)?.role);
  for (const { group, values, beside = [] } of groups.sort(
    (one, other) => rank(one) - rank(other) || one.group - other.group,
  )) {
    const isAlone = values.length === 1 && beside.every(({ value }) => value !== null);
    const told = new Map(beside.map((one) => [one.address, one]));
    for (const [address, raw] of [...values].sort(([one], [other]) => byAddress(one, other))) {
      const place = { group, row: typeRows.get(group), isAlone };
      const { name = null, unit = null } = told.get(address) ?? {};
      const known = sightings.get(address) ?? { address, raw, name, unit };
      const places: Sighting["places"] = "places" in known ? [...known.places, place] : [place];
      sightings.set(address, { ...known, places });
    }
  }
  return [...sightings.values()];
}

const unknownType = msg`this type is not in the interface's table: a parameter, or kind: custom with its values`;

/** Why an address is not what its type says; null if it is. */
function doubtAbout({ address, raw, unit, places }: Sighting): Text | null {
  if (!addressPattern.test(address)) return msg`a configuration cannot hold such an address`;
  const [{ row, isAlone }] = places;
  if (row?.role !== "actuator") return null;
  const { kind } = row;
  if (places.some((other) => other.row?.role === "actuator" && other.row.kind !== kind))
    return msg`several types hold it (${joined(
      places.map(({ group }) => typeName(group)),
      ", ",
    )}): only one of these is right`;
  const evidence = isMeasured(unit) ? "none" : evidenceFor(kind, raw);
  const isShared = places.some((other) => other.row?.role !== "actuator");
  if (evidence === "sure" || (evidence === "possible" && isAlone && !isShared)) return null;
  if (evidence === "none")
    return msg`no value of the kind ${kind}: a parameter, or kind: custom with its values`;
  if (isCombinedAutomatic(kind, textOf(raw)))
    return msg`kind: ${kind} in automatic, combined with what runs, or a parameter`;
  return takesDegrees(kind)
    ? msg`kind: ${kind}, a position_address of another one, or a parameter`
    : msg`kind: ${kind}, or a parameter`;
}

/**
 * An id for each address: the type's word for the first address of a type, word and address for the others. Only
 * addresses and ids in use decide, so every run gives the same ids, and later addresses change none of them.
 */
export function actuatorIds(
  found: readonly Pick<FoundAs<ActuatorRow>, "address" | "row">[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const named = new Set(taken);
  const wanted = found.map(({ address, row: { word } }) => {
    const isFirst = !named.has(word);
    named.add(word);
    return { key: address, wanted: isFirst ? word : `${word}_${address}` };
  });
  return assignIds(wanted, { reserved: taken });
}

/** A type has many parameters, so each id contains the address. */
export const parameterIds = (
  found: readonly Pick<FoundAs<ParameterRow>, "address" | "row">[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> =>
  assignIds(
    found.map(({ address, row }) => ({ key: address, wanted: `${row.word}_${address}` })),
    { reserved: taken },
  );

/**
 * Topic ids of new controllers, where the id is not the code in lower case or is taken in the file. All others need
 * none in the configuration.
 */
export const controllerIds = (
  codes: readonly string[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> =>
  new Map(
    codes
      .map((code) => [code, freeId(controllerTopicId(code), code, (id) => taken.has(id))] as const)
      .filter(([code, id]) => id !== code.toLowerCase()),
  );
