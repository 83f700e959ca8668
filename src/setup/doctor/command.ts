import { counted, msg, Sentence, type Text, textOf } from "../../language/text.js";
import { arch, platform, release } from "node:os";
import { journalDirectory } from "../../journal/open.js";
import type { ConfigurationResult } from "../../config/load.js";
import { problemText } from "../../settings/problem.js";
import { features } from "../../config/features.js";
import type { Configuration } from "../../config/schema.js";
import type { Language } from "../../greenhouse/labels.js";
import { newestRecords } from "../../journal/reader.js";
import { systemClock, systemRandom } from "../../runtime/clock.js";
import { diagnose, openContext } from "./doctor.js";
import { silentLog } from "../../runtime/log.js";
import { recordCheck } from "./recording.js";
import {
  type Finding,
  jsonReport,
  lineOf,
  redactor,
  type ReportFacts,
  summaryOf,
  textsOf,
} from "./finding.js";
import type { DoctorContext } from "./context.js";
import { StatusLine } from "../status-line.js";
import { type Bundle, bundleOf, fitForStrangers, mostOf } from "../../status/bundle.js";
import { writeNew } from "../init/new-file.js";
import { loadNamed, loggerFor, overridden, refuseToOverwrite } from "../../terminal/common.js";
import { tellIn } from "../../language/languages.js";
import { NotAsked, requestOf } from "../../terminal/running-bridge.js";
import { CommandFailure, usageFailure } from "../../runtime/ending.js";
import { type CommonOptions, programVersion, type ProcessContext, screenOf } from "../../terminal/context.js";

/** The findings for the page, in its reader's language. */
export async function* pageFindings(
  configuration: Configuration,
  account: string | undefined,
  signal: AbortSignal,
  language: Language,
): AsyncGenerator {
  const tell = await tellIn(language);
  const ports = { clock: systemClock, random: systemRandom, log: silentLog };
  const scene = openContext(configuration, ports, { account });
  for await (const { check, status, summary, remedy } of diagnose(scene, signal))
    yield { check, status, summary: tell(summary), remedy: remedy && tell(remedy) };
}

interface DoctorOptions extends CommonOptions {
  readonly json?: boolean;
  readonly redact?: boolean;
  readonly record?: string;
  readonly bundle?: string;
  readonly watch?: string;
  readonly command?: string;
  readonly for?: string;
}

/**
 * `greenhouse2mqtt doctor`: tries everything the bridge needs and reports line by line; sends nothing to an actuator.
 */
export async function doctor(context: ProcessContext, options: DoctorOptions): Promise<void> {
  if (options.watch !== undefined)
    return (await import("./watch-command.js")).watch(context, { ...options, watch: options.watch });
  if (options.command !== undefined || options.for !== undefined)
    throw usageFailure(msg`--command and --for belong to --watch`);
  if (options.bundle !== undefined) refuseToOverwrite(options.bundle, msg`choose another name`);
  const result = await loadNamed(options, context);
  const report = reporter(options, context);
  if (!result.ok) {
    const [fault] = configurationFindings(result);
    report.add(fault ?? { check: "configuration", status: "failed", summary: msg`it cannot be read` });
    report.end();
    for (const problem of result.problems)
      context.err.write(`${context.speech.tell(problemText(problem))}\n`);
    throw usageFailure("");
  }
  const configuration = overridden(result.configuration, {
    ...options,
    logLevel: options.logLevel ?? "fatal",
  });
  const ports = { clock: systemClock, random: systemRandom, log: loggerFor(configuration, context) };
  const scene = openContext(configuration, ports, { account: options.account });
  const shown =
    options.redact === true
      ? redactor(configuration, scene.evidence, result.file)
      : (finding: Finding) => finding;
  const found: Finding[] = [];
  const add = (finding: Finding) => {
    found.push(finding);
    report.add(shown(finding));
  };
  for (const finding of configurationFindings(result)) add(finding);
  const more = options.record === undefined ? [] : [recordCheck(options.record)];
  for await (const finding of diagnose(scene, context.stop, { more, onBegin: report.onBegin })) add(finding);
  report.end();
  if (options.json !== true && options.redact !== true) await sayHowOverSsh(configuration, context);
  if (context.stop.aborted) throw new CommandFailure(msg`stopped before everything was tried`);
  if (options.bundle !== undefined) await writeBundle(options.bundle, scene, result.file, found, context);
  if (report.findings.some(({ status }) => status === "failed")) throw new CommandFailure("");
}

