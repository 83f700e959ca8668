import { msg, type Text, word } from "../language/text.js";
import { topicsUnder } from "../mqtt/topics.js";
import { localTime, longestMessage, textTable } from "../runtime/text-table.js";
import { readConfiguration, userName } from "../terminal/common.js";
import { codeOf } from "../terminal/common.js";
import { type Document, isDocument, retainedOfBridge } from "../terminal/running-bridge.js";
import { askBridge, request } from "./bridge-request.js";
import { alarmText, remedyText } from "./wording.js";
import type { Tell } from "../language/words.js";
import type { Speech } from "../terminal/speech.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

/*
 * `lock`, `unlock`, `release` and `alarms`: requests to the running bridge, which alone keeps locks, holds and alarms.
 */

interface LimitOptions extends CommonOptions {
  readonly by?: string;
  readonly reason?: string;
  readonly until?: string;
  readonly force?: boolean;
}

/** Sentences that say what was done, to whose actuators, and for whom. */
const dones = {
  lock: (whose: Text, which: string, by: string) => msg`${whose}: locked ${which} (${by})`,
  unlock: (whose: Text, which: string, by: string) => msg`${whose}: unlocked ${which} (${by})`,
  release: (whose: Text, which: string, by: string) => msg`${whose}: released ${which} (${by})`,
} as const;

/** `greenhouse2mqtt lock`, `unlock` and `release`: of one actuator, or of the whole controller. */
export const limit =
  (name: keyof typeof dones) =>
  async (
    context: ProcessContext,
    controller: string,
    actuator: string | undefined,
    options: LimitOptions,
  ): Promise<void> => {
    const configuration = await readConfiguration(options, context);
    const { by = userName(), reason, until, force } = options;
    const fields = { controller: codeOf(configuration, controller), actuator, by, reason, until, force };
    const data = await request(context, configuration, name, fields);
    context.out(
      context.isTerminal
        ? `${context.speech.tell(sentence(name, data as Answered))}\n`
        : `${JSON.stringify(data)}\n`,
    );
  };

interface Answered {
  readonly controller: string;
  readonly actuators: readonly string[];
  readonly by: string;
  readonly until?: string | null;
}

function sentence(name: keyof typeof dones, { controller, actuators, by, until }: Answered): Text {
  const done = dones[name](controller, actuators.join(", "), by);
  return until ? msg`${done} until ${localTime(until)}.` : msg`${done}.`;
}

interface AlarmsOptions extends CommonOptions {
  readonly json?: boolean;
  readonly acknowledge?: string;
  readonly by?: string;
}

const columns = [
  { field: "id", title: msg`ALARM`, usual: 30, most: 60 },
  { field: "state", title: msg`STATE`, usual: 12, most: 12 },
  { field: "since", title: msg`SINCE`, usual: 19, most: 24 },
  { field: "severity", title: msg`SEVERITY`, usual: 8, most: 8 },
  { field: "by", title: msg`BY`, usual: 12, most: 24 },
  { field: "message", title: msg`MESSAGE`, usual: 7, most: 200 },
  { field: "remedy", title: msg`WHAT TO DO`, usual: 10, most: longestMessage },
] as const;

type Row = Readonly<Record<(typeof columns)[number]["field"], string>>;

function rowOf(alarm: Document, tell: Tell): Row {
  const text = (key: string) => {
    const value = alarm[key];
    return typeof value === "string" ? value : "";
  };
  return {
    id: text("id"),
    state: tell(word(text("state"))),
    since: localTime(text("since")),
    severity: tell(word(text("severity"))),
    by: text("by"),
    message: tell(alarmText(alarm)),
    remedy: tell(remedyText(alarm)),
  };
}

/** `greenhouse2mqtt alarms`: present alarms and those cleared within the last hour, the newest last. */
export async function alarms(context: ProcessContext, options: AlarmsOptions): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const { acknowledge: alarm, by = userName() } = options;
  if (alarm !== undefined) {
    const data = await request(context, configuration, "acknowledge", { alarm, by });
    const done = context.speech.tell(msg`${alarm}: acknowledged (${by}).`);
    context.out(context.isTerminal ? `${done}\n` : `${JSON.stringify(data)}\n`);
    return;
  }
  const { alarms: topic } = topicsUnder(configuration.mqtt.base_topic);
  const found = await askBridge(
    configuration,
    ["/api/alarms"],
    () => retainedOfBridge(configuration, topic),
    context.stop,
  );
  const shown = Object.values(found).filter(isDocument);
  const since = (one: Document) => String(one["since"]);
  const sorted = [...shown].sort((one, other) => (since(one) < since(other) ? -1 : 1));
  if (options.json === true) for (const one of sorted) context.out(`${JSON.stringify(one)}\n`);
  else
    context.out(
      `${sorted.length === 0 ? context.speech.tell(msg`no alarms`) : alarmTable(sorted, context.speech)}\n`,
    );
}

const alarmTable = (alarms: readonly Document[], { tell }: Speech): string =>
  textTable(
    columns.map((column) => ({ ...column, title: tell(column.title) })),
    alarms,
    (alarm) => rowOf(alarm, tell),
  ).text;
