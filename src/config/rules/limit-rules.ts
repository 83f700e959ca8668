import { alternatives, clauses, statements } from "../../language/lists.js";
import { joined, msg, type Text } from "../../language/text.js";
import {
  type ActuatorKind,
  actuatorKinds,
  defaultEndsWith,
  type KindRow,
  kindRows,
  stateOfWord,
  valueTable,
  takesDegrees,
  isEnding,
} from "../../greenhouse/actuator-kinds.js";
import { addedWords, readWords } from "./meanings.js";
import { canStop } from "../../greenhouse/command/words.js";
import { degreesIn, isGuard } from "../../greenhouse/limits.js";
import type { Configuration } from "../schema.js";
import { controllersIn, mirroredActuators } from "../../settings/controllers.js";
import { atKey, atValue, type Finding, type Path, when } from "../../settings/problem.js";
import { parseDuration, formatDuration } from "../../runtime/duration.js";
import {
  type Draft,
  isGiven,
  itemsOf,
  numberOf,
  sectionOf,
  sectionsAt,
  textOf,
} from "../../settings/draft.js";

/* Rules of `limits` and `weather`. A limit that could not do what it says is an error: a grower relies on it. */

interface Limited {
  readonly code: string;
  readonly id: string;
  readonly kind: ActuatorKind;
  /** The actuator's command words. */
  readonly words: readonly string[];
  /** For a light: when `on` is sent first. */
  readonly leadIn: string | null;
  readonly path: Path;
  /** The actuator's own section. */
  readonly section: Draft;
  readonly limits: Draft;
}

const limitedActuators = (root: Draft): readonly Limited[] =>
  sectionsAt(root, "controllers.*.actuators.*").flatMap(({ path, section }) => {
    const kind = actuatorKinds.find((known) => known === section.kind);
    if (kind === undefined || !isGiven(section, "limits")) return [];
    const own = addedWords(root, kind, section);
    const stop = isGiven(section, "stop") ? ["stop"] : [];
    const words = [...new Set([...Object.keys(kindRows[kind].values), ...own, ...stop])];
    const code = String(path[1]);
    const id = String(path.at(-1));
    const leadIn = kind === "light" ? (textOf(section, "lead_in") ?? "when_not_on") : null;
    const limits = sectionOf(section, "limits");
    return [{ code, id, kind, words, leadIn, path: [...path, "limits"], section, limits }];
  });

const wordList = ({ words, kind }: Limited): Text => {
  const degrees = takesDegrees(kind) ? [msg`a degree or range such as 0..10`] : [];
  return msg`one of ${joined([...words, ...degrees], ", ")}`;
};

/** Why a word or degree is none of the actuator's; null if it is one. */
function wordProblem(actuator: Limited, text: string): Text | null {
  if (actuator.words.includes(text)) return null;
  const range = degreesIn(text);
  if (range === null) return msg`${actuator.kind} has no such command; expected ${wordList(actuator)}`;
  if (!takesDegrees(actuator.kind))
    return msg`${actuator.kind} takes no degree; expected ${wordList(actuator)}`;
  return range.min <= range.max && range.max <= 100
    ? null
    : msg`expected degrees from 0 to 100, the smaller one first`;
}

const inputKeys = ["sensor", "actuator", "status"];
const conditionKeys = ["above", "below", "is", "is_not", "moving"];

function oneOf(section: Draft, path: Path, keys: readonly string[]): Finding[] {
  const [first, ...others] = keys.filter((key) => isGiven(section, key));
  if (first === undefined) return [atKey(path, msg`expected one of ${keys.join(", ")}`)];
  return others.map((key) =>
    atKey([...path, key], msg`only one of ${keys.join(", ")} may be given, and "${first}" is there already`),
  );
}

type GuardCheck = (guard: Draft, path: Path, actuator: Limited, root: Draft) => Finding[];

const wholeGuard: GuardCheck = (guard, path) => {
  const name = String(path.at(-1));
  const message = msg`"${name}" is the name of a rule of the bridge; choose another`;
  const named = !isGuard(name) ? [atKey(path, message)] : [];
  return [...named, ...oneOf(guard, path, inputKeys), ...oneOf(guard, path, conditionKeys)];
};

