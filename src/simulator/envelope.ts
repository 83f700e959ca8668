import type { Dialect } from "./dialect.js";
import type { Fields } from "./layout.js";

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
export function failure(dialect: Dialect, code: number, message: string, requestId: string): Answer {
  const isHttpStatus = code >= 400 && code <= 599;
  return {
    status: dialect.errors.status === "code" && isHttpStatus ? code : 200,
    body: {
      code,
      message: dialect.errors.message === "text" ? message : { code: `E${code}`, message },
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

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
