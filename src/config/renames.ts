import { msg } from "../language/text.js";
import { atKey, type Finding, formatPath, type Path } from "../settings/problem.js";

/**
 * Keys that had another name in an earlier version. A file with the old name goes on working, with a warning that says the
 * new one. A row stays for as long as docs/verify.md promises; a name that was given up is never used for another thing.
 */
export interface Rename {
  /** Path of the old key, of which `*` stands for any name of a user's choice: `controllers.*.area`. */
  readonly from: string;
  /** Path of the new key, with as many `*`. */
  readonly to: string;
  /** The version that renamed it. */
  readonly since: string;
}

/** No key was renamed yet. */
export const renames: readonly Rename[] = [];

/** A value that stands under an old name. */
export interface Renamed {
  readonly from: Path;
  readonly to: Path;
  readonly since: string;
}

/** Where the value of an old key belongs; null where the key never had a name like that. */
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

/** What stands where a pattern has `*`; null where the path does not fit it. */
function chosenNames(path: Path, pattern: readonly string[]): readonly string[] | null {
  if (path.length !== pattern.length) return null;
  const fits = pattern.every((part, at) => part === "*" || part === path[at]);
  return fits ? pattern.flatMap((part, at) => (part === "*" ? [String(path[at])] : [])) : null;
}

export const oldNameWarning = ({ from, to, since }: Renamed): Finding =>
  atKey(from, msg`is called ${formatPath(to)} since ${since}; the old name still works, please change it`);
