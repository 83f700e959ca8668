import { deviceTexts, privateTexts } from "../../config/private-texts.js";
import type { Configuration } from "../../config/schema.js";
import { cameWithin, type Clock } from "../../runtime/clock.js";
import { pad } from "../../runtime/text-table.js";
import { type PrivateText, strangerSafe } from "../../runtime/redaction.js";

type Status = "ok" | "warning" | "failed" | "skipped";

/** What one check found. `remedy` says what to do, in the words of the configuration. */
export interface Verdict {
  readonly status: Status;
  readonly summary: string;
  readonly remedy?: string;
  /** Texts of the platform inside the summary that a bug report must not show. */
  readonly foreign?: readonly string[];
}

export interface Finding extends Verdict {
  readonly check: string;
}

export const ok = (summary: string): Verdict => ({ status: "ok", summary });
export const warning = (summary: string, remedy: string): Verdict => ({ status: "warning", summary, remedy });
export const failed = (summary: string, remedy: string): Verdict => ({ status: "failed", summary, remedy });
export const notTried = (because: string): Verdict => ({
  status: "skipped",
  summary: `not tried: ${because}`,
});

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
  const work = task(AbortSignal.any([stop, late.signal]));
  if (await cameWithin(clock, ms, work)) return work;
  late.abort(new Error("out of time"));
  // What it has found by now is still taken; one that does not let go is left behind.
  if (await cameWithin(clock, lettingGoMs, work)) return work;
  throw new Error("out of time");
}

const longestId = 25;

type Tell = (text: string) => string;

/** `failed   token   what; remedy`, always one line, with its words as `tell` says them. */
export function lineOf({ status, check, summary, remedy }: Finding, tell: Tell): string {
  const what = tell(oneLine(summary));
  const joint = what === oneLine(summary) ? "; " : "；";
  const text = remedy === undefined ? what : `${what}${joint}${tell(oneLine(remedy))}`;
  return `${pad(tell(status), 8)} ${check.padEnd(longestId)} ${text}`;
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

/** The whole report as one JSON document; `isStopped`: before everything was tried. */
export function jsonReport(facts: ReportFacts, findings: readonly Finding[], isStopped: boolean): string {
  const counts = countOf(findings);
  const checks = findings.map(({ check, status, summary, remedy }) => {
    const way = remedy === undefined ? null : oneLine(remedy);
    return { check, status, summary: oneLine(summary), remedy: way };
  });
  return JSON.stringify({ ...facts, ok: counts.failed === 0 && !isStopped, counts, checks }, null, 2);
}

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");

/** What findings may hold that a stranger must not read, besides what the configuration holds. */
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
 * Makes findings fit for a bug report: hosts, codes, names, users, paths and secrets become placeholders that are the same
 * throughout one report.
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
    const cleaned = remedy === undefined ? {} : { remedy: safe.text(remedy) };
    return { check, status, summary: safe.text(summary), ...cleaned };
  };
}
