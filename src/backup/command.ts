import { msg, type Text, textOf } from "../language/text.js";
import { existsSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { mostBytes } from "./archive.js";
import { backupName } from "./backup-name.js";
import {
  formerLeftOut,
  makeAccountBackup,
  makeBackup,
  makeFleetBackup,
  NotBackedUp,
  type Place,
  textOfFile,
} from "./backup.js";
import { NotRestored, openBackup, type Opened, refuseOtherData, textIn } from "./open-backup.js";
import {
  accountPlan,
  accountsDirOf,
  bridgePlan,
  dataDirIn,
  dataDirOf,
  fleetPlan,
  folderNamedIn,
  type Plan,
} from "./plans.js";
import { carryOut } from "./restore.js";
import {
  accountOf,
  configurationsIn,
  type FleetFiles,
  isAccountFile,
  isFleetFile,
  loadFleet,
  wrongName,
} from "../config/fleet.js";
import { loadConfiguration, secretsBeside } from "../config/load.js";
import type { Configuration } from "../config/schema.js";
import { secretNames } from "../saving/given.js";
import { namesIn } from "../saving/secrets.js";
import { dataFormat } from "../journal/open.js";
import { problemText } from "../settings/problem.js";
import { systemClock } from "../runtime/clock.js";
import { errorCode, isForbidden, readText, readWholeFile } from "../runtime/file-system.js";
import { passwordWeakness } from "../runtime/passwords.js";
import { basename, dirname, extname, join, resolve } from "node:path";
import { firstLine, overridden, readConfiguration, refuseToOverwrite } from "../terminal/common.js";
import { usageFailure } from "../runtime/ending.js";
import { ignored } from "../runtime/failures.js";
import {
  type CommonOptions,
  programVersion,
  type ProcessContext,
  unlessStopped,
} from "../terminal/context.js";

/* The commands `backup` and `restore`: everything of a bridge, an account or a fleet in one file, and back. */

interface BackupOptions extends CommonOptions {
  /** Whether the password is the first line of standard input. */
  readonly password?: boolean;
  /** The data directory of a running fleet that asks for this; an account may name another one. */
  readonly fleetDataDir?: string;
}

/** `greenhouse2mqtt backup [FILE]`, also while the bridge runs; `-` writes to stdout. */
export async function backup(
  context: ProcessContext,
  given: string | undefined,
  options: BackupOptions,
): Promise<void> {
  const packed = await packedBy(options, context).catch(refused);
  const password = options.password === true ? await firstLine(process.stdin, context.stop) : null;
  const weakness = password === null ? null : passwordWeakness(password);
  if (weakness !== null) throw usageFailure(msg`this password will not do: ${weakness}`);
  const now = systemClock.now();
  const out = given ?? backupName(now, password !== null);
  if (out !== "-") refuseToOverwrite(out, msg`name another file`);
  const wanted = { version: programVersion(), now, password };
  const { bytes, remarks } = await packed(wanted).catch(refused);
  for (const remark of remarks) context.err.write(`${context.speech.tell(remark)}\n`);
  if (out === "-") {
    await new Promise<void>((done) => process.stdout.write(bytes, () => done()));
    return;
  }
  await writeBackup(out, bytes);
  const done =
    password === null
      ? msg`${out} written, without secrets`
      : msg`${out} written, with secrets, under the password`;
  context.out(`${context.speech.tell(done)}\n`);
}

function refused(error: unknown): never {
  throw error instanceof NotBackedUp ? usageFailure(error.text) : error;
}

/** A file that could not be written whole is removed. */
async function writeBackup(out: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(out, bytes, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EEXIST") await rm(out, { force: true }).catch(ignored);
    throw usageFailure(
      isForbidden(code)
        ? msg`${out} cannot be written, as this user may not write into ${dirname(out)}; name a file in another folder`
        : msg`${out} cannot be written (${code || textOf(error)}); name a file elsewhere`,
    );
  }
}

type Packing = (wanted: Parameters<typeof makeBackup>[1]) => Promise<{
  readonly bytes: Uint8Array;
  /** Sentences about what the backup lacks. */
  readonly remarks: readonly Text[];
}>;

/** What the options select: a bridge, an account of a fleet, or all of the fleet. */
async function packedBy(options: BackupOptions, context: ProcessContext): Promise<Packing> {
  const { account, config } = options;
  if (account === undefined && (await unlessStopped(isFleetFile(config), context)))
    return fleetPacking(options, context);
  if (account !== undefined) return accountPacking(account, options, context);
  const configuration = await readConfiguration(options, context);
  const place = placeOf(config, configuration);
  return async (wanted) => ({
    bytes: await makeBackup(place, wanted),
    remarks: [...remarksOn(configuration), ...(await formerOf([place], wanted))],
  });
}

async function accountPacking(
  account: string,
  options: BackupOptions,
  context: ProcessContext,
): Promise<Packing> {
  const { env } = context;
  const { config, fleetDataDir: dataDir } = options;
  await readConfiguration(options, context);
  const { fleet, accounts } = await loadFleet(config, { env, dataDir, alone: account });
  const loaded = accounts.get(account);
  if (fleet === null || loaded === undefined) throw usageFailure(msg`${config} cannot be read`);
  const { file } = loaded;
  const configuration = overridden(loaded.configuration, options);
  const files = (await configurationsIn(fleet.accounts)).filter((one) => one !== file);
  const beside = {
    fleet: { file: config, dataDir: fleet.data_dir },
    others: (await Promise.all(files.map((one) => placesOf(one, fleet.data_dir, env)))).flat(),
  };
  const own = { ...placeOf(file, configuration), account };
  return async (wanted) => ({
    bytes: await makeAccountBackup(own, beside, wanted),
    remarks: [...remarksOn(configuration), ...(await formerOf([own], wanted))],
  });
}

/** Possible data folders of another account, even if its file has mistakes: the usual one and the one that it names. */
async function placesOf(file: string, fleetData: string, env: ProcessContext["env"]) {
  const named = folderNamedIn(await textOfFile(file), file, env);
  const usual = join(fleetData, basename(file, extname(file)));
  return [usual, ...(named === null ? [] : [named])].map((dataDir) => ({ file, dataDir }));
}

/** A backup of a fleet. Every account has to be valid, since otherwise its data and files are unknown. */
async function fleetPacking({ config, dataDir }: BackupOptions, { env }: ProcessContext): Promise<Packing> {
  const { fleet, accounts, problems }: FleetFiles = await loadFleet(config, { env, dataDir });
  const [first] = problems;
  if (fleet === null || first !== undefined)
    throw usageFailure(first === undefined ? msg`${config} cannot be read` : problemText(first));
  const places = [...accounts.values()].map(({ account, file, configuration }) => ({
    ...placeOf(file, configuration),
    account,
  }));
  const own = { file: config, named: [], dataDir: fleet.data_dir };
  return async (wanted) => ({
    bytes: await makeFleetBackup({ ...own, accounts: places }, wanted),
    remarks: [...(fleet.cluster === undefined ? [] : [ofCluster]), ...(await formerOf(places, wanted))],
  });
}

/** Without a password no former copy is in a backup. */
const formerOf = async (
  places: readonly Place[],
  { password }: Parameters<typeof makeBackup>[1],
): Promise<readonly Text[]> =>
  password === null ? [] : (await Promise.all(places.map(({ dataDir }) => formerLeftOut(dataDir)))).flat();

const placeOf = (file: string, configuration: Configuration): Place => ({
  file,
  named: filesIn(configuration),
  dataDir: configuration.data_dir,
});

const ofCluster = msg`the journal of a cluster is in its NATS servers, and not in this backup: \`journal export\` writes it`;

export const remarksOn = (
  { data_dir: dataDir, cluster }: Configuration,
  isThere = existsSync(dataDir),
): readonly Text[] => [
  ...(isThere ? [] : [msg`there is no ${dataDir}: the backup holds the configuration alone`]),
  ...(cluster === undefined ? [] : [ofCluster]),
];

/** Further files that a configuration names. */
const filesIn = ({ platform, mqtt, broker }: Configuration): readonly string[] => {
  const { ca, cert, key } = mqtt.tls;
  const files = [platform.token_file, ca, cert, key, broker.tls.cert, broker.tls.key];
  return files.filter((path) => path !== undefined);
};

/** `greenhouse2mqtt restore FILE`; only where there are neither configuration nor data yet. */
export async function restore(context: ProcessContext, file: string, options: BackupOptions): Promise<void> {
  const { bytes } = await readWholeFile(file, mostBytes).catch((error: unknown) => {
    throw usageFailure(
      errorCode(error) === "ENOENT"
        ? msg`${file} does not exist`
        : msg`${file} cannot be read: ${errorCode(error) || textOf(error)}`,
    );
  });
  const password = options.password === true ? await firstLine(process.stdin, context.stop) : null;
  const { lines } = await restoreFrom(bytes, password, options, context);
  for (const line of lines) context.out(`${context.speech.tell(line)}\n`);
}

interface Restored {
  /** The file of the bridge, the account or the fleet. */
  readonly file: string;
  readonly of: Opened["facts"]["of"];
  /** The file to run: for a restored account that of its fleet. */
  readonly runsBy: string;
  /** Sentences about what was restored and what is left to do. */
  readonly lines: readonly Text[];
}

type Where = Pick<BackupOptions, "config" | "dataDir" | "account" | "fleetDataDir">;
type Env = ProcessContext["env"];

/** Restores a backup. Rejects with a CommandFailure. */
export async function restoreFrom(
  bytes: Uint8Array,
  password: string | null,
  where: Where,
  { env }: Pick<ProcessContext, "env">,
): Promise<Restored> {
  try {
    const opened = await openBackup(bytes, password);
    refuseOtherData(opened, dataFormat);
    if (where.fleetDataDir !== undefined && opened.facts.of !== "account") throw new NotRestored(ofNoAccount);
    const { plan, file, runsBy = file, left } = await planFor[opened.facts.of](opened, where, env);
    await carryOut(plan);
    return { file, of: opened.facts.of, runsBy, lines: [whatIs(opened, file), ...(await left())] };
  } catch (error) {
    if (error instanceof NotRestored) throw usageFailure(error.text);
    throw error;
  }
}

const ofNoAccount = msg`this is no backup of an account, but of a bridge or a fleet; restore it by \`init --web\` or \`restore\`, where neither is yet`;

interface Planned {
  readonly plan: Plan;
  readonly file: string;
  readonly runsBy?: string;
  /** Sentences about what is left to do. */
  readonly left: () => Promise<readonly Text[]>;
}

const planFor: Readonly<
  Record<Opened["facts"]["of"], (opened: Opened, where: Where, env: Env) => Promise<Planned>>
> = {
  bridge: (opened, { config, dataDir }, env) => {
    const plan = bridgePlan(opened, resolve(config), resolve(dataDir ?? dataDirOf(opened, config, env)));
    const { secrets_left_out: names } = opened.facts;
    const left = async () => {
      const { ok } = await loadConfiguration(config, { env });
      return names.length > 0 ? [secretsOf(names, config)] : ok ? [] : [checkSays(config)];
    };
    return Promise.resolve({ plan, file: config, left });
  },
  account: async (opened, { config, dataDir, account: given, fleetDataDir }, env) => {
    const fleetFile = fleetFileOf(config);
    const account = given ?? opened.facts.account ?? "";
    const wrong = wrongName(account);
    if (wrong !== null) throw new NotRestored(wrong);
    const { fleet } = await loadFleet(fleetFile, { env, dataDir: fleetDataDir, alone: account });
    if (fleet === null)
      throw new NotRestored(
        msg`this backup is of the account ${account} of a fleet, and ${fleetFile} is no file of one: name it with -c`,
      );
    const file = join(resolve(fleet.accounts), `${account}.yaml`);
    const twin = join(resolve(fleet.accounts), `${account}.yml`);
    if (existsSync(twin)) throw new NotRestored(msg`${twin} exists and is never overwritten; move it away`);
    const { account: former = "", account_secrets_left_out: names } = opened.facts;
    const places = {
      usual: join(fleet.data_dir, account),
      allowed: [dirname(resolve(fleetFile)), fleet.data_dir],
    };
    const data = resolve(dataDir ?? dataDirIn(textIn(opened, `accounts/${former}.yaml`), file, env, places));
    const left = async () => {
      const { ok } = await accountOf(account, fleetFile, { env });
      const secrets = await secretsLeft(names, file);
      const mistakes = secrets.length > 0 || ok ? secrets : [checkSays(fleetFile)];
      // A fleet that restores an account itself takes it up at once.
      return fleetDataDir === undefined ? [...mistakes, atSighup] : mistakes;
    };
    return { plan: accountPlan(opened, { file, dataDir: data }), file, runsBy: fleetFile, left };
  },
  fleet: async (opened, { config, dataDir }, env) => {
    const file = resolve(fleetFileOf(config));
    const accounts = accountsDirOf(opened, file, env);
    await refuseOtherAccounts(opened, accounts);
    const own = { usual: "data", allowed: [dirname(file)] };
    const data = resolve(dataDir ?? dataDirIn(textIn(opened, "fleet.yaml"), file, env, own));
    const dataDirOfAccount = (account: string) => {
      const places = { usual: join(data, account), allowed: [dirname(file), data] };
      const text = textIn(opened, `accounts/${account}.yaml`);
      return dataDirIn(text, join(accounts, `${account}.yaml`), env, places);
    };
    const plan = fleetPlan(opened, { file, accounts, dataDir: data, dataDirOf: dataDirOfAccount });
    const { secrets_left_out: names, account_secrets_left_out: others } = opened.facts;
    const left = async () => {
      const { problems } = await loadFleet(file, { env, dataDir });
      const given = [
        ...(names.length === 0 ? [] : [secretsOf(names, file)]),
        ...(others.length === 0 ? [] : [secretsOf(others, join(accounts, "a.yaml"))]),
      ];
      return given.length === 0 && problems.length > 0 ? [checkSays(file)] : given;
    };
    return { plan, file, left };
  },
};

/**
 * Refuses to restore a fleet into a folder with accounts that the backup lacks, as they would join the fleet. Rejects
 * with NotRestored.
 */
async function refuseOtherAccounts({ files }: Opened, folder: string): Promise<void> {
  const there = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
  const other = there.find(
    (name) => isAccountFile(name) && !files.some((file) => file.name === `accounts/${name}`),
  );
  if (other !== undefined)
    throw new NotRestored(
      msg`${join(folder, other)} is not in the backup, and would be an account of this fleet too: move it away`,
    );
}

/** The usual name of a configuration. */
const usualFile = "config.yaml";
const fleetFileOf = (config: string): string => (config === usualFile ? "fleet.yaml" : config);

const atSighup = msg`a fleet that runs takes it up at a SIGHUP (\`systemctl reload\`)`;

const whatIs = ({ facts: { version, made_at: at } }: Opened, file: string): Text =>
  msg`${file} and its data are restored from the backup of ${at} (version ${version})`;

const secretsOf = (names: readonly string[], file: string): Text =>
  msg`these secrets are not in the backup: write ${names.join(", ")} to ${secretsBeside(file)}`;

/**
 * Sentences about the secrets that an account's backup lacks: which are missing in its fleet, and which exist for other
 * accounts.
 */
async function secretsLeft(names: readonly string[], file: string): Promise<readonly Text[]> {
  const folder = dirname(file);
  const there = namesIn(await readText(join(folder, "secrets.yaml")).catch(emptyIfMissing));
  const others = (await configurationsIn(folder)).filter((one) => basename(one) !== basename(file));
  const used = new Set((await Promise.all(others.map((one) => readText(one)))).flatMap(secretNames));
  const missing = names.filter((name) => !there.has(name));
  const shared = names.filter((name) => there.has(name) && used.has(name));
  return [
    ...(missing.length === 0 ? [] : [secretsOf(missing, file)]),
    ...(shared.length === 0
      ? []
      : [
          msg`other accounts use ${shared.join(", ")} of ${join(folder, "secrets.yaml")} too: check that the values are right for this one`,
        ]),
  ];
}

function emptyIfMissing(error: unknown): string {
  if (errorCode(error) === "ENOENT") return "";
  throw error;
}

const checkSays = (file: string): Text => msg`\`greenhouse2mqtt check -c ${file}\` says what is left to do`;
