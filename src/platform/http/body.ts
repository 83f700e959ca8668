import { gunzipSync } from "node:zlib";

export class UndecodableBody extends Error {
  override name = "UndecodableBody" as const;
}

/**
 * The body without its content encoding, which is gzip as every request asks for it. Throws UndecodableBody for another
 * encoding, for broken data and for more than `maxMiB`. Synchronous, which is harmless as the output is bounded.
 */
export function inflated(body: Buffer, encoding: string | undefined, maxMiB: number): Buffer {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity" || body.length === 0) return body;
  if (name !== "gzip")
    throw new UndecodableBody(`content encoding ${JSON.stringify(name.slice(0, 40))} is not supported`);
  try {
    return gunzipSync(body, { maxOutputLength: maxMiB * 1024 * 1024 });
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    throw new UndecodableBody(isTooLarge ? `more than ${maxMiB} MiB when unpacked` : "broken gzip data");
  }
}

export class UnreadableJson extends Error {
  override name = "UnreadableJson" as const;
}

const maxDepth = 500;
/** Shorter numbers never lose a digit. */
const longRun = 16;

/**
 * JSON text (a byte order mark is allowed) as a value. Integers beyond 2^53 come as text, without loss. Throws UnreadableJson
 * for broken text and for more than 500 levels: deeper ones would overflow a function that walks them.
 */
export function parseJson(body: Buffer): unknown {
  const decoded = body.toString("utf8");
  const text = withLongsQuoted(decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded);
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw new UnreadableJson("broken or cut JSON");
  }
}

/** The text with its long integers in quotation marks; itself where there are none. Strings are jumped over. */
function withLongsQuoted(text: string): string {
  let quoted = "";
  let copied = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) at = stringEnd(text, at);
    else if (unit === 0x7d || unit === 0x5d) depth -= 1;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > maxDepth) throw new UnreadableJson(`nested deeper than ${maxDepth} levels`);
    } else if (isDigit(unit) || unit === 0x2d) {
      const end = numberEnd(text, at);
      if (end - at >= longRun && isLossy(text.slice(at, end))) {
        quoted += `${text.slice(copied, at)}"${text.slice(at, end)}"`;
        copied = end;
      }
      at = end - 1;
    }
  }
  return copied === 0 ? text : quoted + text.slice(copied);
}

/** Index of the quote that closes the string opened at `start`; the text's end when none does. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function numberEnd(text: string, start: number): number {
  let end = start + 1;
  while (isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** A digit, `+`, `-`, `.`, `E` or `e`. */
const isOfNumber = (unit: number): boolean =>
  isDigit(unit) || unit === 0x2b || unit === 0x2d || unit === 0x2e || unit === 0x45 || unit === 0x65;

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

const isLossy = (token: string): boolean => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
