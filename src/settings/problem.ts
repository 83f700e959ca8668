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

/** What a check finds, before it is known where in the file it stands. */
export interface Finding {
  readonly path: Path;
  /** Which of the two a reader should look at; a missing key leads to its section. */
  readonly on: "key" | "value";
  readonly message: Text;
}

export const atKey = (path: Path, message: Text): Finding => ({ path, on: "key", message });
export const atValue = (path: Path, message: Text): Finding => ({ path, on: "value", message });

/** A finding about a value, where there is something wrong with it. */
export const when = (isSo: boolean, path: Path, message: Text): Finding[] =>
  isSo ? [atValue(path, message)] : [];

/** Of all that claim the same, each after the first, beside that first one. */
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

/** A problem of a file that has no key to point at. */
export function fileProblem(
  file: string,
  message: Text,
  place: { readonly line?: number; readonly column?: number } = {},
): Problem {
  return { file, line: place.line ?? null, column: place.column ?? null, path: "", message };
}

const shownKey = /^[\p{L}\p{N}\p{M}._%°/-]{1,64}$/u;

/** A key with blanks may be a mistyped `key: value` pair, so only its first word is shown: the rest may be a secret. */
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

/** `config.yaml:12:9 controllers.GH-0001.id: …`, always one line. Places and keys are read as they stand in the file. */
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

/** The first problems, and how many more there are: a file that is something else entirely can have a million. */
export function inBrief(problems: readonly Problem[]): Problem[] {
  const all = inOrder(problems);
  const last = all[mostShown - 1];
  if (all.length <= mostShown || last === undefined) return all;
  const more = msg`and ${all.length - mostShown} more problems after this`;
  return [...all.slice(0, mostShown), { ...last, path: "", message: more }];
}

/*
 * zod hands on the message of an issue as it is, but declares it a string. These two are the only place that knows it:
 * a sentence goes in with `asMessage`, and `messageOf` reads it back.
 */

/** As an error function of a schema returns it, and as `context.addIssue({ code: "custom", ...asMessage(text) })` takes it. */
export const asMessage = (text: Text): { message: string } => ({ message: text as string });

/** The `error` of a schema that always says the same. */
export const saying = (text: Text) => (): { message: string } => asMessage(text);

export const messageOf = (issue: { readonly message: string }): Text => issue.message;
