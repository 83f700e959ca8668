import { joinSignals } from "../../runtime/signals.js";
import { statements } from "../../language/lists.js";
import { changed, counted, msg, type Text, TextError } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import { deviceTexts, privateTexts } from "../../config/private-texts.js";
import type { Configuration } from "../../config/schema.js";
import { failed, notTried, ok, type Status, type Verdict, warning } from "../../feature/doctor.js";
import { cameWithin, type Clock } from "../../runtime/clock.js";
import { pad } from "../../runtime/text-table.js";
import { type PrivateText, strangerSafe } from "../../runtime/redaction.js";

export { failed, notTried, ok, type Verdict, warning };

export interface Finding extends Verdict {
  readonly check: string;
}

function countOf(findings: readonly Finding[]): Readonly<Record<Status, number>> {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { status } of findings) counts[status] += 1;
  return counts;
}

const lettingGoMs = 1_000;

/** Runs a task with a signal that aborts after `ms`, or with `stop`. */
export async function within<T>(
  clock: Clock,
  ms: number,
  stop: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const { signal, release } = joinSignals(stop, late.signal);
  const work = task(signal).finally(release);
  if (await cameWithin(clock, ms, work)) return work;
  late.abort(new TextError(msg`out of time`));
  // What the task has found at that time still counts; a task that does not let go is left behind.
  if (await cameWithin(clock, lettingGoMs, work)) return work;
  throw new TextError(msg`out of time`);
}

const longestId = 25;

const statusTexts: Readonly<Record<Status, Text>> = {
  ok: msg`ok`,
  warning: msg`warning`,
  failed: msg`failed`,
  skipped: msg`skipped`,
};

/** The finding and, behind a semicolon, what to do. */
export const wholeText = ({ summary, remedy }: Verdict): Text =>
  remedy === undefined ? summary : statements([summary, remedy]);

/** `failed   token   what; remedy`, always one line, in the words of `tell`. */
export function lineOf(finding: Finding, tell: Tell): string {
  const text = tell(oneLine(wholeText(finding)));
  return `${pad(tell(statusTexts[finding.status]), 8)} ${finding.check.padEnd(longestId)} ${text}`;
}

/** `12 ok, 2 warnings, 1 failed, 3 not tried`. */
export function summaryOf(findings: readonly Finding[]): Text {
  const { ok, warning, failed, skipped } = countOf(findings);
  const warnings = counted(warning, "warning", "warnings");
  return msg`${ok} ok, ${warnings}, ${failed} failed, ${skipped} not tried`;
}

export interface ReportFacts {
  readonly version: string;
  readonly node: string;
  readonly system: string;
  /** ISO time. */
  readonly at: string;
}

/** The whole report as one JSON document; `isStopped`: not everything was tried. */
export function jsonReport(facts: ReportFacts, findings: readonly Finding[], isStopped: boolean): string {
  const counts = countOf(findings);
  const checks = findings.map(({ check, status, summary, remedy }) => {
    const way = remedy === undefined ? null : oneLine(remedy);
    return { check, status, summary: oneLine(summary), remedy: way };
  });
  return JSON.stringify({ ...facts, ok: counts.failed === 0 && !isStopped, counts, checks }, null, 2);
}

const oneLine = (text: Text): Text => changed(text, (said) => said.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "));

/** Texts in findings that strangers must not read, beside those of the configuration. */
export const textsOf = (
  account: Parameters<typeof deviceTexts>[0],
  file: string,
  findings: readonly Finding[],
): readonly PrivateText[] => [
  ...(file.includes("/") ? [["path", file] as const] : []),
  ...deviceTexts(account),
  ...findings.flatMap(({ foreign = [] }) => foreign.map((text) => ["platform-text", text] as const)),
];

/**
 * Makes findings safe for a bug report: hosts, codes, names, users, paths and secrets become placeholders, which stay
 * the same within a report.
 */
export function redactor(
  configuration: Configuration,
  account: Parameters<typeof deviceTexts>[0],
  file: string,
): (finding: Finding) => Finding {
  const safe = strangerSafe();
  safe.learn(privateTexts(configuration));
  return (finding) => {
    safe.learn(textsOf(account, file, [finding]));
    const { check, status, summary, remedy } = finding;
    const cleanText = (said: string) => safe.text(said);
    const cleaned = remedy === undefined ? {} : { remedy: changed(remedy, cleanText) };
    return { check, status, summary: changed(summary, cleanText), ...cleaned };
  };
}