const fittingCondition: GuardCheck = (guard, path, { code, id }) => [
  ...(isGiven(guard, "moving") ? movingProblems(guard, path, [id, `${code}/${id}`]) : []),
  ...(isGiven(guard, "clear_at") ? clearAtProblems(guard, [...path, "clear_at"]) : []),
];

function movingProblems(guard: Draft, path: Path, itself: readonly string[]): Finding[] {
  const at = [...path, "moving"];
  const input = textOf(guard, "actuator");
  return [
    ...when(guard.moving === false, at, msg`expected true; leave the key out otherwise`),
    ...(isGiven(guard, "actuator")
      ? []
      : [atKey(at, msg`only for an actuator; sensors and statuses do not move`)]),
    ...when(
      input !== null && itself.includes(input),
      [...path, "actuator"],
      msg`expected another actuator; this one would forbid itself`,
    ),
  ];
}

function clearAtProblems(guard: Draft, at: Path): Finding[] {
  if (!isGiven(guard, "above") && !isGiven(guard, "below"))
    return [atKey(at, msg`only together with above or below`)];
  const clearAt = numberOf(guard, "clear_at") ?? NaN;
  const isAbove = clearAt > (numberOf(guard, "above") ?? NaN);
  const isBelow = clearAt < (numberOf(guard, "below") ?? NaN);
  return [
    ...when(isAbove, at, msg`expected at most the value of above, or the guard would never clear`),
    ...when(
      isBelow && !isAbove,
      at,
      msg`expected at least the value of below, or the guard would never clear`,
    ),
  ];
}

const fittingWords: GuardCheck = (guard, path, actuator) => {
  const items = itemsOf(guard, "allow").map((item, at) => ({ item, at: [...path, "allow", at] }));
  const texts = items.flatMap(({ item, at }) => (typeof item === "string" ? [{ text: item, at }] : []));
  const wrong = texts.flatMap(({ text, at }) => {
    const why = text === "stop" ? null : wordProblem(actuator, text);
    return why === null ? [] : [atValue(at, why)];
  });
  const [, ...further] = texts.filter(
    ({ text }) => !actuator.words.includes(text) && degreesIn(text) !== null,
  );
  const sends = textOf(guard, "then");
  const allowed = texts.map(({ text }) => text);
  return [
    ...wrong,
    ...further.map(({ at }) => atValue(at, msg`one range of degrees is there already`)),
    ...when(
      guard.blind === "act" && !isGiven(guard, "then"),
      [...path, "blind"],
      msg`act sends \`then\`, and there is none`,
    ),
    ...(sends === null ? [] : thenProblem(sends, [...path, "then"], actuator, allowed)),
  ];
};

function thenProblem(sends: string, at: Path, actuator: Limited, allowed: readonly string[]): Finding[] {
  if (sends.includes("..")) return [atValue(at, msg`expected one degree, not a range`)];
  const why = wordProblem(actuator, sends);
  if (why !== null) return [atValue(at, why)];
  if (isAllowed(actuator, sends, allowed)) return [];
  return [atValue(at, msg`it is not in allow, so the guard itself would forbid it; add it there`)];
}

function isAllowed({ words }: Limited, text: string, allowed: readonly string[]): boolean {
  if (text === "stop" || allowed.includes(text)) return true;
  const degree = words.includes(text) ? null : degreesIn(text);
  return allowed.some((one) => {
    const range = words.includes(one) ? null : degreesIn(one);
    return degree !== null && range !== null && degree.min >= range.min && degree.min <= range.max;
  });
}

/** A guard whose input can never be found would hold for ever. */
const findableInput: GuardCheck = (guard, path, actuator, root) =>
  inputKeys.flatMap((key) => {
    const why = textOf(guard, key) === null ? null : unfindable(key, guard, actuator, root);
    return why === null ? [] : [atValue([...path, key], why)];
  });

