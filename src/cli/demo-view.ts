import { joined, msg, row, type Text, word } from "../language/text.js";
import { isGood, type Outcome, resultSentence, type ToldResult } from "../greenhouse/command/outcomes.js";
import { systemClock } from "../runtime/clock.js";
import { widthOf, pad } from "../runtime/text-table.js";
import type { Tell } from "../language/words.js";
import type { ProcessContext } from "../terminal/context.js";
import { alarmText, remedyText, type ShownValue } from "./wording.js";
import { endedText } from "../greenhouse/wording.js";

/* What the demo shows on the terminal: a line for each message of its broker. */

export interface DemoView {
  readonly out: (text: string) => void;
  readonly isColoured: boolean;
  readonly tell: Tell;
}

/** Colours only on a terminal, unless NO_COLOR turns them off. */
export const demoView = ({ out, draw = out, isTerminal, env, speech }: ProcessContext): DemoView => ({
  out: draw,
  tell: speech.tell,
  isColoured: isTerminal && (env["NO_COLOR"] ?? "") === "",
});

export const shownController = "gh-0001";

export type Fields = Readonly<Record<string, unknown>>;

const shown = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";

/** Readings by sensor id, as their `/json` topics show them. */
export function readingsTable(readings: ReadonlyMap<string, Fields>, view: DemoView): string {
  const rows = [...readings].map(([id, { value, unit, quality }]) => [
    id,
    `${shown(value)} ${shown(unit)}`.trim(),
    shown(quality),
  ]);
  const width = (column: number) => Math.max(0, ...rows.map((row) => widthOf(row[column] ?? "")));
  const ids = width(0);
  const values = width(1);
  const lines = rows.map(
    ([id = "", value = "", quality = ""]) =>
      `  ${pad(id, ids)}  ${pad(value, values)}  ${colourText(view.tell(word(quality)), quality === "good" ? "green" : "yellow", view)}`,
  );
  const head = view.tell(msg`Readings of ${shownController}, as the platform shows them:`);
  return `${head}\n${lines.join("\n")}\n\n`;
}

export function resultLine(
  result: ToldResult & { readonly finished_at: string },
  { tell, ...view }: DemoView,
): string {
  const paint = (outcome: Outcome) =>
    colourText(tell(word(outcome)), isGood(outcome) ? "green" : neutral.has(outcome) ? "yellow" : "red", {
      tell,
      ...view,
    });
  return `${time(result.finished_at)} ${tell(resultSentence(result, paint, endedText(result)))}\n`;
}

const time = (at: number | string) => new Date(at).toLocaleTimeString("sv-SE");

/** A line of a story. Even without colours it differs from the bridge's lines, which begin with a time. */
export const toldLine = (text: string, view: DemoView): string =>
  `\n${colourText(`» ${text}`, "cyan", view)}\n`;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Sentences for documents other than results, by topic. */
const says: Readonly<Record<string, (document: Fields | null, reading: ShownValue | null) => Text>> = {
  alarm: (document, reading) => {
    const { state, by } = document ?? {};
    const now = word(shown(state));
    if (state === "acknowledged" && by) return msg`${now} by ${shown(by)}`;
    return state === "active"
      ? row`${now}: ${alarmText(document ?? {}, reading)} ${remedyText(document ?? {})}`
      : now;
  },
  lock: (document) => {
    if (document === null) return msg`nobody`;
    const { by, reason } = document;
    return reason ? row`${shown(by)} (${shown(reason)})` : shown(by);
  },
  lease: (document) =>
    document === null
      ? msg`none`
      : msg`${shown(document["command"])} until ${time(shown(document["until"]))}, then ${shown(document["ends_with"])}`,
  allowed: (document) => {
    const { words, degrees, because } = document ?? {};
    const rules = listOf(because).filter(isFields);
    if (rules.length === 0) return msg`everything`;
    const range = isFields(degrees) ? [msg`${shown(degrees["min"])} to ${shown(degrees["max"])}`] : [];
    const isBlind = ({ quality }: Fields) => typeof quality === "string" && quality !== "good";
    const why = rules.map((rule) =>
      isBlind(rule) ? msg`${shown(rule["rule"])} (blind)` : shown(rule["rule"]),
    );
    const left = [...listOf(words).map(shown), ...range];
    const only = left.length === 0 ? "stop" : joined(left, ", ");
    return msg`only ${only}, because of ${joined(why, ", ")}`;
  },
};

/** The names of these documents. */
const kinds: Readonly<Record<string, Text>> = {
  alarm: msg`alarm`,
  lock: msg`lock`,
  lease: msg`lease`,
  allowed: msg`allowed`,
};

/** Whether a document is about a reading, as an alarm may be. */
export const isOfSensor = (document: Fields | null): document is Fields =>
  typeof document?.["sensor"] === "string";

/** The reading of a document about one, as `<controller>/<sensor>`. */
export const aboutReading = ({ controller, sensor }: Fields): string =>
  `${shown(controller)}/${shown(sensor)}`;

/** The reading that an alarm is about; null where nothing was read. */
export function readingOf(alarm: Fields, readings: ReadonlyMap<string, Fields>): ShownValue | null {
  const { name, value, unit } = readings.get(aboutReading(alarm)) ?? {};
  if (typeof name !== "string" || typeof value !== "number") return null;
  return { name, value, unit: typeof unit === "string" ? unit : null };
}

/**
 * The line for an alarm, or for an actuator's lock, lease or limits; null if it says what it said before. `reading`:
 * what an alarm is about.
 */
export function noteLine(
  topic: string,
  document: Fields | null,
  before: Fields | null,
  view: DemoView,
  reading: ShownValue | null = null,
): string | null {
  const parts = topic.split("/").slice(-4);
  const isAlarm = parts.at(-2) === "alarm";
  const kind = isAlarm ? "alarm" : (parts[3] ?? "");
  const say = says[kind];
  const said = view.tell(say?.(document, reading) ?? "");
  const isSame = said === view.tell(say?.(before, reading) ?? "");
  if (said === "" || (isSame && document?.["message"] === before?.["message"])) return null;
  const about = isAlarm ? parts.at(-1) : `${parts[0] ?? ""}/${parts[2] ?? ""}`;
  const colour = isAlarm && document?.["state"] === "active" ? "red" : "yellow";
  const name = view.tell(kinds[kind] ?? kind);
  return `${time(systemClock.now())} ${about ?? ""} ${name}: ${colourText(said, colour, view)}\n`;
}

const neutral: ReadonlySet<Outcome> = new Set(["dry_run", "superseded"]);
const colours = { green: 32, yellow: 33, red: 31, cyan: 36 } as const;

const colourText = (text: string, colour: keyof typeof colours, { isColoured }: DemoView): string =>
  isColoured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;
