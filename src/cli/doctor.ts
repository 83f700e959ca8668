import { arch, platform, release } from "node:os";
import { journalDirectory } from "../journal/open.js";
import { type ConfigurationResult, fileSources, loadConfiguration } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import { holderOf } from "../journal/lock.js";
import { newestRecords, readHistory } from "../journal/reader.js";
import { systemClock } from "../runtime/clock.js";
import { systemRandom } from "../runtime/random.js";
import { diagnose, openScene } from "../setup/doctor/doctor.js";
import type { Finding } from "../setup/doctor/finding.js";
import { recordCheck } from "../setup/doctor/recording.js";
import { jsonReport, lineOf, redactor, type ReportFacts, summaryOf } from "../setup/doctor/report.js";
import { defaultLimits, type DoctorPorts, type LastRun } from "../setup/doctor/scene.js";
import { loggerFor, overridden } from "./errands.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  programVersion,
  type Surroundings,
} from "./surroundings.js";

export interface DoctorOptions extends CommonOptions {
  readonly json?: boolean;
  readonly redact?: boolean;
  readonly record?: string;
}

/** `greenhouse2mqtt doctor`: tries everything the bridge needs and reports it line by line; sends nothing to an actuator. */
export async function doctor(options: DoctorOptions, around: Surroundings): Promise<void> {
  const result = await loadConfiguration(options.config, fileSources(around.env));
  const report = reporter(options, around);
  if (!result.ok) {
    const [fault] = configurationFindings(result, options);
    report.add(fault ?? { check: "configuration", status: "failed", summary: "it cannot be read" });
    report.end();
    for (const problem of result.problems) around.err.write(`${formatProblem(problem)}\n`);
    throw new CommandFailure("", exitCodes.usage);
  }
  const configuration = overridden(result.configuration, {
    ...options,
    logLevel: options.logLevel ?? "fatal",
  });
  const ports = portsFor(configuration.data_dir, loggerFor(configuration, around));
  const scene = openScene(configuration, ports, defaultLimits);
  const shown = options.redact === true ? redactor(scene, options.config) : (finding: Finding) => finding;
  for (const finding of configurationFindings(result, options)) report.add(shown(finding));
  const more = options.record === undefined ? [] : [recordCheck(options.record)];
  for await (const finding of diagnose(scene, more, around.stop, report.begun)) report.add(shown(finding));
  report.end();
  if (around.stop.aborted) throw new CommandFailure("stopped before everything was tried");
  if (report.findings.some(({ status }) => status === "failed")) throw new CommandFailure("");
}

function configurationFindings(result: ConfigurationResult, { config }: DoctorOptions): readonly Finding[] {
  const check = "configuration";
  if (!result.ok) {
    const { length } = result.problems;
    const summary = `${config} has ${length} ${length === 1 ? "problem" : "problems"}, so nothing else was tried`;
    return [{ check, status: "failed", summary, remedy: "`greenhouse2mqtt check` names them" }];
  }
  const warnings = result.warnings.map((problem): Finding => ({
    check,
    status: "warning",
    summary: formatProblem(problem),
  }));
  return warnings.length > 0 ? warnings : [{ check, status: "ok", summary: `${config} has no problems` }];
}

/** Lines as they come, with the running check on a terminal; or one JSON document at the end. */
function reporter({ json = false }: DoctorOptions, { out, err, isTerminal, stop }: Surroundings) {
  const findings: Finding[] = [];
  // With the lines in a pipe (`| grep`) both would still end up on the same terminal.
  const isShown = !json && isTerminal && err.isTTY === true;
  const facts: ReportFacts = {
    version: programVersion(),
    node: process.version,
    system: `${platform()} ${release()} ${arch()}`,
    at: new Date(systemClock.now()).toISOString(),
  };
  if (!json) out(`greenhouse2mqtt ${facts.version}, Node.js ${facts.node}, ${facts.system}, ${facts.at}\n`);
  const erase = () => {
    if (isShown) err.write("\r\u001b[K");
  };
  return {
    findings,
    begun: (check: string) => {
      if (isShown) err.write(`\r\u001b[K${check} …`);
    },
    add: (finding: Finding) => {
      findings.push(finding);
      erase();
      if (!json) out(`${lineOf(finding)}\n`);
    },
    end: () => {
      erase();
      out(json ? `${jsonReport(facts, findings, stop.aborted)}\n` : `${summaryOf(findings)}\n`);
    },
  };
}

function portsFor(dataDir: string, log: DoctorPorts["log"]): DoctorPorts {
  return {
    clock: systemClock,
    random: systemRandom,
    log,
    holder: () => holderOf(dataDir),
    lastRun: () => lastRunOf(journalDirectory(dataDir)),
  };
}

/** What the journal in a directory tells about earlier runs; it works beside a running bridge. */
export async function lastRunOf(directory: string): Promise<LastRun> {
  const { open, problems, starts } = await readHistory(directory);
  const [newest] = await newestRecords(directory, { types: new Set(["result"]), limit: 1 });
  const last = starts.at(-1);
  return {
    startedAt: last?.at ?? null,
    stopped: last?.stopped ?? true,
    open: open.length,
    problems: problems.length,
    newestAt: newest?.at ?? null,
    newestOutcome: newest?.type === "result" ? newest.result.outcome : null,
  };
}
