import type { Logger } from "../../../src/runtime/log.js";

/** Keeps the messages, `level text`. */
export function capturedLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (...parts: unknown[]): void => {
      lines.push(`${level} ${parts.filter((part) => typeof part === "string").join(" ")}`);
    };
  const log = {
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
  };
  return { log, lines };
}
