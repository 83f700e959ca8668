import { type Command, InvalidArgumentError, Option } from "commander";
import { readOnlyOperations } from "../platform/operations.js";
import { parseTypes } from "../setup/discover/survey.js";
import type { InitCommandOptions } from "./configuration.js";
import type { DiscoverOptions } from "./discover.js";
import type { DoctorOptions } from "./doctor.js";
import type { JournalOptions } from "./journal.js";
import type { SetOptions } from "./set.js";
import type { CommonOptions, Surroundings } from "./surroundings.js";
import type { DemoOptions, SimulateOptions } from "./trials.js";

/* What an option may be; the error names what was expected. */

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };
}

export function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("expected a number above 0");
}

export function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text;
    throw new InvalidArgumentError(`expected one of ${words.join(", ")}`);
  };
}

/* What `--help` says beyond the options: groups, examples, exit codes. */

export const groups = {
  use: "Run it:",
  trial: "Try it without a greenhouse:",
  setup: "Set it up:",
  ask: "Ask and command:",
} as const;

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

/** The options that every command takes. */
const commonOptions = {
  config: () => new Option("-c, --config <file>", "configuration file").default("config.yaml"),
  "log-level": () => new Option("--log-level <level>", levels.join(", ")).argParser(oneOf(levels)),
  "data-dir": () => new Option("--data-dir <folder>", "where journal, token and caches are kept"),
} as const;

type CommonName = keyof typeof commonOptions;
const commonNames = Object.keys(commonOptions) as readonly CommonName[];

/** Every command takes all of them; help shows those that mean something to it. */
export function common(command: Command, shown: readonly CommonName[] = commonNames): Command {
  const hidden = commonNames.filter((name) => !shown.includes(name));
  for (const name of commonNames) {
    const option = commonOptions[name]();
    command.addOption(shown.includes(name) ? option : option.hideHelp());
  }
  if (hidden.length === 0) return command;
  const flags = hidden.map((name) => `--${name}`).join(", ");
  return command.addHelpText("after", `\n(${flags}: taken by every command, without meaning here.)`);
}

export function examples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText(
    "after",
    ["", lines.length === 1 ? "Example:" : "Examples:", ...lines.map((line) => `  ${line}`)].join("\n"),
  );
}

export const rootHelp = [
  "",
  "Every command takes -c, --config <file> (default: config.yaml), --log-level <level>, --data-dir <folder> and --help,",
  "which also shows examples.",
  "",
  "Exit codes:",
  "  0  done",
  "  1  failed at run time",
  "  2  wrong usage or configuration",
  "  3  `set` did not end confirmed or already there (or as the dry run that was asked for)",
  "",
  "Examples:",
  "  greenhouse2mqtt demo                       a simulated greenhouse, nothing to configure",
  "  greenhouse2mqtt init                       write a first config.yaml",
  "  greenhouse2mqtt doctor                     does everything work?",
  "  greenhouse2mqtt discover -o found.yaml     which controllers and actuators are there?",
  "  greenhouse2mqtt                            run the bridge",
].join("\n");

export const getHelp = [
  "",
  "Operations:",
  ...readOnlyOperations.map(({ name, host }) => `  ${name.padEnd(20)} ${host} host`),
].join("\n");

/** By name only: the simulated platform is loaded by the commands that use it. */
const profileNames: readonly NonNullable<SimulateOptions["profile"]>[] = [
  "default",
  "list",
  "records",
  "rows",
  "keyed",
  "channels",
  "text",
  "entries",
  "mode_stays",
  "odd",
];

/* Each command is a file of its own, loaded only when it is called: start-up time is a feature on a small computer. */

const simulateExamples = ["greenhouse2mqtt simulate --controllers 3 --profile records > config.yaml"];
const initExamples = [
  "greenhouse2mqtt init",
  "greenhouse2mqtt init --business-url https://business.example.com --realtime-url https://realtime.example.com \\",
  "    --token-env GREENHOUSE_TOKEN --embedded",
];
const doctorExamples = [
  "greenhouse2mqtt doctor",
  "greenhouse2mqtt doctor --redact > report.txt   to be shown to others",
];
const getExamples = [
  "greenhouse2mqtt get station",
  "greenhouse2mqtt get sensor-data deviceCode=GH-0001",
  "greenhouse2mqtt get get-value deviceCode=GH-0001 address=101 flush=1",
];
const setExamples = [
  "greenhouse2mqtt set GH-0001 left_skylight 45",
  "greenhouse2mqtt set GH-0001 roof_fans all_on --dry-run",
  "greenhouse2mqtt set GH-0001 parameter/ec_target 1.8",
];
const journalExamples = [
  "greenhouse2mqtt journal --since 24h",
  "greenhouse2mqtt journal --controller GH-0001 --follow",
];

const languageOption = (before: "en" | "zh") =>
  new Option(
    "--language <language>",
    "of the names of stations, controllers and actuators; sensors keep the platform's",
  )
    .choices(["en", "zh"])
    .default(before);

