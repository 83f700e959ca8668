import { statements } from "../language/lists.js";
import { msg, row, type Text } from "../language/text.js";
import { nullIfFailed } from "../runtime/failures.js";
import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { platform } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { z } from "zod";
import { isLanguage, type Language } from "../greenhouse/labels.js";
import { errorCode, readWholeFile } from "../runtime/file-system.js";
import { forGroup, forOwner, privateModeIn, readingRemedy } from "../runtime/permissions.js";
import { secretParts, textsIn } from "../runtime/redaction.js";
import {
  atKey,
  atValue,
  fileProblem,
  type Finding,
  formatPath,
  inBrief,
  inOrder,
  messageOf,
  type Path,
  type Problem,
  problemText,
} from "../settings/problem.js";
import { oldNameWarning, type Rename } from "./renames.js";
import { isDraft } from "../settings/draft.js";
import { brokenRules } from "./rules/rules.js";
import { type Configuration, configurationSchema } from "./schema.js";
import { fieldFacts } from "../settings/values.js";
import { doubtsAbout } from "./warnings.js";
import { unusedOptions } from "./rules/controllers.js";
import { unitDoubts } from "./rules/units.js";
import { readDocument, type Reading, type Shape, shapeOf } from "./yaml/read-document.js";
import { type Environment, type Secrets, secretsIn as namedSecrets } from "./yaml/references.js";
import { offsetOf, parseSource, pathKey, type Source, type SourceFault, withCulprit } from "./yaml/source.js";

type Issue = z.core.$ZodIssue;

/** zod's issues as findings. The sentences come from the schema itself; this only settles which of them to show. */
export function findingsOf(issues: readonly Issue[], above: Path = []): Finding[] {
  return issues.flatMap((issue) => {
    const path = [...above, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))];
    if (issue.code === "invalid_key") return atKey(path, messageOf(issue.issues[0] ?? issue));
    if (issue.code === "invalid_union") return fromUnion(issue, path);
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => atKey([...path, key], msg`unknown key`));
    return atValue(path, messageOf(issue));
  });
}

/** Reports the alternative whose overall form was right (a section for a section); else the union's own sentence. */
function fromUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path): Finding[] {
  const close = issue.errors.find((issues) => issues.every((inner) => inner.path.length > 0));
  return close === undefined ? [atValue(path, messageOf(issue))] : findingsOf(close, path);
}

/** Room for 2,000 controllers with everything on them; reading that much takes seconds and half a gigabyte. */
export const mostConfigurationBytes = 4 * 1_048_576;

type FileFault = Pick<SourceFault, "message"> & Partial<SourceFault>;

type TextFile =
  | { readonly ok: true; readonly source: Source; readonly access: Access }
  | {
      readonly ok: false;
      readonly missing: boolean;
      readonly faults: readonly FileFault[];
      readonly language?: Language;
    };

/** Why there is no content. */
const sentences = {
  missing: msg`there is no such file`,
  directory: msg`this is a folder; name the file in it`,
  no_file: msg`this is a pipe, a socket or a device, from which nothing is read; name a file`,
  forbidden: msg`this user may not read the file; check its owner and mode, and those of the folders above it`,
  too_large: msg`larger than 4 MiB; this cannot be a configuration`,
  unreadable: msg`the file cannot be read`,
};

/** A YAML file as nodes, or every reason why not. */
export async function readYaml(path: string, readFile: ReadFile): Promise<TextFile> {
  const refuse = (message: Text, missing = false): TextFile => ({
    ok: false,
    missing,
    faults: [{ message }],
  });
  const content = await readFile(path, mostConfigurationBytes);
  if (!content.ok) return refuse(content.message ?? sentences[content.reason], content.reason === "missing");
  if (content.bytes.length > mostConfigurationBytes) return refuse(sentences.too_large);
  if (!isUtf8(content.bytes)) return refuse(msg`not UTF-8 text; save the file with that encoding`);
  const text = new TextDecoder().decode(content.bytes);
  const parsed = parseSource(text);
  return parsed.ok
    ? { ok: true, source: parsed.source, access: content }
    : { ok: false, missing: false, faults: parsed.faults, language: languageIn(text) };
}

