import { createInterface } from "node:readline/promises";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { hashPassword } from "../runtime/passwords.js";
import { clashes, sharedAnnouncements, sharedControllers } from "../config/clashes.js";
import { isFleetFile, loadFleet } from "../config/fleet.js";
import { loadConfiguration } from "../config/load.js";
import { atValue } from "../settings/problem.js";
import { type Configuration, jsonSchema } from "../config/schema.js";
import { zoneProblem } from "../settings/values.js";
import { groupSentences } from "../config/rules/groups.js";
import { alarmSentences } from "../config/rules/alarms.js";
import { limitSentences } from "../config/rules/limit-rules.js";
import { costSentence, curtainSentences, sparkplugSentences } from "../config/warnings.js";
import { systemClock, systemRandom } from "../runtime/clock.js";
import { GoneAway, inLanguage, terminalDialogue, usualBrokers } from "../setup/init/questions.js";
import { type GivenOptions, givenAnswers } from "../setup/init/given-answers.js";
import { triedAnswers, writeConfigurationOf, writeFirstConfiguration } from "../setup/init/init.js";
import { readText } from "../runtime/file-system.js";
import { languageOf, sayProblems } from "./common.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  type ProcessContext,
  screenOf,
  unlessStopped,
} from "./context.js";

/** What a valid configuration does, in words. */
const sentencesOf = [limitSentences, alarmSentences, curtainSentences, groupSentences, sparkplugSentences];

/** `greenhouse2mqtt check`: every problem of every file on stdout, one a line, and clashes between several files. */
export async function check(
  context: ProcessContext,
  files: readonly string[],
  { config, explain }: CommonOptions & { readonly explain?: string },
): Promise<void> {
  const { env, out, speech } = context;
  const say = (text: string) => out(`${speech.tell(text)}\n`);
  const named = files.length > 0 ? files : [config];
  const [only = ""] = named;
  const isFleet = named.length === 1 && (await unlessStopped(isFleetFile(only), context));
  if (isFleet) return checkFleet({ env, out, speech }, only);
  const loading = Promise.all(named.map((file) => loadConfiguration(file, { env })));
  const results = await unlessStopped(loading, context);
  const loaded = results.flatMap((result) => (result.ok ? [result] : []));
  const zones = zoneProblem();
  const problems = [
    ...loaded.flatMap(({ problemAt }) =>
      zones === null ? [] : [problemAt(atValue(["platform", "time_zone"], zones))],
    ),
    ...results.flatMap((result) => (result.ok ? [] : result.problems)),
    ...clashes(loaded),
    ...sharedControllers(loaded),
  ];
  const warnings = [...results.flatMap((result) => result.warnings), ...sharedAnnouncements(loaded)];
  const [language] = results.flatMap((result) => languageOf(result) ?? []);
  if (language !== undefined) await speech.choose(language);
  sayProblems({ warnings, problems }, { out, tell: speech.tell });
  if (problems.length > 0) throw problemsFound(problems.length);
  const [first] = loaded;
  if (explain !== undefined && first !== undefined)
    return explainTarget(context, first.configuration, explain);
  for (const { file, configuration } of loaded) {
    for (const about of sentencesOf)
      for (const sentence of about(configuration, speech.tell)) out(`${file}: ${sentence}\n`);
    for (const sentence of [costSentence(configuration), "ok"]) say(`${file}: ${sentence}`);
  }
}

async function explainTarget(
  { out, speech }: ProcessContext,
  configuration: Configuration,
  target: string,
): Promise<void> {
  const { explained } = await import("./explain.js");
  for (const line of explained(configuration, target)) {
    const text = line.trimStart();
    out(`${" ".repeat(line.length - text.length)}${speech.tell(text)}\n`);
  }
}

/** The file of a fleet, those of all its accounts, and clashes between them. */
async function checkFleet(
  { env, out, speech }: Pick<ProcessContext, "env" | "out" | "speech">,
  file: string,
): Promise<void> {
  const say = (text: string) => out(`${speech.tell(text)}\n`);
  const { fleet, accounts, problems, warnings } = await loadFleet(file, { env });
  sayProblems({ warnings, problems }, { out, tell: speech.tell });
  if (fleet === null || problems.length > 0) throw problemsFound(problems.length);
  for (const [name, { configuration }] of accounts) {
    for (const about of [limitSentences, alarmSentences])
      for (const sentence of about(configuration, speech.tell)) out(`${name}: ${sentence}\n`);
    say(`${name}: ${costSentence(configuration)}`);
  }
  say(`${file}: ok, ${accounts.size} accounts`);
}

