import { createHash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { changedKeys, reloadableKeys } from "../config/live-settings.js";
import { type ConfigurationResult, mostConfigurationBytes, type ReadFile, readFile } from "../config/load.js";
import { alarmSentences } from "../config/rules/alarms.js";
import { groupSentences } from "../config/rules/groups.js";
import { limitSentences } from "../config/rules/limit-rules.js";
import type { Configuration } from "../config/schema.js";
import { errorCode, type FileSystem, nodeFileSystem, readWholeFile } from "../runtime/file-system.js";
import { hashPassword, isPasswordHash, passwordWeakness } from "../runtime/passwords.js";
import { formatPath, formatProblem, type Path, type Problem } from "../settings/problem.js";
import { difference } from "./difference.js";
import { type Change, editedText } from "./edit.js";
import { given, type GivenValue } from "./given.js";
import { keyText, noKey, pathOf } from "./key.js";
import { isTextAt } from "./schema-at.js";
import { namesIn, nodesOf, secretsApart, usesIn } from "./secrets.js";
import type { Written } from "./value-text.js";
import { keepFormer, NotWritten, writeText, writingProblem } from "./write.js";

/* The file of a configuration, and that of its secrets, as people change them from elsewhere than an editor. */

interface SettingsFilePorts {
  /** As it was given. */
  readonly file: string;
  /** Reads and checks the configuration, with these contents in the place of files. */
  readonly load: (reads: ReadFile) => Promise<ConfigurationResult>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where former files are kept, in a folder of its own. */
  readonly dataDir: () => string;
  /** Wall clock, ms. */
  readonly now: () => number;
  readonly files?: FileSystem;
}

/** By key; null takes a key away. */
export type Changes = Readonly<Record<string, unknown>>;

/** What is to be saved: values at keys, or the whole text. */
export type Wanted = { readonly changes: Changes } | { readonly text: string };

interface Texts {
  readonly text: string;
  /** Null where there is none. */
  readonly secrets: string | null;
  readonly hasMark: boolean;
}

export interface Settings {
  readonly file: string;
  readonly etag: string;
  /** Why nothing can be saved; null where nothing speaks against it. */
  readonly notWritable: string | null;
  /** What stands in the file, by key; of secrets only that they are there. */
  readonly given: Readonly<Record<string, GivenValue>>;
  /** The file itself; null where secrets stand in it. */
  readonly text: string | null;
}

export interface Proposal {
  readonly etag: string;
  /** By key; none where it can be saved. A key of its own for what is wrong with the file as a whole: empty. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly string[];
  /** What the changed configuration does, in plain words, where it does something else than before. */
  readonly sentences: readonly string[];
  /** What changes in the file; empty where nothing does. */
  readonly difference: string;
  /** Names that are new in the file of secrets, or get another value. */
  readonly secrets: readonly string[];
  /** The keys that have another value, and those of them that take a new run. */
  readonly keys: readonly string[];
  readonly needRun: readonly string[];
}

type Made = Proposal & {
  readonly before: Texts;
  readonly after: Texts;
  readonly configuration: Configuration | null;
};

export type Saved =
  | {
      readonly saved: true;
      readonly proposal: Proposal;
      readonly configuration: Configuration;
      readonly kept: Kept;
    }
  | { readonly saved: false; readonly why: "changed" | "wrong"; readonly proposal: Proposal }
  | {
      readonly saved: false;
      readonly why: "not_writable";
      readonly message: string;
      readonly proposal: Proposal;
    };

/** Where the former files are; null of one that was not changed. */
export interface Kept {
  readonly file: string | null;
  readonly secrets: string | null;
}

type Tell = (text: string) => string;

/** Who changes it: in which language he is told, and whether he is a user of the page, who is to stay an admin. */
interface Saver {
  readonly tell?: Tell;
  readonly admin?: string | null;
}

const mark = "\ufeff";
const asIs: Tell = (text) => text;

/** One file of a configuration. Whoever saves waits for those before, so that none of two is lost without a word. */
export class SettingsFile {
  readonly #ports: SettingsFilePorts;
  #saving: Promise<unknown> = Promise.resolve();

  constructor(ports: SettingsFilePorts) {
    this.#ports = ports;
  }

  get file(): string {
    return this.#ports.file;
  }

  get #secretsFile(): string {
    return join(dirname(this.#ports.file), "secrets.yaml");
  }

  async settings(): Promise<Settings> {
    const { file, env } = this.#ports;
    const texts = await this.#read();
    const shown = given(texts.text, { env, secretsFile: this.#secretsFile, secretsText: texts.secrets });
    const holdsSecrets = Object.values(shown).some(
      ({ isSecret, from }) => isSecret === true && from === "file",
    );
    return {
      file,
      etag: etagOf(texts),
      notWritable: await writingProblem(file),
      given: shown,
      text: holdsSecrets ? null : texts.text,
    };
  }

  /** What saving would do and what is wrong with it; nothing is written. */
  async propose(wanted: Wanted, saver: Saver = {}): Promise<Proposal> {
    return withoutTexts(await this.#make(wanted, saver));
  }

  /** Resolves once the disk has it. An `etag` of null stands for whatever is there now. */
  save(wanted: Wanted, etag: string | null, saver: Saver = {}): Promise<Saved> {
    const saving = this.#saving.then(() => this.#save(wanted, etag, saver));
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #save(wanted: Wanted, etag: string | null, saver: Saver): Promise<Saved> {
    const made = await this.#make(wanted, saver);
    const { before, after, configuration } = made;
    const proposal = withoutTexts(made);
    if (etag !== null && etag !== made.etag) return { saved: false, why: "changed", proposal };
    if (configuration === null || Object.keys(made.errors).length > 0)
      return { saved: false, why: "wrong", proposal };
    if (before.text === after.text && before.secrets === after.secrets)
      return { saved: true, proposal, configuration, kept: { file: null, secrets: null } };
    try {
      const kept = await this.#write(before, after);
      return { saved: true, proposal: { ...proposal, etag: etagOf(after) }, configuration, kept };
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      return { saved: false, why: "not_writable", message: error.message, proposal };
    }
  }

  /** Secrets first: a name too many in their file is nobody's trouble, and one too few is. */
  async #write(before: Texts, after: Texts): Promise<Kept> {
    const { file, now, dataDir, files = nodeFileSystem } = this.#ports;
    const folder = join(dataDir(), "backups");
    const isOther = after.secrets !== null && after.secrets !== before.secrets;
    const secretsFile = this.#secretsFile;
    const keep = (one: string) => keepFormer({ file: one, folder, now: now() }, files);
    const secrets = isOther && before.secrets !== null ? await keep(secretsFile) : null;
    const own = before.text === after.text ? null : await keep(file);
    if (isOther) await writeText({ file: secretsFile, text: after.secrets, isSecret: true }, files);
    if (before.text !== after.text)
      await writeText({ file, text: (before.hasMark ? mark : "") + after.text }, files);
    return { file: own, secrets };
  }

  /** Puts former files back, where they still are what was saved. Whether it did. */
  putBack(kept: Kept, etag: string): Promise<boolean> {
    const putting = this.#saving.then(() => this.#putBack(kept, etag));
    this.#saving = putting.catch(() => undefined);
    return putting;
  }

  async #putBack(kept: Kept, etag: string): Promise<boolean> {
    const { file, files = nodeFileSystem } = this.#ports;
    if (etagOf(await this.#read()) !== etag) return false;
    const back = async (from: string | null, to: string) => {
      if (from === null) return;
      const { bytes } = await readWholeFile(from, mostConfigurationBytes);
      await writeText({ file: to, text: bytes.toString("utf8") }, files);
    };
    await back(kept.file, file);
    await back(kept.secrets, this.#secretsFile);
    return true;
  }

  async #read(): Promise<Texts> {
    const { bytes } = await readWholeFile(this.#ports.file, mostConfigurationBytes);
    const whole = textOf(bytes, this.#ports.file);
    const hasMark = whole.startsWith(mark);
    const secrets = await readWholeFile(this.#secretsFile, mostConfigurationBytes).then(
      (read) => textOf(read.bytes, this.#secretsFile),
      (error: unknown) => {
        if (errorCode(error) === "ENOENT") return null;
        throw new NotWritten(`${this.#secretsFile} cannot be read: ${String(error)}`);
      },
    );
    return { text: hasMark ? whole.slice(mark.length) : whole, secrets, hasMark };
  }

  async #make(wanted: Wanted, { tell = asIs, admin = null }: Saver): Promise<Made> {
    const before = await this.#read();
    const edit =
      "text" in wanted
        ? { after: { ...before, text: wanted.text }, errors: {}, secrets: [] }
        : await this.#edit(before, wanted.changes);
    const [old, next] = [await this.#load(before), await this.#load(edit.after)];
    const about = "changes" in wanted ? Object.keys(wanted.changes) : [];
    const errors: Record<string, readonly string[]> = {
      ...(next.ok ? {} : errorsByKey(next.problems, about, tell)),
      ...edit.errors,
    };
    const former = new Set(old.warnings.map(formatProblem));
    const configuration = next.ok ? next.configuration : null;
    if (configuration !== null && admin !== null && shutsOut(configuration, admin))
      errors["http.users"] = [tell(lastAdmin)];
    const keys = old.ok && next.ok ? changedKeys(old.configuration, next.configuration) : about;
    const said = sentencesOf(old.ok ? old.configuration : null, tell);
    return {
      before,
      after: edit.after,
      configuration,
      etag: etagOf(before),
      errors,
      warnings: next.warnings
        .filter((one) => !former.has(formatProblem(one)))
        .map((one) => `${one.path}: ${tell(one.message)}`),
      sentences: sentencesOf(configuration, tell).filter((one) => !said.includes(one)),
      difference: this.#difference(before.text, edit.after.text),
      secrets: edit.secrets,
      keys,
      needRun: keys.filter((key) => !reloadableKeys.has(key)),
    };
  }

  /** Of secrets that stand in the file itself nothing is shown. */
  #difference(before: string, after: string): string {
    const { env, file } = this.#ports;
    const hidden = (text: string) => hideSecrets(text, env);
    const [old, now] = [hidden(before), hidden(after)];
    return difference(old, now, basename(file));
  }

  async #edit(before: Texts, given: Changes) {
    const read = await changesOf(given);
    if (Object.keys(read.errors).length > 0) return { after: before, errors: read.errors, secrets: [] };
    const present = {
      root: nodesOf(before.text),
      names: namesIn(before.secrets ?? ""),
      sharedNames: await this.#sharedNames(),
    };
    const { changes, secrets } = secretsApart(read.changes, before.text, present);
    const ofFile = editedText(before.text, changes, isTextAt);
    const ofSecrets = editedText(before.secrets ?? "", secrets, () => true);
    const refused = [ofFile, ofSecrets].flatMap((edited) =>
      edited.ok ? [] : [[keyText(edited.path), [edited.message]] as const],
    );
    if (!ofFile.ok || !ofSecrets.ok)
      return { after: before, errors: Object.fromEntries(refused), secrets: [] };
    const after = {
      ...before,
      text: ofFile.text,
      secrets: secrets.length === 0 ? before.secrets : ofSecrets.text,
    };
    return { after, errors: {}, secrets: secrets.map(({ path }) => String(path[0])) };
  }

  /** Names that other configurations beside this one use: of them no value is changed for this one. */
  async #sharedNames(): Promise<ReadonlySet<string>> {
    const { file, files = nodeFileSystem } = this.#ports;
    const folder = dirname(file);
    const names = (await files.list(folder).catch(() => [])).filter(
      (name) => /\.ya?ml$/.test(name) && name !== "secrets.yaml" && name !== basename(file),
    );
    const texts = await Promise.all(
      names.slice(0, 1_000).map((name) =>
        readWholeFile(join(folder, name), mostConfigurationBytes).then(
          ({ bytes }) => bytes.toString("utf8"),
          () => "",
        ),
      ),
    );
    return new Set(texts.flatMap((text) => [...usesIn(text).keys()]));
  }

  #load({ text, secrets }: Texts): Promise<ConfigurationResult> {
    const { file, load } = this.#ports;
    const texts = new Map([[resolve(file), text]]);
    if (secrets !== null) texts.set(resolve(this.#secretsFile), secrets);
    return load(async (path, limit) => {
      const own = texts.get(resolve(path));
      return own === undefined ? readFile(path, limit) : { ok: true, bytes: Buffer.from(own), mode: null };
    });
  }
}

/** Of another encoding every comment would be written anew as something else. */
function textOf(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotWritten(`${file} is not UTF-8; save it as UTF-8 first`);
  }
}

/** What is told of it; the texts may hold secrets. */
const withoutTexts = ({
  etag,
  errors,
  warnings,
  sentences,
  difference: shown,
  secrets,
  keys,
  needRun,
}: Made): Proposal => ({
  etag,
  errors,
  warnings,
  sentences,
  difference: shown,
  secrets,
  keys,
  needRun,
});

const lastAdmin =
  "you would be no admin any more, and could not take this back here; give that role to yourself, or have another admin do it";

/** Whether a user of the page could change settings no more. A page that is turned off is what somebody asked for. */
const shutsOut = ({ http }: Configuration, admin: string): boolean =>
  http !== false &&
  http.settings &&
  http.users.length > 0 &&
  !http.users.some(({ username, role }) => username === admin && role === "admin");

/** Of both files: a secret that somebody else changed is a change too. */
const etagOf = ({ text, secrets }: Texts): string =>
  createHash("sha256")
    .update(`${text}\u0000${secrets ?? ""}`)
    .digest("hex")
    .slice(0, 32);

function sentencesOf(configuration: Configuration | null, tell: Tell): readonly string[] {
  if (configuration === null) return [];
  return [limitSentences, alarmSentences, groupSentences].flatMap((about) => about(configuration, tell));
}

/** What `check` says, at the key that was changed where it is about one, else at the one that it names. */
function errorsByKey(
  problems: readonly Problem[],
  about: readonly string[],
  tell: Tell,
): Readonly<Record<string, readonly string[]>> {
  const known = new Map(about.map((key) => [formatPath(pathOf(key) ?? [key]), key]));
  const errors: Record<string, string[]> = {};
  for (const { path, message } of problems) {
    const key = known.get(path) ?? path;
    errors[key] = [...(errors[key] ?? []), tell(message)];
  }
  return errors;
}

/** Values as the file can hold them, passwords as hashes; or what is wrong with them, by key. */
async function changesOf(given: Changes): Promise<{
  readonly changes: readonly Change[];
  readonly errors: Readonly<Record<string, readonly string[]>>;
}> {
  const changes: Change[] = [];
  const errors: Record<string, readonly string[]> = {};
  for (const [key, value] of Object.entries(given)) {
    const path = pathOf(key);
    if (path === null) errors[key] = [noKey(key)];
    else {
      const held = value === null || value === undefined ? undefined : writtenOf(value);
      if (held === null)
        errors[key] = ["expected a text, a number, true or false, a list, or a section of them"];
      else {
        const safe = held === undefined ? { value: undefined } : await withHashes(held, path);
        if ("weakness" in safe) errors[keyText(safe.path)] = [`this password will not do: ${safe.weakness}`];
        else changes.push({ path, value: safe.value });
      }
    }
  }
  return { changes, errors };
}

/** Null for what YAML does not hold; keys of nothing are left out. */
function writtenOf(value: unknown): Written | null {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) {
    const items = value.map(writtenOf).filter((item) => item !== null);
    return items.length < value.length ? null : items;
  }
  const entries: [string, Written][] = [];
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    if (inner === null || inner === undefined) continue;
    const held = writtenOf(inner);
    if (held === null || key === "__proto__") return null;
    entries.push([key, held]);
  }
  return Object.fromEntries(entries);
}

type Hashed = { readonly value: Written } | { readonly weakness: string; readonly path: Path };

const isPassword = (path: Path): boolean => /^(?:http|broker)\.users\[\d+\]\.password$/.test(keyText(path));

/** What people log in with here is kept as a hash alone. */
async function withHashes(value: Written, path: Path): Promise<Hashed> {
  if (typeof value === "string") {
    if (!isPassword(path) || isPasswordHash(value)) return { value };
    const weakness = passwordWeakness(value);
    return weakness === null ? { value: await hashPassword(value) } : { weakness, path };
  }
  if (typeof value !== "object" || "tag" in value) return { value };
  const entries: [string, Written][] = [];
  for (const [key, inner] of Object.entries<Written>(value as Readonly<Record<string, Written>>)) {
    const hashed = await withHashes(inner, [...path, Array.isArray(value) ? Number(key) : key]);
    if ("weakness" in hashed) return hashed;
    entries.push([key, hashed.value]);
  }
  return { value: Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries) };
}

/** A text of YAML with the secrets that stand in it left out. */
function hideSecrets(text: string, env: SettingsFilePorts["env"]): string {
  const shown = given(text, { env, secretsFile: "", secretsText: null });
  const spans = Object.values(shown).flatMap(({ isSecret, from, span }) =>
    isSecret === true && from === "file" && span !== undefined ? [span] : [],
  );
  return spans
    .toSorted(([one], [other]) => other - one)
    .reduce((now, [from, to]) => `${now.slice(0, from)}[hidden]${now.slice(to)}`, text);
}
