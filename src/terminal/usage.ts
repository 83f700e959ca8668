import { isIP } from "node:net";
import { type Argument, Command, type CommanderError, type Option } from "commander";
import { parseDuration, parseTerm, parseUntil } from "../runtime/duration.js";
import { counted, joined, msg, row, type Text, TextError, textOf, word } from "../language/text.js";
import { type CommandFailure, usageFailure } from "../runtime/ending.js";

/* Values of options, and errors of a command line in our own words. */

/** A value that an option or argument cannot have; the sentence says what was expected. */
export class WrongValue extends TextError {}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw new WrongValue(msg`expected a whole number from ${least} to ${most}`);
  };
}

export function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new WrongValue(msg`expected a number above 0`);
}

export function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text;
    throw new WrongValue(msg`expected one of ${words.join(", ")}`);
  };
}

/** Parses a duration; the option's value stays as written. */
const durationBy =
  (parse: typeof parseDuration, what: Text) =>
  (text: string): string => {
    if (parse(text) !== null) return text;
    throw new WrongValue(msg`expected a duration ${what}`);
  };

/** The durations that `for` and `hold` of a command accept. */
export const term = durationBy(parseTerm, msg`from 1s to 24h, such as 20m`);
export const span = durationBy(parseDuration, msg`such as 30s`);

export const untilText = (text: string): string => {
  if (parseUntil(text, 0) !== null) return text;
  throw new WrongValue(msg`expected a duration such as "3h", or an ISO time with its zone`);
};

/** Refuses a host name for a listener, as it could lead anywhere. */
export function refuseHostName(host: string): void {
  if (isIP(host) !== 0) return;
  throw usageFailure(msg`--host: expected an IP address, such as 0.0.0.0 for every address of this computer`);
}

const hint = msg`(greenhouse2mqtt --help lists the commands)`;

const misused = (what: Text): CommandFailure => usageFailure(row`${msg`error: ${what}`}\n${hint}`);

/** A command that refuses values in our own words. */
export class OurCommand extends Command {
  override createCommand(name?: string): OurCommand {
    return new OurCommand(name);
  }

  override addOption(option: Option): this {
    saysWhatIsWrong(
      option,
      (value, why) => msg`option '${option.flags}' argument '${value}' is invalid. ${why}`,
    );
    return super.addOption(option);
  }

  override addArgument(argument: Argument): this {
    saysWhatIsWrong(
      argument,
      (value, why) =>
        msg`command-argument value '${value}' is invalid for argument '${argument.name()}'. ${why}`,
    );
    return super.addArgument(argument);
  }
}

type Parse = <Value>(value: string, previous: Value) => Value;

function saysWhatIsWrong(
  target: { parseArg?: Parse; readonly argChoices?: readonly string[] },
  sentence: (value: string, why: Text) => Text,
): void {
  const { parseArg: parse, argChoices: choices } = target;
  if (parse === undefined) return;
  target.parseArg = (value, previous) => {
    if (choices !== undefined && !choices.includes(value))
      throw misused(sentence(value, msg`Allowed choices are ${choices.join(", ")}.`));
    try {
      return parse(value, previous);
    } catch (error) {
      throw error instanceof WrongValue ? misused(sentence(value, textOf(error))) : error;
    }
  };
}

/** Sentences by the error codes of commander, whose messages quote the word concerned. */
const sentences: Readonly<Record<string, (what: string) => Text>> = {
  unknownOption: (what) => msg`unknown option '${what}'`,
  unknownCommand: (what) => msg`unknown command '${what}'`,
  missingArgument: (what) => msg`missing required argument '${what}'`,
  optionMissingArgument: (what) => msg`option '${what}' argument missing`,
};

const conflict = /option '(.*)' cannot be used with option '(.*)'/;
const excess = /Expected (\d+) arguments? but got (\d+)/;
const meant = /\(Did you mean (?:one of )?(.*)\?\)/;

/** Turns a refusal of commander into a sentence of ours. */
export function commanderFailure({ code, message }: CommanderError): CommandFailure {
  const [, quoted = ""] = /'(.*)'/.exec(message) ?? [];
  const [, expected, got = ""] = excess.exec(message) ?? [];
  const [, near] = meant.exec(message) ?? [];
  if (expected !== undefined)
    return misused(
      msg`too many arguments for '${quoted}'. Expected ${counted(Number(expected), "argument", "arguments")} but got ${got}.`,
    );
  const [, one, other = ""] = conflict.exec(message) ?? [];
  if (one !== undefined) return misused(msg`option '${one}' cannot be used with option '${other}'`);
  const sentence = sentences[code.replace("commander.", "")]?.(quoted) ?? message;
  return misused(near === undefined ? sentence : row`${sentence}\n${msg`(Did you mean ${near}?)`}`);
}

/** The description of an option or argument, with its choices and its default. */
export function describedAs(
  description: string,
  { choices, usual }: { readonly choices: readonly string[] | undefined; readonly usual: unknown },
): Text {
  const what = word(description);
  const isShown = usual !== undefined && usual !== false;
  const all = joined(
    (choices ?? []).map((choice) => JSON.stringify(choice)),
    ", ",
  );
  if (choices !== undefined && isShown)
    return msg`${what} (choices: ${all}, default: ${JSON.stringify(usual)})`;
  if (choices !== undefined) return msg`${what} (choices: ${all})`;
  return isShown ? msg`${what} (default: ${JSON.stringify(usual)})` : what;
}
