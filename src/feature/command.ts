import type { Text } from "../language/text.js";
import type { Tell } from "../language/words.js";

/* The commands that a feature adds to the command line. */

/** A command line, with its purpose. */
export type Example = string | readonly [call: string, what: Text];

/** An option as commander takes it: its spelling, its description, and its parser. */
type OptionRow = readonly [
  flags: string,
  description: string,
  parse?: (text: string, before?: never) => unknown,
];

/** A command; `Run` is the type of its function. */
export interface CommandRow<Run> {
  readonly name: string;
  readonly description: string;
  readonly examples: readonly Example[];
  readonly options?: readonly OptionRow[];
  /** Loads the command's code when called, so that the command line starts fast on a small computer. */
  readonly run: Run;
}

/** What a feature's command is called with. */
export interface CommandCall<Configuration> {
  readonly options: Readonly<Record<string, unknown>>;
  /** Reads the configuration; mistakes in it end the command. */
  readonly read: () => Promise<Configuration>;
  /** All secrets of the configuration. */
  readonly secrets: () => Promise<readonly string[]>;
  /** Aborts when the user stops the command. */
  readonly stop: AbortSignal;
  readonly isTerminal: boolean;
  readonly out: (text: string) => void;
  readonly tell: Tell;
  /** Sends a request to the running bridge and resolves to its answer; a refusal ends the command. */
  readonly request: (name: string, fields: Readonly<Record<string, string | boolean>>) => Promise<unknown>;
  /** Retained messages of the running bridge under a filter, by topic. */
  readonly retained: (filter: string) => Promise<ReadonlyMap<string, string>>;
}
