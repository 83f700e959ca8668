import { type Command, InvalidArgumentError, Option } from "commander";
import { type ParameterGroup, parameterGroup } from "../greenhouse/device-types.js";
import type { Language } from "../greenhouse/labels.js";
import { readOnlyOperations } from "../platform/operations.js";
import { logLevels } from "../runtime/log-levels.js";
import { parseDuration, parseUntil } from "../runtime/duration.js";
import type { FleetOptions } from "./fleet.js";
import type { CommonOptions, ProcessContext } from "./context.js";
import type { SimulateOptions } from "./demo.js";

/* What an option may be; the error names what was expected. */

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

/** A duration, taken as it is written. */
const durationFrom =
  (least: number, most: number, what: string) =>
  (text: string): string => {
    const ms = parseDuration(text);
    if (ms !== null && ms >= least && ms <= most) return text;
    throw new InvalidArgumentError(`expected a duration ${what}`);
  };

/** As `for` and `hold` of a command take it. */
const term = durationFrom(1_000, 86_400_000, "from 1s to 24h, such as 20m");
const span = durationFrom(0, Infinity, "such as 30s");

/* What `--help` says beyond the options: groups, examples, exit codes. */

/** The options that every command takes, before or behind its name. */
export const commonOptions = (): readonly Option[] => [
  new Option("-c, --config <file>", "configuration file").default("config.yaml"),
  new Option("--account <name>", "this account of a fleet; --config is then the fleet's file, or fleet.yaml"),
  new Option("--log-level <level>", logLevels.join(", ")).argParser(oneOf(logLevels)),
  new Option("--data-dir <folder>", "where journal, token and caches are kept"),
];

/** Each command is a file that is loaded only when it is called: start-up time is a feature on a small computer. */
const lazily =
  <Args extends unknown[]>(load: () => Promise<(context: ProcessContext, ...args: Args) => unknown>) =>
  (context: ProcessContext): ((...args: Args) => Promise<void>) =>
  async (...args) => {
    await (
      await load()
    )(context, ...args);
  };

const runLazily = lazily(async () => (await import("./run.js")).run);

/** A SIGHUP while a service is still loading would end it; its listener is told of it as soon as there is one. */
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

/** Adds commands with their help. */
const adder =
  (root: Command, context: ProcessContext) =>
  (
    name: string,
    description: string,
    examples: readonly string[],
    action: (context: ProcessContext) => Action,
    more = "",
  ): Command =>
    root
      .command(name, { isDefault: name === "run" })
      .description(description)
      .addHelpText("after", () =>
        context.speech.tell(
          [
            more,
            "",
            `Example${examples.length === 1 ? "" : "s"}:`,
            ...examples.map((line) => `  ${line}`),
          ].join("\n"),
        ),
      )
      .action(action(context));

type Add = ReturnType<typeof adder>;

