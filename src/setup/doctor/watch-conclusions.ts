import { clauses } from "../../language/lists.js";
import { msg, type Text } from "../../language/text.js";
import {
  type ActuatorKind,
  decodeValue,
  degreeOf,
  degreeRead,
  type KindRow,
  kindRows,
  mayMean,
  type ReadTable,
  sameValue,
  stateOfWord,
  valueTable,
} from "../../greenhouse/actuator-kinds.js";
import { type ParameterGroup, typeName } from "../../greenhouse/device-types.js";
import { type FreeAddress, freeText } from "../../greenhouse/group-listing.js";
import { type ActuatorReadings, maybePulse, type ReadingKey } from "../../greenhouse/readings.js";
import { statusState } from "../../greenhouse/fold-statuses.js";
import { commentText, flowNode, pairOf, sectionOf, yamlText } from "../../saving/yaml-text.js";

/*
 * What one watched movement says about how to read this platform. Pure: takes a record of what each way of reading
 * showed when, and gives the settings for the bridge, each with its evidence.
 */

/** Ways in which the platform shows an actuator. */
export type Way =
  | "get-value flush=1"
  | "get-value"
  | "set-value/flush"
  | "device_status"
  | "ws/set-value"
  | "ws/device-status";

/** One value that was seen: the first of its way and subject, or a change. */
export interface Sighting {
  /** Ms since the watch began. */
  readonly atMs: number;
  readonly way: Way;
  /** An address, or `16 一级风机` of a running status. */
  readonly subject: string;
  /** Null for the first value. */
  readonly before: string | null;
  readonly value: string;
}

export interface WatchedActuator {
  readonly code: string;
  /** Its key in the configuration. */
  readonly id: string;
  readonly kind: ActuatorKind;
  readonly values: Readonly<Record<string, string>>;
  readonly reads: ReadTable;
  readonly readings: ActuatorReadings;
  readonly modeAddress: string;
  readonly positionAddress: string;
  readonly group: ParameterGroup | null;
  /** Addresses of the controller that the configuration uses. */
  readonly owned: readonly string[];
  readonly running: readonly number[];
  readonly tolerance: number;
  readonly travelMs: number;
}

export interface WatchRecord {
  readonly actuator: WatchedActuator;
  /** What the person sent: a command word or a degree. */
  readonly word: string;
  readonly sightings: readonly Sighting[];
  /** Unowned addresses of its type that may be its degree; null if its type is not known. */
  readonly free: readonly FreeAddress[] | null;
  readonly endedMs: number;
}

/** A key to write for the actuator, and why. */
interface Advice {
  readonly key: ReadingKey | "position_address" | "tolerance" | "running" | "travel_time";
  readonly value: string | number | boolean | readonly number[] | Readonly<Record<string, readonly string[]>>;
  readonly evidence: Text;
}

export interface Conclusion {
  /** Sentences, the most important first. */
  readonly findings: readonly Text[];
  readonly advice: readonly Advice[];
}

const seconds = (ms: number): string => `+${Math.round(ms / 1000)} s`;

/** `+12 s  get-value  101: 10001 → 10010`. */
export function sightingLine({ atMs, way, subject, before, value }: Sighting): string {
  const change = before === null ? value : `${before} → ${value}`;
  return `${seconds(atMs).padStart(7)}  ${way.padEnd(17)}  ${commentText(subject, 40)}: ${commentText(change, 60)}`;
}

/** Values of one subject in one way of reading. */
interface Values {
  readonly first: Sighting;
  readonly last: Sighting;
  /** All sightings but the first. */
  readonly changes: readonly Sighting[];
}

function valuesOf({ sightings }: WatchRecord, way: Way, subject: string): Values | null {
  const all = sightings.filter((one) => one.way === way && one.subject === subject);
  const [first] = all;
  const last = all.at(-1);
  return first === undefined || last === undefined
    ? null
    : { first, last, changes: all.filter(({ before }) => before !== null) };
}

