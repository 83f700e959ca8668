import type { Logger as PinoLogger } from "pino";
import type { Logger } from "./logger.js";

export interface AdjustableLogs {
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
