import { msg, TextError } from "../language/text.js";
import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { z } from "zod";
import { secretsBeside } from "../config/load.js";
import { errorCode, readText, readWholeFile, restoringName } from "../runtime/file-system.js";
import { inDefaults, secretNames, withoutSecrets } from "../saving/given.js";
import { secretValues, withSecrets } from "../saving/secrets.js";
import { isBackupName } from "./backup-name.js";
import { pack, type Packed, seal } from "./archive.js";

/* One file with all that a bridge, an account of a fleet, or a fleet has. Secrets are in it only with a password. */

/** The first file of each backup. */
export const manifestName = "greenhouse2mqtt.json";
/** Raised where a version before would restore something else; a bridge is as it was in the first. */
export const newestFormat = 2;
const formatOf = { bridge: 1, account: 2, fleet: 2 } as const;

export const manifest = z.object({
  format: z.int().min(1).max(newestFormat),
  of: z.enum(["bridge", "account", "fleet"]).default("bridge"),
  account: z.string().optional(),
  version: z.string(),
  made_at: z.string(),
  /** Names in `secrets.yaml` that are to be given again; and in that of the accounts of a fleet. */
  secrets_left_out: z.array(z.string()),
  account_secrets_left_out: z.array(z.string()).default([]),
});
export type Manifest = Readonly<z.infer<typeof manifest>>;

interface Wanted {
  readonly version: string;
  readonly now: number;
  /** Null: secrets stay out. */
  readonly password: string | null;
}

/** A configuration and what belongs to it. */
export interface Place {
  readonly file: string;
  /** Paths in the configuration; whoever moves it brings these along. */
  readonly named: readonly string[];
  readonly dataDir: string;
}

/** Why there is no backup; its message is a sentence with a remedy. */
export class NotBackedUp extends TextError {
  override name = "NotBackedUp" as const;
}

/** What belongs to the process or the machine that runs, and what is a secret by itself or holds some. */
const never = new RegExp(
  `^(?:.*\\.sock|bridge\\.lock|sessions\\.json|fleet-status\\.json|journal-copied-up-to|${restoringName}|.*\\.tmp|\\..*)$`,
);
const ofSecrets = /^(?:page-users\.json|platform-session\.json|backups\/.*|(?:.*\/)?[^/]*\.ya?ml[^/]*)$/;
/** Former files of secrets hold those of all accounts of a fleet. */
const ofOthers = /^backups\/secrets\./;

export async function makeBackup(place: Place, wanted: Wanted): Promise<Uint8Array> {
  const { text, names, secrets } = await configurationOf(place.file, wanted);
  const data = await dataOf(place, (name) => wanted.password !== null || !ofSecrets.test(name));
  return packBackup("bridge", { secrets_left_out: leftOut(names, wanted) }, wanted, [
    { name: "config.yaml", bytes: Buffer.from(text) },
    ...(secrets === null ? [] : [{ name: "secrets.yaml", bytes: secrets }]),
    ...under("data", data),
  ]);
}

/** Rejects with NotBackedUp where its data are not in a folder of its own: whoever has this backup may see this account alone. */
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
  const shared = new Set((await Promise.all(others.map(({ file }) => readText(file)))).flatMap(secretNames));
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

/** What a fleet has beside one of its accounts. */
interface Beside {
  readonly fleet: Pick<Place, "file" | "dataDir">;
  /** They share the file of secrets: what these use too stays where it is. */
  readonly others: readonly Pick<Place, "file" | "dataDir">[];
}

/** Whether nothing of the fleet or of another account lies in the data of this one. */
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

/** All accounts, and what they have in common. */
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
  // Folders below are those of accounts.
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

/** As it goes into a backup: with a password as it is, without one by names alone. `names`: what it takes from the file of secrets. */
async function configurationOf(
  file: string,
  { password }: Wanted,
  how: Parameters<typeof withoutSecrets>[1] = {},
): Promise<{ readonly text: string; readonly names: readonly string[]; readonly secrets: Buffer | null }> {
  const text = await readText(file);
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

/** Data alone: what stands beside them in the same folder has its own place in a backup, or none. */
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

const bytesOf = async (path: string): Promise<Buffer> => (await readWholeFile(path)).bytes;

/** How often the data are looked at again where a file went away meanwhile. */
const mostLooks = 5;

/** The journal goes on meanwhile: what is appended later is not in it, and where it drops a file all are read once more. */
async function filesOf(folder: string, isWanted: (name: string) => boolean): Promise<readonly Packed[]> {
  for (let look = 1; ; look += 1) {
    const names = (await namesIn(folder)).filter(
      (name) => !never.test(basename(name)) && !isBackupName(name) && isWanted(name),
    );
    const files: Packed[] = [];
    try {
      for (const name of names) files.push({ name, bytes: await bytesOf(join(folder, name)) });
      return files;
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || look >= mostLooks) throw error;
    }
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .toSorted();
}
