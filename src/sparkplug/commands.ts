import { valueTable } from "../greenhouse/actuator-kinds.js";
import type { Controller, TargetKind } from "../greenhouse/model.js";
import type { CommandRequest } from "../commands/command.js";
import { isStop } from "../commands/payload.js";
import type { FloodListener } from "../mqtt/connection/settings.js";
import { readPayload } from "./messages.js";
import { rebirthName, type sparkplugTopics } from "./topics.js";
import type { WireMetric, WirePayload } from "./schema.js";

/*
 * Translates messages of hosts into command requests. Pure. A metric that is no valid command becomes a request with
 * the reason, so that it ends in a result like any other. A metric that names no place for commands gets no answer.
 */

/** The command of one metric. */
type Asked = Pick<CommandRequest, "target" | "targetId" | "payload" | "at" | "by" | "unreadable">;

/** `unknown`: the name or alias of something that accepts no commands. */
export type MetricRead =
  { readonly type: "command"; readonly asked: Asked } | { readonly type: "unknown"; readonly name: string };

interface Place {
  readonly target: Exclude<TargetKind, "address">;
  readonly targetId: string;
  readonly takes: "String" | "Double";
}

/** The place of a command in a metric's name; the intake judges the ids. */
function placeOf(name: string): Place | null {
  const [folder, targetId, leaf, ...rest] = name.split("/");
  if (targetId === undefined || targetId === "" || rest.length > 0) return null;
  if (folder === "parameter" && leaf === undefined) return { target: folder, targetId, takes: "Double" };
  if (folder !== "actuator") return null;
  if (leaf === "command") return { target: folder, targetId, takes: "String" };
  return leaf === "position" ? { target: folder, targetId, takes: "Double" } : null;
}

/**
 * The commands of a device message. `names`: the device's metrics by alias, as in its birth. `by`: the sender beside
 * the payload.
 */
export function deviceCommands(
  payload: WirePayload,
  names: ReadonlyMap<bigint, string>,
  by: string | null,
): readonly MetricRead[] {
  return payload.metrics.map((metric) => {
    const { name = names.get(metric.alias ?? -1n) } = metric;
    const place = name === undefined ? null : placeOf(name);
    if (name === undefined || place === null)
      return { type: "unknown", name: (name ?? `alias ${metric.alias ?? "none"}`).slice(0, 200) };
    const { target, targetId } = place;
    const read = textOf(metric, place, names);
    const at = instantOf(metric.timestamp ?? payload.timestamp);
    const unreadable = read.unreadable ?? (at === "none" ? noInstant : undefined);
    return {
      type: "command",
      asked: {
        target,
        targetId,
        payload: new TextEncoder().encode(read.text),
        at: at === "none" ? null : at,
        by: senderOf(saidBy(metric) ?? by),
        unreadable,
      },
    };
  });
}

const noInstant = "The timestamp of the metric is no time.";
/** The largest instant of a JavaScript date. */
const latest = 8_640_000_000_000_000n;

const instantOf = (timestamp: bigint | undefined): number | null | "none" => {
  if (timestamp === undefined) return null;
  return timestamp > latest ? "none" : Number(timestamp);
};

interface ReadText {
  readonly text: string;
  readonly unreadable?: string;
}

const bad = (unreadable: string): ReadText => ({ text: "", unreadable });

function textOf(metric: WireMetric, { takes }: Place, names: ReadonlyMap<bigint, string>): ReadText {
  const { name, alias, value, isNull, isHistorical, datatype } = metric;
  const named = name !== undefined && alias !== undefined ? names.get(alias) : name;
  if (named !== undefined && name !== undefined && named !== name)
    return bad("The name and the alias of the metric are those of two metrics.");
  if (isHistorical === true) return bad("The metric is marked as historical; a command is of now.");
  if (isNull === true) return bad("The metric is null; write the command itself.");
  const wrong = `The metric has another type than ${takes}, which its birth names.`;
  if (datatype !== undefined && datatype !== numberOf[takes]) return bad(wrong);
  if (takes === "String") return value.case === "stringValue" ? { text: value.value } : bad(wrong);
  return value.case === "doubleValue" ? { text: numberText(value.value) } : bad(wrong);
}

const numberOf = { String: 12, Double: 10 } as const;

/** A number as text, rounded to 15 digits against float noise; the target refuses spellings that it does not know. */
const numberText = (value: number): string =>
  String(Object.is(value, -0) ? 0 : Number(value.toPrecision(15)));