const problemsFound = (count: number): CommandFailure =>
  new CommandFailure(`${count} ${count === 1 ? "problem" : "problems"} found`, exitCodes.usage);

/** `greenhouse2mqtt schema`; the example lies beside `package.json`. */
export async function schema(
  { out }: ProcessContext,
  { example = false }: { readonly example?: boolean },
): Promise<void> {
  if (example) out(await readText(fileURLToPath(new URL("../../config.example.yaml", import.meta.url))));
  else out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
}

/** `greenhouse2mqtt passwd`: a password from the terminal, unseen, or one line of a pipe, becomes the hash for `broker.users`. */
export async function passwd(
  context: ProcessContext,
  input: Readable & { readonly isTTY?: boolean } = process.stdin,
): Promise<void> {
  const password =
    input.isTTY === true ? await readInput(input, context) : await firstLine(input, context.stop);
  if (context.stop.aborted || password === null) throw new CommandFailure("stopped; no hash was made");
  if (password === "") throw new CommandFailure("no password was given", exitCodes.usage);
  context.out(`${await hashPassword(password)}\n`);
}

/** Asked for twice, as what is typed is not shown; null when the person went away. */
async function readInput(input: Readable, context: ProcessContext): Promise<string | null> {
  const { stop, speech } = context;
  const dialogue = inLanguage(terminalDialogue({ input, output: screenOf(context), stop }), speech.tell);
  const notEmpty = (answer: string) => (answer === "" ? "it cannot be empty" : null);
  try {
    const password = await dialogue.secret("Password for the embedded broker", notEmpty);
    if ((await dialogue.secret("The same again", notEmpty)) !== password)
      throw new CommandFailure("these were two different passwords; no hash was made", exitCodes.usage);
    return password;
  } catch (error) {
    if (error instanceof GoneAway) return null;
    throw error;
  }
}

/** Of what is piped in; empty where nothing comes. */
export async function firstLine(input: Readable, stop: AbortSignal): Promise<string> {
  for await (const line of createInterface({ input, signal: stop })) return line;
  return "";
}

interface InitOptions extends CommonOptions, GivenOptions {
  readonly web?: boolean;
  readonly host?: string;
  readonly answers?: string;
  readonly try: boolean;
}

/** `greenhouse2mqtt init`: asks for hosts, credential and broker, or takes what is given, tries it, and writes the configuration once. */
export async function init(context: ProcessContext, options: InitOptions): Promise<void> {
  const { env, stop } = context;
  const { language } = context.speech;
  if (options.web === true) {
    await (await import("./init-web.js")).initWeb(context, options);
    return;
  }
  if (options.host !== undefined)
    throw new CommandFailure("--host is for --web: where the page of the questions listens", exitCodes.usage);
  const { config, dataDir, answers: file, businessUrl, realtimeUrl, tokenEnv, mqttUrl } = options;
  const { stdin: input, stdout: output } = process;
  const say = (text: string) => context.out(`${context.speech.tell(text)}\n`);
  const given = [file, businessUrl, realtimeUrl, tokenEnv, mqttUrl];
  if (!input.isTTY || !context.isTerminal || given.some((one) => one !== undefined)) {
    const answers = givenAnswers(file === undefined ? "" : await answersIn(file), options, language);
    if (!("platform" in answers))
      throw new CommandFailure(["nothing was written:", ...answers].join("\n  "), exitCodes.usage);
    const unasked = { clock: systemClock, random: systemRandom, env, stop, say, dataDir };
    await writeConfigurationOf(() => triedAnswers(answers, options.try, config, unasked), config, unasked);
    return;
  }
  const dialogue = inLanguage(terminalDialogue({ input, output, stop }), context.speech.tell);
  const ports = {
    clock: systemClock,
    random: systemRandom,
    env,
    stop,
    dialogue,
    say,
    dataDir,
    brokers: usualBrokers,
    speech: context.speech,
  };
  const written = await writeFirstConfiguration(config, ports);
  await (await import("./init-web.js")).sayPage(context, written, say);
}

const answersIn = (file: string): Promise<string> =>
  readText(file).catch((error: unknown) => {
    throw new CommandFailure(`${file} cannot be read: ${String(error)}`, exitCodes.usage);
  });
