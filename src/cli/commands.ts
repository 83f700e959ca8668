import { type Command, Option } from "commander";
import { joined, msg, row, type Text } from "../language/text.js";
import type { Configuration } from "../config/schema.js";
import type { CommandRow, Example } from "../feature/command.js";
import type { Faces } from "../feature/feature.js";
import { type Language, ofNames } from "../greenhouse/labels.js";
import { readOnlyOperations } from "../platform/operations.js";
import { logLevels } from "../runtime/log-levels.js";
import type { FleetOptions } from "./fleet.js";
import { setupCommands } from "../setup/commands.js";
import { type CommonOptions, lazily, type ProcessContext } from "../terminal/context.js";
import { oneOf, positive, span, term, untilText, wholeNumber } from "../terminal/usage.js";

/* What `--help` says beyond the options: groups, examples, exit codes. */

/** Options of every command, before or behind its name. */
export const commonOptions = (): readonly Option[] => [
  new Option("-c, --config <file>", "configuration file").default("config.yaml"),
  new Option(
    "--account <name>",
    "one account of a fleet; --config then names the fleet's file (default: fleet.yaml)",
  ),
  new Option("--log-level <level>", logLevels.join(", ")).argParser(oneOf(logLevels)),
  new Option("--data-dir <folder>", "where journal, token and caches are kept"),
];

const runLazily = lazily(async () => (await import("./run.js")).run);

/** A SIGHUP while a service is still loading would end it, so it is kept for the listener that comes later. */
function remembering(context: ProcessContext): ProcessContext {
  let isAsked = false;
  context.onReload?.(() => {
    isAsked = true;
  });
  const onReload = (listener: () => void) => {
    context.onReload?.(listener);
    if (isAsked) listener();
  };
  return { ...context, onReload };
}

type Action = Parameters<Command["action"]>[0];

/** Examples with a word of explanation stand in columns. */
function exampleLines(examples: readonly Example[]): readonly Text[] {
  const width = Math.max(...examples.map((one) => (typeof one === "string" ? 0 : one[0].length)));
  return examples.map((one) =>
    typeof one === "string" ? `  ${one}` : row`  ${one[0].padEnd(width)}   ${one[1]}`,
  );
}

/** Adds commands with their help. */
const adder =
  (root: Command, context: ProcessContext) =>
  (
    name: string,
    description: string,
    examples: readonly Example[],
    action: (context: ProcessContext) => Action,
    more: Text = "",
  ): Command =>
    root
      .command(name, { isDefault: name === "run" })
      .description(description)
      .addHelpText("after", () => {
        const head = examples.length === 1 ? msg`Example:` : msg`Examples:`;
        return context.speech.tell(joined([more, "", head, ...exampleLines(examples)], "\n"));
      })
      .action(action(context));

type Add = ReturnType<typeof adder>;

function addRow(add: Add, row: CommandRow<(context: ProcessContext) => Action>): void {
  const command = add(row.name, row.description, row.examples, row.run);
  for (const [flags, description, parse] of row.options ?? []) {
    const option = new Option(flags, description);
    if (parse !== undefined) option.argParser((text, before) => parse(text, before as never));
    command.addOption(option);
  }
}

/** Adds the commands of features, behind those of the core. */
export function addCommandsOf(
  features: readonly Pick<Faces<Configuration>, "commands">[],
  root: Command,
  context: ProcessContext,
): void {
  const add = adder(root, context);
  root.commandsGroup(askAndCommand);
  for (const { run, ...row } of features.flatMap(({ commands = [] }) => commands))
    addRow(add, {
      ...row,
      run: (process) => async (options: CommonOptions) =>
        run((await import("./feature-call.js")).callOf(process, options)),
    });
}

const askAndCommand = "Ask and command:";

