import { wordLabel } from "../greenhouse/labels.js";
import { word } from "../language/text.js";
import type { Tell } from "../language/words.js";

/*
 * English names of our own entities, with other languages in `locales`, and the templates by which Home Assistant reads
 * our topics. Words in topics never change.
 */

export const labels = {
  connectivity: "Connectivity",
  problem: "Command problem",
  result: "Command result",
  reading_alarm: "Readings beyond limits",
  acknowledge: "Acknowledge problem",
  mode: "mode",
  stop: "stop",
  lock: "lock",
  position: "position",
  position_quality: "position quality",
  raw: "value",
  run_time: "run time",
  running: "running",
  platform: "Platform",
  last_online: "Last online",
  last_contact_business: "Last contact, business host",
  last_contact_realtime: "Last contact, real-time host",
  oldest_reading: "Oldest reading",
  requests_left: "Requests left",
  version: "Version",
  refresh: "Refresh",
  alert: "Alert",
  alarm: "Alarm",
  acknowledge_alarms: "Acknowledge alarms",
} as const;

export type Label = keyof typeof labels;

export const labelOf = (tell: Tell, label: Label): string => tell(word(labels[label], `entity.${label}`));

/**
 * Joins `Left skylight` and `mode` to `Left skylight mode`; between Chinese words there is no space, unless one is
 * Latin.
 */
export function suffix(tell: Tell, name: string, label: Label): string {
  const suffix = labelOf(tell, label);
  return /[\x20-\x7e]$/.test(name) || /^[\x20-\x7e]/.test(suffix) ? `${name} ${suffix}` : `${name}${suffix}`;
}

/**
 * A label for each word, all different. `none` is no label in any language, as Home Assistant reads it as "unknown".
 */
export function optionLabels(tell: Tell, words: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(words);
  const labelled = new Map<string, string>();
  for (const word of words) {
    const own = /^none$/i.test(word) ? `${word} (0)` : word;
    const wanted = tell(wordLabel(word));
    const usable = /^\s*none\s*$/i.test(wanted) || (wanted !== word && taken.has(wanted)) ? own : wanted;
    labelled.set(word, usable);
    taken.add(usable);
  }
  return labelled;
}

/*
 * Every template that the bridge sends to Home Assistant. An empty result is ignored, and `None` means "unknown". All
 * are single expressions without macros or Home Assistant's own functions, except `to_json`.
 */

/** A Jinja literal; characters that could end or change it are escaped. */
const quote = (text: string): string =>
  `'${text.replace(/(?! )[\p{C}\p{Z}'"\\{}%#]/gu, (part) => {
    const code = (part.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  })}'`;

const pairs = (entries: Iterable<readonly [string, string]>): string =>
  `{${[...entries].map(([from, to]) => `${quote(from)}: ${quote(to)}`).join(", ")}}`;

