/** One retained message; an empty payload clears the topic. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

export const clear = (topic: string): Message => ({ topic, payload: "" });

export const isoOrNull = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

/** A number without exponent, as plain-text consumers expect it. */
export function valueText(value: number | string): string {
  if (typeof value === "string") return value;
  const text = String(value);
  if (!text.includes("e")) return text;
  return Math.abs(value) < 1 ? value.toFixed(12).replace(/\.?0+$/, "") : String(BigInt(Math.trunc(value)));
}
