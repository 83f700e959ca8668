import { notifierSettings } from "../config/load.js";
import type { Configuration } from "../config/schema.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import { localTime, longestMessage, textTable } from "../runtime/text-table.js";
import { inOptions, readConfiguration, userName } from "./common.js";
import { codeOf } from "./read.js";
import { NotAtSocket } from "../setup/own-socket.js";
import {
  askAtSocket,
  type Document,
  isDocument,
  NotAsked,
  requestOf,
  retainedOfBridge,
} from "./running-bridge.js";
import type { Speech, Tell } from "./speech.js";
import { CommandFailure, type CommonOptions, exitCodes, type ProcessContext } from "./context.js";

/*
 * `lock`, `unlock`, `release` and `alarms`: requests to the running bridge, which alone keeps what they are about; and `notify`,
 * which tries without one how alarms get out.
 */

/** As long as the disk may take on a busy small computer. */
const longestMs = 30_000;

const endings = (name: string) => ({
  notSent: `stopped; "${name}" was not sent`,
  stopped: `stopped; "${name}" was sent, and its answer is not known`,
  gone: `"${name}" was sent, but the bridge has gone offline; ask again once it runs`,
  late: `the bridge did not answer "${name}"; ask again`,
});

/** Somebody who is about to climb must not be told to start a second bridge beside the one that runs. */
function notReached(asked: NotAsked, { holder, reason }: NotAtSocket): CommandFailure {
  if (holder !== null)
    return new CommandFailure(
      `a bridge is running (process ${holder.pid}, since ${holder.since}) and was not reached, so nothing was done. ` +
        `Do not start another one.\n  at its socket: ${reason}\n  over the broker: ${asked.reason}`,
    );
  if (asked.why === "offline")
    return new CommandFailure(`no bridge is running (${asked.reason}), so nothing was done; start it first.`);
  return new CommandFailure(
    asked.why === "no_login"
      ? `the running bridge could not be asked, so nothing was done. ${asked.reason}`
      : `the broker could not be reached, so nothing was done, and nobody knows whether a bridge is running.\n  ${asked.reason}`,
  );
}

type Fields = Readonly<Record<string, string | boolean | undefined>>;

/** The data of the bridge's answer; a refusal ends the command with the bridge's sentence. */
async function request(
  configuration: Configuration,
  name: string,
  fields: Fields,
  stop: AbortSignal,
): Promise<unknown> {
  const patience = { longestMs, endings: endings(name) };
  const answer = await asked(
    configuration,
    [`/api/requests/${name}`, fields],
    () => requestOf(configuration, name, fields, patience, stop),
    stop,
  );
  const { status, error, message, data } = answer;
  if (status !== "ok") throw new CommandFailure(inOptions(String(message ?? error)));
  return data;
}

/** At the bridge's own socket, and where it has none over the broker. With fields it is a request, without them only looked at. */
async function asked<Answer>(
  configuration: Configuration,
  [path, fields]: readonly [path: string, fields?: Fields],
  overBroker: () => Promise<Answer | NotAsked>,
  stop: AbortSignal,
): Promise<Answer | Document> {
  const own = await askAtSocket(configuration, (ask) => ask(path, fields), stop);
  if (!(own instanceof NotAtSocket)) return own.document;
  const answer = await overBroker();
  if (answer instanceof NotAsked) throw notReached(answer, own);
  return answer;
}

interface LimitOptions extends CommonOptions {
  readonly by?: string;
  readonly reason?: string;
  readonly until?: string;
  readonly force?: boolean;
}

const dones = { lock: "locked", unlock: "unlocked", release: "released" } as const;

/** `greenhouse2mqtt lock`, `unlock` and `release`: an actuator, or without one all of the controller. */
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
    const data = await request(configuration, name, fields, context.stop);
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

function sentence(name: keyof typeof dones, { controller, actuators, by, until }: Answered): string {
  const end = until ? ` until ${localTime(until)}` : "";
  return `${controller}: ${dones[name]} ${actuators.join(", ")} (${by})${end}.`;
}

