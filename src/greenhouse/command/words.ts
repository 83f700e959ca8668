import { msg, type Text } from "../../language/text.js";
import {
  type KindRow,
  kindRows,
  sameValue,
  stateOfWord,
  takesDegrees,
  valueTable,
} from "../actuator-kinds.js";
import { contradictionRemedy } from "../device-types.js";
import type { Allowed } from "../limits.js";
import { type Actuator, addressPattern, type Controller, type TargetKind } from "../model.js";
import type { ActuatorSettings, ParameterSettings } from "../settings.js";
import type { Refusal, RefusalReason } from "./outcomes.js";
import { readNumberSetpoint, readRawSetpoint } from "./setpoints.js";

/** What a command wants of its target. */
export type Wanted =
  | { readonly type: "word"; readonly word: string; readonly value: string }
  | { readonly type: "position"; readonly degree: number }
  | { readonly type: "stop"; readonly address: string; readonly value: string };

export type Target = Pick<ActuatorSettings, "kind" | "values" | "stop" | "address" | "accepts">;

const refusal = (reason: Refusal["reason"], message: Text): Refusal => ({ reason, message });

/** Canonical text of a command: a lower-case word, or the degree. */
export function canonical(wanted: Wanted): string {
  if (wanted.type === "position") return String(wanted.degree);
  return wanted.type === "stop" ? "stop" : wanted.word;
}

/** Every word and degree that the target accepts. */
export function vocabulary(target: Pick<Target, "kind" | "values" | "stop">): Omit<Allowed, "because"> {
  const words = Object.keys(valueTable(target));
  if (target.stop && !words.includes("stop")) words.push("stop");
  const row: KindRow = kindRows[target.kind];
  return { words, degrees: row.positionMode === null ? null : { min: 0, max: 100 } };
}

/** Whether the target knows the word stop. */
export const canStop = (target: Pick<Target, "kind" | "values" | "stop">): boolean =>
  vocabulary(target).words.includes("stop");

const nothing: Allowed = {
  words: [],
  degrees: null,
  because: [{ rule: "read_only", input: null, value: null, limit: null, quality: null, until: null }],
};

/** What may be commanded to the actuator now. */
export function allowedOf({ settings, restrictions }: Pick<Actuator, "settings" | "restrictions">): Allowed {
  if (settings.readOnly) return nothing;
  return restrictions?.allowed ?? { ...vocabulary(settings), because: [] };
}

/** The words and degrees that may be sent, for messages. */
function listAccepted(target: Target): string {
  const { words, degrees } = vocabulary(target);
  return [...words, ...(degrees === null ? [] : ["0..100"])].join(", ");
}

/** Parses a trimmed text as a command of the target. */
export function readWanted(text: string, target: Target): Wanted | Refusal {
  const { accepts } = target;
  if (accepts) {
    const setpoint = accepts.type === "raw" ? readRawSetpoint(text) : readNumberSetpoint(text, accepts);
    return "reason" in setpoint ? setpoint : { type: "word", word: setpoint.text, value: setpoint.value };
  }
  if (/^-?(0|[1-9]\d*)$/.test(text) && text !== "-0") return readNumber(text, target);
  const byValue = wordOfValue(text, target);
  if (byValue !== null) return wordWanted(byValue, target);
  if (numberLike.test(text)) {
    if (!takesDegrees(target.kind)) return noDegree("bad_payload", target);
    return refusal(
      "bad_payload",
      msg`"${text.slice(0, 40)}" is not a plain whole number; send 0 to 100 without leading zeros, sign or fraction.`,
    );
  }
  return readWord(text, target);
}

function readNumber(text: string, target: Target): Wanted | Refusal {
  const byValue = wordOfValue(text, target);
  if (byValue !== null) return wordWanted(byValue, target);
  const row: KindRow = kindRows[target.kind];
  if (text === row.positionMode) return positionWithoutDegree();
  const degree = Number(text);
  const isOutside = degree < 0 || degree > 100;
  if (row.positionMode === null) return noDegree(isOutside ? "out_of_range" : "unknown_command", target);
  if (isOutside) return refusal("out_of_range", msg`${text.slice(0, 40)} is outside 0 to 100.`);
  return { type: "position", degree };
}