function unfindable(key: string, guard: Draft, { code }: Limited, root: Draft): Text | null {
  const { controller, section, id } = inputOf(guard, key, code, root);
  if (controller === "weather" && key === "sensor")
    return isGiven(sectionOf(root, "weather"), id) ? null : msg`there is no "${id}" under weather`;
  if (section?.ignore === true) return msg`the controller ${controller} is ignored, so its values never come`;
  if (key === "actuator" && !isGiven(sectionOf(section ?? {}, "actuators"), id))
    return msg`there is no such actuator in this configuration`;
  if (key === "actuator" && sectionOf(sectionOf(section ?? {}, "actuators"), id).ignore === true)
    return msg`this actuator is ignored, so its state never comes`;
  if (section === undefined && textOf(root, "mirror") === "listed")
    return msg`mirror: listed leaves out the controller ${controller}, which is not listed`;
  const sensor = sectionOf(sectionOf(section ?? {}, "sensors"), id);
  return key === "sensor" && sensor.ignore === true
    ? msg`this sensor is ignored, so its value never comes`
    : null;
}

/** The input of a guard: `<id>` of the same controller, or `<controller>/<id>`. */
function inputOf(guard: Draft, key: string, code: string, root: Draft) {
  const [first = "", second] = (textOf(guard, key) ?? "").split("/");
  const [controller, id] = second === undefined ? [code, first] : [first, second];
  const { byCode, byId } = controllersIn(root);
  const { code: found, section } = byCode.get(controller) ?? byId.get(controller) ?? {};
  return { controller, id, code: found, section };
}

/** Guards that compare a number of a sensor, and its name: `weather/<name>`, or `<code>/<id>`. */
export const judgedNumbers = (root: Draft) =>
  sectionsAt(root, "controllers.*.actuators.*.limits.guards.*").flatMap(({ path, section }) => {
    const isNumber = isGiven(section, "above") || isGiven(section, "below");
    if (!isNumber || textOf(section, "sensor") === null) return [];
    const { controller, code, id } = inputOf(section, "sensor", String(path[1]), root);
    return [{ guard: section, path, input: `${code ?? controller}/${id}` }];
  });

/** The section of the actuator that a guard looks at; null if it looks at none, or there is none. */
function inputActuator(guard: Draft, { code }: Limited, root: Draft): Draft | null {
  const { id, section } = inputOf(guard, "actuator", code, root);
  const actuators = sectionOf(section ?? {}, "actuators");
  return isGiven(actuators, id) ? sectionOf(actuators, id) : null;
}

/**
 * A guard on a word that the actuator never shows would never begin, or never end; one on degrees needs an actuator
 * that has them.
 */
const occurringWords: GuardCheck = (guard, path, actuator, root) => {
  const input = inputActuator(guard, actuator, root);
  const kind = actuatorKinds.find((known) => known === input?.kind);
  const isWhole = wholeGuard(guard, path, actuator, root).length === 0;
  if (input === null || kind === undefined || !isWhole) return [];
  const row: KindRow = kindRows[kind];
  const words = [
    ...Object.keys(row.values),
    ...addedWords(root, kind, input),
    ...readWords(root, kind, input),
  ];
  const degree = row.positionMode === null ? [] : ["position"];
  const states = [...new Set([...words.map((word) => stateOfWord(kind, word)), ...degree, "unknown"])];
  const message = msg`${kind} never shows that; expected one of ${states.join(", ")}`;
  const isOdd = (word: unknown) => typeof word === "string" && !states.includes(word.trim().toLowerCase());
  const odd = ["is", "is_not"].flatMap((key) => [
    ...(isOdd(guard[key]) ? [atValue([...path, key], message)] : []),
    ...itemsOf(guard, key).flatMap((word, at) => (isOdd(word) ? [atValue([...path, key, at], message)] : [])),
  ]);
  if (takesDegrees(kind)) return odd;
  const numbers = ["above", "below"].filter((key) => isGiven(guard, key));
  return [
    ...odd,
    ...numbers.map((key) => atKey([...path, key], msg`${kind} has no degree; use is or is_not`)),
  ];
};

