/** A request as it arrives on `<base>/bridge/request/<name>`; an empty or non-JSON payload counts as `{}`. */
export interface BridgeRequestBody {
  /** Why nothing can be made of the payload. */
  readonly problem?: string;
  readonly transaction: unknown;
  readonly fields: Readonly<Record<string, unknown>>;
}

export type RequestHandler = (fields: BridgeRequestBody["fields"], signal: AbortSignal) => Promise<unknown>;

/** Why a request cannot be served, in a sentence for whoever sent it. */
export class RequestError extends Error {
  override name = "RequestError" as const;
}

const notAnObject = "The payload is JSON but no object; send an object of fields, or nothing.";
/** Far more than any request needs; many of them may be waiting at once. */
const mostBytes = 16 * 1024;

export function parseRequest(payload: Uint8Array): BridgeRequestBody {
  if (payload.length > mostBytes) {
    const problem = `The request has ${payload.length} bytes; at most ${mostBytes} are read.`;
    return { problem, transaction: undefined, fields: {} };
  }
  const parsed = parseJson(new TextDecoder().decode(payload));
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return { problem: notAnObject, transaction: undefined, fields: {} };
  const fields = Object.fromEntries(Object.entries(parsed).filter(([key]) => key !== "transaction"));
  return { transaction: "transaction" in parsed ? parsed.transaction : undefined, fields };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The response's text; `transaction` is echoed when the request had one. */
export async function answerRequest(
  name: string,
  body: BridgeRequestBody,
  handlers: ReadonlyMap<string, RequestHandler>,
  signal: AbortSignal,
): Promise<string> {
  const { transaction, problem } = body;
  if (problem !== undefined) return errorAnswer(transaction, problem);
  const handler = handlers.get(name);
  if (!handler) {
    const known = [...handlers.keys()].join(", ");
    return errorAnswer(transaction, `There is no request "${name}". Known are: ${known}.`);
  }
  try {
    return JSON.stringify({ status: "ok", transaction, data: (await handler(body.fields, signal)) ?? {} });
  } catch (error) {
    return errorAnswer(transaction, error instanceof Error ? error.message : String(error));
  }
}

export function errorAnswer(transaction: unknown, error: string): string {
  try {
    return JSON.stringify({ status: "error", transaction, error });
  } catch {
    // Nested so deeply that JSON can be read but not written again; the sender must not end the bridge with it.
    return JSON.stringify({ status: "error", error });
  }
}

export function textField(fields: BridgeRequestBody["fields"], key: string): string {
  const value = fields[key];
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number") return String(value);
  throw new RequestError(`The field "${key}" is missing; give it as text.`);
}

export function optionalTextField(fields: BridgeRequestBody["fields"], key: string): string | null {
  return fields[key] === undefined || fields[key] === null ? null : textField(fields, key);
}

export interface LaneSize {
  readonly atOnce: number;
  readonly waiting: number;
}

/** Work of which so much is done at once and so much more waits in order; the rest is turned away. */
export class RequestLane {
  readonly #size: LaneSize;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;

  constructor(size: LaneSize) {
    this.#size = size;
  }

  /** Does `work` now or in its turn; false where there is no place for it. `work` must not reject. */
  take(work: () => Promise<void>): boolean {
    if (this.#running < this.#size.atOnce) {
      void this.#run(work);
      return true;
    }
    if (this.#waiting.length >= this.#size.waiting) return false;
    this.#waiting.push(work);
    return true;
  }

  async #run(first: () => Promise<void>): Promise<void> {
    this.#running += 1;
    for (let work: typeof first | undefined = first; work !== undefined; work = this.#waiting.shift())
      await work();
    this.#running -= 1;
  }
}
