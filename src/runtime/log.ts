import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { withoutSecrets } from "./redaction.js";

/** What every part is handed: pino's levels, without its configuration. */
export type Logger = Pick<PinoLogger, "trace" | "debug" | "info" | "warn" | "error" | "fatal">;

const nothing = () => undefined;

/** For parts whose own lines would only repeat what a person is told otherwise. */
export const silentLog: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
};

interface AdjustableLogs {
  readonly log: Logger;
  /** What became of commands: shown as configured, or as was asked for where that is more; no request hides it. */
  readonly commandLog: Logger;
  readonly setLogLevel: (level: string) => void;
}

/** `configured` is the level of the configuration in force. */
export function adjustableLogs(log: PinoLogger, configured: () => string): AdjustableLogs {
  const commandLog = log.child({}, { level: configured() });
  const severity = (level: string) => log.levels.values[level] ?? 0;
  const setLogLevel = (level: string) => {
    log.level = level;
    commandLog.level = severity(level) < severity(configured()) ? level : configured();
  };
  return { log, commandLog, setLogLevel };
}

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
function readableLine(line: string): string {
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

interface LogSettings {
  readonly level: string;
  readonly format: "auto" | "text" | "json";
  /** Texts that must never appear in a line, wherever they come from; asked for each line. */
  readonly secrets: () => readonly string[];
}

interface LogTarget {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A logger for `target`: sentences on a terminal, JSON lines elsewhere; known secrets are blotted out of every line. */
export function createLogger(settings: LogSettings, target: LogTarget): PinoLogger {
  const readable = settings.format === "text" || (settings.format === "auto" && target.isTTY === true);
  const hide = withoutSecrets(settings.secrets);
  const destination: DestinationStream = {
    write: (line) => {
      const safe = hide(line);
      target.write(readable ? readableLine(safe) : safe);
    },
  };
  return pino({ level: settings.level, base: undefined, timestamp: stdTimeFunctions.isoTime }, destination);
}