/** A light that always gets `on` first cannot carry out `then`, or the end of a lease, while the guard forbids `on`. */
const possibleLeadIn: GuardCheck = (guard, path, { leadIn, limits }) => {
  const sends = textOf(guard, "then");
  const isSent = sends !== null && sends !== "stop" && sends !== "on";
  const isLeased = isGiven(limits, "for") || isGiven(limits, "at_most");
  if (leadIn !== "always" || itemsOf(guard, "allow").includes("on") || (!isSent && !isLeased)) return [];
  const message = msg`lead_in: always sends "on" before anything else, so it has to be in allow too`;
  return [atKey([...path, ...(isGiven(guard, "allow") ? ["allow"] : [])], message)];
};

const guardChecks: readonly GuardCheck[] = [
  ...[wholeGuard, fittingCondition, fittingWords],
  ...[findableInput, occurringWords, possibleLeadIn],
];

const durationAt = (section: Draft, key: string): number | null => parseDuration(textOf(section, key) ?? "");

/**
 * The words that a lease may end with: none that starts something. What the configuration's own words do, only their
 * author knows.
 */
const endsOf = ({ kind, words }: Limited): readonly string[] =>
  kindRows[kind].configured ? words : words.filter((word) => isEnding(kind, word));

/** A lease needs a word to end with that no guard forbids. */
function leaseProblems(actuator: Limited): Finding[] {
  const { kind, words, limits, path } = actuator;
  const ends = endsOf(actuator);
  const lasts = durationAt(limits, "for");
  const atMost = durationAt(limits, "at_most");
  const written = textOf(limits, "ends_with");
  const findings = [
    ...when(lasts !== null && atMost !== null && lasts > atMost, [...path, "for"], msg`longer than at_most`),
    ...when(
      written !== null && !ends.includes(written),
      [...path, "ends_with"],
      msg`${kind} has no such command that ends something; expected one of ${ends.join(", ")}`,
    ),
  ];
  if (!isGiven(limits, "for") && !isGiven(limits, "at_most")) return findings;
  const endsWith = written ?? defaultEndsWith(kind, words);
  if (endsWith === null)
    return [
      ...findings,
      atKey(path, msg`ends_with is missing: ${kind} has no word of its own that ends something`),
    ];
  const message = msg`"${endsWith}" ends what runs for a time here, so every guard has to allow it`;
  const against = sectionsAt(limits, "guards.*").filter(
    ({ section }) => endsWith !== "stop" && !itemsOf(section, "allow").includes(endsWith),
  );
  return [
    ...findings,
    ...against.map((guard) =>
      atKey([...path, ...guard.path, ...(isGiven(guard.section, "allow") ? ["allow"] : [])], message),
    ),
  ];
}

const reversalProblem = ({ kind, limits, path }: Limited): Finding[] =>
  isGiven(limits, "reversal") && !takesDegrees(kind) && !kindRows[kind].configured
    ? [atKey([...path, "reversal"], msg`${kind} only goes on and off, so there is no other way`)]
    : [];

/**
 * A motor that goes from end to end stops by itself, and without a running status nobody knows whether anything runs.
 */
function runningProblems({ kind, limits, path, section }: Limited): Finding[] {
  if (!isGiven(limits, "not_running_after")) return [];
  const at = [...path, "not_running_after"];
  if (takesDegrees(kind) || kind === "motor")
    return [
      atKey(at, msg`${kind} runs only until it has arrived; expected a kind that runs as long as it is on`),
    ];
  return isGiven(section, "running")
    ? []
    : [atKey(at, msg`only together with running, such as "running: 16": nothing else says whether it runs`)];
}

/** The problems in `limits`. */
export const soundLimits = (root: Draft): Finding[] =>
  limitedActuators(root).flatMap((actuator) => [
    ...leaseProblems(actuator),
    ...reversalProblem(actuator),
    ...runningProblems(actuator),
    ...sectionsAt(actuator.limits, "guards.*").flatMap(({ path, section }) =>
      guardChecks.flatMap((check) => check(section, [...actuator.path, ...path], actuator, root)),
    ),
  ]);

