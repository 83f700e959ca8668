import { isatty } from "node:tty";
import { Command, CommanderError } from "commander";
import {
  add,
  addCommandCommands,
  addConfigurationCommands,
  addLimitCommands,
  addPlatformCommands,
  addSetupCommands,
  addTrials,
  groups,
  rootHelp,
} from "./commands.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  programVersion,
  type Surroundings,
} from "./surroundings.js";

/** Options of every command that take a value. */
const names = ["--config", "--log-level", "--data-dir"];

/** How many words the option at the front takes; 0 when it is none of every command's. */
function wordsOf([first = "", second]: readonly string[]): number {
  const isJoined = names.some((name) => first.startsWith(`${name}=`)) || /^-c./.test(first);
  if (isJoined) return 1;
  return (first === "-c" || names.includes(first)) && second !== undefined ? 2 : 0;
}

/**
 * The words of a command line with the command in front: options of every command that stand before it are moved behind it, where the
 * command reads them. One that is given in both places counts as written behind it.
 */
function commandFirst(words: readonly string[]): readonly string[] {
  let at = 0;
  for (let more = wordsOf(words); more > 0; more = wordsOf(words.slice(at))) at += more;
  const command = words[at];
  if (at === 0 || command === undefined || command.startsWith("-")) return words;
  const rest = words.slice(at + 1);
  // `help` names a command and takes no options.
  return command === "help" ? [command, ...rest] : [command, ...words.slice(0, at), ...rest];
}

/*
 * A command is loaded when it is called, a hundred files at a time. Where a process may open only a few, Node says that a
 * package is not there.
 */

// More than a start needs, with room for the connections of a small installation.
const enoughFiles = 512;

/** Why parts of the program could not be loaded, and what to do; null for any other error. */
export function unloadable(error: unknown, openFiles: () => number | null): string | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code !== "EMFILE" && code !== "ENFILE" && code !== "ERR_MODULE_NOT_FOUND") return null;
  const limit = code === "ENFILE" ? null : openFiles();
  if (limit !== null && limit < enoughFiles)
    return `this process may open only ${limit} files at a time, too few for a start: allow ${2 * enoughFiles} (ulimit -n ${2 * enoughFiles}; LimitNOFILE= of a systemd service; --ulimit nofile= of a container)`;
  const { message } = error as Error;
  if (code === "ERR_MODULE_NOT_FOUND")
    return `a part of the program is missing: ${message.split("\n")[0] ?? ""}; install it again with its packages (npm ci)`;
  return `too many files are open at this computer: ${message}; end what holds them open, or raise the limit (ulimit -n, fs.file-max)`;
}

/** How many files this process may open; null where that is not known or not limited. */
export function openFilesLimit(): number | null {
  // The report would look up the name of every peer.
  const report = Object.assign(process.report, { excludeNetwork: true }).getReport();
  const limits: unknown = "userLimits" in report ? report.userLimits : null;
  if (typeof limits !== "object" || limits === null || !("open_files" in limits)) return null;
  const files: unknown = limits.open_files;
  const soft = typeof files === "object" && files !== null && "soft" in files ? files.soft : null;
  return typeof soft === "number" ? soft : null;
}

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(argv: readonly string[], around: Surroundings): Promise<number> {
  try {
    const root = program(around);
    const words = commandFirst(argv.slice(2));
    await refuseUnknown(words[0], root.commands);
    await root.parseAsync([...words], { from: "user" });
    return exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    const code = codeOf(error);
    const text =
      code === null ? (unloadable(error, openFilesLimit) ?? stackOf(error)) : (error as Error).message;
    if (text !== "") around.err.write(`${text}\n`);
    return code ?? exitCodes.failed;
  }
}

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** `run` is what happens without a command, so a misspelt one would be taken for its argument. */
async function refuseUnknown(word: string | undefined, commands: readonly Command[]): Promise<void> {
  const names = [...commands.map((command) => command.name()), "help"];
  if (word === undefined || word.startsWith("-") || names.includes(word)) return;
  const near = (await import("../config/problem.js")).nearest(word, names);
  const hint = near === null ? "greenhouse2mqtt --help lists the commands" : `did you mean "${near}"?`;
  throw new CommandFailure(`there is no command "${word.slice(0, 40)}"; ${hint}`, exitCodes.usage);
}

/** Errors whose message is already the sentence a person needs; by name, as what throws them is loaded only when it is called. */
const endings: Readonly<Record<string, number>> = {
  ...{ DirectoryInUse: 1, BrokerStartError: 1, JournalUnreadable: 1, PlatformError: 1 },
  ...{ FileExists: 1, NotWritten: 1, PlaceUnusable: 1, GoneAway: 1 },
  UnknownController: 2,
};

/** What the program ends with; null for an error that nobody foresaw. */
function codeOf(error: unknown): number | null {
  if (error instanceof CommandFailure) return error.exitCode;
  return error instanceof Error ? (endings[error.name] ?? null) : null;
}

function program(around: Surroundings): Command {
  const root = new Command("greenhouse2mqtt")
    .description(
      "Bridge between a greenhouse platform and MQTT: mirrors what the platform shows, confirms every command.",
    )
    .version(programVersion())
    .exitOverride()
    .configureOutput({ writeOut: around.out, writeErr: (text) => around.err.write(text) })
    .showHelpAfterError("(greenhouse2mqtt --help lists the commands)")
    .addHelpText("after", rootHelp)
    .addHelpCommand(helpCommand());
  root.commandsGroup(groups.use);
  add(root, "run", "run the bridge (what happens without a command)", [
    "greenhouse2mqtt -c /etc/greenhouse2mqtt/config.yaml",
  ]).action(async (options: CommonOptions) => (await import("./run.js")).run(options, around));
  root.commandsGroup(groups.trial);
  addTrials(root, around);
  root.commandsGroup(groups.setup);
  addSetupCommands(root, around);
  addConfigurationCommands(root, around);
  root.commandsGroup(groups.ask);
  addPlatformCommands(root, around);
  addCommandCommands(root, around);
  addLimitCommands(root, around);
  for (const command of root.commands) command.exitOverride().configureOutput(root.configureOutput());
  return root;
}

const helpCommand = (): Command =>
  new Command("help")
    .argument("[command]", "one of the others")
    .description("the same as --help behind a command")
    .helpGroup(groups.use);

/** The part of `process.stdout` and `process.stderr` that is used. */
interface StandardStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/**
 * Output and log as a command may use them. An `error` event that nobody listens to would end the process, so here both
 * have a listener: the log's trouble is nobody's fault, and a closed pipe (`| head`) ends the output, not the world.
 */
export function guardStreams(stdout: StandardStream, stderr: StandardStream) {
  const ended = new AbortController();
  let isLost = false;
  // There is nowhere to say it. Each later line is tried anew: a full disk is emptied, a pipe gets another reader.
  stderr.on("error", () => undefined);
  const err = {
    get isTTY() {
      return stderr.isTTY === true;
    },
    write: (text: string) => stderr.write(text),
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
      if (!ended.signal.aborted) stdout.write(text);
    },
    err,
    /** Aborts when the output goes nowhere any more. */
    outputEnded: ended.signal,
    /** What the process ends with, given what the command ended with. */
    exitCode: (own: number) => (isLost && own === exitCodes.done ? exitCodes.failed : own),
  };
}

/**
 * Whether somebody started this from a terminal: input, output or log belongs to one. To be asked at the start, as a
 * terminal that is closed is none any more.
 */
export const isOnTerminal = (ask: (descriptor: number) => boolean = isatty): boolean => [0, 1, 2].some(ask);
