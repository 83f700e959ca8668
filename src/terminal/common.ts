import { joined, msg, type Text } from "../language/text.js";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import type { Readable } from "node:stream";
import { dirname, resolve } from "node:path";
import { commandSentences } from "../commands/log-lines.js";
import { type ConfigurationResult, loadConfiguration, type ReadFile, secretValues } from "../config/load.js";
import { fileProblem, type Problem, problemText } from "../settings/problem.js";
import type { Configuration } from "../config/schema.js";
import { controllerTopicId } from "../settings/controllers.js";
import type { Language } from "../greenhouse/labels.js";
import type { Tell } from "../language/words.js";
import type { PlatformClient } from "../platform/client.js";
import { systemClock, systemRandom } from "../runtime/clock.js";
import { createLogger, type RecentLog } from "../runtime/log.js";
import { ignoredTlsEnvironment } from "../runtime/sockets.js";
import { usageFailure } from "../runtime/ending.js";
import { type CommonOptions, type ProcessContext, screenOf, unlessStopped } from "./context.js";

/* Functions that commands share; loaded with the first command. */

/**
 * The configuration with the overrides of the command line. Problems are printed to stderr and end the command with
 * exit code 2.
 */
export const readConfiguration = async (
  options: CommonOptions,
  context: ProcessContext,
): Promise<Configuration> => (await readNamed(options, context)).configuration;

/** The same, with the path of its file; for an account of a fleet its own file. */
export async function readNamed(
  options: CommonOptions,
  context: ProcessContext,
): Promise<{ readonly file: string; readonly configuration: Configuration }> {
  const result = await loadNamed(options, context);
  const { tell } = context.speech;
  for (const warning of result.warnings) context.err.write(`${tell(problemText(warning))}\n`);
  if (!result.ok) {
    throw usageFailure(joined(result.problems.map(problemText), "\n"));
  }
  return { file: result.file, configuration: overridden(result.configuration, options) };
}

/** The configuration that the options name: a file, or an account of a fleet. It also sets the language. */
export async function loadNamed(
  options: CommonOptions,
  { env, speech, stop }: Pick<ProcessContext, "env" | "speech" | "stop">,
): Promise<ConfigurationResult> {
  const loaded = await unlessStopped(loadedFile(options, env), { stop });
  const ofWrongKind = loaded.ok ? null : await unlessStopped(fleetProblem(options), { stop });
  const result = loaded.ok || ofWrongKind === null ? loaded : { ...loaded, problems: [ofWrongKind] };
  const language = languageOf(result);
  if (language !== undefined) await speech.choose(language);
  return result;
}

/** Prints warnings and problems, one a line. */
export function sayProblems(
  { warnings, problems }: { readonly warnings: readonly Problem[]; readonly problems: readonly Problem[] },
  { out, tell }: { readonly out: ProcessContext["out"]; readonly tell: Tell },
): void {
  for (const warning of warnings) out(`${tell(msg`${problemText(warning)} (warning)`)}\n`);
  for (const problem of problems) out(`${tell(problemText(problem))}\n`);
}

/** The language that a file asks for, even if it has mistakes. */
export const languageOf = (result: ConfigurationResult): Language | undefined =>
  result.ok ? result.configuration.language : result.language;

/** Loads a file, with the given contents instead of files. */
export async function loadedFile(
  { config, account }: Pick<CommonOptions, "config" | "account">,
  env: ProcessContext["env"],
  readFile?: ReadFile,
): Promise<ConfigurationResult> {
  const sources = { env, ...(readFile !== undefined && { readFile }) };
  if (account === undefined) return loadConfiguration(config, sources);
  const { accountOf } = await import("../config/fleet.js");
  return accountOf(account, config, sources);
}

