import { counted, msg, row, type Text } from "../language/text.js";
import { fileURLToPath } from "node:url";
import { clashes, sharedAnnouncements, sharedControllers } from "../config/clashes.js";
import { isFleetFile, loadFleet } from "../config/fleet.js";
import { type ConfigurationResult, loadConfiguration } from "../config/load.js";
import { atValue, fileProblem, type Problem } from "../settings/problem.js";
import { type Configuration, jsonSchema } from "../config/schema.js";
import { zoneProblem } from "../settings/values.js";
import { alarmSentences } from "../config/rules/alarms.js";
import { limitSentences } from "../config/rules/limit-rules.js";
import { costSentence, sentencesAbout } from "../config/warnings.js";
import { readText } from "../runtime/file-system.js";
import { languageOf, readConfiguration, sayProblems } from "../terminal/common.js";
import { type CommandFailure, usageFailure } from "../runtime/ending.js";
import { type CommonOptions, type ProcessContext, unlessStopped } from "../terminal/context.js";

/** `greenhouse2mqtt check`: prints every problem of every file, one a line, and clashes between several files. */
export async function check(
  context: ProcessContext,
  files: readonly string[],
  options: CommonOptions & { readonly explain?: string },
): Promise<void> {
  const { explain, account } = options;
  const named = files.length > 0 ? files : [options.config];
  const [only = ""] = named;
  if (explain !== undefined && account !== undefined) {
    const configuration = await readConfiguration({ ...options, config: only }, context);
    return explainTarget(context, [{ name: account, configuration }], explain);
  }
  const isFleet = named.length === 1 && (await unlessStopped(isFleetFile(only), context));
  await (isFleet ? checkFleet(context, only, explain) : checkFiles(context, named, explain));
}

async function checkFiles(
  context: ProcessContext,
  named: readonly string[],
  explain: string | undefined,
): Promise<void> {
  const { env, out, speech } = context;
  const say = (text: Text) => out(`${speech.tell(text)}\n`);
  const loading = Promise.all(named.map((file) => loadConfiguration(file, { env })));
  const results = await unlessStopped(loading, context);
  const loaded = results.flatMap((result) => (result.ok ? [result] : []));
  const zones = zoneProblem();
  const problems = [
    ...loaded.flatMap(({ problemAt }) =>
      zones === null ? [] : [problemAt(atValue(["platform", "time_zone"], zones))],
    ),
    ...(await Promise.all(results.map(problemsOf))).flat(),
    ...clashes(loaded),
    ...sharedControllers(loaded),
  ];
  const warnings = [...results.flatMap((result) => result.warnings), ...sharedAnnouncements(loaded)];
  const [language] = results.flatMap((result) => languageOf(result) ?? []);
  if (language !== undefined) await speech.choose(language);
  sayProblems({ warnings, problems }, { out, tell: speech.tell });
  if (problems.length > 0) throw problemsFound(problems.length);
  const all = loaded.map(({ file, configuration }) => ({ name: file, configuration }));
  if (explain !== undefined) return explainTarget(context, all, explain);
  for (const { file, configuration } of loaded) {
    const sentences = sentencesAbout(configuration);
    for (const sentence of [...sentences, costSentence(configuration), msg`ok`])
      say(row`${file}: ${sentence}`);
  }
}

/** Of one file among several; a fleet's is checked with its accounts. */
async function problemsOf(result: ConfigurationResult): Promise<readonly Problem[]> {
  if (result.ok) return [];
  const isFleet = await isFleetFile(result.file);
  return isFleet
    ? [fileProblem(result.file, msg`this is the file of a fleet: check it by itself`)]
    : result.problems;
}

/** Explains a target by each configuration that names it. */
async function explainTarget(
  { out, speech }: ProcessContext,
  all: readonly { readonly name: string; readonly configuration: Configuration }[],
  target: string,
): Promise<void> {
  const { linesAbout, isNamedIn } = await import("./explain.js");
  const naming = all.filter(({ configuration }) => isNamedIn(configuration, target));
  for (const { name, configuration } of naming.length > 0 ? naming : all.slice(0, 1)) {
    if (naming.length > 1) out(`${name}:\n`);
    for (const line of linesAbout(configuration, target)) out(`${speech.tell(line)}\n`);
  }
}

/** Checks a fleet's file, those of all its accounts, and clashes between them. */
async function checkFleet(context: ProcessContext, file: string, explain: string | undefined): Promise<void> {
  const { env, out, speech } = context;
  const say = (text: Text) => out(`${speech.tell(text)}\n`);
  const { fleet, accounts, problems, warnings } = await loadFleet(file, { env });
  sayProblems({ warnings, problems }, { out, tell: speech.tell });
  if (fleet === null || problems.length > 0) throw problemsFound(problems.length);
  if (explain !== undefined) {
    const all = [...accounts].map(([name, { configuration }]) => ({ name, configuration }));
    return explainTarget(context, all, explain);
  }
  for (const [name, { configuration }] of accounts) {
    for (const about of [limitSentences, alarmSentences])
      for (const sentence of about(configuration)) say(row`${name}: ${sentence}`);
    say(row`${name}: ${costSentence(configuration)}`);
  }
  say(row`${file}: ${msg`ok, ${counted(accounts.size, "account", "accounts")}`}`);
}

const problemsFound = (count: number): CommandFailure =>
  usageFailure(msg`${counted(count, "problem", "problems")} found`);

/** `greenhouse2mqtt schema`; the example is beside `package.json`. */
export async function schema(
  { out }: ProcessContext,
  { example = false }: { readonly example?: boolean },
): Promise<void> {
  if (example) out(await readText(fileURLToPath(new URL("../../config.example.yaml", import.meta.url))));
  else out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
}
