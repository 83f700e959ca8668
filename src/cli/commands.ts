import { Option, type Command } from "commander";
import type { CommonOptions } from "./configuration.js";
import type { DemoOptions } from "./demo.js";
import type { DoctorOptions } from "./doctor.js";
import { common, examples, getHelp, profileNames } from "./help.js";
import type { InitCommandOptions } from "./init.js";
import type { JournalOptions } from "./journal.js";
import { positive, wholeNumber } from "./option-values.js";
import type { SetOptions } from "./set.js";
import type { SimulateOptions } from "./simulate.js";
import type { Surroundings } from "./surroundings.js";

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
      await (await import("./demo.js")).demo(options, around);
    });
  const simulate = root.command("simulate").description("the simulated platform alone, on a port");
  common(examples(simulate, ...simulateExamples), ["log-level"])
    .addOption(languageOption("zh"))
    .option("--port <n>", "port of both hosts", wholeNumber(0, 65_535), 8090)
    .option("--controllers <n>", "controllers of the account", wholeNumber(1, 10_000), 20)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", "how much faster than real time the greenhouses live", positive, 1)
    .option(
      "--profile <name>",
      `dialect of everything the interface leaves open: ${profileNames.join(", ")}`,
      "default",
    )
    .option("--faults <file>", "JSON file of faults to come")
    .action(async (options: CommonOptions & SimulateOptions) => {
      await (await import("./simulate.js")).simulate(options, around);
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
      await (await import("./init.js")).init(options, around);
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
      await (await import("./check.js")).check(files.length > 0 ? files : [options.config], around);
    });
  const schemaCommand = root.command("schema").description("JSON Schema of the configuration, for editors");
  common(examples(schemaCommand, "greenhouse2mqtt schema > schema.json"), []).action(async () => {
    const { schema } = await import("./schema.js");
    schema(around);
  });
  const passwdCommand = root
    .command("passwd")
    .description(
      "make a password hash for the embedded broker; asks without showing what is typed, or reads a line of a pipe",
    );
  common(examples(passwdCommand, "greenhouse2mqtt passwd"), []).action(async () => {
    await (await import("./passwd.js")).passwd(around);
  });
}

export function addPlatformCommands(root: Command, around: Surroundings): void {
  const get = root.command("get").description("one read-only GET the interface names, printed as JSON");
  common(examples(get.addHelpText("after", getHelp), ...getExamples))
    .argument("<operation>", "one of the operations below")
    .argument("[parameters...]", "key=value, passed on")
    .action(async (operation: string, parameters: string[], options: CommonOptions) => {
      await (await import("./get.js")).get(operation, parameters, options, around);
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
