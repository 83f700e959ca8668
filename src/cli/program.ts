import { Command, CommanderError } from "commander";
import { commandFirst } from "./command-first.js";
import { CommandFailure, exitCodes, programVersion, type Surroundings } from "./surroundings.js";
import type { CommonOptions } from "./configuration.js";
import { discoverCommand } from "./discover-command.js";
import {
  addCommandCommands,
  addConfigurationCommands,
  addPlatformCommands,
  addSetupCommands,
  addTrials,
} from "./commands.js";
import { common, examples, groups, rootHelp } from "./help.js";
import { openFilesLimit, unloadable } from "./unloadable.js";

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
    if (error instanceof CommandFailure) {
      if (error.message !== "") around.err.write(`${error.message}\n`);
      return error.exitCode;
    }
    if (isForTheUser(error)) {
      around.err.write(`${error.message}\n`);
      return exitCodes.failed;
    }
    const cause = unloadable(error, openFilesLimit);
    if (cause !== null) {
      around.err.write(`${cause}\n`);
      return exitCodes.failed;
    }
    around.err.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return exitCodes.failed;
  }
}

/** `run` is what happens without a command, so a misspelt one would be taken for its argument. */
async function refuseUnknown(word: string | undefined, commands: readonly Command[]): Promise<void> {
  const names = [...commands.map((command) => command.name()), "help"];
  if (word === undefined || word.startsWith("-") || names.includes(word)) return;
  const near = (await import("../config/nearest.js")).nearest(word, names);
  const hint = near === null ? "greenhouse2mqtt --help lists the commands" : `did you mean "${near}"?`;
  throw new CommandFailure(`there is no command "${word.slice(0, 40)}"; ${hint}`, exitCodes.usage);
}

/** Errors whose message is already the sentence a person needs. */
const isForTheUser = (error: unknown): error is Error =>
  error instanceof Error && ["DirectoryInUse", "BrokerStartError", "JournalUnreadable"].includes(error.name);

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
  const run = root
    .command("run", { isDefault: true })
    .description("run the bridge (what happens without a command)");
  examples(common(run), "greenhouse2mqtt -c /etc/greenhouse2mqtt/config.yaml").action(
    async (options: CommonOptions) => {
      await (await import("./run.js")).run(options, around);
    },
  );
  root.commandsGroup(groups.trial);
  addTrials(root, around);
  root.commandsGroup(groups.setup);
  addSetupCommands(root, around);
  discoverCommand(common(root.command("discover")), around);
  addConfigurationCommands(root, around);
  root.commandsGroup(groups.ask);
  addPlatformCommands(root, around);
  addCommandCommands(root, around);
  for (const command of root.commands) command.exitOverride().configureOutput(root.configureOutput());
  return root;
}

const helpCommand = (): Command =>
  new Command("help")
    .argument("[command]", "one of the others")
    .description("the same as --help behind a command")
    .helpGroup(groups.use);
