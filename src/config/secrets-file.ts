import { dirname, join } from "node:path";
import type { ReadFile } from "./files.js";
import { openToOthers } from "./file-mode.js";
import { fileProblem, type Problem } from "./problem.js";
import { readYaml } from "./read-text.js";
import { secretsIn, type Secrets } from "./yaml/references.js";

export interface SecretsFile {
  readonly secrets: Secrets;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** `secrets.yaml` beside a configuration; only read when that uses `!secret`. */
export async function readSecrets(
  configurationFile: string,
  text: string,
  readFile: ReadFile,
): Promise<SecretsFile> {
  const file = join(dirname(configurationFile), "secrets.yaml");
  const none = (message: string | null, problems: readonly Problem[] = []): SecretsFile => ({
    secrets: { ok: false, message },
    problems,
    warnings: [],
  });
  if (!text.includes("!secret")) return none("no secrets were read");
  const read = await readYaml(file, readFile);
  if (!read.ok) {
    if (read.missing) return none(`${file} is missing; it holds the secrets, one "name: value" a line`);
    return none(
      null,
      read.faults.map((fault) => fileProblem(file, fault.message, fault)),
    );
  }
  const warnings = openToOthers(read.mode)
    ? [fileProblem(file, `other users of this computer can read it: chmod 600 ${file}`)]
    : [];
  return { secrets: secretsIn(read.source, file), problems: [], warnings };
}
