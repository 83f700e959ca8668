import { msg, type Text, TextError } from "../language/text.js";
import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { z } from "zod";
import { secretsBeside } from "../config/load.js";
import { errorCode, isForbidden, readWholeFile, restoringName } from "../runtime/file-system.js";
import { inDefaults, secretNames, withoutSecrets } from "../saving/given.js";
import { secretValues, withSecrets } from "../saving/secrets.js";
import { formerFolder } from "../saving/write.js";
import { isBackupName } from "./backup-name.js";
import { pack, type Packed, seal } from "./archive.js";

/* Makes one file of all that a bridge, an account of a fleet, or a fleet has. It holds secrets only with a password. */

/** The first file of each backup. */
export const manifestName = "greenhouse2mqtt.json";
/** Raised whenever an earlier version would restore something wrong. A bridge still has the first format. */
export const newestFormat = 2;
const formatOf = { bridge: 1, account: 2, fleet: 2 } as const;

export const manifest = z.object({
  format: z.int().min(1).max(newestFormat),
  of: z.enum(["bridge", "account", "fleet"]).default("bridge"),
  account: z.string().optional(),
  version: z.string(),
  made_at: z.string(),
  /** Names in `secrets.yaml` whose values have to be given again; below, names in that of a fleet's accounts. */
  secrets_left_out: z.array(z.string()),
  account_secrets_left_out: z.array(z.string()).default([]),
});
export type Manifest = Readonly<z.infer<typeof manifest>>;

interface Wanted {
  readonly version: string;
  readonly now: number;
  /** Null leaves secrets out. */
  readonly password: string | null;
}

/** A configuration with everything that belongs to it. */
export interface Place {
  readonly file: string;
  /** Paths named in the configuration, which have to move with it. */
  readonly named: readonly string[];
  readonly dataDir: string;
}

/** Why no backup was made; the message is a sentence with a remedy. */
export class NotBackedUp extends TextError {
  override name = "NotBackedUp" as const;
}

/** Files that belong to the running process or the machine, and below files that are or hold secrets. */
const never = new RegExp(
  `^(?:.*\\.sock|bridge\\.lock|sessions\\.json|fleet-status\\.json|journal-copied-up-to|${restoringName}|.*\\.tmp|\\..*)$`,
);
const ofSecrets = new RegExp(
  `^(?:page-users\\.json|platform-session\\.json|${formerFolder}/.*|(?:.*/)?[^/]*\\.ya?ml[^/]*)$`,
);
/** Former files of secrets, which hold those of all accounts of a fleet. */
const ofOthers = new RegExp(`^${formerFolder}/secrets\\.`);

export async function makeBackup(place: Place, wanted: Wanted): Promise<Uint8Array> {
  const { text, names, secrets } = await configurationOf(place.file, wanted);
  const data = await dataOf(place, (name) => wanted.password !== null || !ofSecrets.test(name));
  return packBackup("bridge", { secrets_left_out: leftOut(names, wanted) }, wanted, [
    { name: "config.yaml", bytes: Buffer.from(text) },
    ...(secrets === null ? [] : [{ name: "secrets.yaml", bytes: secrets }]),
    ...under("data", data),
  ]);
}

/**
 * A backup of one account. Rejects with NotBackedUp if its data have no folder of their own, as its reader may see only
 * this account.
 */
export async function makeAccountBackup(
  { account, ...place }: AccountPlace,
  { fleet, others }: Beside,
  wanted: Wanted,
): Promise<Uint8Array> {
  if (!(await isApart({ account, ...place }, { fleet, others })))
    throw new NotBackedUp(
      msg`the data of account ${account} would be all of ${place.dataDir}, where the fleet or its other accounts have files; give the account a folder of its own (data_dir)`,
    );
  const { text, names, secrets } = await configurationOf(place.file, wanted, { prefix: `${account}_` });
  const shared = new Set(
    (await Promise.all(others.map(({ file }) => textOfFile(file)))).flatMap(secretNames),
  );
  const known = secretValues(secrets?.toString("utf8") ?? "");
  if (known === null)
    throw new NotBackedUp(msg`${secretsBeside(place.file)} is not a list of "name: value" lines`);
  const own = new Map([...known].filter(([name]) => names.includes(name) && !shared.has(name)));
  const left = names.filter((name) => !own.has(name));
  const data = await dataOf(
    place,
    (name) => !ofOthers.test(name) && (wanted.password !== null || !ofSecrets.test(name)),
  );
  const facts = { account, secrets_left_out: [], account_secrets_left_out: left };
  return packBackup("account", facts, wanted, [
    { name: `accounts/${account}.yaml`, bytes: Buffer.from(text) },
    ...(own.size === 0
      ? []
      : [{ name: "accounts/secrets.yaml", bytes: Buffer.from(withSecrets("", own) ?? "") }]),
    ...under(`data/${account}`, data),
  ]);
}