/** The language that a file names, whatever else is wrong with it. */
const languageIn = (text: string): Language | undefined => {
  const [, language] = /^language: *["']?([a-z-]+)["']? *(?:#.*)?$/m.exec(text) ?? [];
  return isLanguage(language) ? language : undefined;
};

/**
 * Resolves paths against the configuration's own folder, wherever the program is started. They become absolute, as the
 * working directory may vanish under a running bridge.
 */
function resolvedPaths(configuration: Configuration, folder: string): Configuration {
  const from = (path: string) => resolve(folder, path);
  const maybe = (path: string | undefined) => (path === undefined ? undefined : from(path));
  const { platform, mqtt, broker } = configuration;
  return {
    ...configuration,
    data_dir: from(configuration.data_dir),
    platform: { ...platform, token_file: maybe(platform.token_file) },
    mqtt: {
      ...mqtt,
      tls: { ...mqtt.tls, ca: maybe(mqtt.tls.ca), cert: maybe(mqtt.tls.cert), key: maybe(mqtt.tls.key) },
    },
    broker: {
      ...broker,
      tls: { ...broker.tls, cert: maybe(broker.tls.cert), key: maybe(broker.tls.key) },
    },
  };
}

interface SecretsFile {
  readonly secrets: Secrets;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** The file with the secrets of a configuration. */
export const secretsBeside = (configurationFile: string): string =>
  join(dirname(configurationFile), "secrets.yaml");

/** Only read when the configuration uses `!secret`. */
export async function readSecrets(
  configurationFile: string,
  text: string,
  readFile: ReadFile,
): Promise<SecretsFile> {
  const file = secretsBeside(configurationFile);
  const none = (message: Text | null, problems: readonly Problem[] = []): SecretsFile => ({
    secrets: { ok: false, message },
    problems,
    warnings: [],
  });
  if (!text.includes("!secret")) return none(msg`no secrets were read`);
  const read = await readYaml(file, readFile);
  if (!read.ok) {
    if (read.missing) return none(msg`${file} is missing; it holds the secrets, one "name: value" a line`);
    return none(
      null,
      read.faults.map((fault) => fileProblem(file, fault.message, fault)),
    );
  }
  const open = fileProblem(
    file,
    msg`other users of this computer can read it: chmod ${privateMode(read.access)} ${file}`,
  );
  const warnings = openToOthers(read.access) ? [open] : [];
  return { secrets: namedSecrets(read.source, file), problems: [], warnings };
}

/** What loading needs from the outside; the real files unless others are given. */
interface ConfigurationSources {
  readonly readFile?: ReadFile;
  readonly env: Environment;
  readonly renames?: readonly Rename[];
  /** What holds where the file says nothing. */
  readonly under?: Defaults;
}

/** Values of another file, under those of a configuration. */
export interface Defaults {
  readonly value: unknown;
  /** A finding about one of them, as a problem with its place; null for a value that is in no file. */
  problemAt(finding: Finding): Problem | null;
}

export interface LoadedConfiguration {
  readonly ok: true;
  /** As the user gave it. */
  readonly file: string;
  /** Paths in it are absolute; in the file they are relative to its folder. */
  readonly configuration: Configuration;
  readonly warnings: readonly Problem[];
  /** Turns a finding into a problem with its place in the file, for checks over several files. */
  readonly problemAt: (finding: Finding) => Problem;
}

interface RefusedConfiguration {
  readonly ok: false;
  readonly file: string;
  /** The data directory of an account of a fleet, unless its own file names one. */
  readonly dataDir?: string;
  /** The language for its mistakes, if the file names one. */
  readonly language?: Language;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export type ConfigurationResult = LoadedConfiguration | RefusedConfiguration;

/**
 * Reads, checks and completes a configuration. Never rejects and never writes: everything that is wrong comes back as
 * problems, sorted by place. No problem or warning repeats a value of the file.
 */
export async function loadConfiguration(
  file: string,
  { env, readFile: reads = readFile, renames, under }: ConfigurationSources,
): Promise<ConfigurationResult> {
  const read = await readYaml(file, reads);
  if (!read.ok) return refuse(file, problemsOf(file, read), read.language);
  const { source } = read;
  if (source.root === null) return refuse(file, [fileProblem(file, msg`the file is empty; ${startHint}`)]);
  const { secrets, ...fromSecrets } = await readSecrets(file, source.text, reads);
  const own = readDocument(source, configurationSchema, { env, secrets }, renames);
  const reading = { ...own, value: whole(own.value, under) };
  const problem = problemsIn(file, source);
  const problemAt = (finding: Finding) =>
    defaultProblem(own, finding, under) ??
    problem({ ...finding, offset: offsetOf(own.places, finding.path, finding.on) });
  const wrongAt = (finding: Finding) =>
    defaultProblem(own, finding, under) ?? problem({ ...finding, ...withCulprit(own.places, finding) });
  const checked = check(reading);
  if (!checked.ok) {
    const wrong = [...fromSecrets.problems, ...reading.faults.map(problem), ...checked.findings.map(wrongAt)];
    return refuse(file, wrong, languageIn(source.text));
  }
  const configuration = resolvedPaths(checked.configuration, dirname(file));
  const doubts = [
    ...doubtsAbout(configuration, reading.places.keys.has(pathKey(["broker"]))),
    ...doubtsOfFile(file, reading, read.access),
  ];
  const warnings = inOrder([
    ...doubts.map(problemAt),
    ...reading.strays.map(problem),
    ...fromSecrets.warnings,
  ]);
  return { ok: true, file, configuration, warnings, problemAt };
}

/**
 * Some problems, without the folders of their files, and the number of the others; for people who only need to know
 * that there are some.
 */
export function inShort(problems: readonly Problem[], most = 1): Text | null {
  const named = problems.slice(0, most).map((one) => problemText({ ...one, file: basename(one.file) }));
  const left = problems.length - named.length;
  if (named.length === 0) return null;
  const more = left > 0 ? msg`; and ${left} more` : "";
  return row`${statements(named)}${more}`;
}

const problemsOf = (file: string, { missing, faults }: Extract<TextFile, { ok: false }>) =>
  faults.map((fault) =>
    fileProblem(file, missing ? statements([fault.message, startHint]) : fault.message, fault),
  );

const problemsIn =
  (file: string, source: Source) =>
  ({ offset, path, message }: Pick<Finding, "path" | "message"> & { readonly offset: number }): Problem => ({
    file,
    ...source.positionAt(offset),
    path: formatPath(path),
    message,
  });

/**
 * A finding about a value that is not in the file itself, with its place; null if the value is in the file, or nowhere.
 */
function defaultProblem({ places }: Reading, finding: Finding, under: Defaults | undefined): Problem | null {
  const key = pathKey(finding.path);
  return places.keys.has(key) || places.values.has(key) ? null : (under?.problemAt(finding) ?? null);
}

/** Lays `upper` over `lower`: sections key by key, everything else as a whole. */
export function valueOver(lower: unknown, upper: unknown): unknown {
  if (upper === undefined || upper === null) return lower;
  if (!isDraft(lower) || !isDraft(upper)) return upper;
  const names = new Set([...Object.keys(lower), ...Object.keys(upper)]);
  return Object.fromEntries([...names].map((name) => [name, valueOver(lower[name], upper[name])]));
}

/** Adds what holds where the file says nothing: the values under it, and its language in each section. */
function whole(own: unknown, under: Defaults | undefined): unknown {
  const value = under === undefined ? own : valueOver(under.value, own);
  const language = isDraft(value) ? value["language"] : undefined;
  if (!isLanguage(language)) return value;
  return valueOver({ homeassistant: { language }, notify: { language } }, value);
}

const startHint = msg`\`greenhouse2mqtt init\` writes one, and \`greenhouse2mqtt schema --example\` shows every key`;

const refuse = (file: string, problems: readonly Problem[], language?: Language): RefusedConfiguration => ({
  ok: false,
  file,
  ...(language !== undefined && { language }),
  problems: inBrief(problems),
  warnings: [],
});

type Checked =
  | { readonly ok: true; readonly configuration: Configuration }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/**
 * Checks schema and rules together, so that one run shows everything. What could not be read was reported when reading.
 */
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

const doubtsOfFile = (file: string, reading: Reading, access: Access): Finding[] => [
  ...unusedOptions(reading.value),
  ...unitDoubts(reading.value),
  ...modeDoubts(file, reading, access),
  ...reading.renamed.map(oldNameWarning),
];

/** Warns of a secret in a file that others can read; one from the environment or secrets.yaml is not in it. */
function modeDoubts(file: string, reading: Reading, access: Access): Finding[] {
  const [first] = reading.literalSecrets;
  if (first === undefined || !openToOthers(access)) return [];
  const message = msg`other users of this computer can read the file and this secret in it: chmod ${privateMode(access)} ${file}`;
  return [atValue(first, message)];
}

const secretsOf = new WeakMap<Configuration, readonly string[]>();

/** Every text that must never reach a log, topic or message: the values that the schema calls secret. */
export function secretValues(configuration: Configuration): readonly string[] {
  const known = secretsOf.get(configuration) ?? secretsUnder(configurationSchema, configuration);
  secretsOf.set(configuration, known);
  return known;
}

/** The values that a section calls secret. */
export const secretsUnder = (schema: z.ZodType, value: unknown): readonly string[] => [
  ...new Set(secretsIn(shapeOf(schema), value)),
];

function secretsIn(shape: Shape, value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (shape.type === "either") return shape.options.flatMap((option) => secretsIn(option, value));
  if (shape.type === "list" || shape.type === "map") {
    const inner = shapeOf(shape.type === "list" ? shape.item : shape.value);
    return Object.values(value).flatMap((item) => secretsIn(inner, item));
  }
  if (shape.type !== "section") return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const schema = shape.keys.get(key);
    if (schema === undefined) return [];
    return fieldFacts.get(schema)?.secret === true
      ? textsIn(inner).flatMap(secretParts)
      : secretsIn(shapeOf(schema), inner);
  });
}

interface Access {
  /** Null if the system knows no permissions. */
  readonly mode: number | null;
  /** The file is in a folder whose new files are for the folder's group. */
  readonly isForGroup?: boolean;
}

/** The content of a file. */
export type FileContent =
  | (Access & { readonly ok: true; readonly bytes: Uint8Array })
  | {
      readonly ok: false;
      readonly reason: keyof typeof sentences;
      /** Replaces the usual sentence. */
      readonly message?: Text;
    };

/** Reads a file of at most `limit` bytes; never rejects. */
export type ReadFile = (path: string, limit: number) => Promise<FileContent>;

const reasons: Readonly<Record<string, keyof typeof sentences>> = {
  ENOENT: "missing",
  ENOTDIR: "missing",
  EISDIR: "directory",
  ENOTFILE: "no_file",
  // A socket cannot even be opened.
  ENXIO: "no_file",
  EFBIG: "too_large",
  EACCES: "forbidden",
  EPERM: "forbidden",
};

export const readFile: ReadFile = async (path, limit) => {
  try {
    const { bytes, stats } = await readWholeFile(resolve(path), limit);
    if (platform() === "win32") return { ok: true, bytes, mode: null };
    const isForGroup = (await privateModeIn(dirname(resolve(path)))) === forGroup;
    return { ok: true, bytes, mode: modeOf(stats, isForGroup), isForGroup };
  } catch (error) {
    const reason = reasons[errorCode(error)] ?? "unreadable";
    const remedy = reason === "forbidden" ? await readingRemedy(path).catch(nullIfFailed) : null;
    if (remedy === null) return { ok: false, reason };
    const message = msg`this user may not read the file; this lets ${remedy.who} read it: ${remedy.how}`;
    return { ok: false, reason, message };
  }
};

/**
 * A file's mode, without the group's right to read where that is intended: from root, as packages hand over
 * configurations (root:group, 640); in a folder for its group; or if only the group lets us read.
 */
function modeOf({ uid, mode }: Stats, isForGroup: boolean): number {
  const own = process.getuid?.() ?? 0;
  const isMeant = isForGroup || uid === 0 || (own !== 0 && uid !== own);
  return mode & (isMeant ? 0o737 : 0o777);
}

/** Whether anybody but the owner may read or write a file of this mode. */
const openToOthers = ({ mode }: Access): boolean => mode !== null && (mode & 0o077) !== 0;

const privateMode = ({ isForGroup = false }: Access): string =>
  (isForGroup ? forGroup : forOwner).toString(8);

/** Reads these texts as files that need not exist, and everything else from disk. */
export const withTexts =
  (texts: Readonly<Record<string, string>>): ReadFile =>
  (path, limit) => {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    return text === undefined
      ? readFile(path, limit)
      : Promise.resolve({ ok: true, bytes: Buffer.from(text), mode: null });
  };
