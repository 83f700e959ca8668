import type { PlatformHost } from "../greenhouse/platform-error.js";
import type { OperationName } from "./operations.js";
import type { PostRecord } from "./post-log.js";

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

/** A request whose operation is known. */
export interface Call {
  readonly operation: OperationName;
  readonly request: PlatformRequest;
  readonly controller: string | null;
  readonly address: string | null;
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
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return invalid("the body must be a JSON object");
  const fields = new Map<string, unknown>(Object.entries(body));
  const [address, value, code] = [fields.get("address"), fields.get("value"), fields.get("deviceCode")];
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
