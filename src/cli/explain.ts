import { msg, row, type Text } from "../language/text.js";
import type { Configuration } from "../config/schema.js";
import { sendAddresses, stateAddresses, stateOfWord } from "../greenhouse/actuator-kinds.js";
import { confirmWithinMs, type Step, stepsOf } from "../greenhouse/command/plan.js";
import { parameterPath, readWanted, vocabulary, type Wanted } from "../greenhouse/command/words.js";
import { isLookedAtTwice, isModeUnread, proofAddress } from "../greenhouse/readings.js";
import type { ActuatorSettings, ParameterSettings } from "../greenhouse/settings.js";
import { type Operation, operations, requestPath } from "../platform/operations.js";
import type { ShapeSettings } from "../platform/settings.js";
import { nearest } from "../runtime/similar-words.js";
import { mirrorSettings } from "../sync/settings.js";
import { type CommandFailure, usageFailure } from "../runtime/ending.js";
import { codeOf } from "../terminal/common.js";

/*
 * Explains what is asked, sent and read for each word of an actuator, in the order of calls, by the configuration
 * alone. An owner compares it with the vendor's papers. Touches no network.
 */

function meantBy(configuration: Configuration, target: string) {
  const at = target.lastIndexOf("/");
  const code = codeOf(configuration, at < 1 ? target : target.slice(0, at));
  const { actuators: own = [], parameters = [] } = mirrorSettings(configuration).controllers.get(code) ?? {};
  const actuators = [...own, ...parameters.map((one) => onPath(one, configuration.commands))];
  const id = at < 1 ? null : target.slice(at + 1);
  return { code, id, actuators, meant: actuators.filter((one) => id === null || one.id === id) };
}

/** A parameter that takes no commands is still read. */
const onPath = (parameter: ParameterSettings, rules: Configuration["commands"]): ActuatorSettings => {
  const { writable, group } = parameter;
  const path = parameterPath(parameter, writable ?? { min: 0, max: 0, step: 1 }, rules);
  return { ...path, ...(group !== undefined && { group }), readOnly: writable === undefined };
};

export const isNamedIn = (configuration: Configuration, target: string): boolean =>
  meantBy(configuration, target).meant.length > 0;

/** The lines about `C/A`, or about every actuator and parameter of `C`. */
export function linesAbout(configuration: Configuration, target: string): readonly Text[] {
  const { code, id, actuators, meant } = meantBy(configuration, target);
  if (meant.length === 0) throw notThere(target, id, actuators);
  const asks = asking(configuration, code);
  return meant.flatMap((one, place) => [
    ...(place === 0 ? [] : [""]),
    ...aboutActuator(one, asks, configuration),
  ]);
}

function notThere(target: string, id: string | null, actuators: readonly ActuatorSettings[]): CommandFailure {
  const known = actuators.map((one) => one.id);
  const near = id === null ? null : nearest(id, known);
  const what = JSON.stringify(target);
  const text =
    near === null
      ? msg`the configuration names no actuator ${what}`
      : msg`the configuration names no actuator ${what}, did you mean "${near}"?`;
  return usageFailure(text);
}

interface Asking {
  readonly code: string;
  readonly get: (operation: Operation, query: Readonly<Record<string, string>>) => string;
}

function asking({ platform }: Configuration, code: string): Asking {
  const shapes: ShapeSettings = platform.shapes;
  return {
    code,
    get: (operation, query) =>
      `${operation.method} ${requestPath(operation, { deviceCode: code, ...query }, shapes[operation.name])}`,
  };
}

function aboutActuator(
  settings: ActuatorSettings,
  asks: Asking,
  { commands, polling }: Configuration,
): readonly Text[] {
  const { id, kind, group, readOnly, accepts } = settings;
  const polled =
    group === undefined
      ? stateAddresses(settings).map((address) => asks.get(operations.value, { address }))
      : [asks.get(operations.values, { deviceTypeId: String(group) })];
  const isKept = readOnly || commands.read_only;
  const isOnlyRead = readOnly && accepts !== undefined;
  const kept = isOnlyRead
    ? msg`commands are refused: it has no writable`
    : msg`commands are refused: read_only`;
  return [
    row`${asks.code}/${id}: ${msg`${accepts === undefined ? kind : "parameter"}, ${placesOf(settings)}`}`,
    row`  ${msg`read every ${seconds(polling.actuators)}:`}`,
    ...polled.map((line) => `    ${line}`),
    ...(isKept ? [row`  ${kept}`] : []),
    ...(isKept ? [] : samplesOf(settings).flatMap((word) => aboutWord(word, settings, asks))),
  ];
}

/** One degree, and one number, stand for all others. */
function samplesOf(settings: ActuatorSettings): readonly string[] {
  const { accepts } = settings;
  if (accepts?.type === "number") return [String(accepts.min)];
  const { words, degrees } = vocabulary(settings);
  return [...words, ...(degrees === null ? [] : ["45"])];
}

