/*
 * Chance without state: the same seed and the same place in time give the same number, whatever was read before. That
 * is what lets 10,000 controllers be evaluated only when somebody looks at them.
 */

/** Mixes two integers into an unsigned 32-bit one. */
export function mix(a: number, b: number): number {
  let h = (Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35)) >>> 0;
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}

/** A number in [0, 1) that belongs to this seed and index. */
export function chanceAt(seed: number, index: number): number {
  return mix(seed, index) / 4_294_967_296;
}

/** An unsigned 32-bit number for a text (FNV-1a). */
export function textSeed(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A curve in [0, 1) through one random value per whole `x`, smooth in between. */
export function smoothChance(seed: number, x: number): number {
  const index = Math.floor(x);
  const part = x - index;
  const eased = part * part * (3 - 2 * part);
  const before = chanceAt(seed, index);
  return before + (chanceAt(seed, index + 1) - before) * eased;
}

export const clamp = (value: number, low: number, high: number): number =>
  value < low ? low : value > high ? high : value;

/** 32 hexadecimal digits that belong to this seed and index; for ids, never for secrets. */
export function hexAt(seed: number, index: number): string {
  let text = "";
  for (let part = 0; part < 4; part++)
    text += mix(mix(seed, part + 1), index)
      .toString(16)
      .padStart(8, "0");
  return text;
}

/** The same digits in the form of a UUID. */
export function uuidAt(seed: number, index: number): string {
  const hex = hexAt(seed, index);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
