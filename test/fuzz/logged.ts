/** Lines of the log at `error` or above, and those that are none of the log's. */
export const errorsIn = (log: string): readonly string[] => log.split("\n").filter((line) => isError(line));

function isError(line: string): boolean {
  if (line === "") return false;
  try {
    const entry = JSON.parse(line) as { readonly level?: unknown };
    return typeof entry.level !== "number" || entry.level >= 50;
  } catch {
    return true;
  }
}