export function conclude(record: WatchRecord): Conclusion {
  const parts: readonly Conclusion[] = [
    readsAdvice(record),
    { findings: flushFindings(record), advice: [] },
    detourAdvice(record),
    runningAdvice(record),
    travelAdvice(record),
    { findings: [...channelFindings(record), ...directionFindings(record)], advice: [] },
  ];
  return {
    findings: parts.flatMap(({ findings }) => findings),
    advice: parts.flatMap(({ advice }) => advice),
  };
}

const nothing: Conclusion = { findings: [], advice: [] };

/** Compares the last read of the address itself with what was sent. */
function readsAdvice(record: WatchRecord): Conclusion {
  const { actuator, word } = record;
  const degree = degreeOf(word);
  const address = degree === null ? actuator.modeAddress : actuator.positionAddress;
  const values = valuesOf(record, "get-value flush=1", address);
  if (values === null) return { findings: [msg`address ${address} gave no value at all`], advice: [] };
  const { last, changes } = values;
  if (degree !== null && isModeOf(actuator, last.value) && placeOfDegree(record, degree) !== null)
    return degreeAdvice(record, values, degree);
  const isPushed = record.sightings.some(
    ({ way, subject, before }) => way === "ws/set-value" && subject === address && before !== null,
  );
  if (changes.length === 0 && !isPushed)
    return {
      findings: [
        msg`nothing changed at address ${address}: it read ${last.value} all the time. Either nothing was sent, or this is not its address`,
        ...(maybePulse(actuator, last.value, null) ? [missedPulse] : []),
        ...otherAddresses(record),
      ],
      advice: [],
    };
  return degree === null ? wordAdvice(record, values) : degreeAdvice(record, values, degree);
}

const missedPulse = msg`a register that goes back to idle at once may have been missed: where you saw it move, set pulse: true`;

const onlyFound = (finding: Text): Conclusion => ({ findings: [finding], advice: [] });

/** The register showed what was sent and returned to idle; null if it did not. */
function pulseAdvice({ actuator, word }: WatchRecord, { first, last, changes }: Values): Conclusion | null {
  const sent = valueTable(actuator)[word];
  const pulsed = changes.find(({ value }) => sent !== undefined && sameValue(sent, value));
  if (pulsed === undefined || !maybePulse(actuator, last.value, first.value)) return null;
  const found = msg`the register showed ${pulsed.value} at ${seconds(pulsed.atMs)} and went back to ${last.value}: it is a pulse, and without a setting each ${word} ends unconfirmed`;
  const evidence = msg`only if you saw it do that: ${word} was sent, and the register went back to ${last.value} at ${seconds(last.atMs)}`;
  return { findings: [found], advice: [{ key: "pulse", value: true, evidence }] };
}

/** For a word: the value read at the end has to mean it. */
function wordAdvice(record: WatchRecord, values: Values): Conclusion {
  const { actuator, word, endedMs } = record;
  const { last, changes } = values;
  const state = stateOfWord(actuator.kind, word);
  const sent = valueTable(actuator)[word];
  const shown = decodeValue(actuator, last.value);
  if (shown.state === state)
    return onlyFound(
      msg`reads as expected: ${last.value} means ${state} (at ${seconds(last.atMs)}, and to the end)`,
    );
  // For `auto`, everything that ran meanwhile belongs to it; for other words only what stayed.
  const further =
    word === "auto"
      ? changes.map(({ value }) => value).filter((value) => decodeValue(actuator, value).state === "unknown")
      : [last.value];
  const pulse = pulseAdvice(record, values);
  if (pulse !== null) return pulse;
  const isTaken = shown.state !== "unknown" && shown.state !== "position";
  if (isTaken)
    return onlyFound(
      msg`${word} was sent, and the address reads ${last.value}, which means ${shown.state}: it was not taken, somebody moved it again, or this is not its address`,
    );
  const strange = further.filter((value) => !mayMean(actuator, state, value));
  if (strange.length > 0)
    return onlyFound(
      msg`${word} was sent, and the address reads ${strange.join(", ")}, which may be anything: on its way, or of another thing. Check kind and address, and watch once more`,
    );
  const all = [
    ...new Set([...(sent === undefined ? [] : [sent]), ...(actuator.reads[word] ?? []), ...further]),
  ];
  const evidence = msg`${word} was sent, and get-value read ${further.join(", ")} from ${seconds(last.atMs)} to the end (${seconds(endedMs)})`;
  return {
    findings: [
      msg`${word} is not read as ${sent ?? msg`what was sent`} but as ${further.join(", ")}: without a setting each ${word} ends unconfirmed`,
    ],
    advice: [
      { key: "reads", value: { [word]: all }, evidence: msg`only if you saw it do that: ${evidence}` },
    ],
  };
}

