import { msg, row, type Text } from "../language/text.js";

/** Keys and list positions from the root of the file to one value. */
export type Path = readonly (string | number)[];

/** Something wrong (or doubtful) in a configuration. `line` and `column` count from 1; null means the file as a whole. */
export interface Problem {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  /** `controllers.GH-0001.actuators.roof.adress`; empty for the file as a whole. */
  readonly path: string;
  readonly message: Text;
}

/** A finding of a check, before its place in the file is known. */
export interface Finding {
  readonly path: Path;
  /** Where the reader should look; for a missing key it is the section. */
  readonly on: "key" | "value";
  readonly message: Text;
}

export const atKey = (path: Path, message: Text): Finding => ({ path, on: "key", message });
export const atValue = (path: Path, message: Text): Finding => ({ path, on: "value", message });

/** A finding about a value, if `isSo`. */
export const when = (isSo: boolean, path: Path, message: Text): Finding[] =>
  isSo ? [atValue(path, message)] : [];

/** Each repeated claim together with the first one. */
export function repeats<Claim>(
  claims: readonly Claim[],
  claimed: (claim: Claim) => unknown,
): (readonly [again: Claim, first: Claim])[] {
  const firsts = new Map<unknown, Claim>();
  return claims.flatMap((claim) => {
    const key = claimed(claim);
    const first = firsts.get(key);
    if (first !== undefined) return [[claim, first] as const];
    firsts.set(key, claim);
    return [];
  });
}

/** A problem of a file as a whole. */
export function fileProblem(
  file: string,
  message: Text,
  place: { readonly line?: number; readonly column?: number } = {},
): Problem {
  return { file, line: place.line ?? null, column: place.column ?? null, path: "", message };
}

const shownKey = /^[\p{L}\p{N}\p{M}._%°/-]{1,64}$/u;

/** A key with blanks may be a mistyped `key: value` pair. Only its first word is shown, as the rest may be a secret. */
function formatKey(key: string): string {
  if (shownKey.test(key)) return key;
  const [word] = key.split(/[^\p{L}\p{N}\p{M}._-]/u, 1);
  return `"${(word ?? "").slice(0, 64)}…"`;
}

export function formatPath(path: Path): string {
  return path
    .map((part, at) => (typeof part === "number" ? `[${part}]` : `${at === 0 ? "" : "."}${formatKey(part)}`))
    .join("");
}

/** `config.yaml:12:9 controllers.GH-0001.id` */
export function placeOf({ file, line, column, path }: Problem): string {
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
  return path === "" ? place : `${place} ${path}`;
}

/** `config.yaml:12:9 controllers.GH-0001.id: …`, always one line. Places and keys are never translated. */
export const problemText = (problem: Problem): Text => row`${placeOf(problem)}: ${problem.message}`;

/** The same in English. */
export const formatProblem = (problem: Problem): string => String(problemText(problem));

/** Sorted by place, without repeats. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((problem) => [formatProblem(problem), problem]));
  return [...unique.values()].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
}

const mostShown = 100;

/** The first problems, with the number of the others: a file of another kind can have a million. */
export function inBrief(problems: readonly Problem[]): Problem[] {
  const all = inOrder(problems);
  const last = all[mostShown - 1];
  if (all.length <= mostShown || last === undefined) return all;
  const more = msg`and ${all.length - mostShown} more problems after this`;
  return [...all.slice(0, mostShown), { ...last, path: "", message: more }];
}

/*
 * zod passes an issue's message on unchanged, but declares it a string. Only these two functions know that: a sentence
 * goes in with `asMessage`, and `messageOf` reads it back.
 */

/** For an error function of a schema, and for `context.addIssue({ code: "custom", ...asMessage(text) })`. */
export const asMessage = (text: Text): { message: string } => ({ message: text as string });

/** The `error` of a schema with a constant message. */
export const saying = (text: Text) => (): { message: string } => asMessage(text);

export const messageOf = (issue: { readonly message: string }): Text => issue.message;
