/** One retained message; an empty payload clears the topic. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

export const clear = (topic: string): Message => ({ topic, payload: "" });

/** The items of one answer share when they were measured and received, so the last two texts are kept. */
export const isoOrNull = rememberingTwo((at) => new Date(at).toISOString());

function rememberingTwo(textOf: (at: number) => string): (at: number | null) => string | null {
  let newest = { at: NaN, text: "" };
  let older = newest;
  return (at) => {
    if (at === null) return null;
    if (at === newest.at) return newest.text;
    if (at === older.at) return older.text;
    older = newest;
    newest = { at, text: textOf(at) };
    return newest.text;
  };
}

/** A number without exponent, as plain-text consumers expect it. */
export function valueText(value: number | string): string {
  if (typeof value === "string") return value;
  const text = String(value);
  if (!text.includes("e")) return text;
  return Math.abs(value) < 1 ? value.toFixed(12).replace(/\.?0+$/, "") : String(BigInt(Math.trunc(value)));
}