async function sayHowOverSsh(
  { http }: Configuration,
  { env, err, isTerminal, speech }: ProcessContext,
): Promise<void> {
  if (!isTerminal || http === false) return;
  const { sshHint } = await features.http.pageAddress();
  const hint = sshHint(http, http.port, env);
  if (hint !== null) err.write(`${speech.tell(msg`To see the page, ${hint}`)}\n`);
}

/**
 * Writes what the running bridge tells of itself, or else the journal, with the findings; safe for strangers to read.
 */
async function writeBundle(
  file: string,
  scene: DoctorContext,
  configFile: string,
  findings: readonly Finding[],
  context: ProcessContext,
): Promise<void> {
  const { configuration, platform: client, evidence } = scene;
  const told = await bundleOfBridge(configuration, context.stop).catch(textOf);
  const directory = journalDirectory(configuration.data_dir);
  const journal = await newestRecords(directory, { limit: mostOf.journal }).catch(() => []);
  const isUntold = typeof told === "string" || told instanceof Sentence;
  const own = { bridge: isUntold ? String(told) : "it tells", doctor: findings };
  const about = { configuration, version: programVersion(), now: systemClock.now() };
  const bundle = bundleOf(
    { ...about, secrets: client.secrets() },
    isUntold ? { ...own, journal } : { ...told, ...own },
  );
  const fit = fitForStrangers(bundle, configuration, textsOf(evidence, configFile, findings));
  await writeNew(file, `${JSON.stringify(fit, null, 1)}\n`);
  const done = msg`${file} written: without addresses, codes, names and tokens; look through it before you pass it on`;
  context.err.write(`${context.speech.tell(done)}\n`);
}

/** The running bridge's answer, or why there is none. */
async function bundleOfBridge(configuration: Configuration, stop: AbortSignal): Promise<Bundle | Text> {
  const why = msg`the running bridge did not answer`;
  const endings = { notSent: why, stopped: why, gone: why, late: why };
  const answer = await requestOf(configuration, "bundle", {}, { longestMs: 20_000, endings }, stop);
  if (answer instanceof NotAsked) return msg`none is online with this configuration (${answer.reason})`;
  const { data, error } = answer;
  return typeof data === "object" && data !== null ? { ...data } : String(error);
}

function configurationFindings(result: ConfigurationResult): readonly Finding[] {
  const check = "configuration";
  if (!result.ok) {
    const { length } = result.problems;
    const summary = msg`${result.file} has ${counted(length, "problem", "problems")}, so nothing else was tried`;
    return [{ check, status: "failed", summary, remedy: msg`\`greenhouse2mqtt check\` names them` }];
  }
  const warnings = result.warnings.map((problem): Finding => ({
    check,
    status: "warning",
    summary: problemText(problem),
  }));
  return warnings.length > 0
    ? warnings
    : [{ check, status: "ok", summary: msg`${result.file} has no problems` }];
}

/** Prints lines as they come, with the running check on a terminal; or one JSON document at the end. */
function reporter({ json = false }: DoctorOptions, context: ProcessContext) {
  const { out, err, isTerminal, stop, speech } = context;
  const findings: Finding[] = [];
  // If the lines go to a pipe (`| grep`), both would still appear on the same terminal.
  const line = new StatusLine(screenOf(context), !json && isTerminal && err.isTTY === true);
  const facts: ReportFacts = {
    version: programVersion(),
    node: process.version,
    system: `${platform()} ${release()} ${arch()}`,
    at: new Date(systemClock.now()).toISOString(),
  };
  if (!json) out(`greenhouse2mqtt ${facts.version}, Node.js ${facts.node}, ${facts.system}, ${facts.at}\n`);
  return {
    findings,
    onBegin: (check: string) => line.show(`${check} …`),
    add: (finding: Finding) => {
      findings.push(finding);
      line.end();
      if (!json) out(`${lineOf(finding, speech.tell)}\n`);
    },
    end: () => {
      line.end();
      out(json ? `${jsonReport(facts, findings, stop.aborted)}\n` : `${speech.tell(summaryOf(findings))}\n`);
    },
  };
}
