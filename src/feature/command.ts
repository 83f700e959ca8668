import type { Text } from "../language/text.js";
import type { Tell } from "../language/words.js";

/* What a feature adds to the command line. */

/** A command line, and what it is for. */
export type Example = string | readonly [call: string, what: Text];

/** As commander takes it: how it is written, what it is, and what makes its value of a text. */
type OptionRow = readonly [
  flags: string,
  description: string,
  parse?: (text: string, before?: never) => unknown,
];

/** A command, by what is called with it. */
export interface CommandRow<Run> {
  readonly name: string;
  readonly description: string;
  readonly examples: readonly Example[];
  readonly options?: readonly OptionRow[];
  /** Loads its code only when it is called: the command line of a small computer starts fast. */
  readonly run: Run;
}

/** What the command line gives a feature's command. */
export interface CommandCall<Configuration> {
  readonly options: Readonly<Record<string, unknown>>;
  /** Mistakes in it end the command. */
  readonly read: () => Promise<Configuration>;
  /** All that the configuration calls secret. */
  readonly secrets: () => Promise<readonly string[]>;
  /** Aborts when the user has enough. */
  readonly stop: AbortSignal;
  readonly isTerminal: boolean;
  readonly out: (text: string) => void;
  readonly tell: Tell;
  /** What the running bridge answers to a request; its refusal ends the command. */
  readonly request: (name: string, fields: Readonly<Record<string, string | boolean>>) => Promise<unknown>;
  /** What the running bridge keeps at the broker under a filter, by topic. */
  readonly retained: (filter: string) => Promise<ReadonlyMap<string, string>>;
}
