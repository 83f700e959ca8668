import { controllerTopicId } from "../../config/schema.js";
import {
  type ActuatorKind,
  decodeValue,
  type KindRow,
  kindRows,
  kindsWith,
  sameValue,
  textOf,
  takesDegrees,
} from "../../greenhouse/actuator-kinds.js";
import {
  type ActuatorRow,
  type ParameterGroup,
  type ParameterRow,
  typeName,
  type TypeRow,
  typeRows,
} from "../../greenhouse/device-types.js";
import type { RawValue } from "../../greenhouse/ports.js";
import { assignIds, freeId } from "../../greenhouse/topic-ids.js";
import type { DeviceSurvey } from "./survey.js";

/**
 * What a register's value says about the kind of device behind it. `sure`: a control value of the kind, which hardly
 * anything else holds. `possible`: one that settings hold as well, such as a degree or a lone 0. `none`: not of this kind.
 */
export type Evidence = "sure" | "possible" | "none";

export function evidenceFor(kind: ActuatorKind, raw: RawValue): Evidence {
  const row: KindRow = kindRows[kind];
  const text = textOf(raw);
  const controls = [...Object.values(row.values), ...(row.positionMode === null ? [] : [row.positionMode])];
  const control = controls.find((value) => sameValue(value, text));
  // A number loses its leading zeros; what is left of `00000` is no evidence.
  if (control !== undefined) return control === text || Number(text) !== 0 ? "sure" : "possible";
  if (isCombinedAutomatic(kind, text)) return "possible";
  return stateWord(kind, raw) === null ? "none" : "possible";
}

/** In automatic the first two bits are set; what stands behind them may be what runs (`11010`, `1110`). */
export function isCombinedAutomatic(kind: ActuatorKind, text: string): boolean {
  const row: KindRow = kindRows[kind];
  const { auto } = row.values;
  const isAlike = auto !== undefined && text.length === auto.length && /^11[01]+$/.test(text);
  return isAlike && kindsWith(text).length === 0;
}

/** The values of a kind in automatic: with nothing that runs, with what opens or is on, and with what closes or is off. */
export function combinedAutomatic(kind: ActuatorKind): readonly string[] {
  const row: KindRow = kindRows[kind];
  const { auto = "" } = row.values;
  const front = auto.slice(0, -2);
  return [auto, `${front}10`, `${front}01`];
}

/** The state a value means for this kind, a degree as text; null where it means nothing. */
export function stateWord(kind: ActuatorKind, raw: RawValue): string | null {
  const { state, position } = decodeValue({ kind, values: {} }, raw);
  if (state === "unknown") return null;
  return position === null ? state : `${position} %`;
}

interface Found {
  readonly address: string;
  readonly raw: RawValue;
  readonly group: ParameterGroup;
}

interface ActuatorOffer {
  readonly group: ParameterGroup;
  readonly row: ActuatorRow;
}

interface Doubtful extends Found {
  readonly why: string;
  /** Actuators that it may be. */
  readonly offers: readonly ActuatorOffer[];
  /** It may be a set point, a time or a counter as well. */
  readonly isParameter: boolean;
}

type FoundAs<Row> = Found & { readonly row: Row };

/** One address in the answer of one type. */
interface Place {
  readonly group: ParameterGroup;
  readonly row: TypeRow | undefined;
  /** The answer holds no other address. */
  readonly isAlone: boolean;
}

interface Sighting {
  readonly address: string;
  readonly raw: RawValue;
  /** Never empty; what decides comes first: a type of actuators, then one of parameters. */
  readonly places: readonly [Place, ...Place[]];
}

const usable = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * What the addresses of a device are; of actuators also in which further types they are, of others why they are nothing yet.
 * In doubt an address is no actuator: a wrong one would move something.
 */
export function findingsOf({ answers }: Pick<DeviceSurvey, "answers">) {
  const actuators: (FoundAs<ActuatorRow> & { readonly alsoIn: readonly ParameterGroup[] })[] = [];
  const parameters: FoundAs<ParameterRow>[] = [];
  const doubtful: Doubtful[] = [];
  for (const sighting of sightingsIn(answers)) {
    const { address, raw, places } = sighting;
    const [{ group, row }, ...others] = places;
    const why = doubtAbout(sighting);
    if (why !== null || row === undefined)
      doubtful.push({ address, raw, group, why: why ?? unknownType, ...perhaps(sighting) });
    else if (row.role === "parameter") parameters.push({ address, raw, group, row });
    else actuators.push({ address, raw, group, row, alsoIn: others.map((place) => place.group) });
  }
  return { actuators, parameters, doubtful };
}

