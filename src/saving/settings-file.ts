import { msg, row, type Text } from "../language/text.js";
import type { Tell } from "../language/words.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { createHash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { countsAtOnce } from "../config/at-once.js";
import { changedKeys, type KnowsSensor, keysForRun } from "../config/live-settings.js";
import {
  type ConfigurationResult,
  mostConfigurationBytes,
  type ReadFile,
  readFile,
  secretsBeside,
} from "../config/load.js";
import type { Configuration } from "../config/schema.js";
import { sentencesAbout } from "../config/warnings.js";
import {
  errorCode,
  type FileSystem,
  nodeFileSystem,
  readText,
  readWholeFile,
} from "../runtime/file-system.js";
import type { SettingsProposal, WantedSettings } from "../page/protocol.js";
import { hashPassword, isPasswordHash, passwordWeakness } from "../runtime/passwords.js";
import { formatPath, type Path, type Problem } from "../settings/problem.js";
import { difference } from "./difference.js";
import { type Change, editedText } from "./edit.js";
import { reorderedText } from "./reorder.js";
import { given, type GivenValue } from "./given.js";
import { keyText, noKey, pathOf } from "../settings/key.js";
import { isTextAt } from "./schema-at.js";
import { namesIn, nodesOf, secretsApart } from "./secrets.js";
import type { Written } from "./value-text.js";
import { formerFolder, keepFormer, NotWritten, writeText, writingProblem } from "./write.js";
import { fieldsOf } from "../runtime/objects.js";

/* Reads and changes the file of a configuration and its file of secrets, for everyone who does not use an editor. */

interface SettingsFilePorts {
  /** The path as the command line names it. */
  readonly file: string;
  /** Reads and checks the configuration with the given contents instead of files; `isAlone`: without other accounts. */
  readonly load: (reads: ReadFile, isAlone: boolean) => Promise<ConfigurationResult>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The data directory, where former files are kept in a folder. */
  readonly dataDir: () => string;
  /** Wall clock, ms. */
  readonly now: () => number;
  readonly files?: FileSystem;
  /** Called with a change before it is written. The returned function undoes that if nothing was written. */
  readonly onWriting?: (change: SavedChange) => Promise<() => Promise<void>>;
  /** Former files that must not be removed, whatever their age. */
  readonly needed?: () => readonly string[];
  /** Of the run under way. */
  readonly knowsSensor?: KnowsSensor;
  /** Replaces a text by an equal one that others hold, so that a thousand files share their secrets in memory. */
  readonly shared?: ((text: string) => string) | undefined;
}

/** New values by key; null removes a key. */
export type Changes = Readonly<Record<string, unknown>>;

/** The contents of both files; they may hold secrets. */
export interface Texts {
  readonly text: string;
  /** Null where there is no such file. */
  readonly secrets: string | null;
  readonly hasMark: boolean;
}

export interface Settings {
  readonly file: string;
  readonly etag: string;
  /** Why nothing can be saved; null where saving is possible. */
  readonly notWritable: Text | null;
  /** The values of the file by key; a secret shows only that it is there. */
  readonly given: Readonly<Record<string, GivenValue>>;
  /** The text of the file; null where it holds secrets. */
  readonly text: string | null;
}

interface Edit {
  readonly after: Texts;
  readonly errors: Readonly<Record<string, readonly Text[]>>;
  readonly secrets: readonly string[];
}

interface Made {
  readonly proposal: SettingsProposal;
  readonly before: Texts;
  readonly after: Texts;
  readonly configuration: Configuration | null;
}

export type Saved =
  | {
      readonly saved: true;
      readonly proposal: SettingsProposal;
      readonly configuration: Configuration;
      readonly kept: Kept;
    }
  | { readonly saved: false; readonly why: "changed" | "wrong"; readonly proposal: SettingsProposal }
  | {
      readonly saved: false;
      readonly why: "not_writable";
      readonly message: string;
      readonly proposal: SettingsProposal;
    };

/** A saved change, with what is needed to undo it. */
export interface SavedChange {
  readonly kept: Kept;
  /** Etags of both files together, before and after. */
  readonly before: string;
  readonly etag: string;
  readonly keys: readonly string[];
  readonly need_run: readonly string[];
  readonly difference: string;
}

/** Paths of the former files; null for an unchanged file. */
export interface Kept {
  readonly file: string | null;
  readonly secrets: string | null;
}

