import type { Logger } from "../../runtime/logger.js";

const nothing = () => undefined;

/** For parts whose own lines would only repeat what a finding says. */
export const silentLog: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
};