export interface AccountPlace extends Place {
  readonly account: string;
}

/** The fleet around one of its accounts. */
interface Beside {
  readonly fleet: Pick<Place, "file" | "dataDir">;
  /** Other accounts share the file of secrets; secrets that they use too are left out. */
  readonly others: readonly Pick<Place, "file" | "dataDir">[];
}

/** Whether the data folder of an account is free of files of the fleet or of other accounts. */
async function isApart(own: AccountPlace, { fleet, others }: Beside): Promise<boolean> {
  const [data = "", usual = "", accounts = ""] = await Promise.all(
    [own.dataDir, join(fleet.dataDir, own.account), dirname(own.file)].map(realPath),
  );
  const folders = await Promise.all([accounts, dirname(fleet.file), fleet.dataDir].map(realPath));
  const foreign = await Promise.all(others.map(({ dataDir }) => realPath(dataDir)));
  return (
    !folders.some((folder) => isIn(folder, data)) &&
    (data === usual || !isIn(data, accounts)) &&
    !foreign.some((folder) => isIn(folder, data) || isIn(data, folder))
  );
}

const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

/** A backup of all accounts with what they share. */
export async function makeFleetBackup(
  fleet: Place & { readonly accounts: readonly AccountPlace[] },
  wanted: Wanted,
): Promise<Uint8Array> {
  const own = await configurationOf(fleet.file, wanted, { placeOf: inDefaults });
  const files: Packed[] = [
    { name: "fleet.yaml", bytes: Buffer.from(own.text) },
    ...(own.secrets === null ? [] : [{ name: "secrets.yaml", bytes: own.secrets }]),
  ];
  const left = new Set<string>();
  let ofAccounts: Buffer | null = null;
  for (const { account, ...place } of fleet.accounts) {
    const { text, names, secrets } = await configurationOf(place.file, wanted, { prefix: `${account}_` });
    files.push({ name: `accounts/${account}.yaml`, bytes: Buffer.from(text) });
    for (const name of leftOut(names, wanted)) left.add(name);
    ofAccounts = secrets;
    const isWanted = (name: string) => wanted.password !== null || !ofSecrets.test(name);
    files.push(...under(`data/${account}`, await dataOf(place, isWanted)));
  }
  if (ofAccounts !== null) files.push({ name: "accounts/secrets.yaml", bytes: ofAccounts });
  // Folders below belong to accounts.
  const ofFleet = (name: string) =>
    !name.includes("/") && (wanted.password !== null || !ofSecrets.test(name));
  files.push(...under("data", await dataOf(fleet, ofFleet)));
  const facts = {
    secrets_left_out: leftOut(own.names, wanted),
    account_secrets_left_out: [...left].toSorted(),
  };
  return packBackup("fleet", facts, wanted, files);
}

const leftOut = (names: readonly string[], { password }: Wanted): readonly string[] =>
  password === null ? names : [];

const under = (folder: string, files: readonly Packed[]): readonly Packed[] =>
  files.map(({ name, bytes }) => ({ name: `${folder}/${name}`, bytes }));

async function packBackup(
  of: Manifest["of"],
  facts: Readonly<Record<string, unknown>>,
  { version, now, password }: Wanted,
  files: readonly Packed[],
): Promise<Uint8Array> {
  const made = { format: formatOf[of], of, version, made_at: new Date(now).toISOString(), ...facts };
  const first = { name: manifestName, bytes: Buffer.from(`${JSON.stringify(made, null, 2)}\n`) };
  const all = await pack([first, ...files], now);
  return password === null ? all : seal(all, password);
}

/**
 * The configuration for a backup: complete with a password, otherwise with names instead of secrets. `names`: the
 * secrets that it uses.
 */