/**
 * Who makes the change: how to say sentences in their language, and the page's user, if any, who has to stay an admin.
 */
interface Saver {
  readonly tell?: Tell;
  readonly admin?: string | null;
}

const mark = "\ufeff";
/** The most other configurations that are read. */
const mostBeside = 1_000;
const inEnglish: Tell = String;

/** The file of a configuration. Saves run one after the other, so that none overwrites another unnoticed. */
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
    return secretsBeside(this.#ports.file);
  }

  async settings(): Promise<Settings> {
    const { file, env } = this.#ports;
    const texts = await this.read();
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

  /** What saving would do, and what is wrong with it; nothing is written. */
  async propose(wanted: WantedSettings, saver: Saver = {}): Promise<SettingsProposal> {
    return (await this.#make(wanted, saver)).proposal;
  }

  /** The resulting configuration and its changed keys; null where the change is not valid. */
  async proposed(
    wanted: WantedSettings,
  ): Promise<{ readonly configuration: Configuration; readonly keys: readonly string[] } | null> {
    const { configuration, proposal } = await this.#make(wanted, {});
    const { keys, errors } = proposal;
    return configuration === null || Object.keys(errors).length > 0 ? null : { configuration, keys };
  }

  /** Resolves when the change is on disk. With an `etag` of null it is made whatever the file holds now. */
  save(wanted: WantedSettings, etag: string | null, saver: Saver = {}): Promise<Saved> {
    return this.whileUnsaved(() => this.#save(wanted, etag, saver));
  }

  async #save(wanted: WantedSettings, etag: string | null, saver: Saver): Promise<Saved> {
    const made = await this.#make(wanted, saver);
    const { before, after, configuration, proposal } = made;
    if (etag !== null && etag !== proposal.etag) return { saved: false, why: "changed", proposal };
    if (configuration === null || Object.keys(proposal.errors).length > 0)
      return { saved: false, why: "wrong", proposal };
    if (before.text === after.text && before.secrets === after.secrets)
      return { saved: true, proposal, configuration, kept: { file: null, secrets: null } };
    try {
      const kept = await this.#write(made);
      if (kept === null)
        return etag === null
          ? await this.#save(wanted, etag, saver)
          : { saved: false, why: "changed", proposal: await this.propose(wanted, saver) };
      return { saved: true, proposal: { ...proposal, etag: etagOf(after) }, configuration, kept };
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      return { saved: false, why: "not_writable", message: (saver.tell ?? inEnglish)(error.text), proposal };
    }
  }

  /**
   * Writes secrets first: a superfluous one does no harm, a missing one would. Null where somebody has edited the file
   * since it was read; that is not overwritten.
   */
  async #write({ before, after, proposal }: Made): Promise<Kept | null> {
    const { file, files = nodeFileSystem, onWriting } = this.#ports;
    const secretsFile = this.#secretsFile;
    const isOther = after.secrets !== null && after.secrets !== before.secrets;
    const kept = await this.keep(before, after);
    const { keys, need_run, difference: shown } = proposal;
    const change = { kept, before: etagOf(before), etag: etagOf(after), keys, need_run, difference: shown };
    const undo = await onWriting?.(change);
    if (etagOf(await this.read()) !== change.before) {
      await undo?.();
      return null;
    }
    try {
      const secret = { file: secretsFile, isSecret: true, like: file };
      if (isOther) await writeText({ ...secret, text: after.secrets }, files);
      if (before.text !== after.text) await writeText({ file, text: textWith(after) }, files);
    } catch (error) {
      // If the half-written change cannot be undone now, its record stays.
      if (isOther && before.secrets !== null)
        await writeText({ file: secretsFile, text: before.secrets }, files).then(undo, ignored);
      else await undo?.();
      throw error;
    }
    return kept;
  }

  /** Keeps a copy of each file that changes. Rejects with NotWritten. */
  async keep(before: Texts, after: Texts): Promise<Kept> {
    const { file, now, dataDir, files = nodeFileSystem, needed = () => [] } = this.#ports;
    const folder = join(dataDir(), formerFolder);
    const keep = (one: string, text: string) =>
      keepFormer({ file: one, text, folder, now: now(), needed: needed() }, files);
    const isSame = before.secrets === null || before.secrets === after.secrets;
    return {
      secrets: isSame ? null : await keep(this.#secretsFile, before.secrets),
      file: before.text === after.text ? null : await keep(file, textWith(before)),
    };
  }

  /** The contents before a change, from the kept copies. */
  async former({ file, secrets }: Kept): Promise<Texts> {
    const now = await this.read();
    const keptOf = (one: string) => readText(one, mostConfigurationBytes);
    return {
      ...now,
      ...(file !== null && { text: (await keptOf(file)).replace(mark, "") }),
      ...(secrets !== null && { secrets: await keptOf(secrets) }),
    };
  }

  /** The configuration of these contents; nothing is written. */
  configurationOf(texts: Texts): Promise<ConfigurationResult> {
    return this.#load(texts, false);
  }

  /** Runs `work` while nothing is saved. */
  whileUnsaved<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const working = this.#saving.then(work);
    this.#saving = working.catch(ignored);
    return working;
  }

  /** Compares the files with known etags: the first of them, a later one, a mixture, or something else. */
  async stands(etags: readonly string[]): Promise<"former" | "saved" | "between" | "other"> {
    const now = etagOf(await this.read());
    const at = etags.lastIndexOf(now);
    if (at > 0) return "saved";
    if (at === 0) return "former";
    const [own, secrets] = halvesOf(now);
    const halves = etags.map(halvesOf);
    const isKnown = halves.some(([one]) => one === own) && halves.some(([, one]) => one === secrets);
    return isKnown ? "between" : "other";
  }

  /** Restores former files unless somebody has changed them since; resolves to whether it did. */
  putBack(kept: Kept, etags: readonly string[]): Promise<boolean> {
    return this.whileUnsaved(() => this.#putBack(kept, etags));
  }

  async #putBack(kept: Kept, etags: readonly string[]): Promise<boolean> {
    const { file, files = nodeFileSystem } = this.#ports;
    const stands = await this.stands(etags);
    if (stands === "other") return false;
    const formerOf = async (from: string | null) =>
      from === null || stands === "former" ? null : readText(from, mostConfigurationBytes);
    // Both are read before either is written.
    const [own, secrets] = [await formerOf(kept.file), await formerOf(kept.secrets)];
    if (own !== null) await writeText({ file, text: own }, files);
    if (secrets !== null) await writeText({ file: this.#secretsFile, text: secrets }, files);
    return true;
  }

  async read(): Promise<Texts> {
    const { shared = String } = this.#ports;
    const { bytes } = await readWholeFile(this.#ports.file, mostConfigurationBytes);
    const whole = textOf(bytes, this.#ports.file);
    const hasMark = whole.startsWith(mark);
    const secrets = await readWholeFile(this.#secretsFile, mostConfigurationBytes).then(
      (read) => shared(textOf(read.bytes, this.#secretsFile)),
      (error: unknown) => {
        if (errorCode(error) === "ENOENT") return null;
        throw new NotWritten(msg`${this.#secretsFile} cannot be read: ${String(error)}`);
      },
    );
    return { text: hasMark ? whole.slice(mark.length) : whole, secrets, hasMark };
  }

  async #make(wanted: WantedSettings, { tell = inEnglish, admin = null }: Saver): Promise<Made> {
    const before = await this.read();
    const edit: Edit =
      "text" in wanted
        ? { after: { ...before, text: wanted.text }, errors: {}, secrets: [] }
        : await this.#edit(before, wanted);
    const [old, next] = [await this.#load(before, true), await this.#load(edit.after, false)];
    const about =
      "changes" in wanted ? [...Object.keys(wanted.changes), ...Object.keys(wanted.order ?? {})] : [];
    const errors: Record<string, readonly string[]> = Object.fromEntries([
      ...(next.ok ? [] : Object.entries(errorsByKey(next.problems, about, tell))),
      ...Object.entries(edit.errors).map(([key, texts]) => [key, texts.map(tell)] as const),
    ]);
    const former = new Set(old.warnings.map(saidText));
    const configuration = next.ok ? next.configuration : null;
    if (configuration !== null && admin !== null && shutsOut(configuration, admin, old))
      errors["http.users"] = [tell(lastAdmin)];
    const keys = old.ok && next.ok ? changedKeys(old.configuration, next.configuration) : about;
    const said = sentencesOf(old.ok ? old.configuration : null, tell);
    const proposal: SettingsProposal = {
      etag: etagOf(before),
      errors,
      warnings: next.warnings.filter((one) => this.#isNow(one, former, edit)).map((one) => tell(saidOf(one))),
      sentences: sentencesOf(configuration, tell).filter((one) => !said.includes(one)),
      difference: this.difference(before.text, edit.after.text),
      secrets: edit.secrets,
      keys,
      need_run:
        old.ok && next.ok
          ? keysForRun(old.configuration, next.configuration, this.#ports.knowsSensor)
          : keys.filter((key) => !countsAtOnce(pathOf(key) ?? [key])),
    };
    return { proposal, before, after: edit.after, configuration };
  }

  /** Whether a warning is news, or about the file that takes a secret now. */
  #isNow(warning: Problem, former: ReadonlySet<string>, { secrets }: Edit): boolean {
    return !former.has(saidText(warning)) || (secrets.length > 0 && warning.file === this.#secretsFile);
  }

  /** The difference, with secrets of the file itself hidden. */
  difference(before: string, after: string): string {
    const { env, file } = this.#ports;
    const hidden = (text: string) => hideSecrets(text, env);
    const [old, now] = [hidden(before), hidden(after)];
    return difference(old, now, basename(file));
  }

  async #edit(
    before: Texts,
    { changes: given, order = {} }: Extract<WantedSettings, { changes: Changes }>,
  ): Promise<Edit> {
    const read = await changesOf(given);
    const orders = Object.entries(order).map(([key, names]) => ({ path: pathOf(key) ?? [key], names }));
    if (Object.keys(read.errors).length > 0) return { after: before, errors: read.errors, secrets: [] };
    const present = {
      root: nodesOf(before.text),
      names: namesIn(before.secrets ?? ""),
      others: await this.#othersWithSecrets(),
    };
    const { changes, secrets } = secretsApart(read.changes, present);
    const changed = editedText(before.text, changes, isTextAt);
    const ofFile = changed.ok ? reorderedText(changed.text, orders) : changed;
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

  /**
   * Texts of the other configurations in the folder that use secrets, whose values must not change. Null where one
   * cannot be read, as it may use any.
   */
  async #othersWithSecrets(): Promise<readonly string[] | null> {
    const { file, files = nodeFileSystem } = this.#ports;
    const folder = dirname(file);
    const beside = await files.list(folder).catch(nullIfFailed);
    const names = (beside ?? []).filter(
      (name) => /\.ya?ml$/.test(name) && name !== "secrets.yaml" && name !== basename(file),
    );
    if (beside === null || names.length > mostBeside) return null;
    const texts = await Promise.all(
      names.map((name) =>
        readWholeFile(join(folder, name), mostConfigurationBytes).then(
          ({ bytes }) => bytes.toString("utf8"),
          (error: unknown) => (errorCode(error) === "ENOENT" ? "" : null),
        ),
      ),
    );
    const read = texts.filter((text) => text !== null);
    return read.length < texts.length ? null : read.filter((text) => text.includes("!secret"));
  }

  #load({ text, secrets }: Texts, isAlone: boolean): Promise<ConfigurationResult> {
    const { file, load } = this.#ports;
    const texts = new Map([[resolve(file), text]]);
    if (secrets !== null) texts.set(resolve(this.#secretsFile), secrets);
    return load(async (path, limit) => {
      const [own, onDisk] = [texts.get(resolve(path)), await readFile(path, limit)];
      if (own === undefined) return onDisk;
      // Its mode stays, which may let others read a secret.
      const access = onDisk.ok ? onDisk : { mode: null };
      return { ...access, ok: true, bytes: Buffer.from(own) };
    }, isAlone);
  }
}

/** In another encoding all comments would be garbled when written. */
function textOf(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotWritten(msg`${file} is not UTF-8; save it as UTF-8 first`);
  }
}

/** A warning without its line, which moves with every line that is added above it. */
const saidOf = ({ file, path, message }: Problem): Text =>
  row`${path === "" ? basename(file) : path}: ${message}`;
const saidText = (warning: Problem): string => String(saidOf(warning));

const lastAdmin = msg`you would no longer be an admin and could not undo this here; keep the role, or let another admin do it`;

/** Whether a user of the page could not change settings any more. Turning the page off is allowed. */
function shutsOut({ http }: Configuration, admin: string, before: ConfigurationResult): boolean {
  if (http === false || !http.settings) return false;
  const was = before.ok && before.configuration.http;
  // A user created at the page stays an admin as long as the file names no users.
  if (http.users.length === 0) return was !== false && was.users.length > 0;
  return !http.users.some(({ username, role }) => username === admin && role === "admin");
}

const textWith = ({ text, hasMark }: Texts): string => (hasMark ? mark : "") + text;

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

/** A hash of both files, so that a changed secret counts too. */
export const etagOf = ({ text, secrets }: Texts): string => `${hashOf(text)}-${hashOf(secrets ?? "")}`;

const halvesOf = (etag: string): readonly [own: string, secrets: string] => {
  const [own = "", secrets = ""] = etag.split("-");
  return [own, secrets];
};

const sentencesOf = (configuration: Configuration | null, tell: Tell): readonly string[] =>
  configuration === null ? [] : sentencesAbout(configuration).map(tell);

/** Errors by key: the changed key if the problem is about one, else the key that it names. */
function errorsByKey(
  problems: readonly Problem[],
  about: readonly string[],
  tell: Tell,
): Readonly<Record<string, readonly string[]>> {
  const known = new Map(about.map((key) => [formatPath(pathOf(key) ?? [key]), key]));
  const errors = new Map<string, string[]>();
  for (const { path, message } of problems) {
    const key = known.get(path) ?? path;
    errors.set(key, [...(errors.get(key) ?? []), tell(message)]);
  }
  return Object.fromEntries(errors);
}

/** Changes as the file can hold them, with passwords hashed; or errors by key. */
async function changesOf(given: Changes): Promise<{
  readonly changes: readonly Change[];
  readonly errors: Readonly<Record<string, readonly Text[]>>;
}> {
  const changes: Change[] = [];
  const errors = new Map<string, readonly Text[]>();
  for (const [key, value] of Object.entries(given)) {
    const path = pathOf(key);
    if (path === null) errors.set(key, [noKey(key)]);
    else {
      const held = value === null || value === undefined ? undefined : writtenOf(value);
      if (held === null)
        errors.set(key, [msg`expected a text, a number, true or false, a list, or a section of them`]);
      else {
        const safe = held === undefined ? { value: undefined } : await withHashes(held, path);
        if ("weakness" in safe)
          errors.set(keyText(safe.path), [msg`this password will not do: ${safe.weakness}`]);
        else changes.push({ path, value: safe.value });
      }
    }
  }
  return { changes, errors: Object.fromEntries(errors) };
}

/** The value as YAML can hold it; null for what it cannot. Keys without a value are left out. */
function writtenOf(value: unknown): Written | null {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) {
    const items = value.map(writtenOf).filter((item) => item !== null);
    return items.length < value.length ? null : items;
  }
  const entries: [string, Written][] = [];
  for (const [key, inner] of Object.entries(fieldsOf(value))) {
    if (inner === null || inner === undefined) continue;
    const held = writtenOf(inner);
    if (held === null || key === "__proto__") return null;
    entries.push([key, held]);
  }
  return Object.fromEntries(entries);
}

type Hashed = { readonly value: Written } | { readonly weakness: Text; readonly path: Path };

const isPassword = (path: Path): boolean => /^(?:http|broker)\.users\[\d+\]\.password$/.test(keyText(path));

/** Replaces passwords for logins by their hashes. */
async function withHashes(value: Written, path: Path): Promise<Hashed> {
  if (typeof value === "string") {
    if (!isPassword(path) || isPasswordHash(value)) return { value };
    const weakness = passwordWeakness(value);
    return weakness === null ? { value: await hashPassword(value) } : { weakness, path };
  }
  if (typeof value !== "object" || "tag" in value) return { value };
  const entries: [string, Written][] = [];
  for (const [key, inner] of Object.entries<Written>(value)) {
    const hashed = await withHashes(inner, [...path, Array.isArray(value) ? Number(key) : key]);
    if ("weakness" in hashed) return hashed;
    entries.push([key, hashed.value]);
  }
  return { value: Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries) };
}

/** A YAML text with its secrets replaced by `[hidden]`. */
function hideSecrets(text: string, env: SettingsFilePorts["env"]): string {
  const shown = given(text, { env, secretsFile: "", secretsText: null });
  const spans = Object.values(shown).flatMap(({ isSecret, from, span }) =>
    isSecret === true && from === "file" && span !== undefined ? [span] : [],
  );
  return spans
    .toSorted(([one], [other]) => other - one)
    .reduce((now, [from, to]) => `${now.slice(0, from)}[hidden]${now.slice(to)}`, text);
}
