import { readFile, type ReadFile } from "../../config/files.js";
import { loadConfiguration } from "../../config/load.js";
import { formatProblem } from "../../config/problem.js";
import type { ReplacedSecret } from "./given-file.js";

export interface Verdict {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** What `check` says about a text that is to lie at `file`, once the environment holds the secrets taken out of it. */
export async function verdictOn(
  text: string,
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  replaced: readonly ReplacedSecret[],
): Promise<Verdict> {
  const bytes = new TextEncoder().encode(text);
  const read: ReadFile = (path, limit) =>
    path === file ? Promise.resolve({ ok: true, bytes, mode: null }) : readFile(path, limit);
  const secrets = Object.fromEntries(replaced.map(({ variable, value }) => [variable, value]));
  const result = await loadConfiguration(file, { readFile: read, env: { ...env, ...secrets } });
  return {
    problems: result.ok ? [] : result.problems.map(formatProblem),
    warnings: result.warnings.map(formatProblem),
  };
}
