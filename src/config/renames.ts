import { msg } from "../language/text.js";
import { atKey, type Finding, formatPath, type Path } from "../settings/problem.js";

/**
 * Keys that had another name in an earlier version. A file with the old name still works, with a warning that names the
 * new one. A row stays for as long as docs/verify.md promises; an old name is never used for something else.
 */
export interface Rename {
  /** Path of the old key; `*` stands for any name that a user chose: `controllers.*.area`. */
  readonly from: string;
  /** Path of the new key, with as many `*`. */
  readonly to: string;
  /** The version that renamed it. */
  readonly since: string;
}

/** No key has been renamed yet. */
export const renames: readonly Rename[] = [];

/** A value under an old name. */
export interface Renamed {
  readonly from: Path;
  readonly to: Path;
  readonly since: string;
}

/** Where the value of an old key belongs; null if no key ever had this name. */
export function rename(path: Path, known: readonly Rename[]): Renamed | null {
  for (const { from, to, since } of known) {
    const names = chosenNames(path, from.split("."));
    if (names === null) continue;
    const rest = [...names];
    return {
      from: path,
      to: to.split(".").map((part) => (part === "*" ? (rest.shift() ?? "") : part)),
      since,
    };
  }
  return null;
}

/** The names in place of each `*` in a pattern; null if the path does not fit it. */
function chosenNames(path: Path, pattern: readonly string[]): readonly string[] | null {
  if (path.length !== pattern.length) return null;
  const fits = pattern.every((part, at) => part === "*" || part === path[at]);
  return fits ? pattern.flatMap((part, at) => (part === "*" ? [String(path[at])] : [])) : null;
}

export const oldNameWarning = ({ from, to, since }: Renamed): Finding =>
  atKey(from, msg`is called ${formatPath(to)} since ${since}; the old name still works, please change it`);
