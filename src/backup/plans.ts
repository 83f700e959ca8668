import { msg } from "../language/text.js";
import { dirname, join, resolve, sep } from "node:path";
import { secretsBeside } from "../config/load.js";
import { given } from "../saving/given.js";
import { secretValues } from "../saving/secrets.js";
import type { Packed } from "./archive.js";
import { accountsIn, bytesIn, NotRestored, type Opened, textIn, textOf } from "./open-backup.js";

/* Decides where each file of a backup goes. */

/** Files to write, with their places. */
export interface Plan {
  /** Data folders, none inside another, each with its files by path. */
  readonly data: readonly { readonly folder: string; readonly files: ReadonlyMap<string, Uint8Array> }[];
  /** Written one after the other; nothing runs until the last one exists. */
  readonly texts: readonly Written[];
  /** Secrets to add to a file that may hold others, before the last text is written. */
  readonly secrets: { readonly file: string; readonly more: ReadonlyMap<string, string> } | null;
}

interface Written {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The plan for a bridge at these places. */
export function bridgePlan({ files }: Opened, file: string, dataDir: string): Plan {
  const secrets = bytesIn(files, "secrets.yaml");
  const texts = [
    ...(secrets === undefined ? [] : [{ path: secretsBeside(file), bytes: secrets }]),
    { path: file, bytes: bytesIn(files, "config.yaml") ?? new Uint8Array() },
  ];
  return { data: [{ folder: dataDir, files: filesUnder(files, "data", dataDir) }], texts, secrets: null };
}

/** Files below a folder of the backup by their new path; `isOwn`: only those directly in it. */
function filesUnder(
  files: readonly Packed[],
  folder: string,
  into: string,
  isOwn = false,
): ReadonlyMap<string, Uint8Array> {
  const start = `${folder}/`;
  const found = files.flatMap(({ name, bytes }) => {
    const below = name.startsWith(start) ? name.slice(start.length).split("/") : [];
    return below.length === 0 || (isOwn && below.length > 1) ? [] : [[join(into, ...below), bytes] as const];
  });
  return new Map(found);
}

/** The plan for an account of an existing fleet: its file, its data, and its secrets beside those of others. */
export function accountPlan(
  { facts, files }: Opened,
  { file, dataDir }: { readonly file: string; readonly dataDir: string },
): Plan {
  const account = facts.account ?? "";
  const more = secretValues(textOf(bytesIn(files, "accounts/secrets.yaml") ?? new Uint8Array())) ?? new Map();
  return {
    data: [{ folder: dataDir, files: filesUnder(files, `data/${account}`, dataDir) }],
    texts: [{ path: file, bytes: bytesIn(files, `accounts/${account}.yaml`) ?? new Uint8Array() }],
    secrets: { file: secretsBeside(file), more },
  };
}

/** The plan for a fleet. `accounts`: folder of its accounts; `dataDirOf`: data folder of each. */
export function fleetPlan(
  { files }: Opened,
  places: {
    readonly file: string;
    readonly accounts: string;
    readonly dataDir: string;
    readonly dataDirOf: (account: string) => string;
  },
): Plan {
  const { file, accounts, dataDir } = places;
  const names = accountsIn(files);
  const folders = new Map<string, string[]>(
    [dataDir, ...names.map(places.dataDirOf)].map((path) => [path, []]),
  );
  const data = [
    ...filesUnder(files, "data", dataDir, true),
    ...names.flatMap((name) => [...filesUnder(files, `data/${name}`, places.dataDirOf(name))]),
  ];
  const tops = [...folders.keys()].filter(
    (path) => ![...folders.keys()].some((other) => path.startsWith(join(other, sep))),
  );
  const secrets = bytesIn(files, "secrets.yaml");
  return {
    data: tops.map((folder) => ({
      folder,
      files: new Map(data.filter(([path]) => path.startsWith(join(folder, sep)))),
    })),
    texts: [
      ...[...filesUnder(files, "accounts", accounts, true)].map(([path, bytes]) => ({ path, bytes })),
      ...(secrets === undefined ? [] : [{ path: secretsBeside(file), bytes: secrets }]),
      { path: file, bytes: bytesIn(files, "fleet.yaml") ?? new Uint8Array() },
    ],
    secrets: null,
  };
}

/** Where the Debian package keeps the data of a configuration below /etc. */
const ofPackage = "/var/lib/greenhouse2mqtt";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The data folder that the configuration names, seen from its new place. Throws NotRestored if it lies elsewhere than a
 * bridge's data may; the user then has to name a folder.
 */
export const dataDirOf = (opened: Opened, file: string, env: Environment): string =>
  dataDirIn(textIn(opened, "config.yaml"), file, env, { usual: "data", allowed: [dirname(file)] });

/** The data folder that a text names, if it lies below an allowed place. `usual`: the folder if it names none. */
export function dataDirIn(
  text: string,
  file: string,
  env: Environment,
  { usual, allowed }: { readonly usual: string; readonly allowed: readonly string[] },
): string {
  const found = namedFolder(text, "data_dir", file, env) ?? resolve(dirname(file), usual);
  if (!isBelow(found, [...allowed, ofPackage]))
    throw new NotRestored(
      msg`according to its configuration the data of this backup go to ${found}; give --data-dir ${found} if that is right, or another folder`,
    );
  return found;
}

const isBelow = (path: string, places: readonly string[]): boolean =>
  places.map((place) => resolve(place)).some((place) => path === place || path.startsWith(join(place, sep)));

function namedFolder(text: string, key: string, file: string, env: Environment): string | null {
  const named = given(text, { env, secretsFile: "", secretsText: null })[key];
  if (named === undefined) return null;
  if (typeof named.value !== "string")
    throw new NotRestored(
      msg`the backup takes the folder of its data from ${named.name ?? key}, which is not known here; name the folder with --data-dir`,
    );
  return resolve(dirname(file), named.value);
}

/** The data folder that a text names; null where it names none, or by a reference that is unknown here. */
export function folderNamedIn(text: string, file: string, env: Environment): string | null {
  const named = given(text, { env, secretsFile: "", secretsText: null })["data_dir"]?.value;
  return typeof named === "string" ? resolve(dirname(file), named) : null;
}

/** The folder of the accounts of a fleet whose file will be `file`. */
export function accountsDirOf(opened: Opened, file: string, env: Environment): string {
  const folder = dirname(resolve(file));
  const found = namedFolder(textIn(opened, "fleet.yaml"), "accounts", file, env) ?? join(folder, "accounts");
  if (!isBelow(found, [folder]))
    throw new NotRestored(
      msg`according to its file the accounts of this fleet are in ${found}; restore it with -c in that folder, or one above it`,
    );
  return found;
}
