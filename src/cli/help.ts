import { type Command, Option } from "commander";
import { readOnlyOperations } from "../platform/operations.js";
import { oneOf } from "./option-values.js";

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
export const profileNames = [
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
] as const;
