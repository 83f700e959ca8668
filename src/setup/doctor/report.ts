import { countOf, type Finding } from "./finding.js";

const longestId = 25;

/** `failed   token   what; remedy`, always one line. */
export function lineOf({ status, check, summary, remedy }: Finding): string {
  const text = remedy === undefined ? summary : `${summary}; ${remedy}`;
  return `${status.padEnd(8)} ${check.padEnd(longestId)} ${oneLine(text)}`;
}

/** `12 ok, 2 warnings, 1 failed, 3 not tried`. */
export function summaryOf(findings: readonly Finding[]): string {
  const { ok, warning, failed, skipped } = countOf(findings);
  return `${ok} ok, ${warning} ${warning === 1 ? "warning" : "warnings"}, ${failed} failed, ${skipped} not tried`;
}

export interface ReportFacts {
  readonly version: string;
  readonly node: string;
  readonly system: string;
  /** ISO time. */
  readonly at: string;
}

export interface Examination {
  readonly findings: readonly Finding[];
  /** Before everything was tried. */
  readonly isStopped: boolean;
}

/** The whole report as one JSON document. */
export function jsonReport(facts: ReportFacts, { findings, isStopped }: Examination): string {
  const counts = countOf(findings);
  const checks = findings.map(({ check, status, summary, remedy }) => ({
    check,
    status,
    summary: oneLine(summary),
    remedy: remedy === undefined ? null : oneLine(remedy),
  }));
  return JSON.stringify({ ...facts, ok: counts.failed === 0 && !isStopped, counts, checks }, null, 2);
}

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
