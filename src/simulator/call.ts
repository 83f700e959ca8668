import type { PlatformHost } from "../greenhouse/ports.js";
import type { Ignored } from "./actuators.js";
import type { Dialect } from "./dialects.js";
import type { FaultTarget } from "./faults.js";
import { type Fields, isFields } from "./register-shapes.js";

/** A request as any transport hands it over. Header names are lower case; the body is text. */
export interface PlatformRequest {
  readonly host: PlatformHost;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | null;
}

/**
 * What the transport has to do. `delayMs` (real time) comes first; `Infinity` means that no answer ever comes. `cut`:
 * `refused`: no connection came about; `before` and `after`: the connection broke without an answer, before or after
 * the request was carried out; `during`: it broke half way through the answer.
 */
export interface Decision {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly delayMs: number;
  readonly cut: "refused" | "before" | "during" | "after" | null;
}

/** A request whose operation is known; controller and address are empty where it names none. */
export interface Call extends FaultTarget {
  readonly request: PlatformRequest;
  readonly post: ParsedPost | null;
  readonly record: PostRecord | null;
  readonly requestId: string;
}

export interface ControlValue {
  readonly code: string;
  readonly address: string;
  readonly value: string;
}

export type ParsedPost =
  | { readonly isValid: true; readonly control: ControlValue }
  | { readonly isValid: false; readonly why: string; readonly status: number };

const invalid = (why: string, status = 400): ParsedPost => ({ isValid: false, why, status });

/** Reads the body of `POST /api/set-value` by the interface's rules: `address` Int or String, the others String. */
export function parsePost(request: PlatformRequest): ParsedPost {
  if (!(request.headers["content-type"] ?? "").toLowerCase().startsWith("application/json"))
    return invalid("Content-Type must be application/json", 415);
  const body = parseJson(request.body ?? "");
  if (!isFields(body)) return invalid("the body must be a JSON object");
  const { address, value, deviceCode: code } = body;
  if (typeof code !== "string" || code === "") return invalid("deviceCode must be a String");
  if (typeof value !== "string" || value === "") return invalid("value must be a String");
  if (typeof address !== "string" && !Number.isSafeInteger(address))
    return invalid("address must be an Int or a String");
  return { isValid: true, control: { code, address: String(address), value } };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export interface Answer {
  readonly status: number;
  readonly body: Fields;
  /** Holds integers beyond 2^53, kept as text until they are written. */
  readonly hasLongs?: boolean;
}

/** An answer whose body code is 200. */
export const success = (fields: Fields, message: unknown = "success"): Answer => ({
  status: 200,
  body: { code: 200, message, ...fields },
});

/** An answer that says no: another body code, why, and the request's id. */
export function failure(
  { settings }: { readonly settings: { readonly dialect: Dialect } },
  { requestId }: Pick<Call, "requestId">,
  code: number,
  message: string,
): Answer {
  const { errors } = settings.dialect;
  const isHttpStatus = code >= 400 && code <= 599;
  return {
    status: errors.status === "code" && isHttpStatus ? code : 200,
    body: {
      code,
      message: errors.message === "text" ? message : { code: `E${code}`, message },
      requestId,
      data: null,
      success: false,
    },
  };
}

/** The body as JSON text, with numbers and extra fields as the dialect has them. */
export function writeBody(answer: Answer, dialect: Dialect): string {
  const { body } = answer;
  const isPlain = dialect.numbers === "plain" && !dialect.extras;
  const text = JSON.stringify(isPlain ? body : dressed(dialect.extras ? withExtras(body) : body, dialect));
  if (answer.hasLongs !== true || dialect.numbers === "text") return text;
  return text.replace(/"customerId":"(\d+)"/g, '"customerId":$1');
}

function dressed(value: unknown, dialect: Dialect): unknown {
  if (typeof value === "number" && dialect.numbers === "text") return String(value);
  if (Array.isArray(value))
    return value.map((item) => dressed(isFields(item) ? decorated(item, dialect) : item, dialect));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, dressed(item, dialect)]));
}

const decorated = (fields: Fields, dialect: Dialect): Fields =>
  dialect.extras ? { ...fields, remark: null, ext: { createBy: "admin" } } : fields;

/** A computed `__proto__` is an own property, so it reaches the wire like any other. */
const withExtras = (body: Fields): Fields => ({
  ...body,
  traceId: "0",
  cost: 3,
  constructor: { prototype: {} },
  ["__proto__"]: { polluted: true },
});

/**
 * What became of a POST at the device: `waiting` until the value arrives there, `taken` when the register holds it,
 * `ignored_by_fault` and the other `ignored_…` when it never will, `offline` when the device was not there,
 * `not_processed` when the platform did not take the request at all.
 */
export type PostEffect = "waiting" | "taken" | "ignored_by_fault" | "offline" | "not_processed" | Ignored;

/** One `POST /api/set-value` as it reached the platform; `at` is real epoch ms. */
export interface PostRecord {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly requestId: string;
  /** The platform carried it out or passed it on, whatever it answered. */
  accepted: boolean;
  effect: PostEffect;
}
