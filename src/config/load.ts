import { dirname } from "node:path";
import { openToOthers } from "./file-mode.js";
import { readFile, type ReadFile } from "./files.js";
import { findingsOf } from "./issues.js";
import {
  fileProblem,
  formatPath,
  inBrief,
  inOrder,
  type Finding,
  type Path,
  type Problem,
} from "./problem.js";
import { readYaml } from "./read-text.js";
import { resolvedPaths } from "./relative-paths.js";
import { brokenRules } from "./rules/rules.js";
import { configurationSchema, type Configuration } from "./schema.js";
import { readSecrets } from "./secrets-file.js";
import { doubtsAbout } from "./warnings.js";
import { holdsKey, offsetOf } from "./yaml/places.js";
import { readDocument, type Reading } from "./yaml/read-document.js";
import type { Environment } from "./yaml/references.js";
import type { Source } from "./yaml/source.js";

/** What loading needs from the outside. */
export interface ConfigurationSources {
  readonly readFile: ReadFile;
  readonly env: Environment;
}

export interface LoadedConfiguration {
  readonly ok: true;
  /** As the user gave it. */
  readonly file: string;
  /** Paths in it can be opened as they are; in the file they are relative to its folder. */
  readonly configuration: Configuration;
  readonly warnings: readonly Problem[];
  /** A finding as a problem with its place in the file, for checks over several files. */
  readonly problemAt: (finding: Finding) => Problem;
}

export interface RefusedConfiguration {
  readonly ok: false;
  readonly file: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export type ConfigurationResult = LoadedConfiguration | RefusedConfiguration;

/** The real files, beside the environment the caller was started in. */
export const fileSources = (env: Environment): ConfigurationSources => ({ readFile, env });

/**
 * Reads, checks and completes a configuration. Never rejects and never writes: everything that is wrong comes back as
 * problems, sorted by place. No problem or warning repeats a value of the file.
 */
export async function loadConfiguration(
  file: string,
  sources: ConfigurationSources,
): Promise<ConfigurationResult> {
  const read = await readYaml(file, sources.readFile);
  if (!read.ok) {
    const remedy = read.missing ? `; ${startHint}` : "";
    return refused(
      file,
      read.faults.map((fault) => fileProblem(file, fault.message + remedy, fault)),
    );
  }
  const { source } = read;
  if (source.root === null) return refused(file, [fileProblem(file, `the file is empty; ${startHint}`)]);
  const { secrets, ...fromSecrets } = await readSecrets(file, source.text, sources.readFile);
  const reading = readDocument(source, configurationSchema, { env: sources.env, secrets });
  const problemAt = placedIn(file, source, reading);
  const checked = check(reading);
  if (!checked.ok) {
    const faults = reading.faults.map((fault) =>
      problem(file, source, fault.offset, fault.path, fault.message),
    );
    return refused(file, [...fromSecrets.problems, ...faults, ...checked.findings.map(problemAt)]);
  }
  const configuration = resolvedPaths(checked.configuration, dirname(file));
  const doubts = [
    ...doubtsAbout(configuration, (path) => holdsKey(reading.places, path)),
    ...modeDoubts(file, reading, read.mode),
  ];
  const warnings = inOrder([...doubts.map(problemAt), ...fromSecrets.warnings]);
  return { ok: true, file, configuration, warnings, problemAt };
}

const startHint = "`greenhouse2mqtt init` writes one, and config.example.yaml shows every key";

const refused = (file: string, problems: readonly Problem[]): RefusedConfiguration => ({
  ok: false,
  file,
  problems: inBrief(problems),
  warnings: [],
});

type Checked =
  | { readonly ok: true; readonly configuration: Configuration }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/** Schema and rules together, so that one run shows everything. What could not be read was reported when reading. */
function check(reading: Reading): Checked {
  const parsed = configurationSchema.safeParse(reading.value, { jitless: true });
  const broken = brokenRules(reading.value);
  if (parsed.success && broken.length === 0 && reading.faults.length === 0 && reading.unreadable.length === 0)
    return { ok: true, configuration: parsed.data };
  const findings = [...(parsed.success ? [] : findingsOf(parsed.error.issues)), ...broken];
  const within = (path: Path) =>
    reading.unreadable.some((start) => start.every((part, at) => part === path[at]));
  return { ok: false, findings: findings.filter(({ path }) => !within(path)) };
}

/** A secret that stands in a file others can read is none; one from the environment or secrets.yaml is not in it. */
function modeDoubts(file: string, reading: Reading, mode: number | null): Finding[] {
  const [first] = reading.literalSecrets;
  return first !== undefined && openToOthers(mode)
    ? [
        {
          path: first,
          on: "value",
          message: `other users of this computer can read the file and this secret in it: chmod 600 ${file}`,
        },
      ]
    : [];
}

function placedIn(file: string, source: Source, reading: Reading): (finding: Finding) => Problem {
  return ({ path, on, message }) => problem(file, source, offsetOf(reading.places, path, on), path, message);
}

function problem(file: string, source: Source, offset: number, path: Path, message: string): Problem {
  return { file, ...source.positionAt(offset), path: formatPath(path), message };
}
