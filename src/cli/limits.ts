import type { Configuration } from "../config/schema.js";
import { topicsUnder } from "../mqtt/topics.js";
import { localTime, textTable } from "../runtime/text-table.js";
import { inOptions, readConfiguration, userName } from "./errands.js";
import { codeOf } from "./read.js";
import { type Document, missingLogin, requestOf, retainedOfBridge } from "./running-bridge.js";
import { hasLogin } from "../setup/broker-client.js";
import { CommandFailure, type CommonOptions, type Surroundings } from "./surroundings.js";

/* `lock`, `unlock`, `release` and `alarms`: requests to the running bridge, which alone keeps what they are about. */

/** As long as the disk may take on a busy small computer. */
const longestMs = 30_000;

const endings = (name: string) => ({
  notSent: `stopped; "${name}" was not sent`,
  stopped: `stopped; "${name}" was sent, and its answer is not known`,
  gone: `"${name}" was sent, but the bridge has gone offline; ask again once it runs`,
  late: `the bridge did not answer "${name}"; ask again`,
});

function noBridge(configuration: Configuration): CommandFailure {
  if (!hasLogin(configuration))
    return new CommandFailure(`the running bridge could not be asked, so nothing was done. ${missingLogin}`);
  const { state } = topicsUnder(configuration.mqtt.base_topic).bridge;
  const where = configuration.mqtt.url ?? "the embedded broker";
  return new CommandFailure(
    `no bridge is running (${state} at ${where} does not say "online"), so nothing was done; start it first.`,
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
  const answer = await requestOf(configuration, name, fields, patience, stop);
  if (answer === null) throw noBridge(configuration);
  if (answer["status"] !== "ok") throw new CommandFailure(inOptions(String(answer["error"])));
  return answer["data"];
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
    around: Surroundings,
    controller: string,
    actuator: string | undefined,
    options: LimitOptions,
  ): Promise<void> => {
    const configuration = await readConfiguration(options, around);
    const { by = userName(), reason, until, force } = options;
    const fields = { controller: codeOf(configuration, controller), actuator, by, reason, until, force };
    const data = await request(configuration, name, fields, around.stop);
    around.out(around.isTerminal ? `${sentence(name, data as Answered)}\n` : `${JSON.stringify(data)}\n`);
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
  { field: "message", title: "MESSAGE", usual: 7, most: 300 },
] as const;

type Row = Readonly<Record<(typeof columns)[number]["field"], string>>;

function rowOf(alarm: Document): Row {
  const text = (key: string) => {
    const value = alarm[key];
    return typeof value === "string" ? value : "";
  };
  return {
    ...{ id: text("id"), state: text("state"), since: localTime(text("since")), severity: text("severity") },
    ...{ by: text("by"), message: text("message") },
  };
}

/** `greenhouse2mqtt alarms`: those that are on and those that cleared within the hour, the newest last. */
export async function alarms(around: Surroundings, options: AlarmsOptions): Promise<void> {
  const configuration = await readConfiguration(options, around);
  const { acknowledge: alarm, by = userName() } = options;
  if (alarm !== undefined) {
    const data = await request(configuration, "acknowledge", { alarm, by }, around.stop);
    around.out(around.isTerminal ? `${alarm}: acknowledged (${by}).\n` : `${JSON.stringify(data)}\n`);
    return;
  }
  const shown = await retainedOfBridge(configuration, topicsUnder(configuration.mqtt.base_topic).alarms);
  if (shown === null) throw noBridge(configuration);
  const since = (one: Document) => String(one["since"]);
  const sorted = [...shown].sort((one, other) => (since(one) < since(other) ? -1 : 1));
  if (options.json === true) for (const one of sorted) around.out(`${JSON.stringify(one)}\n`);
  else around.out(`${sorted.length === 0 ? "no alarms" : textTable(columns, sorted, rowOf).text}\n`);
}