/** Instead of each key that a bridge has not: that a file, named without an account, is that of a fleet. Else null. */
export async function fleetProblem({
  config,
  account,
}: Pick<CommonOptions, "config" | "account">): Promise<Problem | null> {
  if (account !== undefined) return null;
  const { isFleetFile } = await import("../config/fleet.js");
  return (await isFleetFile(config)) ? fileProblem(config, ofFleet) : null;
}

const ofFleet = msg`this is the file of a fleet: say which account is meant with --account NAME`;

export function overridden(
  configuration: Configuration,
  { logLevel, dataDir }: Partial<CommonOptions>,
): Configuration {
  const log = {
    ...configuration.log,
    level: logLevel ?? configuration.log.level,
  };
  return {
    ...configuration,
    log,
    data_dir: dataDir === undefined ? configuration.data_dir : resolve(dataDir),
  };
}

/** Fails before work that takes minutes if its result could not become a new file. */
export function refuseToOverwrite(file: string, remedy: Text): void {
  if (existsSync(file)) throw usageFailure(msg`${file} exists and is never overwritten; ${remedy}`);
  if (!existsSync(dirname(file))) throw usageFailure(msg`${file}: there is no such folder; make it first`);
}

/**
 * The program's log. `secrets`: what it has to hide, if more than the configuration's secrets. `recent` receives each
 * line too. `format`: asked for each line, where it may change.
 */
export function loggerFor(
  configuration: Configuration,
  context: ProcessContext,
  secrets: () => readonly string[] = () => secretValues(configuration),
  recent?: RecentLog,
  format = () => configuration.log.format,
) {
  const settings = {
    level: configuration.log.level,
    get format() {
      return format();
    },
    ...{ secrets, sentences: commandSentences },
  };
  const log = createLogger(settings, screenOf(context), recent);
  const ignored = ignoredTlsEnvironment(context.env);
  if (ignored !== null) log.warn(ignored);
  return log;
}

const mostNamed = 8;

/** Shortens a list of names for a sentence. */
export function shortList(names: readonly Text[]): Text {
  const some = joined(names.slice(0, mostNamed), ", ");
  return names.length > mostNamed ? msg`${some}, and ${names.length - mostNamed} more` : some;
}

/** Replaces JSON fields in a sentence of the bridge by options of the command line. */
export const inOptions = (sentence: string): string =>
  sentence.replace(/"force": true/g, "--force").replace(/"(for|hold)"/g, "--$1");

/** The user who runs the program. In a container the user's number may have no entry in the list of users. */
export function userName(
  ask: () => { readonly username: string } = userInfo,
  number: () => number | undefined = () => process.getuid?.(),
): string {
  try {
    return ask().username;
  } catch {
    const own = number();
    return own === undefined ? "unknown" : `uid ${own}`;
  }
}

/** Calls back with a platform client of its own, and closes it. */
export async function withPlatform<Answer>(
  configuration: Configuration,
  context: ProcessContext,
  work: (platform: PlatformClient) => Promise<Answer>,
): Promise<Answer> {
  const log = loggerFor(configuration, context);
  // Loaded late, as most commands never ask the platform.
  const { createPlatform } = await import("../platform/client.js");
  const platform = createPlatform(configuration.platform, {
    clock: systemClock,
    random: systemRandom,
    log,
    dataDir: configuration.data_dir,
  });
  try {
    return await work(platform);
  } finally {
    await platform.close();
  }
}

/** The first line of piped input; empty where nothing comes. */
export async function firstLine(input: Readable, stop: AbortSignal): Promise<string> {
  for await (const line of createInterface({ input, signal: stop })) return line;
  return "";
}

/** The device code of a controller, given by code or by topic id. */
export function codeOf(configuration: Configuration, controller: string): string {
  for (const [code, { id }] of Object.entries(configuration.controllers)) {
    if (code === controller || id === controller) return code;
  }
  const isCalled = (code: string) =>
    controllerTopicId(code) === controller || code.toLowerCase() === controller;
  return Object.keys(configuration.controllers).find(isCalled) ?? controller;
}
