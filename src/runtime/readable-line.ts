const names: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warning",
  50: "error",
  60: "fatal",
};
const colours: Readonly<Record<number, string>> = { 40: "\u001b[33m", 50: "\u001b[31m", 60: "\u001b[31m" };
const plain = "\u001b[0m";

/** One JSON log line as a person reads it: time, severity where it matters, message, then the facts. */
export function readableLine(line: string): string {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof record !== "object" || record === null) return line;
  const { level, time, msg, err, ...facts } = record as Record<string, unknown>;
  const severity = typeof level === "number" ? level : 30;
  const word =
    severity === 30
      ? ""
      : `${colours[severity] ?? ""}${names[severity] ?? ""}${colours[severity] ? plain : ""} `;
  const clock = typeof time === "string" ? time.slice(11, 19) : "";
  const details = Object.entries(facts).map(
    ([key, value]) =>
      `${key}=${typeof value === "string" && !/\p{Cc}/u.test(value) ? value : JSON.stringify(value)}`,
  );
  const tail = details.length > 0 ? `  ${details.join(" ")}` : "";
  return `${clock} ${word}${typeof msg === "string" ? msg : ""}${tail}${stackOf(err)}\n`;
}

function stackOf(err: unknown): string {
  if (typeof err !== "object" || err === null || !("stack" in err) || typeof err.stack !== "string")
    return "";
  return `\n${err.stack}`;
}
