import { Command, CommanderError, InvalidArgumentError } from "commander";
import { commandFirst } from "./command-first.js";
import { CommandFailure, exitCodes, programVersion, type Surroundings } from "./surroundings.js";
import type { CommonOptions } from "./configuration.js";
import type { DoctorOptions } from "./doctor.js";
import { discoverCommand } from "./discover-command.js";
import type { InitCommandOptions } from "./init.js";
import type { JournalOptions } from "./journal.js";
import type { SetOptions } from "./set.js";
import type { SimulateOptions } from "./simulate.js";
import { openFilesLimit, unloadable } from "./unloadable.js";

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

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

/** Each command is a file of its own, loaded only when it is called: start-up time is a feature on a small computer. */
function program(around: Surroundings): Command {
  const root = new Command("greenhouse2mqtt")
    .description(
      "Bridge between a greenhouse platform and MQTT: mirrors what the platform shows, confirms every command.",
    )
    .version(programVersion())
    .exitOverride()
    .configureOutput({ writeOut: around.out, writeErr: (text) => around.err.write(text) })
    .showHelpAfterError("(greenhouse2mqtt --help lists the commands)");
  common(root.command("run", { isDefault: true }).description("run the bridge")).action(
    async (options: CommonOptions) => {
      await (await import("./run.js")).run(options, around);
    },
  );
  addTrials(root, around);
  addSetupCommands(root, around);
  addConfigurationCommands(root, around);
  addPlatformCommands(root, around);
  discoverCommand(common(root.command("discover")), around);
  addCommandCommands(root, around);
  for (const command of root.commands) command.exitOverride().configureOutput(root.configureOutput());
  return root;
}

function common(command: Command): Command {
  return command
    .option("-c, --config <file>", "configuration file", "config.yaml")
    .option("--log-level <level>", "trace, debug, info, warn, error or fatal", oneOf(levels))
    .option("--data-dir <folder>", "where journal, token and caches are kept");
}

function addTrials(root: Command, around: Surroundings): void {
  common(
    root
      .command("demo")
      .description("simulated platform, embedded broker and bridge in one process; needs no configuration"),
  )
    .option("--controllers <n>", "controllers of the simulated account", wholeNumber(1, 10_000), 6)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", "how much faster than real time the greenhouses live", positive, 1)
    .action(async (options: CommonOptions & SimulateOptions) => {
      await (await import("./demo.js")).demo(options, around);
    });
  common(root.command("simulate").description("the simulated platform alone, on a port"))
    .option("--port <n>", "port of both hosts", wholeNumber(0, 65_535), 8090)
    .option("--controllers <n>", "controllers of the account", wholeNumber(1, 10_000), 20)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", "how much faster than real time the greenhouses live", positive, 1)
    .option("--profile <name>", "dialect of everything the interface leaves open", "default")
    .option("--faults <file>", "JSON file of faults to come")
    .action(async (options: CommonOptions & SimulateOptions) => {
      await (await import("./simulate.js")).simulate(options, around);
    });
}

function addSetupCommands(root: Command, around: Surroundings): void {
  common(
    root
      .command("init")
      .description("ask for hosts, credential and broker, try them, and write a first config.yaml"),
  )
    .option("--business-url <url>", "business host; with all of these options nothing is asked")
    .option("--realtime-url <url>", "realtime host")
    .option("--allow-insecure", "allow http to another computer")
    .option("--token-env <name>", "environment variable that holds the token")
    .option("--token-file <path>", "file that holds the token")
    .option("--mqtt-url <url>", "broker")
    .option("--mqtt-username <name>", "user at the broker")
    .option("--mqtt-password-env <name>", "environment variable that holds its password")
    .option("--embedded", "use the embedded broker")
    .option("--no-try", "do not connect to anything")
    .action(async (options: InitCommandOptions) => {
      await (await import("./init.js")).init(options, around);
    });
  common(
    root
      .command("doctor")
      .description(
        "connect to both hosts and the broker and report what works, line by line; changes nothing",
      ),
  )
    .option("--json", "one JSON document instead of lines")
    .option("--redact", "for a bug report: without hosts, codes, names and tokens")
    .option("--record <folder>", "also save scrubbed answers of the platform, as files for tests")
    .action(async (options: DoctorOptions) => {
      await (await import("./doctor.js")).doctor(options, around);
    });
}

function addConfigurationCommands(root: Command, around: Surroundings): void {
  common(
    root
      .command("check")
      .description("read configurations and say what is wrong and where; touches no network"),
  )
    .argument("[files...]", "default: the file of --config")
    .action(async (files: string[], options: CommonOptions) => {
      await (await import("./check.js")).check(files.length > 0 ? files : [options.config], around);
    });
  common(root.command("schema").description("JSON Schema of the configuration, for editors")).action(
    async () => {
      const { schema } = await import("./schema.js");
      schema(around);
    },
  );
  common(
    root
      .command("passwd")
      .description("make a password hash for the embedded broker; reads the password from stdin"),
  ).action(async () => {
    await (await import("./passwd.js")).passwd(around);
  });
}

function addPlatformCommands(root: Command, around: Surroundings): void {
  common(root.command("get").description("one read-only GET the interface names, printed as JSON"))
    .argument("<operation>", "such as station, device or weather-data/list")
    .argument("[parameters...]", "key=value, passed on")
    .action(async (operation: string, parameters: string[], options: CommonOptions) => {
      await (await import("./get.js")).get(operation, parameters, options, around);
    });
  common(root.command("read").description("one fresh read of an address"))
    .argument("<controller>", "topic id or device code")
    .argument("<address>")
    .action(async (controller: string, address: string, options: CommonOptions) => {
      await (await import("./read.js")).read(controller, address, options, around);
    });
  common(
    root
      .command("cleanup")
      .description(
        "list, then clear our retained state and discovery topics; refuses while a bridge runs with them",
      ),
  )
    .option("--all", "also the bridge's own topics (bridge/…)")
    .action(async (options: CommonOptions & { all?: boolean }) => {
      await (await import("./cleanup.js")).cleanup(options, around);
    });
}

function addCommandCommands(root: Command, around: Surroundings): void {
  common(
    root
      .command("set")
      .description(
        "one command to an actuator or a writable parameter, with its result; exit code 3 unless it is confirmed",
      ),
  )
    .argument("<controller>", "topic id or device code")
    .argument("<actuator>", "id in the configuration; also parameter/ID or address/ADDRESS")
    .argument("<command>", "a word, a degree 0..100, a value of the kind, or a parameter's number")
    .option("--dry-run", "check everything, send nothing")
    .option("--by <name>", "who asks, for the journal; default: your user name")
    .action(async (controller: string, actuator: string, command: string, options: SetOptions) => {
      await (await import("./set.js")).set(controller, actuator, command, options, around);
    });
  common(root.command("journal").description("past commands"))
    .option("--controller <c>", "topic id or device code")
    .option("--since <time>", "an ISO time, or a duration such as 2h")
    .option(
      "--limit <n>",
      "at most so many, the newest; default: 100, with --since all",
      wholeNumber(1, 1_000_000),
    )
    .option("--json", "one object a line")
    .option("--follow", "go on with new ones until stopped")
    .action(async (options: JournalOptions) => {
      await (await import("./journal.js")).journal(options, around);
    });
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("expected a number above 0");
}

function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text;
    throw new InvalidArgumentError(`expected one of ${words.join(", ")}`);
  };
}