export const templates = {
  /** Quality of a reading → availability. */
  usableQuality: "{{ 'online' if value in ['good', 'uncertain'] else 'offline' }}",
  /** `bridge/platform` → availability. */
  platformReachable: "{{ 'offline' if value in ['unreachable', ''] else 'online' }}",
  /** A controller's own flag → availability: usable unless known to be offline. */
  controllerReachable: "{{ 'offline' if value in ['offline', ''] else 'online' }}",
  connectivity: "{{ value if value in ['online', 'offline'] else 'None' }}",
  /** Home Assistant drops a longer state and keeps the one before. */
  text: "{{ value[:255] }}",
  /** With a unit Home Assistant drops any text and keeps the number before, so a text becomes `None`. */
  number: "{{ value if value | float(0) == value | float(1) else 'None' }}",
  onOff: "{{ value if value in ['on', 'off'] else 'None' }}",
  onOffState: "{{ value_json.state if value_json.state in ['on', 'off'] else 'None' }}",
  valveState: "{{ {'on': 'open', 'off': 'closed'}.get(value_json.state, 'None') }}",
  coverState:
    "{{ 'open' if value_json.state == 'open' or (value_json.state == 'position' and (value_json.position or 0) > 0) " +
    "else 'closed' if value_json.state in ['closed', 'close'] or (value_json.state == 'position' and value_json.position == 0) " +
    "else 'None' }}",
  /** The degree. `open` and `closed` count as the ends of travel, which is an assumption; anything else is ignored. */
  coverPosition:
    "{{ value_json.position if value_json.position is number else 100 if value_json.state == 'open' " +
    "else 0 if value_json.state in ['closed', 'close'] else '' }}",
  /** State and position for a cover that is shown the other way round. */
  invertedState:
    "{{ 'closed' if value_json.state == 'open' or (value_json.state == 'position' and (value_json.position or 0) >= 100) " +
    "else 'open' if value_json.state in ['closed', 'close'] or (value_json.state == 'position' and value_json.position is number) " +
    "else 'None' }}",
  invertedPosition:
    "{{ 100 - value_json.position if value_json.position is number else 0 if value_json.state == 'open' " +
    "else 100 if value_json.state in ['closed', 'close'] else '' }}",
  /** The slider's position → the degree to send. */
  invertedDegree: "{{ 100 - position }}",
  /** Whether any running status of an actuator says on. */
  running: "{{ value_json.running if value_json.running in ['on', 'off'] else 'None' }}",
  /** Seconds; an emptied topic leaves the number before. */
  runTime: "{{ value_json.on_s if value and value_json.on_s is number else '' }}",
  /** The degree as a reading of its own. */
  degree: "{{ value_json.position if value_json.position is number else 'None' }}",
  /** The quality of the shown state. */
  quality: "{{ value_json.quality if value else 'None' }}",
  /** `…/allowed` → whether the actuator is locked. */
  locked: "{{ 'locked' if 'lock' in value_json.because | map(attribute='rule') else 'unlocked' }}",
  /**
   * `…/allowed` as attributes, without the measured number: it changes every few seconds while a guard holds, which
   * would fill the history.
   */
  allowed: `{{ value | regex_replace('"value":-?[0-9.e+-]+,', '') or '{}' }}`,
  /** A topic as attributes, where it may be empty. */
  orNothing: "{{ value or '{}' }}",
  anyAlarm: "{{ 'on' if value_json.count > 0 else 'off' }}",
  /** `anyAlarm` for a controller, whose topic may be emptied. */
  readingAlarm: "{{ 'on' if value and value_json.count > 0 else 'off' }}",
  result: event("outcome", "id actuator command value reason message read_back by duration_ms repeated"),
  alert: event("type", "severity message at controller actuator alarm remedy"),
};

function event(type: string, fields: string): string {
  const rest = fields.split(" ").map((field) => `'${field}': value_json.get('${field}')`);
  return `{{ {'event_type': value_json.${type}, ${rest.join(", ")}} | to_json }}`;
}

/** A field of a JSON object; `null` shows as unknown. */
export const field = (name: string): string => `{{ value_json.${name} }}`;

/**
 * A number times a factor, rounded to nine decimals against float noise. An emptied topic gives `None` without an
 * error.
 */
export const multiply = (factor: number): string =>
  `{{ (value | float(0) * ${factor}) | round(9) if value | float(0) == value | float(1) else 'None' }}`;

/**
 * A number within the range of a number entity, else `None`: outside of the range Home Assistant would keep the old
 * one.
 */
export const within = (min: number, max: number): string =>
  `{{ value if ${min} <= value | float(${min - 1}) <= ${max} else 'None' }}`;

const isPlain = (labels: ReadonlyMap<string, string>) => [...labels].every(([word, label]) => word === label);

/** The label of the word at `source`; `other` for a word without a label. */
export const labelOfWord = (
  source: "value" | "value_json.state",
  labels: ReadonlyMap<string, string>,
  other: "None" | "unknown",
): string =>
  isPlain(labels)
    ? `{{ ${source} if ${source} in [${[...labels.keys()].map(quote).join(", ")}] else '${other}' }}`
    : `{{ ${pairs(labels)}.get(${source}, '${other}') }}`;

/** The word of a label; `null` where both are the same and no template is needed. */
export const wordOfLabel = (labels: ReadonlyMap<string, string>): string | null =>
  isPlain(labels)
    ? null
    : `{{ ${pairs([...labels].map(([word, label]) => [label, word] as const))}.get(value, value) }}`;
