/** Whether a topic falls under a subscription's filter (`+` one level, `#` the rest). */
export function matchesFilter(filter: string, topic: string): boolean {
  const wanted = filter.split("/");
  const levels = topic.split("/");
  for (const [place, level] of wanted.entries()) {
    if (level === "#") return true;
    if (place >= levels.length || (level !== "+" && level !== levels[place])) return false;
  }
  return wanted.length === levels.length;
}
