import { faultNames, outages, pushModes, type FaultSpec } from "./faults.js";
import { operationNames } from "./operations.js";

export interface ParsedFaults {
  readonly faults: readonly FaultSpec[];
  /** One sentence for each thing that is wrong, with its place. */
  readonly errors: readonly string[];
}

/** Gives the value the program works with, or what was expected instead. */
type Reader = (value: unknown) => { readonly value: unknown } | { readonly expected: string };

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const duration: Reader = (value) => {
  const [, digits, unit] =
    (typeof value === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value) : null) ?? [];
  if (typeof value === "number" && value >= 0) return { value };
  if (digits === undefined) return { expected: "a duration such as 30s, 5m or milliseconds as a number" };
  return { value: Number(digits) * (durationUnits[unit ?? "ms"] ?? 1) };
};

const number =
  (low: number, high: number): Reader =>
  (value) =>
    typeof value === "number" && value >= low && value <= high
      ? { value }
      : { expected: `a number from ${low} to ${high}` };

const word =
  (words: readonly string[]): Reader =>
  (value) =>
    typeof value === "string" && words.includes(value)
      ? { value }
      : { expected: `one of ${words.join(", ")}` };

const text: Reader = (value) =>
  typeof value === "string" || typeof value === "number" ? { value: String(value) } : { expected: "a text" };

const scalar: Reader = (value) =>
  value === null || ["string", "number", "boolean"].includes(typeof value)
    ? { value }
    : { expected: "a text, number, boolean or null" };

/** Key in the file → key in the program and how it is read. */
const keys = new Map<string, readonly [keyof FaultSpec, Reader]>([
  ["fault", ["fault", word(faultNames)]],
  ["at", ["atMs", duration]],
  ["for", ["forMs", duration]],
  ["count", ["count", number(1, 1_000_000)]],
  ["chance", ["chance", number(0, 1)]],
  ["per_hour", ["perHour", number(0, 3600)]],
  ["host", ["host", word(["business", "realtime"])]],
  ["operation", ["operation", word(operationNames)]],
  ["controller", ["controller", text]],
  ["address", ["address", text]],
  ["when", ["when", word(["before", "after"])]],
  ["delay", ["delayMs", duration]],
  ["retry_after", ["retryAfterMs", duration]],
  ["status", ["status", number(100, 599)]],
  ["code", ["code", number(-1_000_000, 1_000_000)]],
  ["message", ["message", text]],
  ["value", ["value", scalar]],
  ["sensor", ["sensor", text]],
  ["how", ["how", word([...outages, ...pushModes])]],
]);

/** Reads a parsed fault file: `{"faults": [...]}` or the bare array. Nothing of it counts unless all of it is right. */
export function parseFaults(json: unknown): ParsedFaults {
  const list = isObject(json) ? json.faults : json;
  if (!Array.isArray(list)) return { faults: [], errors: ['expected {"faults": [...]}'] };
  const parsed = list.map((item: unknown, index) => parseFault(item, `faults[${index}]`));
  const errors = parsed.flatMap((one) => one.errors);
  return { faults: errors.length > 0 ? [] : parsed.flatMap((one) => one.faults), errors };
}

/** Reads one fault; `place` begins every error. */
export function parseFault(json: unknown, place: string): ParsedFaults {
  if (!isObject(json)) return { faults: [], errors: [`${place}: expected an object`] };
  const spec: Partial<Record<keyof FaultSpec, unknown>> = {};
  const errors: string[] = [];
  for (const [key, value] of Object.entries(json)) {
    const [field, read] = keys.get(key) ?? [];
    const result = read?.(value) ?? { expected: `one of the keys ${[...keys.keys()].join(", ")}` };
    if ("expected" in result) errors.push(`${place}.${key}: expected ${result.expected}`);
    else if (field !== undefined) spec[field] = result.value;
  }
  if (!("fault" in json)) errors.push(`${place}.fault: expected one of ${faultNames.join(", ")}`);
  // Every key was read by its reader above, so this is the one place where a file becomes a typed fault.
  return { faults: errors.length > 0 ? [] : [spec as FaultSpec], errors };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
