import { deviceTypes } from "../../greenhouse/device-types.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import { defineSensor } from "../../greenhouse/sensor-fold.js";
import { statusState } from "../../greenhouse/status-fold.js";
import { commentText, nameOr } from "./safe-text.js";
import type { Answer, DeviceSurvey, ListedDevice } from "./survey.js";
import { typeName } from "../../greenhouse/type-rows.js";

const width = 100;
/** Enough for any real device; a broken answer must not make the file unreadable. */
const mostItems = 200;

/** Who a device is, for one comment line. */
export function deviceLine({
  code,
  name,
  type,
  typeName: platforms,
  stationName,
  online,
}: ListedDevice): string {
  const meaning = type === null ? null : (deviceTypes.get(type) ?? platforms);
  const kind = nameOr(meaning, "device of unknown type");
  const state = online === null ? null : online ? "online" : "offline";
  return [
    nameOr(name, commentText(code)),
    type === null ? kind : `${kind} (${commentText(type, 20)})`,
    stationName === null ? null : `station ${commentText(stationName)}`,
    state,
  ]
    .filter((part) => part !== null)
    .join(", ");
}

/** Readings and running statuses, which the bridge mirrors by itself and a brief text leaves out, and what is missing. */
export function deviceRemarks(survey: DeviceSurvey, isBrief: boolean): readonly string[] {
  const { device, answers, unanswered, isOffline } = survey;
  return [
    ...(isBrief ? [] : [...sensorLines(answers.get("sensors")), ...statusLines(answers.get("statuses"))]),
    ...(isOffline ? ["not connected, so its addresses could not be read: run discover again later"] : []),
    ...(wasAskedForAddresses(survey)
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

const wasAskedForAddresses = ({ answers, unanswered, isOffline }: DeviceSurvey): boolean =>
  isOffline ||
  [...answers.keys(), ...unanswered.map(({ ask }) => ask)].some((ask) => typeof ask === "number");

const askName = (ask: DeviceSurvey["unanswered"][number]["ask"]): string =>
  ask === "sensors" ? "readings" : ask === "statuses" ? "running statuses" : typeName(ask);

function sensorLines(answer: Answer | undefined): readonly string[] {
  if (answer?.type !== "sensors" || answer.items.length === 0) return [];
  const read = answer.items.slice(0, mostItems).map(sensorText);
  const known = read.flatMap(({ text, isKnown }) => (isKnown ? [text] : []));
  const unknown = read.flatMap(({ text, isKnown }) => (isKnown ? [] : [text]));
  return [
    ...wrapped("readings: ", known),
    ...wrapped("readings of unknown kind (say kind and unit under sensors): ", unknown),
    ...moreThan(answer.items.length),
  ];
}

/** `空气温度 temperature 17.3 °C`. */
function sensorText(item: SensorItem): { readonly text: string; readonly isKnown: boolean } {
  const { kind, unit } = defineSensor(item, { key: "", id: "" }, undefined);
  const name = nameOr(item.name === "" ? item.factor : item.name, "without name");
  const channel = item.channel === null ? "" : ` @${commentText(item.channel, 20)}`;
  const isKnown = kind !== "other";
  const value = item.value === null ? "--" : commentText(String(item.value), 30);
  const parts = [name + channel, isKnown ? kind : "", value, commentText(unit ?? "", 20)];
  return { text: parts.filter((part) => part !== "").join(" "), isKnown };
}

function statusLines(answer: Answer | undefined): readonly string[] {
  if (answer?.type !== "statuses" || answer.items.length === 0) return [];
  const texts = answer.items.slice(0, mostItems).map(({ number, name, value }) => {
    const parts = [
      number === null ? "" : String(number),
      commentText(name),
      commentText(statusState(value), 30),
    ];
    return parts.filter((part) => part !== "").join(" ");
  });
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