function placesOf(settings: ActuatorSettings): Text {
  const [mode, position] = sendAddresses(settings);
  return position === undefined
    ? msg`address ${mode}`
    : msg`mode at address ${mode}, degree at address ${position}`;
}

function aboutWord(word: string, settings: ActuatorSettings, asks: Asking): readonly Text[] {
  const wanted = readWanted(word, settings);
  if ("reason" in wanted) return [];
  const steps = stepsOf(settings, wanted, null);
  return [
    headOf(word, wanted, settings),
    ...before(wanted, settings, asks),
    ...steps.flatMap((step) => aboutStep(step, wanted, settings, asks)),
  ];
}

function headOf(word: string, { type }: Wanted, { accepts }: ActuatorSettings): Text {
  if (type === "position") return row`  ${msg`${word} (any degree from 0 to 100):`}`;
  if (accepts?.type !== "number") return `  ${word}:`;
  return row`  ${msg`${word} (any number from ${accepts.min} to ${accepts.max}):`}`;
}

/** The reads before a command; a stop is sent at once. */
function before(wanted: Wanted, settings: ActuatorSettings, asks: Asking): readonly Text[] {
  if (wanted.type === "stop") return [row`    ${msg`sent at once, without a question before it`}`];
  const addresses = stateAddresses(settings);
  const read = wanted.type === "position" ? addresses : addresses.slice(0, 1);
  const lag = settings.flushLagMs ?? 0;
  const isNeverThere = settings.pulse === true || isModeUnread(settings);
  const then = isNeverThere ? msg`has to be answered` : msg`sends nothing where it shows it already`;
  return [
    row`    ${asks.get(operations.connection, {})}   ${msg`goes on where status is 1`}`,
    ...read.map((address) => row`    ${asks.get(operations.value, { address, flush: "1" })}   ${then}`),
    ...(lag > 0 && !isNeverThere
      ? [row`    ${msg`the same read once more after ${seconds(lag)}, before it counts as there already`}`]
      : []),
  ];
}

function aboutStep(step: Step, wanted: Wanted, settings: ActuatorSettings, asks: Asking): readonly Text[] {
  const { address, value } = step;
  const body = JSON.stringify({ address, value, deviceCode: asks.code });
  const proof = proofAddress(settings, step);
  const post = row`    POST ${operations.setValue.path} ${body}${whenLeftOut(step, settings)}`;
  if (proof === null)
    return [post, row`      ${msg`taken where the answer's code is 200: nothing can be read back`}`];
  const read = asks.get(operations.value, { address: proof, flush: "1" });
  const within = seconds(confirmWithinMs(settings, step));
  const shown = proofText(step, wanted, settings);
  if (shown === null)
    return [post, row`      ${read}   ${msg`no degree shows whether it was done: it ends unconfirmed`}`];
  const isLast = step.purpose !== "mode" && step.purpose !== "lead_in";
  const again = row`      ${read}   ${msg`once more ${seconds(settings.travelMs)} after the POST, where it was confirmed before`}`;
  return [
    post,
    row`      ${read}   ${msg`up to ${within}, until it shows ${shown}`}`,
    ...(isLast && isLookedAtTwice(settings, step) ? [again] : []),
  ];
}

function whenLeftOut({ purpose }: Step, { modeAgain, leadIn }: ActuatorSettings): Text {
  if (purpose === "mode" && modeAgain === "when_needed")
    return row`   ${msg`left out where it shows the mode already`}`;
  return purpose === "lead_in" && leadIn === "when_not_on"
    ? row`   ${msg`left out where it shows on already`}`
    : "";
}

/** What a read-back must show; null where nothing can. */
function proofText(step: Step, wanted: Wanted, settings: ActuatorSettings): Text | null {
  const { value, purpose } = step;
  const { kind, reads = {}, positionReads, tolerance, pulse } = settings;
  const isShared = sendAddresses(settings).length === 1;
  if (purpose === "mode") return isShared ? msg`${value} or any degree` : value;
  if (wanted.type === "position") {
    const near = tolerance > 0 ? `${value} ± ${tolerance}` : value;
    return positionReads === "mode" ? msg`${near} or the mode` : near;
  }
  const word = wanted.type === "word" ? wanted.word : "stop";
  if (isModeUnread(settings)) return byDegree[stateOfWord(kind, word)] ?? null;
  const all = [...new Set([value, ...(reads[word] ?? [])])].reduce<Text>(
    (one, other) => (one === "" ? other : msg`${one} or ${other}`),
    "",
  );
  return pulse === true ? msg`${all} or idle again` : all;
}

const byDegree: Readonly<Record<string, Text>> = { open: msg`the degree 100`, closed: msg`the degree 0` };

const seconds = (ms: number): Text => msg`${Math.round(ms / 100) / 10} s`;