async function configurationOf(
  file: string,
  { password }: Wanted,
  how: Parameters<typeof withoutSecrets>[1] = {},
): Promise<{ readonly text: string; readonly names: readonly string[]; readonly secrets: Buffer | null }> {
  const text = await textOfFile(file);
  if (password !== null) {
    const secrets = await bytesOf(secretsBeside(file)).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    });
    return { text, names: secretNames(text), secrets };
  }
  const plain = withoutSecrets(text, how);
  if (!plain.isSound)
    throw new NotBackedUp(
      msg`the secrets cannot be taken out of ${file}: write each as \`!secret name\`, its value in secrets.yaml, or give the backup a password`,
    );
  return { text: plain.text, names: plain.names, secrets: null };
}

/** The data files only; other files in the same folder have their own place in a backup, or none. */
async function dataOf(
  { file, named, dataDir }: Place,
  isWanted: (name: string) => boolean,
): Promise<readonly Packed[]> {
  const others = [file, secretsBeside(file), ...named];
  const paths = new Set(await Promise.all(others.map(realPath)));
  const folder = await realPath(dataDir);
  return filesOf(folder, (name) => !paths.has(join(folder, name)) && isWanted(name));
}

const realPath = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));

async function bytesOf(path: string): Promise<Buffer> {
  try {
    return (await readWholeFile(path)).bytes;
  } catch (error) {
    throw notRead(path, error);
  }
}

/** The error as a sentence with a remedy. A missing file stays what it is, as some may be missing. */
function notRead(path: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === "" || code === "ENOENT") return error;
  const why = isForbidden(code)
    ? msg`${path} cannot be read by this user: run this as the user of the bridge, or give it that file (chown)`
    : msg`${path} cannot be read (${code}): move it away, or look after its disk`;
  return new NotBackedUp(why, { cause: error });
}

export const textOfFile = async (path: string): Promise<string> => (await bytesOf(path)).toString("utf8");

/** Sentences about former copies in a data directory that this user may not read, which a backup leaves out. */
export async function formerLeftOut(dataDir: string): Promise<readonly Text[]> {
  const folder = join(dataDir, formerFolder);
  const names = await readdir(folder).catch((error: unknown) => (isForbidden(errorCode(error)) ? null : []));
  if (names === null) return [leftOutOf([folder])];
  const isClosed = async (path: string) =>
    readWholeFile(path).then(
      () => false,
      (error: unknown) => isForbidden(errorCode(error)),
    );
  const paths = names.map((name) => join(folder, name));
  const closed = await Promise.all(paths.map(isClosed));
  const those = paths.filter((_, at) => closed[at]);
  return those.length === 0 ? [] : [leftOutOf(those)];
}

const leftOutOf = (paths: readonly string[]): Text =>
  msg`left out, as this user may not read it: ${paths.join(", ")}; it is only a former copy`;

/** The most attempts to read the data while files disappear. */
const mostLooks = 5;

/**
 * Reads the files while the journal goes on: later records are missing, and if a file disappears, all are read again.
 */
async function filesOf(folder: string, isWanted: (name: string) => boolean): Promise<readonly Packed[]> {
  for (let look = 1; ; look += 1) {
    const names = (await namesIn(folder)).filter(
      (name) => !never.test(basename(name)) && !isBackupName(name) && isWanted(name),
    );
    const files: Packed[] = [];
    try {
      for (const name of names) {
        const bytes = await unlessFormer(name, () => bytesOf(join(folder, name)));
        if (bytes !== null) files.push({ name, bytes });
      }
      return files;
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || look >= mostLooks) throw error;
    }
  }
}

/** Former copies of the configuration, also below an account's folder in the data of a fleet. */
const ofFormer = new RegExp(`^(?:[^/]+/)?${formerFolder}(?:/|$)`);

/** Null for a former copy that this user may not read: a backup is whole without it. */
async function unlessFormer<Read>(name: string, read: () => Promise<Read>): Promise<Read | null> {
  const isFormer = ofFormer.test(name);
  return read().catch((error: unknown) => {
    const { cause } = error instanceof NotBackedUp ? error : { cause: error };
    if (isFormer && isForbidden(errorCode(cause))) return null;
    throw error;
  });
}

/** Folders are read one by one, as one that is closed may be of no matter. */
async function namesIn(folder: string, below = ""): Promise<readonly string[]> {
  const path = join(folder, below);
  const reading = () =>
    readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return [];
      throw notRead(path, error);
    });
  const entries = (await unlessFormer(below, reading)) ?? [];
  const names: string[] = [];
  for (const entry of entries) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isFile()) names.push(name);
    else if (entry.isDirectory()) names.push(...(await namesIn(folder, name)));
  }
  return names.toSorted();
}
