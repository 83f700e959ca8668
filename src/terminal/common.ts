import { joined, msg, type Text } from "../language/text.js";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import type { Readable } from "node:stream";
import { dirname, resolve } from "node:path";
import { commandSentences } from "../commands/endings.js";
import { type ConfigurationResult, loadConfiguration, type ReadFile, secretValues } from "../config/load.js";
import { type Problem, problemText } from "../settings/problem.js";
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

/* What commands have in common; loaded with the first of them that is called. */

/** The configuration with the command line's overrides; problems go to stderr and end the command with exit code 2. */
export const readConfiguration = async (
  options: CommonOptions,
  context: ProcessContext,
): Promise<Configuration> => (await readNamed(options, context)).configuration;

/** The same, with the file that it stands in: of an account of a fleet its own. */
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

/** The configuration that the options mean: a file, or an account of a fleet. From then on it says which language is spoken. */
export async function loadNamed(
  options: CommonOptions,
  { env, speech, stop }: Pick<ProcessContext, "env" | "speech" | "stop">,
): Promise<ConfigurationResult> {
  const result = await unlessStopped(loadedFile(options, env), { stop });
  const language = languageOf(result);
  if (language !== undefined) await speech.choose(language);
  return result;
}

/** What is doubtful and what is wrong, one a line. */
export function sayProblems(
  { warnings, problems }: { readonly warnings: readonly Problem[]; readonly problems: readonly Problem[] },
  { out, tell }: { readonly out: ProcessContext["out"]; readonly tell: Tell },
): void {
  for (const warning of warnings) out(`${tell(msg`${problemText(warning)} (warning)`)}\n`);
  for (const problem of problems) out(`${tell(problemText(problem))}\n`);
}

/** The language that a file asks for, also one with mistakes. */
export const languageOf = (result: ConfigurationResult): Language | undefined =>
  result.ok ? result.configuration.language : result.language;

/** Reads it with these contents in the place of files. */
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

export function overridden(
  configuration: Configuration,
  { logLevel, dataDir }: Partial<CommonOptions>,
): Configuration {
  const log = {
    ...configuration.log,
    level: (logLevel ?? configuration.log.level) as Configuration["log"]["level"],
  };
  return {
    ...configuration,
    log,
    data_dir: dataDir === undefined ? configuration.data_dir : resolve(dataDir),
  };
}

/** Before work that takes minutes, when its result is to become a new file. */
export function refuseToOverwrite(file: string, remedy: Text): void {
  if (existsSync(file)) throw usageFailure(msg`${file} exists and is never overwritten; ${remedy}`);
  if (!existsSync(dirname(file))) throw usageFailure(msg`${file}: there is no such folder; make it first`);
}

/**
 * `secrets`: all that must stay out of the log, when more is known than the configuration holds. `recent` gets each line
 * too. `format`: as it is for each line, where that may change.
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

/** Some of many names, for a sentence. */
export function shortList(names: readonly Text[]): Text {
  const some = joined(names.slice(0, mostNamed), ", ");
  return names.length > mostNamed ? msg`${some}, and ${names.length - mostNamed} more` : some;
}

/** The bridge speaks of fields of JSON, which are options here. */
export const inOptions = (sentence: string): string =>
  sentence.replace(/"force": true/g, "--force").replace(/"(for|hold)"/g, "--$1");

/** Who runs the program. A container may give it a number that has no entry in the list of users. */
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

/** Calls back with a platform client of its own and closes it. */
export async function withPlatform<Answer>(
  configuration: Configuration,
  context: ProcessContext,
  work: (platform: PlatformClient) => Promise<Answer>,
): Promise<Answer> {
  const log = loggerFor(configuration, context);
  // Not with this file: most commands ask nobody.
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

/** The text that is piped in; empty where nothing comes. */
export async function firstLine(input: Readable, stop: AbortSignal): Promise<string> {
  for await (const line of createInterface({ input, signal: stop })) return line;
  return "";
}

/** A controller is named by its device code or by its topic id. */
export function codeOf(configuration: Configuration, controller: string): string {
  for (const [code, { id }] of Object.entries(configuration.controllers)) {
    if (code === controller || id === controller) return code;
  }
  const isCalled = (code: string) =>
    controllerTopicId(code) === controller || code.toLowerCase() === controller;
  return Object.keys(configuration.controllers).find(isCalled) ?? controller;
}
