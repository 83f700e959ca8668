import { msg, textOf, word } from "../language/text.js";
import { cwd } from "node:process";
import { type Command, CommanderError } from "commander";
import { addCommands, addCommandsOf, commonOptions, rootHelp, type SimulatedTraits } from "./commands.js";
import { languageOf, Speech } from "../terminal/speech.js";
import { exitCodeOf, exitCodes, usageFailure } from "../runtime/ending.js";
import {
  exitCodeAfter,
  type ProgramProcess,
  programVersion,
  type ProcessContext,
} from "../terminal/context.js";
export { toBeStartedAgain } from "../terminal/context.js";
export { endProcess } from "../runtime/ending.js";
import { inert } from "../runtime/plain-text.js";
import { stackText } from "../runtime/stack-trace.js";
import { widthOf } from "../runtime/text-table.js";
import { commanderFailure, describedAs, OurCommand } from "../terminal/usage.js";

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(argv: readonly string[], process: ProgramProcess): Promise<number> {
  const speech = new Speech();
  const context = { ...process, speech };
  try {
    await speech.choose(languageOf(process.env));
    const words = argv.slice(2);
    const root = program(context, await traitsFor(words));
    const { operands, unknown } = root.parseOptions([...words]);
    const [word] = operands;
    if (word === undefined ? unknown.length > 0 : !root.commands.some((one) => one.name() === word))
      await addFeatures(root, context);
    await refuseUnknown(word, root.commands);
    await root.parseAsync(words, { from: "user" });
    return exitCodeAfter(process.stop);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    const failure = error instanceof CommanderError ? commanderFailure(error) : error;
    const code = exitCodeOf(failure);
    const text = code === null ? stackText(failure) : speech.tell(textOf(failure));
    if (text !== "") context.err.write(`${text}\n`);
    return code ?? exitCodes.failed;
  }
}

/**
 * Loads the features, and with them the configuration's schema; only if one of their commands, or the list of all, may
 * be meant.
 */
async function addFeatures(root: Command, context: ProcessContext): Promise<void> {
  const { allFeatures } = await import("../config/schema.js");
  addCommandsOf(allFeatures, root, context);
}

/** The simulated platform is loaded only where its command may be meant. */
const traitsFor = async (words: readonly string[]): Promise<SimulatedTraits | undefined> =>
  words.includes("simulate") ? (await import("./demo.js")).simulatedTraits : undefined;

/** `run` is the default command, so a misspelt one would be taken for its argument. */
async function refuseUnknown(word: string | undefined, commands: readonly Command[]): Promise<void> {
  const names = [...commands.map((command) => command.name()), "help"];
  if (word === undefined || names.includes(word)) return;
  const near = (await import("../runtime/similar-words.js")).nearest(word, names);
  const hint = near === null ? msg`greenhouse2mqtt --help lists the commands` : msg`did you mean "${near}"?`;
  throw usageFailure(msg`there is no command "${word.slice(0, 40)}"; ${hint}`);
}

export function program(
  context: ProcessContext,
  traits: SimulatedTraits = { profiles: [], readings: [] },
): Command {
  const { tell } = context.speech;
  const inWords = (text: string) => tell(word(text));
  const root = new OurCommand("greenhouse2mqtt")
    .description(
      "Bridge between a greenhouse platform and MQTT: mirrors what the platform shows, confirms every command.",
    )
    .version(programVersion())
    .exitOverride()
    .configureOutput({ writeOut: context.out, outputError: () => undefined })
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: inWords,
      commandDescription: (command) => inWords(command.description()),
      subcommandDescription: (command) => inWords(command.description()),
      argumentDescription: ({ description, argChoices, defaultValue }) =>
        tell(describedAs(description, { choices: argChoices, usual: defaultValue })),
      optionDescription: ({ description, argChoices, defaultValue }) =>
        tell(describedAs(description, { choices: argChoices, usual: defaultValue })),
      displayWidth: widthOf,
    })
    .addHelpText("after", () => tell(rootHelp));
  for (const option of commonOptions()) root.addOption(option);
  root.hook("preAction", (_, command) => {
    requireWorkingDirectory();
    for (const [name, value] of Object.entries<unknown>(root.opts()))
      command.setOptionValueWithSource(name, value, root.getOptionValueSource(name));
    const isOfFleet = command.name() === "fleet" || root.getOptionValue("account") !== undefined;
    if (isOfFleet && root.getOptionValueSource("config") === "default")
      command.setOptionValueWithSource("config", "fleet.yaml", "default");
  });
  addCommands(root, context, traits);
  return root;
}

/**
 * Relative paths begin at the working directory. After this call Node remembers it, even if it vanishes under the
 * program.
 */
function requireWorkingDirectory(): void {
  try {
    cwd();
  } catch {
    throw usageFailure(
      msg`the folder that this was started in has gone, or another disk is mounted over it; change into one that is there (cd) and try again`,
    );
  }
}

/** The part of `process` through which uncaught errors come. */
interface EndingProcess {
  on(event: "uncaughtException", listener: (error: unknown) => void): unknown;
  listenerCount(event: "uncaughtException"): number;
  exit(code: number): void;
}

/**
 * Ends the process at an uncaught error, with its stack. Node itself would show the source line, which in the built
 * program is most of a file. A command that guards itself, as `run` does, has its own words.
 */
export function endUncaught(process: EndingProcess, err: ProcessContext["err"]): void {
  process.on("uncaughtException", (error) => {
    if (process.listenerCount("uncaughtException") > 1) return;
    err.write(`${stackText(error)}\n`);
    process.exit(exitCodes.failed);
  });
}

/** The part of `process.stdout` and `process.stderr` that is used. */
interface StandardStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/**
 * Output and log for commands. What is written is made harmless to a terminal; what is drawn is not. An `error` event
 * without a listener would end the process, so both have one: trouble of the log is ignored, and a closed pipe (`|
 * head`) ends the output alone.
 */
export function guardStreams(stdout: StandardStream, stderr: StandardStream) {
  const ended = new AbortController();
  let isLost = false;
  // There is nowhere to report it. Later lines are tried again: a full disk may be emptied, a pipe may get another
  // reader.
  stderr.on("error", () => undefined);
  const err = {
    get isTTY() {
      return stderr.isTTY === true;
    },
    write: (text: string) => stderr.write(inert(text)),
    draw: (text: string) => stderr.write(text),
  };
  stdout.on("error", (error) => {
    if (ended.signal.aborted) return;
    ended.abort();
    if (error.code === "EPIPE") return;
    isLost = true;
    err.write(`the output could not be written: ${error.message}\n`);
  });
  return {
    out: (text: string) => {
      if (!ended.signal.aborted) stdout.write(inert(text));
    },
    draw: (text: string) => {
      if (!ended.signal.aborted) stdout.write(text);
    },
    err,
    /** Aborts when the output goes nowhere any more. */
    outputEnded: ended.signal,
    /** The exit code of the process, given the command's own. */
    exitCode: (own: number) => (isLost && own === exitCodes.done ? exitCodes.failed : own),
  };
}
