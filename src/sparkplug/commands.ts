import type { TargetKind } from "../greenhouse/model.js";
import type { CommandRequest } from "../commands/command.js";
import { rebirthName } from "./topics.js";
import type { WireMetric, WirePayload } from "./schema.js";

/*
 * What hosts ask for, in the words of the intake of commands. Pure. A metric that is no command as it stands is handed on with
 * the reason, so that it ends with a result like any other; what names no place of a command has nobody to answer.
 */

/** What one metric of a device command asks for. */
type Asked = Pick<CommandRequest, "target" | "targetId" | "payload" | "at" | "by" | "unreadable">;

/** `unknown`: the name or alias of what takes no commands. */
export type MetricRead =
  { readonly type: "command"; readonly asked: Asked } | { readonly type: "unknown"; readonly name: string };

interface Place {
  readonly target: Exclude<TargetKind, "address">;
  readonly targetId: string;
  readonly takes: "String" | "Double";
}

/** Where commands can be written to; ids are judged by the intake. */
function placeOf(name: string): Place | null {
  const [folder, targetId, leaf, ...rest] = name.split("/");
  if (targetId === undefined || targetId === "" || rest.length > 0) return null;
  if (folder === "parameter" && leaf === undefined) return { target: folder, targetId, takes: "Double" };
  if (folder !== "actuator") return null;
  if (leaf === "command") return { target: folder, targetId, takes: "String" };
  return leaf === "position" ? { target: folder, targetId, takes: "Double" } : null;
}

/** `names`: the metrics of the device by their aliases, as its birth told them. `by`: the sender's word beside the payload. */
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
/** The largest that a date can hold. */
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

/** Without the noise of binary fractions; what no person would write so is for the target to refuse. */
const numberText = (value: number): string =>
  String(Object.is(value, -0) ? 0 : Number(value.toPrecision(15)));

/** Who asks, where the host says so: a text property `by`. */
function saidBy({ properties }: WireMetric): string | null {
  const place = properties?.keys.indexOf("by") ?? -1;
  const value = properties?.values[place]?.value;
  return value?.case === "stringValue" ? value.value : null;
}

const senderOf = (host: string | null): string | null => {
  const said = host?.replace(/[\p{Cc}\p{Cs}]/gu, "").trim() ?? "";
  return said === "" ? null : `sparkplug:${said}`.slice(0, 200);
};

/** What a node command asks for, and the names in it of what takes no commands. */
export function nodeCommands({ metrics }: WirePayload) {
  const unknown = metrics.flatMap(({ name, alias }) =>
    name === rebirthName ? [] : [(name ?? `alias ${alias ?? "none"}`).slice(0, 200)],
  );
  const isRebirth = metrics.some(
    ({ name, value }) => name === rebirthName && value.case === "booleanValue" && value.value,
  );
  return { isRebirth, unknown };
}

/** What a host says of itself: JSON on the topic of the specification, a word on that of version 2; null for anything else. */
export function hostWord(payload: Uint8Array, isOld: boolean) {
  const text = new TextDecoder().decode(payload.subarray(0, 1_024));
  if (isOld) {
    if (text !== "ONLINE" && text !== "OFFLINE") return null;
    return { isOnline: text === "ONLINE", timestamp: null };
  }
  const said = jsonOf(text);
  if (typeof said !== "object" || said === null || !("online" in said) || !("timestamp" in said)) return null;
  const { online, timestamp } = said;
  if (typeof online !== "boolean" || typeof timestamp !== "number" || !(timestamp >= 0)) return null;
  return { isOnline: online, timestamp };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
