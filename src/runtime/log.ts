import {
  type DestinationStream,
  type Logger as PinoLogger,
  pino,
  stdSerializers,
  stdTimeFunctions,
} from "pino";
import { changed, type Text } from "../language/text.js";
import { type LogLevel, logLevels } from "./log-levels.js";
import { inert } from "./plain-text.js";
import { linesWithoutSecrets } from "./redaction.js";
import { readableStack } from "./stack-trace.js";
import { fieldsOf } from "./objects.js";

/** The logger for every part: pino's levels, without its configuration. */
export type Logger = Pick<PinoLogger, LogLevel>;

const nothing = () => undefined;

/** For parts whose log lines would only repeat what a person learns in another way. */
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
  /** Log of command results, at the configured level or a more detailed one on request; no request hides it. */
  readonly commandLog: Logger;
  readonly setLogLevel: (level: string) => void;
  /** The present level. */
  readonly logLevel: () => string;
}

/** `configured`: the level in the present configuration. */
export function adjustableLogs(log: PinoLogger, configured: () => string): AdjustableLogs {
  const commandLog = log.child({}, { level: configured() });
  const severity = (level: string) => log.levels.values[level] ?? 0;
  const setLogLevel = (level: string) => {
    log.level = level;
    commandLog.level = severity(level) < severity(configured()) ? level : configured();
  };
  return { log, commandLog, setLogLevel, logLevel: () => log.level };
}

/** Level names by pino's numbers. */
const names: Readonly<Record<number, string>> = Object.fromEntries(
  logLevels.map((level, at) => [(at + 1) * 10, level === "warn" ? "warning" : level]),
);
const colours: Readonly<Record<number, string>> = { 40: "\u001b[33m", 50: "\u001b[31m", 60: "\u001b[31m" };
const plain = "\u001b[0m";

/** The parts of a pino line; null for any other text. */
function partsOf(line: string) {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof record !== "object" || record === null) return null;
  const { level, time, msg, ...facts } = fieldsOf(record);
  return {
    severity: typeof level === "number" ? level : 30,
    at: typeof time === "string" ? time : "",
    message: typeof msg === "string" ? msg : "",
    facts,
  };
}

/** Sentences that replace a message and its facts, by message. */
export type Sentences = Readonly<Record<string, (facts: Readonly<Record<string, unknown>>) => Text>>;

/** The sentence for a line; null for none. */
function sentenceOf(
  { message, facts }: Pick<LogLine, "message" | "facts">,
  sentences: Sentences,
): Text | null {
  const sentence = Object.hasOwn(sentences, message) ? sentences[message] : undefined;
  // A sender's text must not begin a new line.
  return sentence ? changed(sentence(facts), (said) => said.replace(/\p{Cc}/gu, "\ufffd")) : null;
}

/** A JSON log line for a person: time, severity if unusual, message and facts, or the sentence for both. */
function readableLine(line: string, sentences: Sentences): string {
  const parts = partsOf(line);
  if (parts === null) return line;
  const { severity, at } = parts;
  const sentence = sentenceOf(parts, sentences);
  const message = sentence === null ? parts.message.replace(/\n/g, "\n  ") : String(sentence);
  const { err, ...facts } = sentence === null ? parts.facts : { err: undefined };
  const word =
    severity === 30
      ? ""
      : `${colours[severity] ?? ""}${names[severity] ?? ""}${colours[severity] ? plain : ""} `;
  const details = Object.entries(facts).map(
    ([key, value]) =>
      `${key}=${typeof value === "string" && !/\p{Cc}/u.test(value) ? value : JSON.stringify(value)}`,
  );
  const tail = details.length > 0 ? `  ${details.join(" ")}` : "";
  return `${at.slice(11, 19)} ${word}${inert(`${message}${tail}${stackOf(err)}`)}\n`;
}

function stackOf(err: unknown): string {
  if (typeof err !== "object" || err === null || !("stack" in err) || typeof err.stack !== "string")
    return "";
  return `\n${err.stack}`;
}

interface LogSettings {
  readonly level: string;
  readonly format: "auto" | "text" | "json";
  /** Texts that must never appear in a line, whatever wrote it; read anew for each line. */
  readonly secrets: () => readonly string[];
  readonly sentences?: Sentences;
}

interface LogTarget {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A written line of the log, without secrets. */
export interface LogLine {
  /** ISO time. */
  readonly at: string;
  /** `trace` to `fatal`, as in `log.level`. */
  readonly level: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The sentence for message and facts; null for none. */
  readonly sentence: Text | null;
}

const mostKept = 1_000;

/** The newest lines of the log, for people without access to the log itself. */
export class RecentLog {
  readonly #most: number;
  readonly #sentences: Sentences;
  #lines: string[] = [];
  #written = 0;

  constructor(most = mostKept, sentences: Sentences = {}) {
    this.#most = most;
    this.#sentences = sentences;
  }

  /** Number of lines since the start. */
  get written(): number {
    return this.#written;
  }

  /** Adds a line in pino's format, with its secrets hidden. */
  add(line: string): void {
    this.#written += 1;
    this.#lines.push(line);
    // Seldom, as each time copies all remaining lines.
    if (this.#lines.length >= 2 * this.#most) this.#lines = this.#lines.slice(-this.#most);
  }

  /** Oldest first. */
  newest(limit = this.#most): readonly LogLine[] {
    const from = Math.max(0, this.#lines.length - Math.min(limit, this.#most));
    return this.#lines.slice(from).map((line) => logLineOf(line, this.#sentences));
  }
}

function logLineOf(line: string, sentences: Sentences): LogLine {
  const { severity, ...parts } = partsOf(line) ?? {
    severity: 30,
    at: "",
    message: line.trimEnd(),
    facts: {},
  };
  const sentence = sentenceOf(parts, sentences);
  return { ...parts, level: pino.levels.labels[severity] ?? "info", sentence };
}

/** An error in pino's form, with source positions in its stack. */
function errorFacts(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const facts = stdSerializers.err(error);
  return { ...facts, stack: readableStack(facts.stack) };
}

/** Whether `target` gets sentences instead of JSON. */
const isText = ({ format }: Pick<LogSettings, "format">, target: Pick<LogTarget, "isTTY">): boolean =>
  format === "text" || (format === "auto" && target.isTTY === true);

/**
 * Makes a logger for `target`: sentences on a terminal, JSON lines elsewhere. Known secrets are hidden in every line.
 * `recent` gets each line too.
 */
export function createLogger(settings: LogSettings, target: LogTarget, recent?: RecentLog): PinoLogger {
  const hide = linesWithoutSecrets(settings.secrets);
  const { sentences = {} } = settings;
  const destination: DestinationStream = {
    write: (line) => {
      const safe = inert(hide(line));
      recent?.add(safe);
      target.write(isText(settings, target) ? readableLine(safe, sentences) : safe);
    },
  };
  const options = { level: settings.level, base: undefined, timestamp: stdTimeFunctions.isoTime };
  return pino({ ...options, serializers: { err: errorFacts } }, destination);
}