function isModeOf({ kind }: WatchedActuator, value: string): boolean {
  const { positionMode }: KindRow = kindRows[kind];
  return positionMode !== null && sameValue(positionMode, value);
}

/** For a degree. */
function degreeAdvice(record: WatchRecord, values: Values, degree: number): Conclusion {
  const { actuator, endedMs } = record;
  const { last } = values;
  const shown = degreeRead(last.value);
  const at = msg`at ${seconds(last.atMs)}, and to the end (${seconds(endedMs)})`;
  if (isModeOf(actuator, last.value)) {
    const found = msg`the address reads the mode ${last.value} after a degree, ${at}`;
    return modeAdvice(record, degree, found);
  }
  if (shown === null)
    return {
      findings: [msg`${degree} was sent, and the address reads ${last.value}, which is no degree`],
      advice: [],
    };
  const off = Math.abs(shown - degree);
  if (off <= actuator.tolerance)
    return { findings: [msg`reads as expected: the degree ${shown}, ${at}`], advice: [] };
  if (off > 10)
    return {
      findings: [
        msg`${degree} was sent, and the address reads ${shown}: it did not arrive, or is not what was sent`,
      ],
      advice: [],
    };
  // A degree that was as near before does not show that it moved there.
  const from = degreeRead(values.first.value);
  if (from !== null && Math.abs(from - degree) < 2 * off)
    return {
      findings: [
        msg`${degree} was sent and ${shown} is read, and it stood at ${from} before: watch once more, from further away`,
      ],
      advice: [],
    };
  return {
    findings: [msg`${degree} was sent and ${shown} is read: without a tolerance it ends unconfirmed`],
    advice: [
      { key: "tolerance", value: off, evidence: msg`${degree} was sent, and ${shown} was read ${at}` },
    ],
  };
}

/**
 * Only the mode is read after a degree. The degree may be shown at another address, or nowhere. The weaker proof is
 * advised only if its type lists nothing else that could be it.
 */
function modeAdvice(record: WatchRecord, degree: number, found: Text): Conclusion {
  const { actuator, free } = record;
  const place = placeOfDegree(record, degree);
  if (place !== null)
    return {
      findings: [
        msg`${found}, and address ${place.subject} went to ${place.value}: the degree has that address`,
      ],
      advice: [
        {
          key: "position_address",
          value: place.subject,
          evidence: msg`${degree} was sent, and ${place.subject} went from ${place.before ?? ""} to ${place.value} at ${seconds(place.atMs)}`,
        },
      ],
    };
  const other =
    free === null
      ? msg`its degree may have an address of its own: look at what its type lists (\`greenhouse2mqtt discover\`) and set position_address`
      : free.length > 0
        ? msg`its degree may have an address of its own: its type also lists ${freeText(free)}, which belongs to nothing here; watch once more and move it in the vendor's app, which knows the address`
        : null;
  if (other !== null) return { findings: [found, other], advice: [] };
  if (actuator.readings.positionReads === "mode")
    return { findings: [msg`reads as expected: ${found}`], advice: [] };
  return {
    findings: [
      msg`${found}: without a setting each position ends unconfirmed. If it stood still, its degree has another address`,
    ],
    advice: [
      {
        key: "position_reads",
        value: "mode",
        evidence: msg`only if you saw it go there: ${degree} was sent, and ${found}`,
      },
    ],
  };
}