/** The sender that a host names in a text property `by`. */
function saidBy({ properties }: WireMetric): string | null {
  const place = properties?.keys.indexOf("by") ?? -1;
  const value = properties?.values[place]?.value;
  return value?.case === "stringValue" ? value.value : null;
}

const senderOf = (host: string | null): string | null => {
  const said = host?.replace(/[\p{Cc}\p{Cs}]/gu, "").trim() ?? "";
  return said === "" ? null : `sparkplug:${said}`.slice(0, 200);
};

/** The requests of a node command, and names in it that accept no commands. */
export function nodeCommands({ metrics }: WirePayload) {
  const unknown = metrics.flatMap(({ name, alias }) =>
    name === rebirthName ? [] : [(name ?? `alias ${alias ?? "none"}`).slice(0, 200)],
  );
  const isRebirth = metrics.some(
    ({ name, value }) => name === rebirthName && value.case === "booleanValue" && value.value,
  );
  return { isRebirth, unknown };
}

/*
 * Floods from hosts. Payloads are counted unparsed, so their actuator is unknown. A payload whose bytes may contain a
 * stop is parsed, and passes if it does.
 */

type Commanded = Pick<Controller, "actuators" | "parameters"> & {
  readonly info: Pick<Controller["info"], "code" | "id">;
};

/**
 * Device commands that were only counted; with `isUrgent` a newer one replaced them. `device`: null for devices that do
 * not exist.
 */
export type OnSurplus = (device: Commanded["info"] | null, count: number, isUrgent: boolean) => void;

const unknownDevices = "commands to devices that do not exist";
const toTheNode = "commands to the node";

/**
 * Each device has its own allowance; all devices that do not exist share one. `names`: its metrics by alias, as in its
 * birth.
 */
export const commandFloods = (
  topics: Pick<ReturnType<typeof sparkplugTopics>, "parse">,
  store: { byId(id: string): Commanded | undefined },
  names: (device: string) => ReadonlyMap<bigint, string>,
  onSurplus: OnSurplus,
): FloodListener => ({
  allowanceOf: (topic) => {
    const heard = topics.parse(topic);
    if (heard?.type === "node_command") return { key: toTheNode, isUrgent: null };
    if (heard?.type !== "device_command") return null;
    const controller = store.byId(heard.device);
    if (controller === undefined) return { key: unknownDevices, isUrgent: null };
    const mayBeStop = mayStop(controller);
    const targets = (payload: Buffer) => askedOf(payload, controller, names(heard.device));
    return {
      key: topic,
      isUrgent: (payload) => mayBeStop(payload) && targets(payload).some(({ stops }) => stops),
      targetOf: (payload) => {
        const asked = targets(payload).map(({ place, stops }) => `${place}${stops ? " stops" : ""}`);
        return [...new Set(asked)].sort().join("/");
      },
    };
  },
  // One birth answers all requests for it.
  onSurplus: ({ key, count, isUrgent }) => {
    if (key === toTheNode) return;
    const heard = topics.parse(key);
    const device = heard?.type === "device_command" ? store.byId(heard.device)?.info : undefined;
    onSurplus(device ?? null, count, isUrgent);
  },
});

/** The commands of a payload for this controller, and those of them that are stops. */
function askedOf(
  bytes: Buffer,
  { actuators, parameters }: Commanded,
  names: ReadonlyMap<bigint, string>,
): readonly { readonly place: string; readonly stops: boolean }[] {
  const read = readPayload(bytes);
  return (read === null ? [] : deviceCommands(read, names, null)).flatMap((one) => {
    if (one.type === "unknown") return [];
    const { target, targetId, payload, unreadable } = one.asked;
    const actuator = target === "actuator" ? actuators.get(targetId) : undefined;
    if (actuator === undefined && !(target === "parameter" && parameters.has(targetId))) return [];
    const stops = actuator !== undefined && unreadable === undefined && isStop(payload, actuator.settings);
    return [{ place: `${target} ${targetId}`, stops }];
  });
}

/** Whether a payload may hold a stop: the word, or a value that stops one of the actuators. */
function mayStop({ actuators }: Pick<Controller, "actuators">): (payload: Buffer) => boolean {
  const values = [...actuators.values()].flatMap(({ settings }) => [
    settings.stop?.value ?? [],
    valueTable(settings)["stop"] ?? [],
  ]);
  const words = [...new Set(values.flat())].map((value) => Buffer.from(value));
  return (payload) =>
    payload.toString("latin1").toLowerCase().includes("stop") || words.some((word) => payload.includes(word));
}
