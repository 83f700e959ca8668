import { pino, type DestinationStream, type Logger as PinoLogger, stdTimeFunctions } from "pino";
import { withoutSecrets } from "./redaction.js";
import { readableLine } from "./readable-line.js";

export interface LogSettings {
  readonly level: string;
  readonly format: "auto" | "text" | "json";
  /** Texts that must never appear in a line, wherever they come from; asked for each line. */
  readonly secrets: () => readonly string[];
}

export interface LogTarget {
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