/** The bridge must not take its own messages, or commands, for the weather. */
export function foreignWeather(root: Draft): Finding[] {
  const base = textOf(sectionOf(root, "mqtt"), "base_topic") ?? "greenhouse";
  return sectionsAt(root, "weather.*").flatMap(({ path, section }) => {
    const topic = textOf(section, "topic");
    const isOurs = topic !== null && topic.startsWith(`${base}/`) && !topic.startsWith(`${base}/weather/`);
    const message = msg`the bridge itself speaks below ${base}/; expected a topic outside it, or below ${base}/weather/`;
    return when(isOurs, [...path, "topic"], message);
  });
}

type Actuator = Configuration["controllers"][string]["actuators"][string];
type LimitsConfiguration = NonNullable<Actuator["limits"]>;
type GuardConfiguration = LimitsConfiguration["guards"][string];

/** A plain sentence for each actuator about what its limits mean. */
export const limitSentences = ({ controllers, commands, kinds }: Configuration): readonly Text[] =>
  findLimited(controllers).map(({ code, id, actuator, limits }) => {
    const hasStop = canStop(actuator);
    const alarmAfter = limits.not_running_after;
    const parts = [
      ...pauses(limits),
      ...terms(actuator, limits, kinds),
      ...(alarmAfter === undefined
        ? []
        : [msg`an alarm is raised when it shows on and does not run for ${formatDuration(alarmAfter)}`]),
      ...Object.entries(limits.guards).map(([name, guard]) => guardText(name, guard, hasStop)),
    ];
    const limited = parts.length === 0 ? msg`nothing is limited` : statements(parts);
    const what =
      commands.read_only || actuator.read_only
        ? msg`while it is read-only, the bridge takes and sends nothing; otherwise ${limited}`
        : limited;
    const where = `controllers.${code}.actuators.${id}`;
    return hasStop ? msg`${where}: ${what}. stop always passes.` : msg`${where}: ${what}.`;
  });

const limitedIn = new WeakMap<Configuration["controllers"], ReturnType<typeof searchLimited>>();

/** Cached, as each sentence and each doubt needs them. */
function findLimited(controllers: Configuration["controllers"]) {
  const found = limitedIn.get(controllers) ?? searchLimited(controllers);
  limitedIn.set(controllers, found);
  return found;
}

const searchLimited = (controllers: Configuration["controllers"]) =>
  Object.entries(controllers).flatMap(([code, section]) =>
    mirroredActuators(section).flatMap(([id, actuator]) =>
      actuator.limits === undefined ? [] : [{ code, id, actuator, limits: actuator.limits }],
    ),
  );

const pauses = ({ rest, reversal, starts_per_hour: starts }: LimitsConfiguration): readonly Text[] => [
  ...(rest > 0 ? [msg`it rests ${formatDuration(rest)} after each movement`] : []),
  ...(reversal > 0 ? [msg`it waits ${formatDuration(reversal)} before it goes the other way`] : []),
  ...(starts === undefined ? [] : [msg`it starts at most ${starts} times an hour`]),
];

function terms(
  { kind, values }: Actuator,
  limits: LimitsConfiguration,
  kinds: Configuration["kinds"],
): readonly Text[] {
  const { for: lasts, at_most: atMost } = limits;
  const usual = lasts ?? atMost;
  if (usual === undefined) return [];
  const words = Object.keys(valueTable({ kind, values: { ...kinds[kind]?.values, ...values } }));
  const endsWith = limits.ends_with ?? defaultEndsWith(kind, words) ?? "";
  const after = formatDuration(usual);
  if (atMost === undefined)
    return [msg`each command ends with "${endsWith}" after ${after} unless it names a time`];
  const most = formatDuration(atMost);
  return [msg`each command ends with "${endsWith}" after ${after} unless it names a time, at most ${most}`];
}

const guardText = (name: string, guard: GuardConfiguration, hasStop: boolean): Text =>
  clauses([
    conditionText(name, guard),
    ...(guard.then === undefined ? [] : [sendingText(guard.then, guard.blind)]),
    acceptingText(guard, hasStop),
    untilText(guard),
  ]);

