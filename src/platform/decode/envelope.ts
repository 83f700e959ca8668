import { isFields, own, textOf, type Fields } from "./wire.js";

/** What every answer of the platform may carry around its data. */
export interface Envelope {
  /** The body's `code` as text; null when it has none. */
  readonly code: string | null;
  readonly message: string | null;
  readonly requestId: string | null;
}

const none: Envelope = { code: null, message: null, requestId: null };

export function envelopeOf(body: unknown): Envelope {
  if (!isFields(body)) return none;
  return { code: textOf(own(body, "code")), message: messageOf(body), requestId: requestIdOf(body) };
}

/** The message flattened: a String, or an Object `{code, message}`; the 403 body adds `error`. */
function messageOf(body: Fields): string | null {
  const message = own(body, "message") ?? own(body, "msg");
  const parts = isFields(message)
    ? [textOf(own(message, "code")), textOf(own(message, "message"))]
    : [textOf(own(body, "error")), textOf(message)];
  const text = parts.filter((part) => part !== null).join(": ");
  return text === "" ? null : text;
}

function requestIdOf(body: Fields): string | null {
  const data = own(body, "data");
  return textOf(own(body, "requestId")) ?? (isFields(data) ? textOf(own(data, "requestId")) : null);
}
