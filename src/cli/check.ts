import { clashes } from "../config/clashes.js";
import { costSentence } from "../config/demand.js";
import { fileSources, loadConfiguration } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt check`: every problem of every file on stdout, one a line, and clashes between several files. */
export async function check(files: readonly string[], { env, out }: Surroundings): Promise<void> {
  const results = await Promise.all(files.map((file) => loadConfiguration(file, fileSources(env))));
  const loaded = results.flatMap((result) => (result.ok ? [result] : []));
  const problems = [...results.flatMap((result) => (result.ok ? [] : result.problems)), ...clashes(loaded)];
  for (const warning of results.flatMap((result) => result.warnings))
    out(`${formatProblem(warning)} (warning)\n`);
  for (const problem of problems) out(`${formatProblem(problem)}\n`);
  if (problems.length > 0) {
    throw new CommandFailure(
      `${problems.length} ${problems.length === 1 ? "problem" : "problems"} found`,
      exitCodes.usage,
    );
  }
  for (const { file, configuration } of loaded) out(`${file}: ${costSentence(configuration)}\n${file}: ok\n`);
}