const noDegree = (reason: RefusalReason, target: Target): Refusal =>
  refusal(reason, msg`This actuator takes no degree; it accepts ${listAccepted(target)}.`);

// Numbers such as 050, 1e1, 0x32, 45.5, +5 or 1,5, which not everybody reads alike.
const numberLike = /^[+-]?(0x[0-9a-f]+|\d[\d.,]*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?)$/i;

function wordOfValue(text: string, target: Target): string | null {
  for (const [word, value] of Object.entries(valueTable(target))) if (value === text) return word;
  return null;
}

function readWord(text: string, target: Target): Wanted | Refusal {
  const word = text.toLowerCase();
  const row: KindRow = kindRows[target.kind];
  if (row.positionMode !== null && word === "position") return positionWithoutDegree();
  for (const name of Object.keys(valueTable(target)))
    if (name.toLowerCase() === word || stateOfWord(target.kind, name) === word)
      return wordWanted(name, target);
  if (word === "stop" && target.stop) return wordWanted(word, target);
  return refusal(
    "unknown_command",
    msg`"${text.slice(0, 40)}" is no command of this actuator; it accepts ${listAccepted(target)}.`,
  );
}

const positionWithoutDegree = () =>
  refusal(
    "unknown_command",
    msg`A position needs its degree: send a number from 0 to 100 instead of the word.`,
  );

function wordWanted(word: string, target: Target): Wanted {
  if (word === "stop" && target.stop) return { type: "stop", ...target.stop };
  const value = valueTable(target)[word] ?? "";
  return word === "stop" ? { type: "stop", address: target.address, value } : { type: "word", word, value };
}

/** The addressee of a command, as in its topic. */
export interface Addressee {
  readonly controllerId: string;
  readonly target: TargetKind;
  readonly targetId: string;
}

export interface TargetRules {
  readonly raw_addresses: boolean;
  /** Shortest time between two commands to one parameter or raw address, ms. */
  readonly min_interval: number;
}

const settleMs = 2_000;
const confirmWithinMs = 60_000;

/** The target of a command, or why there is none. Parameters and raw addresses behave like a plain actuator. */
export function targetOf(
  controller: Controller | undefined,
  addressee: Addressee,
  rules: TargetRules,
): ActuatorSettings | Refusal {
  const { target, targetId } = addressee;
  if (target === "address") return rawTarget(controller, addressee, rules);
  if (target === "parameter") {
    const parameter = controller?.parameters.get(targetId)?.settings;
    return parameter ? parameterTarget(parameter, rules) : unknown(controller, addressee);
  }
  const actuator = controller?.actuators.get(targetId);
  if (actuator === undefined) return unknown(controller, addressee);
  const { settings, contradiction: why } = actuator;
  if (why === null) return settings;
  return {
    reason: "unknown_actuator",
    message: msg`Nobody knows what "${targetId}" is: ${why}; ${contradictionRemedy}.`,
  };
}

/** The target of an earlier command, whether or not it may still be commanded; null where nothing knows it any more. */
export function targetSent(
  controller: Controller | undefined,
  addressee: Addressee,
): ActuatorSettings | null {
  const target = targetOf(controller, addressee, { raw_addresses: true, min_interval: 0 });
  return "reason" in target ? null : target;
}

const plain = (
  id: string,
  address: string,
  { min_interval: minIntervalMs }: TargetRules,
): ActuatorSettings => ({
  id,
  kind: "custom",
  address,
  values: {},
  leadIn: "never",
  settleMs,
  travelMs: 0,
  confirmWithinMs,
  minIntervalMs,
  tolerance: 0,
  readOnly: false,
  homeAssistant: { enabled: false },
});