/** An unowned address that reached the degree, in its type's list or by push. */
const placeOfDegree = ({ actuator, sightings }: WatchRecord, degree: number): Sighting | null =>
  sightings.find(
    ({ way, subject, before, value }) =>
      (way === "set-value/flush" || way === "ws/set-value") &&
      before !== null &&
      degreeRead(value) === degree &&
      ![...actuator.owned, actuator.modeAddress, actuator.positionAddress].some((own) =>
        sameValue(own, subject),
      ),
  ) ?? null;

/** Whether the list of the type shows what the address itself does; if not, the bridge reads the address alone. */
function flushFindings(record: WatchRecord): readonly Text[] {
  const { actuator, endedMs } = record;
  const { group } = actuator;
  if (group === null) return [];
  return [...new Set([actuator.modeAddress, actuator.positionAddress])].flatMap((address) => {
    const own = valuesOf(record, "get-value flush=1", address);
    const listed = valuesOf(record, "set-value/flush", address);
    if (own === null) return [];
    if (listed === null)
      return [
        msg`${typeName(group)} does not list address ${address}: the bridge reads it by itself; leave type_id out`,
      ];
    if (sameValue(own.last.value, listed.last.value)) return [];
    return [
      msg`the two reads differ and stay different: set-value/flush says ${listed.last.value}, get-value ${own.last.value}, at the end (${seconds(endedMs)}); leave type_id out, so that get-value counts`,
    ];
  });
}

/** It left the range between the two degrees: the mode sent before a degree may restart the movement. */
function detourAdvice(record: WatchRecord): Conclusion {
  const { actuator, word } = record;
  const degree = degreeOf(word);
  const values = valuesOf(record, "get-value flush=1", actuator.positionAddress);
  const from = values === null ? null : degreeRead(values.first.value);
  if (degree === null || values === null || from === null || actuator.readings.modeAgain === "when_needed")
    return nothing;
  const low = Math.min(from, degree) - actuator.tolerance;
  const high = Math.max(from, degree) + actuator.tolerance;
  const aside = values.changes.find(({ value }) => {
    const at = degreeRead(value);
    return at !== null && (at < low || at > high);
  });
  if (aside === undefined) return nothing;
  const found = msg`on its way from ${from} to ${degree} it was at ${aside.value}: the mode that is sent before a degree may restart it`;
  const evidence = msg`only if you saw it go there: it stood at ${from}, ${degree} was sent, and ${aside.value} was read at ${seconds(aside.atMs)}`;
  return { findings: [found], advice: [{ key: "mode_again", value: "when_needed", evidence }] };
}

interface MovedStatus {
  readonly subject: string;
  readonly number: number | null;
  readonly changes: readonly Sighting[];
}

function movedStatuses(record: WatchRecord): readonly MovedStatus[] {
  const subjects = new Set(
    record.sightings
      .filter(({ way, before }) => way === "device_status" && before !== null)
      .map(({ subject }) => subject),
  );
  return [...subjects].map((subject) => {
    const number = /^\d+/.exec(subject)?.[0];
    return {
      subject,
      number: number === undefined ? null : Number(number),
      changes: valuesOf(record, "device_status", subject)?.changes ?? [],
    };
  });
}

/** Running statuses that changed with it, and so seem to be its motors. */
function runningAdvice(record: WatchRecord): Conclusion {
  const { actuator } = record;
  const moved = movedStatuses(record);
  const strange = moved.flatMap(({ subject, changes }) =>
    changes
      .filter(({ value }) => !["on", "off"].includes(statusState(value)))
      .map(({ value }) => msg`${subject} reads ${value}`),
  );
  const findings = strange
    .slice(0, 3)
    .map(
      (one) =>
        msg`${one}, which is neither on nor off: \`running_status: { reads: { on: [...], off: [...] } }\` says what it means`,
    );
  const numbers = [...new Set(moved.flatMap(({ number }) => (number === null ? [] : [number])))];
  const fresh = numbers.filter((number) => !actuator.running.includes(number));
  if (fresh.length === 0) return { findings, advice: [] };
  const told = moved
    .flatMap(({ subject, changes }) => changes.slice(0, 1).map((one) => ({ subject, one })))
    .map(({ subject, one }) => msg`${subject} ${one.before ?? ""} → ${one.value} at ${seconds(one.atMs)}`);
  const evidence = clauses(told);
  const all = [...new Set([...actuator.running, ...numbers])].sort((one, other) => one - other);
  return {
    findings: [...findings, msg`running statuses changed with it: ${evidence}`],
    advice: [{ key: "running", value: all, evidence }],
  };
}

