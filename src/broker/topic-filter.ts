/** Whether `filter` is a well-formed topic filter: wildcards fill whole levels, `#` only the last. */
export function isTopicFilter(filter: string): boolean {
  if (filter === "" || filter.includes("\0")) return false;
  const levels = filter.split("/");
  return levels.every((level, n) => {
    if (level === "#") return n === levels.length - 1;
    return level === "+" || !/[#+]/.test(level);
  });
}

/** Whether a message on `topic` reaches a subscription to `filter` (MQTT 5, section 4.7). */
export function topicMatches(filter: string, topic: string): boolean {
  return filterCovers(filter, topic);
}

/**
 * Whether everything that `asked` can match is matched by `allowed` too. A topic is a filter without wildcards, so this
 * decides plain topics as well.
 */
export function filterCovers(allowed: string, asked: string): boolean {
  // Topics of the server's own tree are never meant by a leading wildcard.
  if (asked.startsWith("$") && !allowed.startsWith("$")) return false;
  const allowedLevels = allowed.split("/");
  const askedLevels = asked.split("/");
  for (const [n, level] of allowedLevels.entries()) {
    if (level === "#") return true;
    const other = askedLevels[n];
    if (other === undefined || other === "#") return false;
    if (level !== "+" && level !== other) return false;
  }
  return askedLevels.length === allowedLevels.length;
}