export const rootHelp = [
  "",
  "Every command takes these options too, and --help, which also shows examples.",
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

const getHelp = [
  "",
  "Operations:",
  ...readOnlyOperations.map(({ name, host }) => `  ${name.padEnd(20)} ${host} host`),
].join("\n");

/** By name only: the simulated platform is loaded by the commands that use it. */
const profileNames: readonly NonNullable<SimulateOptions["profile"]>[] = [
  ...(["default", "list", "records", "rows", "keyed"] as const),
  ...(["channels", "text", "entries", "mode_stays", "odd"] as const),
];

type ReadingName = NonNullable<SimulateOptions["readings"]>[number];

const readingWords: Readonly<Record<ReadingName, true>> = {
  ...{ actual_positions: true, combined_bits: true, mode_stays: true, degrees_apart: true },
  ...{ group_of_settings: true, swapped_channels: true, bare_echo: true, clients_are_controllers: true },
  ...{ last_seen: true, plans_end: true, curtains_spread: true, fan_automatic: true },
  ...{ flagged_refusals: true, unknown_types: true, status_words: true, mode_write_only: true },
  ...{ flush_orders: true, one_at_a_time: true, motors_pulse: true, channels_ask: true },
  ...{ set_points_in_groups: true, windows_asked: true, twin_sensors: true, mode_restarts: true },
  ...{ stations_apart: true, offline_queues: true },
};
const readingNames = Object.keys(readingWords);

/** All commands, in the order and the groups of `--help`. */
export function addCommands(root: Command, context: ProcessContext): void {
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
  addTrials(add, context.speech.language);
  root.commandsGroup("Set it up:");
  addSetup(add);
  addDoctor(add);
  addDiscover(add);
  addSettings(add);
  addConfiguration(add);
  root.commandsGroup("Ask and command:");
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
      "greenhouse2mqtt check fleet.yaml   what is wrong in it and in the files of its accounts",
      "greenhouse2mqtt fleet status",
      "greenhouse2mqtt set GH-0001 roof close --account north   every command takes an account",
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
    .default(before);

const accountOptions = (
  command: Command,
  account: string,
  controllers: number,
  speed = " (default: 1)",
): Command =>
  command
    .option("--controllers <n>", `controllers of the ${account}`, wholeNumber(1, 10_000), controllers)
    .option("--seed <n>", "repeats a run exactly", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--speed <factor>", `how much faster than real time the greenhouses live${speed}`, positive);

function addTrials(add: Add, language: Language): void {
  const demo = add(
    "demo",
    "simulated platform, embedded broker and bridge in one process; needs no configuration",
    [
      "greenhouse2mqtt demo --controllers 2 --speed 60 --language zh",
      "greenhouse2mqtt demo --host 0.0.0.0   the page for other computers of your network",
    ],
    lazily(async () => (await import("./demo.js")).demo),
  )
    .addOption(languageOption(language))
    .option("--host <address>", "where the page listens; it has a login", "127.0.0.1")
    .option("--storm", "let a storm day happen, and tell it");
  accountOptions(demo, "simulated account", 6, " (default: 1; 20 with --storm)");
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
  accountOptions(simulate, "account", 20)
    .addOption(profile.choices(profileNames).default("default"))
    .addOption(readings.choices(readingNames))
    .option("--faults <file>", "JSON file of faults to come");
}

function addSetup(add: Add): void {
  add(
    "init",
    "ask for hosts, credential and broker, try them, and write a first config.yaml",
    [
      "greenhouse2mqtt init",
      "greenhouse2mqtt init --web                 the same in the browser",
      "greenhouse2mqtt init --web --host 0.0.0.0  the same on a computer without a screen",
      "greenhouse2mqtt init --answers site-7.yaml -c site-7/config.yaml",
    ],
    lazily(async () => (await import("./configuration.js")).init),
  )
    .option("--web", "ask in the browser of this computer, with a code that is printed here")
    .option("--host <address>", "with --web: where the page of the questions listens; it has the code")
    .option("--answers <file>", "YAML with the answers; with it, or any of the next, nothing is asked")
    .option("--business-url <url>", "address of the business host")
    .option("--realtime-url <url>", "address of the realtime host")
    .option("--token-env <name>", "the variable of the environment that holds the token")
    .option("--mqtt-url <url>", "address of the broker; without one the embedded broker is used")
    .option("--no-try", "write it without trying hosts and broker");
}

function addDoctor(add: Add): void {
  add(
    "doctor",
    "connect to both hosts and the broker and report what works, line by line; changes nothing",
    [
      "greenhouse2mqtt doctor",
      "greenhouse2mqtt doctor --redact > report.txt   to be shown to others",
      "greenhouse2mqtt doctor --watch GH-0001/left_skylight --command open   while you open it",
    ],
    lazily(async () => (await import("./doctor.js")).doctor),
  )
    .option("--json", "one JSON document instead of lines")
    .option("--redact", "for a bug report: without hosts, codes, names and tokens")
    .option("--bundle <file>", "also write what a maintainer needs, redacted, as one new JSON file")
    .option(
      "--watch <actuator>",
      "instead: watch one movement that you make, and say which settings follow from it",
    )
    .option("--command <word>", "with --watch: what you will send, such as open, auto or 45")
    .option("--for <duration>", "with --watch: how long to wait for the movement; default: 10m", span)
    .option("--record <folder>", "also save scrubbed answers of the platform, as files for tests");
}

function addDiscover(add: Add): void {
  add(
    "discover",
    "list controllers, sensors and addresses of the account as ready-to-use YAML; only reads",
    [
      "greenhouse2mqtt discover -o found.yaml",
      "greenhouse2mqtt discover --controller GH-0001 --types 2,190-201",
      "greenhouse2mqtt discover --merge config.yaml   what is new since then",
      "greenhouse2mqtt discover --listen --for 30m -o found.yaml   while somebody moves things",
    ],
    lazily(async () => (await import("./discover.js")).discover),
  )
    .option("--controller <code>", "only this one, device code or topic id; may be repeated", collect)
    .option("--types <list>", "only these control-parameter types, such as 2,190-201", typeList)
    .option("-o, --out <file>", "write a new file, mode 600, instead of stdout; never over an existing one")
    .option("--merge <file>", "print only what this configuration does not hold yet; it is not changed")
    .option(
      "--listen",
      "then learn addresses from what the platform pushes while somebody moves things in its app",
    )
    .option("--for <duration>", "how long to listen, such as 30m; default: until Ctrl-C", span)
    .option("--fresh", "start over instead of going on where an interrupted scan stopped");
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const highest = 1_000_000;
const mostTypes = 1_000;

/** Type ids such as `1,2` or `2,190-201`. */
export function typeList(text: string): readonly ParameterGroup[] {
  const wrong = new InvalidArgumentError("expected type ids such as 2,12 or 190-201");
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^\s*(\d{1,7})(?:-(\d{1,7}))?\s*$/.exec(part) ?? [];
    const from = Number(first);
    const to = Number(last);
    if (first === undefined || from > to || to > highest || to - from >= mostTypes) throw wrong;
    for (let id = from; id <= to; id += 1) found.add(id);
  }
  if (found.size > mostTypes) throw wrong;
  return [...found].map(parameterGroup);
}

function addSettings(add: Add): void {
  add(
    "config",
    "one key of the configuration: show it, change it in your own text, or take it out",
    [
      "greenhouse2mqtt config get polling.sensors",
      'greenhouse2mqtt config set controllers.GH-0001.name "East house" --diff',
      "greenhouse2mqtt config set platform.token -   reads the value from the input, so that no other user sees it",
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
    "read configurations and say what is wrong and where; touches no network",
    [
      "greenhouse2mqtt check",
      "greenhouse2mqtt check north.yaml south.yaml   also clashes between them",
      "greenhouse2mqtt check --explain GH-0001/left_skylight   what is asked, sent and read for each word",
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
  add(
    "passwd",
    "make a password hash for the embedded broker; asks without showing what is typed, or reads a line of a pipe",
    ["greenhouse2mqtt passwd"],
    (context) => async () => (await import("./configuration.js")).passwd(context),
  );
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
    .option("--hold <duration>", "keeps commands without a hold off for so long, 1s to 24h", term)
    .option("--force", "send even what is there already, or what the platform shows no value for")
    .option("--max-age <duration>", "how old it may be when it is sent; only shortens commands.max_age", span)
    .option("--by <name>", "who asks, for the journal; default: your user name");
}

function addJournal(add: Add): void {
  const kinds =
    "command, rule, guard, lock, hold, lease, alarm, login, change, system, or all; default: command,rule";
  const limit = "at most so many, the newest; default: 100, with --since all";
  add(
    "journal",
    "past commands, and what else happened",
    [
      "greenhouse2mqtt journal --since 24h",
      "greenhouse2mqtt journal --kind lock,alarm,login --since 7d",
      "greenhouse2mqtt journal --controller GH-0001 --follow",
    ],
    lazily(async () => (await import("./journal.js")).journal),
    "\nOf a cluster: `journal export DIR` writes its journal into a new data directory, `journal import` gives it the one of a single machine.",
  )
    .argument("[what]", "export or import, of a cluster")
    .argument("[folder]", "the new data directory of an export")
    .option("--controller <c>", "topic id or device code")
    .option("--since <time>", "an ISO time, or a duration such as 2h")
    .option("--limit <n>", limit, wholeNumber(1, 1_000_000))
    .option("--kind <k>", kinds)
    .option("--json", "one object a line")
    .option("--csv", "for a spreadsheet, the newest first")
    .option("--follow", "go on with new ones until stopped");
}

const untilText = (text: string): string => {
  if (parseUntil(text, 0) !== null) return text;
  throw new InvalidArgumentError('expected a duration such as "3h", or an ISO time with its zone');
};

/** Requests to the running bridge about what limits commands. */
function addLimits(add: Add): void {
  const notSafety =
    "\nThis is not a safety layer: it stops what comes through the bridge, not a wall switch, the platform's own page or the controller.";
  const about = (name: "lock" | "unlock" | "release", description: string, examples: readonly string[]) =>
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
    "greenhouse2mqtt lock GH-0001 --by anna   all of its actuators",
  ])
    .option("--reason <text>", "shown to whoever is refused")
    .option("--until <time>", until, untilText);
  about("unlock", "end a lock; somebody else's only with --force", [
    "greenhouse2mqtt unlock GH-0001 left_skylight",
  ]).option("--force", "also a lock of somebody else");
  about("release", 'end what a command with "hold" keeps', ["greenhouse2mqtt release GH-0001 valve_1"]);
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
    .option("--acknowledge <alarm>", "say that you have seen this one, or all, which clears nothing")
    .option("--by <name>", "who acknowledges; default: your user name");
}

/** For whoever connects other programs. */
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
  add(
    "dashboard",
    "a Home Assistant dashboard for your houses, as YAML to paste",
    ["greenhouse2mqtt dashboard > dashboard.yaml"],
    lazily(async () => (await import("./dashboard.js")).dashboard),
  );
  add(
    "notify",
    "try how alarms reach people: one message through each way of `notify`",
    ["greenhouse2mqtt notify --test", "greenhouse2mqtt notify --daily --print"],
    lazily(async () => (await import("./limit-requests.js")).notify),
  )
    .option("--test", "send it; works beside a running bridge, and without one")
    .option("--daily", "the daily message as it is now, through the ways of `notify.daily`")
    .option("--print", "with --daily: print it and send nothing");
}