function untilText({ above, clear_at: at, clear_after: after }: GuardConfiguration): Text {
  const lasts = formatDuration(after);
  if (at === undefined) return after === 0 ? msg`until that is over` : msg`until that is over for ${lasts}`;
  if (above === undefined)
    return after === 0 ? msg`until it is ${at} or more` : msg`until it is ${at} or more for ${lasts}`;
  return after === 0 ? msg`until it is ${at} or less` : msg`until it is ${at} or less for ${lasts}`;
}

function acceptingText({ allow, then }: GuardConfiguration, hasStop: boolean): Text {
  const allowed = [...allow.filter((word) => word !== "stop"), ...(hasStop ? ["stop"] : [])].join(", ");
  if (then === undefined)
    return allowed === "" ? msg`the bridge accepts nothing` : msg`the bridge accepts only ${allowed}`;
  return allowed === "" ? msg`then accepts nothing` : msg`then accepts only ${allowed}`;
}

const sendingText = (then: string, blind: GuardConfiguration["blind"]): Text =>
  blind === "act"
    ? msg`the bridge sends "${then}" once (also without a value)`
    : msg`the bridge sends "${then}" once`;

function conditionText(
  name: string,
  { sensor, actuator, status, above, below, is, is_not: isNot }: GuardConfiguration,
): Text {
  const input = sensor ?? actuator ?? status ?? "";
  const list = (words: string | readonly string[]) =>
    typeof words === "string" ? words : alternatives(words);
  if (above !== undefined) return msg`when ${input} is above ${above} or has no value ("${name}")`;
  if (below !== undefined) return msg`when ${input} is below ${below} or has no value ("${name}")`;
  if (is !== undefined) return msg`when ${input} is ${list(is)} or has no value ("${name}")`;
  if (isNot !== undefined) return msg`when ${input} is not ${list(isNot)} or has no value ("${name}")`;
  return msg`when ${input} moves or has no value ("${name}")`;
}

/** The alarm cannot come faster than running statuses are polled. */
export const runningDoubts = ({ controllers, polling }: Configuration): Finding[] =>
  findLimited(controllers).flatMap(({ code, id, limits: { not_running_after: after } }) => {
    if (after === undefined || polling.running_status <= after) return [];
    const message = msg`running statuses are polled every ${formatDuration(polling.running_status)}, so the alarm may come as late as that; shorten polling.running_status`;
    return [atValue(["controllers", code, "actuators", id, "limits", "not_running_after"], message)];
  });

/** A guard on a value of the platform judges one that may be as old as the polling interval. */
export function ageDoubts({ controllers, polling }: Configuration): Finding[] {
  return findLimited(controllers).flatMap(({ code, id, limits }) =>
    Object.entries(limits.guards).flatMap(([name, guard]) => {
      const [key, age] =
        guard.sensor !== undefined
          ? (["sensor", polling.sensors] as const)
          : guard.status !== undefined
            ? (["status", polling.running_status] as const)
            : (["actuator", guard.moving === true ? 0 : polling.actuators] as const);
      if (guard.sensor?.startsWith("weather/") === true || age === 0) return [];
      const message = msg`this value may be ${formatDuration(age)} old, the interval at which it is polled; a \`weather\` topic is faster`;
      return [atValue(["controllers", code, "actuators", id, "limits", "guards", name, key], message)];
    }),
  );
}

/** A light that does not show `on` gets `on` first, which a guard may forbid. */
export const leadInDoubts = ({ controllers }: Configuration): Finding[] =>
  findLimited(controllers).flatMap(({ code, id, actuator, limits }) =>
    Object.entries(limits.guards).flatMap(([name, { then, allow }]) => {
      const isDoubtful = actuator.kind === "light" && actuator.lead_in === "when_not_on";
      const word = [then, ...allow].find((one) => one !== undefined && one !== "stop");
      if (!isDoubtful || word === undefined || word === "on" || allow.includes("on")) return [];
      const [key, outcome] =
        word === then ? ["then", msg`kept back, with an alarm`] : ["allow", msg`refused`];
      const message = msg`a light that does not show on gets "on" first (lead_in), which this guard forbids: "${word}" is then ${outcome}; allow "on" too, or set lead_in: never where the platform takes that`;
      return [atValue(["controllers", code, "actuators", id, "limits", "guards", name, key], message)];
    }),
  );