export function addTrials(root: Command, around: Surroundings): void {
  common(
    examples(
      root.command("demo"),
      "greenhouse2mqtt demo --controllers 2 --speed 60 --language zh",
    ).description("simulated platform, embedded broker and bridge in one process; needs no configuration"),
    ["log-level", "data-dir"],
  )
    .addOption(languageOption("en"))
    .option("--controllers <n>", "controllers of the simulated account", wholeNumber(1, 10_000), 6)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", "how much faster than real time the greenhouses live", positive, 1)
    .action(async (options: CommonOptions & DemoOptions) => {
      await (await import("./trials.js")).demo(options, around);
    });
  const simulate = root.command("simulate").description("the simulated platform alone, on a port");
  common(examples(simulate, ...simulateExamples), ["log-level"])
    .addOption(languageOption("zh"))
    .option("--port <n>", "port of both hosts", wholeNumber(0, 65_535), 8090)
    .option("--controllers <n>", "controllers of the account", wholeNumber(1, 10_000), 20)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", "how much faster than real time the greenhouses live", positive, 1)
    .addOption(
      new Option("--profile <name>", "dialect of everything the interface leaves open")
        .choices(profileNames)
        .default("default"),
    )
    .option("--faults <file>", "JSON file of faults to come")
    .action(async (options: CommonOptions & SimulateOptions) => {
      await (await import("./trials.js")).simulate(options, around);
    });
}

export function addSetupCommands(root: Command, around: Surroundings): void {
  common(
    examples(root.command("init"), ...initExamples).description(
      "ask for hosts, credential and broker, try them, and write a first config.yaml",
    ),
    ["config"],
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
      await (await import("./configuration.js")).init(options, around);
    });
  common(
    examples(root.command("doctor"), ...doctorExamples).description(
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

export function addConfigurationCommands(root: Command, around: Surroundings): void {
  common(
    examples(
      root.command("check"),
      "greenhouse2mqtt check",
      "greenhouse2mqtt check north.yaml south.yaml   also clashes between them",
    ).description("read configurations and say what is wrong and where; touches no network"),
    ["config"],
  )
    .argument("[files...]", "default: the file of --config")
    .action(async (files: string[], options: CommonOptions) => {
      await (await import("./configuration.js")).check(files.length > 0 ? files : [options.config], around);
    });
  const schemaCommand = root.command("schema").description("JSON Schema of the configuration, for editors");
  common(examples(schemaCommand, "greenhouse2mqtt schema > schema.json"), []).action(async () => {
    const { schema } = await import("./configuration.js");
    schema(around);
  });
  const passwdCommand = root
    .command("passwd")
    .description(
      "make a password hash for the embedded broker; asks without showing what is typed, or reads a line of a pipe",
    );
  common(examples(passwdCommand, "greenhouse2mqtt passwd"), []).action(async () => {
    await (await import("./configuration.js")).passwd(around);
  });
}

export function addPlatformCommands(root: Command, around: Surroundings): void {
  const get = root.command("get").description("one read-only GET the interface names, printed as JSON");
  common(examples(get.addHelpText("after", getHelp), ...getExamples))
    .argument("<operation>", "one of the operations below")
    .argument("[parameters...]", "key=value, passed on")
    .action(async (operation: string, parameters: string[], options: CommonOptions) => {
      await (await import("./read.js")).get(operation, parameters, options, around);
    });
  const read = root.command("read").description("one fresh read of an address");
  common(examples(read, "greenhouse2mqtt read GH-0001 101"))
    .argument("<controller>", "topic id or device code")
    .argument("<address>")
    .action(async (controller: string, address: string, options: CommonOptions) => {
      await (await import("./read.js")).read(controller, address, options, around);
    });
  common(
    examples(root.command("cleanup"), "greenhouse2mqtt cleanup --all").description(
      "list, then clear our retained state and discovery topics; refuses while a bridge runs with them",
    ),
  )
    .option("--all", "also the bridge's own topics (bridge/…)")
    .action(async (options: CommonOptions & { all?: boolean }) => {
      await (await import("./cleanup.js")).cleanup(options, around);
    });
}

export function addCommandCommands(root: Command, around: Surroundings): void {
  common(
    examples(root.command("set"), ...setExamples).description(
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
  const journal = root.command("journal").description("past commands");
  common(examples(journal, ...journalExamples), ["config", "data-dir"])
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

const discoverExamples = [
  "greenhouse2mqtt discover -o found.yaml",
  "greenhouse2mqtt discover --controller GH-0001 --types 2,190-201",
  "greenhouse2mqtt discover --merge config.yaml   what is new since then",
];

/** Describes `discover` and its own options. */
export function discoverCommand(command: Command, around: Surroundings): void {
  examples(command, ...discoverExamples)
    .description("list controllers, sensors and addresses of the account as ready-to-use YAML; only reads")
    .option("--controller <code>", "only this one, device code or topic id; may be repeated", collected)
    .option("--types <list>", "only these control-parameter types, such as 2,190-201", typeList)
    .option("-o, --out <file>", "write a new file, mode 600, instead of stdout; never over an existing one")
    .option("--merge <file>", "print only what this configuration does not hold yet; it is not changed")
    .option("--fresh", "start over instead of going on where an interrupted scan stopped")
    .action(async (options: DiscoverOptions, self: Command) => {
      // The file to compare with also leads to the platform, unless another one is named.
      const isNamed = self.getOptionValueSource("config") !== "default";
      const config = isNamed ? options.config : (options.merge ?? options.config);
      await (await import("./discover.js")).discover({ ...options, config }, around);
    });
}

const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function typeList(text: string): NonNullable<DiscoverOptions["types"]> {
  const types = parseTypes(text);
  if (types !== null) return types;
  throw new InvalidArgumentError("expected type ids such as 2,12 or 190-201");
}
