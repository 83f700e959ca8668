import type { Logger as PinoLogger } from "pino";

/** What every part is handed: pino's levels, without its configuration. */
export type Logger = Pick<PinoLogger, "trace" | "debug" | "info" | "warn" | "error" | "fatal">;