/** What a doubtful address is perhaps, so that its entries can be written ready to be switched on: only one of them is right. */
function perhaps({ address, raw, places }: Sighting): Pick<Doubtful, "offers" | "isParameter"> {
  if (!usable.test(address)) return { offers: [], isParameter: false };
  const offers: ActuatorOffer[] = [];
  for (const { group, row } of places) {
    if (row?.role !== "actuator" || evidenceFor(row.kind, raw) === "none") continue;
    if (offers.every((offer) => offer.row.kind !== row.kind)) offers.push({ group, row });
  }
  const isSure = offers.some(({ row }) => evidenceFor(row.kind, raw) === "sure");
  return { offers, isParameter: !isSure };
}

/** Every address once, type by type and in the order of the addresses, whatever the order of the answers. */
function sightingsIn(answers: DeviceSurvey["answers"]): readonly Sighting[] {
  const sightings = new Map<string, Sighting>();
  const groups = [...answers].flatMap(([ask, answer]) =>
    typeof ask === "number" && answer.type === "values" ? [{ group: ask, values: answer.values }] : [],
  );
  const rank = ({ group }: { readonly group: ParameterGroup }) =>
    ["actuator", "parameter", undefined].indexOf(typeRows.get(group)?.role);
  for (const { group, values } of groups.sort(
    (one, other) => rank(one) - rank(other) || one.group - other.group,
  ))
    for (const [address, raw] of [...values].sort(([one], [other]) => byAddress(one, other))) {
      const place = { group, row: typeRows.get(group), isAlone: values.length === 1 };
      const known = sightings.get(address);
      sightings.set(address, { address, raw, ...known, places: known ? [...known.places, place] : [place] });
    }
  return [...sightings.values()];
}

const unknownType = "this type is not in the interface's table: a parameter, or kind: custom with its values";

/** Why an address is not taken for what its type says; null where it is. */
function doubtAbout({ address, raw, places }: Sighting): string | null {
  if (!usable.test(address)) return "a configuration cannot hold such an address";
  const [{ row, isAlone }] = places;
  if (row?.role !== "actuator") return null;
  const { kind } = row;
  if (places.some((other) => other.row?.role === "actuator" && other.row.kind !== kind))
    return `several types hold it (${places.map(({ group }) => typeName(group)).join(", ")}): only one of these is right`;
  const evidence = evidenceFor(kind, raw);
  const isShared = places.some((other) => other.row?.role !== "actuator");
  if (evidence === "sure" || (evidence === "possible" && isAlone && !isShared)) return null;
  if (evidence === "none")
    return `no value of the kind ${kind}: a parameter, or kind: custom with its values`;
  if (isCombinedAutomatic(kind, textOf(raw)))
    return `kind: ${kind} in automatic, combined with what runs, or a parameter`;
  return `kind: ${kind}, ${takesDegrees(kind) ? "a position_address of another one, " : ""}or a parameter`;
}

/** Numbers by size, before everything else. */
export function byAddress(one: string, other: string): number {
  const a = numberOf(one);
  const b = numberOf(other);
  if (a !== b) return a - b;
  return one < other ? -1 : one > other ? 1 : 0;
}

const numberOf = (address: string): number =>
  /^\d{1,15}$/.test(address) ? Number(address) : Number.MAX_SAFE_INTEGER;

/**
 * An id for each address. The first address of a type has the type's word, the others word and address; only the
 * addresses and the ids in use decide, so every run gives the same, and a later address changes none of the earlier.
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

/** Parameters are many of a type, so each is named with its address. */
export const parameterIds = (
  found: readonly Pick<FoundAs<ParameterRow>, "address" | "row">[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> =>
  assignIds(
    found.map(({ address, row }) => ({ key: address, wanted: `${row.word}_${address}` })),
    { reserved: taken },
  );

/**
 * Topic ids of new controllers that a reader could not tell from the code, or that another controller of the file was given. The others
 * need none in the configuration.
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