const rootExamples: readonly Example[] = [
  ["greenhouse2mqtt demo", msg`a simulated greenhouse, nothing to configure`],
  ["greenhouse2mqtt init", msg`write a first config.yaml`],
  ["greenhouse2mqtt doctor", msg`does everything work?`],
  ["greenhouse2mqtt discover -o found.yaml", msg`which controllers and actuators are there?`],
  ["greenhouse2mqtt", msg`run the bridge`],
];

export const rootHelp = joined(
  [
    "",
    msg`Every command takes these options too, and --help, which also shows examples.`,
    "",
    msg`Exit codes:`,
    row`  ${msg`0  done`}`,
    row`  ${msg`1  failed at run time`}`,
    row`  ${msg`2  wrong usage or configuration`}`,
    row`  ${msg`3  \`set\` did not end confirmed or already there (or as the dry run that was asked for)`}`,
    "",
    msg`Examples:`,
    ...exampleLines(rootExamples),
  ],
  "\n",
);

const getHelp = joined(
  [
    "",
    msg`Operations:`,
    ...readOnlyOperations.map(
      ({ name, host }) =>
        row`  ${name.padEnd(20)} ${host === "business" ? msg`business host` : msg`realtime host`}`,
    ),
  ],
  "\n",
);

/** Names of what a simulated platform may be like. */
export interface SimulatedTraits {
  readonly profiles: readonly string[];
  readonly readings: readonly string[];
}

/** Adds all commands, in the order and the groups of `--help`. */
export function addCommands(root: Command, context: ProcessContext, traits: SimulatedTraits): void {
  const add = adder(root, context);
  root.commandsGroup("Run it:");
  add(
    "run",
    "run the bridge (what happens without a command)",
    ["greenhouse2mqtt -c /etc/greenhouse2mqtt/config.yaml"],
    (start) => (options: CommonOptions) => runLazily(remembering(start))(options),
  );
  addFleet(add);
  root.helpCommand("help [command]", "the same as --help behind a command");
  root.commandsGroup("Try it without a greenhouse:");
  addTrials(add, context.speech.language, traits);
  root.commandsGroup("Set it up:");
  for (const row of setupCommands) addRow(add, row);
  addSettings(add);
  addConfiguration(add);
  root.commandsGroup(askAndCommand);
  addPlatform(add);
  addHistory(add);
  addCommanding(add);
  addJournal(add);
  addLimits(add);
  addIntegration(add);
}

function addFleet(add: Add): void {
  add(
    "fleet",
    "run many accounts in one process, or say how those of a running one are",
    [
      "greenhouse2mqtt fleet -c /etc/greenhouse2mqtt/fleet.yaml",
      ["greenhouse2mqtt check fleet.yaml", msg`what is wrong in it and in the files of its accounts`],
      "greenhouse2mqtt fleet status",
      ["greenhouse2mqtt set GH-0001 roof close --account north", msg`every command takes an account`],
    ],
    (start) => (what: string | undefined, options: FleetOptions) =>
      fleetLazily(remembering(start))(what, options),
  )
    .argument("[status]", "how each account of the running fleet is", oneOf(["status"]))
    .option("--json", "with status: one JSON document");
}

const fleetLazily = lazily(async () => (await import("./fleet.js")).fleet);

const languageOption = (before: Language) =>
  new Option(
    "--language <language>",
    "of the names of stations, controllers and actuators; sensors keep the platform's",
  )
    .choices(["en", "zh"])
    .default(ofNames(before));

const accountOptions = (
  command: Command,
  controllers: number,
  { ofAccount, speed }: { readonly ofAccount: string; readonly speed: string },
): Command =>
  command
    .option("--controllers <n>", ofAccount, wholeNumber(1, 10_000), controllers)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", speed, positive);

function addTrials(add: Add, language: Language, traits: SimulatedTraits): void {
  const demo = add(
    "demo",
    "simulated platform, embedded broker and bridge in one process; needs no configuration",
    [
      "greenhouse2mqtt demo --controllers 2 --speed 60 --language zh",
      ["greenhouse2mqtt demo --host 0.0.0.0", msg`the page for other computers of your network`],
      "greenhouse2mqtt demo --frost --ntfy https://ntfy.sh/my-topic",
    ],
    lazily(async () => (await import("./demo.js")).demo),
  )
    .addOption(languageOption(language))
    .option("--host <address>", "where the page listens; it has a login", "127.0.0.1")
    .option("--storm", "play a storm day and comment on it")
    .addOption(new Option("--frost", "play a frost night and comment on it").conflicts("storm"))
    .option("--ntfy <url>", "send its alarms to a phone, by a topic such as https://ntfy.sh/my-topic");
  accountOptions(demo, 6, {
    ofAccount: "controllers of the simulated account",
    speed:
      "how much faster than real time the greenhouses live (default: 1; 20 with --storm, 240 with --frost)",
  });
  const simulate = add(
    "simulate",
    "the simulated platform alone, on a port",
    ["greenhouse2mqtt simulate --controllers 3 --profile records > config.yaml"],
    lazily(async () => (await import("./demo.js")).simulate),
  )
    .addOption(languageOption("zh"))
    .option("--port <n>", "port of both hosts", wholeNumber(0, 65_535), 8090);
  const profile = new Option("--profile <name>", "dialect of everything the interface leaves open");
  const readings = new Option("--readings <names...>", "other readings of the interface's words");
  accountOptions(simulate, 20, {
    ofAccount: "controllers of the account",
    speed: "how much faster than real time the greenhouses live (default: 1)",
  })
    .addOption(profile.choices(traits.profiles).default("default"))
    .addOption(readings.choices(traits.readings))
    .option("--token <token>", "refuse every other token; without this any one is good")
    .option("--faults <file>", "JSON file of faults to come");
}

function addSettings(add: Add): void {
  add(
    "config",
    "show one key of the configuration, change it in your file, or remove it",
    [
      "greenhouse2mqtt config get polling.sensors",
      'greenhouse2mqtt config set controllers.GH-0001.name "East house" --diff',
      [
        "greenhouse2mqtt config set platform.token -",
        msg`reads the value from the input, so that no other user sees it`,
      ],
      "greenhouse2mqtt config unset alarms.temperature.high",
    ],
    lazily(async () => (await import("./settings.js")).config),
  )
    .argument("<action>", "get, set or unset", oneOf(["get", "set", "unset"]))
    .argument("<key>", "such as controllers.GH-0001.name or http.users[0].role")
    .argument("[value]", "with set: a text, or YAML such as [a, b]; - reads it from the input")
    .option("--diff", "only show what would change in the file");
}

function addConfiguration(add: Add): void {
  add(
    "check",
    "check configurations and say what is wrong and where; touches no network",
    [
      "greenhouse2mqtt check",
      ["greenhouse2mqtt check north.yaml south.yaml", msg`also clashes between them`],
      [
        "greenhouse2mqtt check --explain GH-0001/left_skylight",
        msg`what is asked, sent and read for each word`,
      ],
    ],
    lazily(async () => (await import("./configuration.js")).check),
  )
    .argument("[files...]", "default: the file of --config")
    .option(
      "--explain <target>",
      "a controller, or CONTROLLER/ACTUATOR: what is asked, sent and read, in order",
    );
  add(
    "schema",
    "JSON Schema of the configuration, for editors",
    ["greenhouse2mqtt schema > schema.json", "greenhouse2mqtt schema --example > example.yaml"],
    lazily(async () => (await import("./configuration.js")).schema),
  ).option("--example", "instead of it a configuration with every key, explained");
  addBackups(add);
}

function addBackups(add: Add): void {
  add(
    "backup",
    "save configuration and data in one file, also while the bridge runs; secrets only with a password",
    ["greenhouse2mqtt backup", 'echo "$PASSWORD" | greenhouse2mqtt backup bridge.tar.gz.age --password'],
    lazily(async () => (await import("../backup/command.js")).backup),
  )
    .argument("[file]", "file that is not there yet; - for stdout")
    .option("--password", "read a password from a pipe; the file is then encrypted, as age does it")
    // Used by a fleet's page for one of its accounts; also with `restore`.
    .addOption(new Option("--fleet-data-dir <folder>").hideHelp());
  add(
    "restore",
    "restore a bridge from a backup into an empty folder",
    ["greenhouse2mqtt restore bridge.tar.gz.age --password < password.txt"],
    lazily(async () => (await import("../backup/command.js")).restore),
  )
    .argument("<file>", "a file that `backup` or the page wrote")
    .option("--password", "read the password of the backup from a pipe")
    .addOption(new Option("--fleet-data-dir <folder>").hideHelp());
}

function addHistory(add: Add): void {
  add(
    "history",
    "past readings of a controller or station, where the platform gives them",
    [
      "greenhouse2mqtt history WS-0001 --since 24h",
      "greenhouse2mqtt history WS-0001 startTime=2026-03-01 --csv > march.csv",
    ],
    lazily(async () => (await import("./history.js")).history),
  )
    .argument("<controller>", "topic id or device code")
    .argument("[parameters...]", "key=value, passed on: the interface names none")
    .option("--since <time>", "an ISO time, or a duration such as 24h")
    .option("--csv", "for a spreadsheet, also on a terminal");
}

function addPlatform(add: Add): void {
  add(
    "get",
    "one read-only GET the interface names, printed as JSON",
    [
      "greenhouse2mqtt get station",
      "greenhouse2mqtt get sensor-data deviceCode=GH-0001",
      "greenhouse2mqtt get get-value deviceCode=GH-0001 address=101 flush=1",
    ],
    lazily(async () => (await import("./read.js")).get),
    getHelp,
  )
    .argument("<operation>", "one of the operations below")
    .argument("[parameters...]", "key=value, passed on");
  add(
    "read",
    "one fresh read of an address",
    ["greenhouse2mqtt read GH-0001 101"],
    lazily(async () => (await import("./read.js")).read),
  )
    .argument("<controller>", "topic id or device code")
    .argument("<address>");
  add(
    "cleanup",
    "list, then clear our retained state and discovery topics; refuses while a bridge runs with them",
    ["greenhouse2mqtt cleanup --all"],
    lazily(async () => (await import("./cleanup.js")).cleanup),
  ).option("--all", "also the bridge's own topics (bridge/…)");
}

function addCommanding(add: Add): void {
  add(
    "set",
    "one command to an actuator or a writable parameter, with its result; exit code 3 unless it is confirmed",
    [
      "greenhouse2mqtt set GH-0001 left_skylight 45",
      "greenhouse2mqtt set GH-0001 roof_fans all_on --dry-run",
      "greenhouse2mqtt set GH-0001 valve_1 on --for 20m --by anna",
      "greenhouse2mqtt set GH-0001 parameter/ec_target 1.8",
      "greenhouse2mqtt set group skylights 20",
      "greenhouse2mqtt set scene night activate",
    ],
    lazily(async () => (await import("./set.js")).set),
  )
    .argument("<controller>", "topic id or device code; or group, or scene")
    .argument("<actuator>", "id in the configuration; also parameter/ID or address/ADDRESS")
    .argument("<command>", "a word, a degree 0..100, a value of the kind, or a parameter's number")
    .option("--dry-run", "check everything, send nothing")
    .option("--for <duration>", "ends by itself after this, 1s to 24h, such as 20m", term)
    .option("--hold <duration>", "refuses commands without a hold for this long, 1s to 24h", term)
    .option("--force", "send even if the value is there already, or the platform shows none")
    .option("--max-age <duration>", "how old it may be when it is sent; only shortens commands.max_age", span)
    .option("--by <name>", "who asks, for the journal; default: your user name");
}

function addJournal(add: Add): void {
  const kinds =
    "command, rule, guard, lock, hold, lease, alarm, login, change, system, or all; default: command,rule";
  const limit = "only the newest, at most this many; default: 100, with --since all";
  add(
    "journal",
    "past commands, and what else happened",
    [
      "greenhouse2mqtt journal --since 24h",
      "greenhouse2mqtt journal --kind lock,alarm,login --since 7d",
      "greenhouse2mqtt journal --controller GH-0001 --follow",
    ],
    lazily(async () => (await import("./journal.js")).journal),
    row`\n${msg`In a cluster, \`journal export DIR\` writes the journal into a new data directory, and \`journal import\` brings in the journal of a single machine.`}`,
  )
    .argument("[what]", "export or import, in a cluster")
    .argument("[folder]", "the new data directory of an export")
    .option("--controller <c>", "topic id or device code")
    .option("--since <time>", "an ISO time, or a duration such as 2h")
    .option("--limit <n>", limit, wholeNumber(1, 1_000_000))
    .option("--kind <k>", kinds)
    .option("--json", "one object a line")
    .addOption(new Option("--csv", "for a spreadsheet, the newest first").conflicts("follow"))
    .option("--follow", "also show new ones until you stop it");
}

/** Requests to the running bridge about what limits commands. */
function addLimits(add: Add): void {
  const notSafety = row`\n${msg`This is not a safety layer: it stops what comes through the bridge, not a wall switch, the platform's own page or the controller.`}`;
  const about = (name: "lock" | "unlock" | "release", description: string, examples: readonly Example[]) =>
    add(
      name,
      description,
      examples,
      lazily(async () => (await import("./limit-requests.js")).limit(name)),
      name === "lock" ? notSafety : "",
    )
      .argument("<controller>", "topic id or device code")
      .argument("[actuator]", "id in the configuration; without it all of the controller")
      .option("--by <name>", "who asks; default: your user name");
  const until = "a duration such as 3h, or an ISO time with its zone; default: no end";
  about("lock", "have the running bridge refuse every command but stop", [
    "greenhouse2mqtt lock GH-0001 left_skylight --reason 'glass work' --until 3h",
    ["greenhouse2mqtt lock GH-0001 --by anna", msg`all of its actuators`],
  ])
    .option("--reason <text>", "shown to whoever is refused")
    .option("--until <time>", until, untilText);
  about("unlock", "end a lock; somebody else's only with --force", [
    "greenhouse2mqtt unlock GH-0001 left_skylight",
  ]).option("--force", "also a lock of somebody else");
  about("release", "end a hold", ["greenhouse2mqtt release GH-0001 valve_1"]);
  add(
    "alarms",
    "what is wrong now, and what cleared within the hour",
    [
      "greenhouse2mqtt alarms --json",
      "greenhouse2mqtt alarms --acknowledge guard_blind.gh-0001.left_skylight",
      "greenhouse2mqtt alarms --acknowledge all",
    ],
    lazily(async () => (await import("./limit-requests.js")).alarms),
  )
    .option("--json", "one object a line")
    .option("--acknowledge <alarm>", "say that you have seen this alarm, or all; this clears nothing")
    .option("--by <name>", "who acknowledges; default: your user name");
}

/** For people who connect other programs. */
function addIntegration(add: Add): void {
  add(
    "tags",
    "every topic of the running bridge with its kind, unit, type, words and limits",
    ["greenhouse2mqtt tags --csv > tags.csv", "greenhouse2mqtt tags --controller GH-0001 --json"],
    lazily(async () => (await import("./tags.js")).tags),
  )
    .option("--controller <c>", "topic id or device code")
    .option("--csv", "for a spreadsheet, or an import of tags")
    .option("--json", "one object a line");
}