/** How long it moved, if a status went on and off, or degrees on the way show it. */
function travelAdvice(record: WatchRecord): Conclusion {
  const { actuator } = record;
  const row: KindRow = kindRows[actuator.kind];
  if (row.positionMode === null && actuator.kind !== "motor") return nothing;
  const spans = [
    ...movedStatuses(record).map(({ changes }) => changes),
    valuesOf(record, "get-value flush=1", actuator.positionAddress)?.changes.filter(
      ({ value }) => degreeRead(value) !== null,
    ) ?? [],
  ].flatMap((changes) => {
    const [first] = changes;
    const last = changes.at(-1);
    return first === undefined || last === undefined || changes.length < 2 ? [] : [last.atMs - first.atMs];
  });
  const longest = Math.max(0, ...spans);
  if (longest < 1_000) return nothing;
  const proposed = `${Math.ceil((longest * 1.2) / 5_000) * 5}s`;
  const evidence = msg`it moved for ${Math.round(longest / 1000)} s, and a fifth was added`;
  // Only a movement from end to end shows the whole travel time. With too short a time, a moving actuator would count
  // as standing.
  return actuator.travelMs >= longest
    ? nothing
    : {
        findings: [
          msg`it moved for ${Math.round(longest / 1000)} s, and travel_time is ${Math.round(actuator.travelMs / 1000)} s`,
        ],
        advice: [{ key: "travel_time", value: proposed, evidence }],
      };
}

/** What came over the push channels, and when. */
function channelFindings(record: WatchRecord): readonly Text[] {
  const ways = ["ws/set-value", "ws/device-status"] as const;
  const came = ways.flatMap((way) => {
    const first = record.sightings.find((one) => one.way === way);
    return first === undefined ? [] : [msg`${way} told of it at ${seconds(first.atMs)}`];
  });
  return came.length === 0 ? [msg`neither channel told of it; polling does the same, only later`] : came;
}

/** Whether a curtain is inverted, only a person can see. */
function directionFindings({ actuator, word }: WatchRecord): readonly Text[] {
  if (kindRows[actuator.kind].family !== "curtains" || !["open", "close"].includes(word)) return [];
  const spread = word === "open" ? msg`spread out` : msg`drew aside`;
  return [
    msg`did the curtain ${word === "open" ? msg`draw aside` : msg`spread out`}? If it ${spread} instead, write homeassistant: { inverted: true }`,
  ];
}

/** If nothing changed at the configured address, one that did change may be the right one. */
function otherAddresses({ sightings, actuator }: WatchRecord): readonly Text[] {
  const own = new Set([actuator.modeAddress, actuator.positionAddress]);
  const others = sightings.filter(({ way, subject }) => way === "ws/set-value" && !own.has(subject));
  return [...new Map(others.map((one) => [one.subject, one]))].map(
    ([subject, { value, atMs }]) =>
      msg`address ${subject} was pushed meanwhile with ${value}, at ${seconds(atMs)}`,
  );
}

/** The lines to write, with the evidence behind each key; empty if there are none. */
export function adviceYaml(
  { actuator }: WatchRecord,
  { advice }: Conclusion,
  head: readonly string[],
): string {
  if (advice.length === 0) return "";
  const entry = sectionOf(
    advice.map(({ key, value, evidence }) =>
      pairOf(key, flowNode(value), [commentText(String(evidence), 200)]),
    ),
  );
  const actuators = sectionOf([pairOf(actuator.id, entry)]);
  const controller = sectionOf([pairOf("actuators", actuators)]);
  return yamlText(sectionOf([pairOf("controllers", sectionOf([pairOf(actuator.code, controller)]))]), head);
}
