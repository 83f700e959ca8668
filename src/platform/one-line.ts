/** One line that fits into a log: at most `max` characters, control characters become blanks. */
export function oneLine(text: string, max: number): string {
  const line = text.slice(0, max).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return text.length > max ? `${line}…` : line;
}