interface AlarmsOptions extends CommonOptions {
  readonly json?: boolean;
  readonly acknowledge?: string;
  readonly by?: string;
}

const columns = [
  { field: "id", title: "ALARM", usual: 30, most: 60 },
  { field: "state", title: "STATE", usual: 12, most: 12 },
  { field: "since", title: "SINCE", usual: 19, most: 24 },
  { field: "severity", title: "SEVERITY", usual: 8, most: 8 },
  { field: "by", title: "BY", usual: 12, most: 24 },
  { field: "message", title: "MESSAGE", usual: 7, most: 200 },
  { field: "remedy", title: "WHAT TO DO", usual: 10, most: longestMessage },
] as const;

type Row = Readonly<Record<(typeof columns)[number]["field"], string>>;

function rowOf(alarm: Document, tell: Tell): Row {
  const text = (key: string) => {
    const value = alarm[key];
    return typeof value === "string" ? value : "";
  };
  return {
    id: text("id"),
    state: tell(text("state")),
    since: localTime(text("since")),
    severity: tell(text("severity")),
    by: text("by"),
    message: tell(text("message")),
    remedy: tell(text("remedy")),
  };
}

/** `greenhouse2mqtt alarms`: those that are on and those that cleared within the hour, the newest last. */
export async function alarms(context: ProcessContext, options: AlarmsOptions): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const { acknowledge: alarm, by = userName() } = options;
  if (alarm !== undefined) {
    const data = await request(configuration, "acknowledge", { alarm, by }, context.stop);
    const done = context.speech.tell(`${alarm}: acknowledged (${by}).`);
    context.out(context.isTerminal ? `${done}\n` : `${JSON.stringify(data)}\n`);
    return;
  }
  const { alarms: topic } = topicsUnder(configuration.mqtt.base_topic);
  const found = await asked(
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
      `${sorted.length === 0 ? context.speech.tell("no alarms") : alarmTable(sorted, context.speech)}\n`,
    );
}

const alarmTable = (alarms: readonly Document[], { tell }: Speech): string =>
  textTable(
    columns.map((column) => ({ ...column, title: tell(column.title) })),
    alarms,
    (alarm) => rowOf(alarm, tell),
  ).text;

/** `greenhouse2mqtt notify --daily`: the message of the day as the running bridge makes it, sent or only printed. */
async function notifyDaily(
  context: ProcessContext,
  options: CommonOptions & { readonly print?: boolean },
): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const payload = { print: options.print === true };
  const data = await request(configuration, "notify_daily", payload, context.stop);
  const { title, text } = { title: "", text: "", ...Object(data) } as Readonly<Record<string, unknown>>;
  context.out(context.isTerminal ? `${String(title)}\n${String(text)}\n` : `${JSON.stringify(data)}\n`);
}

/** `greenhouse2mqtt notify --test`: one message through each way, and what became of it. */
export async function notify(
  context: ProcessContext,
  options: CommonOptions & { readonly test?: boolean; readonly daily?: boolean; readonly print?: boolean },
): Promise<void> {
  if (options.daily === true) return notifyDaily(context, options);
  if (options.test !== true)
    throw new CommandFailure(
      "say --test: one message through each way of notify; or --daily: the daily message",
      exitCodes.usage,
    );
  const configuration = await readConfiguration(options, context);
  if (Object.keys(configuration.notify.ways).length === 0)
    throw new CommandFailure(
      "no way is configured under notify.ways; docs/notify.md shows each",
      exitCodes.usage,
    );
  const { testOnce } = await import("../notify/notify.js");
  const results = await testOnce(notifierSettings(configuration), systemClock, context.stop);
  if (context.isTerminal)
    for (const [way, { service, problem }] of Object.entries(results))
      context.out(
        `${way} (${service}): ${context.speech.tell(problem === null ? "sent" : `not sent: ${problem}`)}\n`,
      );
  else context.out(`${JSON.stringify(results)}\n`);
  const failed = Object.entries(results).flatMap(([way, { ok }]) => (ok ? [] : [way]));
  if (failed.length > 0) throw new CommandFailure(`not sent by ${failed.join(", ")}`);
}