function parameterTarget(parameter: ParameterSettings, rules: TargetRules): ActuatorSettings | Refusal {
  const { id, writable } = parameter;
  if (writable === undefined) {
    return {
      reason: "read_only",
      message: msg`Parameter "${id}" is only mirrored; give it writable: {min, max, step} in the configuration to allow commands.`,
    };
  }
  return parameterPath(parameter, writable, rules);
}

/** A parameter as a plain actuator, for its commands. */
export const parameterPath = (
  { id, address, scale }: ParameterSettings,
  range: NonNullable<ParameterSettings["writable"]>,
  rules: TargetRules,
): ActuatorSettings => ({ ...plain(id, address, rules), accepts: { type: "number", ...range, scale } });

function rawTarget(
  controller: Controller | undefined,
  addressee: Addressee,
  rules: TargetRules,
): ActuatorSettings | Refusal {
  const { targetId: address } = addressee;
  if (controller === undefined || !addressPattern.test(address)) return unknown(controller, addressee);
  if (!rules.raw_addresses) {
    return {
      reason: "unknown_actuator",
      message: msg`Raw addresses take no commands here; set commands.raw_addresses to true to allow them.`,
    };
  }
  const owner = ownerOf(controller, address);
  if (owner !== null) {
    return {
      reason: "unknown_actuator",
      message: msg`Address ${address} belongs to ${owner}; send the command there, so that commands stay in order.`,
    };
  }
  return { ...plain(address, address, rules), accepts: { type: "raw" } };
}

/**
 * The actuator or parameter that owns an address; null for any other address. The platform may take `0101` for `101`,
 * so both belong to the owner.
 */
export function ownerOf(controller: Controller, address: string): Text | null {
  const isIt = (own: string | undefined) => own !== undefined && sameValue(own, address);
  const hasIt = (one: ActuatorSettings) =>
    [one.address, one.modeAddress, one.positionAddress, one.stop?.address].some(isIt);
  for (const { settings } of controller.actuators.values())
    if (hasIt(settings)) return msg`actuator "${settings.id}"`;
  const ignored = ignoredOf(controller).find(hasIt);
  if (ignored !== undefined) return msg`actuator "${ignored.id}"`;
  for (const { settings } of controller.parameters.values())
    if (isIt(settings.address)) return msg`parameter "${settings.id}"`;
  return null;
}

const ignoredOf = ({ settings }: Controller): readonly ActuatorSettings[] => settings?.ignored ?? [];

const mostNamed = 12;

function noTarget(target: TargetKind, controllerId: string, id: string): Text {
  switch (target) {
    case "actuator":
      return msg`Controller "${controllerId}" has no actuator "${id}"`;
    case "parameter":
      return msg`Controller "${controllerId}" has no parameter "${id}"`;
    case "address":
      return msg`Controller "${controllerId}" has no address "${id}"`;
  }
}

/** The refusal that says what is unknown, and what exists. */
function unknown(controller: Controller | undefined, { controllerId, target, targetId }: Addressee): Refusal {
  const reason = "unknown_actuator";
  if (controller === undefined)
    return {
      reason,
      message: msg`There is no controller "${controllerId}"; bridge/controllers lists those there are.`,
    };
  const none = noTarget(target, controllerId, targetId);
  if (target === "address")
    return { reason, message: msg`${none}; an address is letters, digits, ".", "_", "-".` };
  if (target === "actuator" && ignoredOf(controller).some(({ id }) => id === targetId))
    return { reason, message: msg`${none}: the configuration has ignore: true there.` };
  const ids = [...(target === "actuator" ? controller.actuators : controller.parameters).keys()];
  const more = ids.length > mostNamed ? msg`, and ${ids.length - mostNamed} more` : "";
  const has =
    ids.length === 0
      ? msg`the configuration lists no ${target}s of it`
      : msg`it has ${ids.slice(0, mostNamed).join(", ")}${more}`;
  return { reason, message: msg`${none}; ${has}.` };
}
