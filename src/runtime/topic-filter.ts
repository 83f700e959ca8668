/**
 * Whether everything that `asked` can match is matched by `filter` too (MQTT 5, section 4.7). A topic is a filter without
 * wildcards, so this decides plain topics as well.
 */
export function filterCovers(filter: string, asked: string): boolean {
  // Topics of the server's own tree are never meant by a leading wildcard.
  if (asked.startsWith("$") && !filter.startsWith("$")) return false;
  const levels = filter.split("/");
  const askedLevels = asked.split("/");
  for (const [n, level] of levels.entries()) {
    if (level === "#") return true;
    const other = askedLevels[n];
    if (other === undefined || other === "#") return false;
    if (level !== "+" && level !== other) return false;
  }
  return askedLevels.length === levels.length;
}
