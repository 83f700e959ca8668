import { hashOf } from "../runtime/hash.js";
import { counted, msg, type Text } from "../language/text.js";
import { readdir } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar } from "yaml";
import type { z } from "zod";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { clashes, sharedAnnouncements, sharedControllers } from "./clashes.js";
import {
  type ConfigurationResult,
  type Defaults,
  findingsOf,
  inShort,
  type LoadedConfiguration,
  loadConfiguration,
  mostConfigurationBytes,
  readFile,
  type ReadFile,
  readSecrets,
  readYaml,
  secretsUnder,
  valueOver,
} from "./load.js";
import {
  atKey,
  atValue,
  fileProblem,
  when,
  type Finding,
  formatPath,
  inBrief,
  inOrder,
  type Problem,
} from "../settings/problem.js";
import { suggestion } from "../runtime/similar-words.js";
import { fleetHttpSection, fleetPageDoubts, portOfFleet, soundFleetPage } from "./fleet-page.js";
import { asDraft, sectionOf, textOf } from "../settings/draft.js";
import { configurationSchema } from "./schema.js";
import { features } from "./features.js";
import { logSection } from "../settings/sections/core.js";
import { optional, section, text, whole, withDefault } from "../settings/values.js";
import { readDocument, type Reading } from "./yaml/read-document.js";
import type { Environment } from "./yaml/references.js";
import { parseSource, pathKey, type Source, withCulprit } from "./yaml/source.js";

/** The key for settings that many accounts share. */
const defaultsKey = "defaults";

const shardText = () =>
  text(msg`i/n, such as 1/4: this process runs the first of four parts`, /^[1-9]\d{0,2}\/[1-9]\d{0,2}$/);

const fleetKeys = {
  accounts: withDefault(
    text(),
    "./accounts",
    "A folder with one configuration a file; the file's name is the account.",
  ),
  platform: withDefault(
    section({
      requests_per_minute: withDefault(
        whole(0, 1_000_000),
        3_000,
        "Polls of all accounts at one host together, beside each one's own budget. 0: none.",
      ),
    }),
    {},
    "What the accounts share of a platform host.",
  ),
  data_dir: withDefault(text(), "./data", "Below it a folder for each account, of its name."),
  http: withDefault(fleetHttpSection, false, "One page for all accounts, with health and metrics."),
  shard: optional(shardText(), "Which part of the accounts this process runs, of how many.", "1/4"),
  cluster: optional(
    features.cluster.section,
    "Several processes with these files, of which one runs each account at a time (docs/cluster.md).",
    { off: true },
  ),
  log: withDefault(logSection, {}, "Log, on stderr; each line of an account names it."),
};

/** The fleet's own keys; `defaults` stands beside them and is checked with each account's own file. */
const fleetSchema = section(fleetKeys);
const withDefaults = section({
  ...fleetKeys,
  [defaultsKey]: optional(configurationSchema, "Under each file's own keys."),
});

type Parsed = z.output<typeof fleetSchema>;

/** Paths in it can be opened as they are. */
export interface FleetSettings extends Omit<Parsed, "shard"> {
  readonly file: string;
  /** The data directory comes from the command line, not from the file. */
  readonly isMoved?: boolean;
  /** The secrets of the fleet's file. */
  readonly secrets: readonly string[];
  readonly shard: { readonly part: number; readonly of: number } | null;
}

export interface LoadedAccount extends LoadedConfiguration {
  readonly account: string;
}

export interface FleetFiles {
  /** Null if the fleet's file has mistakes. */
  readonly fleet: FleetSettings | null;
  /** Accounts without mistakes, by name; all of them, whatever the shard. */
  readonly accounts: ReadonlyMap<string, LoadedAccount>;
  /** The folder of the accounts cannot be read, so nobody knows which there are. */
  readonly isFolderUnread?: boolean;
  /** Names of accounts with mistakes. */
  readonly refused: readonly string[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

interface FleetSources {
  readonly env: Environment;
  readonly readFile?: ReadFile;
  /** Used instead of the one in the file. */
  readonly dataDir?: string | undefined;
  /** Settings of the running fleet, which keeps until its next start what cannot change before. */
  readonly inForce?: FleetSettings | undefined;
  /** Reads this account alone, without checks against the others. */
  readonly alone?: string | undefined;
}

/** Reads and checks the fleet's file and those of all its accounts. Never rejects and never writes. */
export async function loadFleet(
  file: string,
  { env, readFile: reads = readFile, dataDir, inForce, alone }: FleetSources,
): Promise<FleetFiles> {
  const read = await readFleetFile(file, env, reads);
  if ("problems" in read) return { ...nothing, problems: inBrief(read.problems) };
  const { fleet, waiting } = keeping(inForce, movedTo(dataDir, read.fleet));
  const found = await accountFiles(fleet.accounts);
  const wanted = found.files.filter(({ account }) => alone === undefined || account === alone);
  const results = await inTurn(wanted, async ({ account, path }) => {
    const under = defaultsOf(account, fleet, read.defaults);
    const result = await loadConfiguration(path, { env, readFile: reads, under });
    return { account, result };
  });
  const loaded = results.flatMap(({ account, result }) => (result.ok ? [{ ...result, account }] : []));
  const ofPorts = withPortOf(fleet, loaded);
  const clashing = [...withoutBroker(loaded), ...withClusters(loaded), ...clashes(loaded), ...ofPorts];
  const names = found.files.map(({ account }) => account);
  const spoilt = new Set(clashing.map((problem) => problem.file));
  const sound = loaded.filter((one) => !spoilt.has(one.file));
  return {
    fleet,
    accounts: new Map(sound.map((one) => [one.account, inCluster(one, fleet)])),
    isFolderUnread: found.isUnread === true,
    refused: results
      .map(({ account }) => account)
      .filter((name) => !sound.some((one) => one.account === name)),
    problems: inBrief([
      ...found.problems,
      ...results.flatMap(({ result }) => (result.ok ? [] : result.problems)),
      ...clashing,
    ]),
    warnings: inOrder([
      ...[...doubtsOf(fleet, names, read.defaults), ...waiting].map(read.problemAt),
      ...results.flatMap(({ result }) => result.warnings),
      ...findShared(loaded),
    ]),
  };
}

/** The folder of one account for all would mix their journals, so it has no effect among the defaults. */
const doubtsOf = (
  { http }: FleetSettings,
  names: readonly string[],
  { value }: Defaults,
): readonly Finding[] => [
  ...fleetPageDoubts(http, names),
  ...when(
    asDraft(value)["data_dir"] !== undefined,
    [defaultsKey, "data_dir"],
    msg`has no effect: each account gets a folder of its name below data_dir of the fleet; write it outside defaults`,
  ),
];

const movedTo = (dataDir: string | undefined, fleet: FleetSettings): FleetSettings =>
  dataDir === undefined ? fleet : { ...fleet, data_dir: resolve(dataDir), isMoved: true };

/** Keys that stay as they are until the next start: accounts that move while they run would all end at once. */
const keptKeys = ["accounts", "data_dir", "shard", "cluster", "platform"] as const;

function keeping(
  inForce: FleetSettings | undefined,
  read: FleetSettings,
): { readonly fleet: FleetSettings; readonly waiting: readonly Finding[] } {
  if (inForce === undefined) return { fleet: read, waiting: [] };
  const waiting = keptKeys.filter((key) => !isDeepStrictEqual(read[key], inForce[key]));
  return {
    fleet: { ...read, ...Object.fromEntries(waiting.map((key) => [key, inForce[key]])) },
    waiting: waiting.map((key) => atKey([key], msg`changes with the next start of the fleet`)),
  };
}

/** An account has to know that other members of the fleet's cluster may run it. */
const inCluster = (loaded: LoadedAccount, { cluster }: FleetSettings): LoadedAccount =>
  cluster === undefined ? loaded : { ...loaded, configuration: { ...loaded.configuration, cluster } };

/**
 * One account, as the fleet would run it. With mistakes, `file` is still the account's; without such an account, the
 * fleet's.
 */
export async function accountOf(
  name: string,
  file: string,
  sources: FleetSources,
): Promise<ConfigurationResult> {
  const { fleet, accounts, problems, refused } = await loadFleet(file, sources);
  const account = accounts.get(name);
  if (account !== undefined) return account;
  const names = [...accounts.keys(), ...refused];
  const hint = suggestion(name, names) || msg`; ${expectingNames(names)}`;
  const unknown = fileProblem(file, msg`there is no account "${name.slice(0, 80)}"${hint}`);
  const isThere = refused.includes(name) || names.length === 0;
  const own = problems.filter((problem) => basename(problem.file, extname(problem.file)) === name);
  const said = own.length > 0 ? own : problems;
  const refusal = { ok: false, file, problems: isThere ? said : [unknown], warnings: [] } as const;
  const files = fleet === null ? [] : (await accountFiles(fleet.accounts)).files;
  const path = files.find(({ account: one }) => one === name)?.path;
  return fleet === null || path === undefined
    ? refusal
    : { ...refusal, file: path, dataDir: join(fleet.data_dir, name) };
}

const expectingNames = (names: readonly string[]): Text =>
  names.length <= 9 ? msg`there are ${names.join(", ")}` : msg`there are ${names.length} others`;

const nothing: FleetFiles = { fleet: null, accounts: new Map(), refused: [], problems: [], warnings: [] };

/** Whether this is the file of a fleet, not of one account. */
export async function isFleetFile(file: string, reads: ReadFile = readFile): Promise<boolean> {
  const content = await reads(file, mostConfigurationBytes);
  if (!content.ok) return false;
  const text = Buffer.from(content.bytes).toString("utf8");
  const parsed = parseSource(text);
  const root = parsed.ok ? parsed.source.root : null;
  // A text with mistakes is judged by its lines.
  if (!isMap(root)) return /^(?:accounts|defaults|shard)\s*:/m.test(text);
  return root.items.some(({ key }) => isScalar(key) && ofFleetAlone.has(String(key.value)));
}

const ofFleetAlone: ReadonlySet<string> = new Set(["accounts", defaultsKey, "shard"]);

/** The accounts that this process runs. */
export function ownAccounts({ fleet, accounts }: FleetFiles): ReadonlyMap<string, LoadedAccount> {
  const shard = fleet?.shard ?? null;
  return new Map([...accounts].filter(([name]) => shard === null || partOf(name, shard.of) === shard.part));
}

/**
 * The part, 1 to `parts`, that an account belongs to, by rendezvous hashing: an additional part takes only its own
 * accounts.
 */
export function partOf(account: string, parts: number): number {
  let best = { part: 1, weight: -1 };
  for (let part = 1; part <= parts; part += 1) {
    const weight = hashOf(`${account}/${part}`);
    if (weight > best.weight) best = { part, weight };
  }
  return best.part;
}

/** The accounts of this process's part that do not run, and why. */
export function refusedAccounts({ fleet, refused, problems }: FleetFiles): ReadonlyMap<string, Text> {
  const shard = fleet?.shard ?? null;
  const own = refused.filter((name) => shard === null || partOf(name, shard.of) === shard.part);
  return new Map(
    own.map((name) => {
      const found = problems.filter(
        ({ file, message }) =>
          basename(file, extname(file)) === name || String(message).endsWith(`(account ${name})`),
      );
      return [name, inShort(found) ?? msg`its file has mistakes`];
    }),
  );
}

/** Why no file can be taken up; null if the files can. */
export function mistakeIn({ fleet, isFolderUnread, problems }: FleetFiles): Text | null {
  if (fleet === null) return inShort(problems) ?? msg`its file has mistakes`;
  return isFolderUnread === true ? msg`the folder of the accounts cannot be read` : null;
}

interface FleetFile {
  readonly fleet: FleetSettings;
  readonly problemAt: (finding: Finding) => Problem;
  readonly defaults: Defaults;
}

async function readFleetFile(
  file: string,
  env: Environment,
  reads: ReadFile,
): Promise<FleetFile | { readonly problems: readonly Problem[] }> {
  const read = await readYaml(file, reads);
  if (!read.ok) return { problems: read.faults.map((fault) => fileProblem(file, fault.message, fault)) };
  const { source } = read;
  if (source.root === null)
    return { problems: [fileProblem(file, msg`the file is empty; docs/fleet.md shows what stands in it`)] };
  const { secrets, problems } = await readSecrets(file, source.text, reads);
  const reading = readDocument(source, withDefaults, { env, secrets }, []);
  const value = asDraft(reading.value);
  const { [defaultsKey]: defaults = {}, ...own } = value;
  const parsed = fleetSchema.safeParse(own, { jitless: true });
  const at = placesIn(file, source, reading);
  const findings = [
    ...(parsed.success ? [] : findingsOf(parsed.error.issues)),
    ...shardFindings(own),
    ...soundFleetPage(own),
  ].filter(
    ({ path }) => !reading.unreadable.some((start) => start.every((part, index) => part === path[index])),
  );
  const faults = reading.faults.map(({ offset, path, message }) => ({
    file,
    ...source.positionAt(offset),
    path: formatPath(path),
    message,
  }));
  const wrong = [...problems, ...faults, ...findings.map(at)];
  if (!parsed.success || wrong.length > 0) return { problems: wrong };
  return {
    fleet: settingsOf(file, parsed.data),
    problemAt: at,
    defaults: { value: withPathsFrom(resolve(dirname(file)), defaults), problemAt: inDefaults(reading, at) },
  };
}

const placesIn =
  (file: string, source: Source, { places }: Reading) =>
  (finding: Finding): Problem => {
    const { offset, message } = withCulprit(places, finding);
    return { file, ...source.positionAt(offset), path: formatPath(finding.path), message };
  };

const inDefaults =
  ({ places }: Reading, at: (finding: Finding) => Problem): Defaults["problemAt"] =>
  (finding) => {
    const path = [defaultsKey, ...finding.path];
    const isThere = places.keys.has(pathKey(path)) || places.values.has(pathKey(path));
    return isThere ? at({ ...finding, path }) : null;
  };

function settingsOf(file: string, { shard, ...rest }: Parsed): FleetSettings {
  const from = (path: string) => (isAbsolute(path) ? path : join(dirname(file), path));
  const [part = 1, of = 1] = (shard ?? "").split("/").map(Number);
  return {
    ...rest,
    file,
    secrets: secretsUnder(fleetSchema, rest),
    accounts: from(rest.accounts),
    // Absolute, as the accounts' files are in another folder.
    data_dir: resolve(dirname(file), rest.data_dir),
    shard: shard === undefined ? null : { part, of },
  };
}

function shardFindings({ shard }: Readonly<Record<string, unknown>>): Finding[] {
  const [part = 0, of = 0] = typeof shard === "string" ? shard.split("/").map(Number) : [];
  return part > of
    ? [atValue(["shard"], msg`there are ${of} parts, so the first number is at most ${of}`)]
    : [];
}

/** Resolves file paths in the defaults against the folder of the fleet's file, not the account's. */
function withPathsFrom(folder: string, defaults: unknown): unknown {
  const files = [
    ["platform", "token_file"],
    ["mqtt", "tls", "ca"],
    ["mqtt", "tls", "cert"],
    ["mqtt", "tls", "key"],
    ["broker", "tls", "cert"],
    ["broker", "tls", "key"],
  ];
  return files.reduce((value, path) => {
    const section = path.slice(0, -1).reduce((inner, key) => sectionOf(inner, key), asDraft(value));
    const given = textOf(section, path.at(-1) ?? "");
    if (given === null || isAbsolute(given)) return value;
    return valueOver(
      value,
      path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), join(folder, given)),
    );
  }, defaults);
}

/** What holds for an account where its own file says nothing. */
function defaultsOf(account: string, fleet: FleetSettings, defaults: Defaults): Defaults {
  const { value } = defaults;
  const mqtt = sectionOf(asDraft(value), "mqtt");
  const ofAccount = {
    mqtt: {
      base_topic: `${textOf(mqtt, "base_topic") ?? "greenhouse"}/${account}`,
      client_id: `${textOf(mqtt, "client_id") ?? "greenhouse2mqtt"}-${account}`,
    },
    data_dir: join(fleet.data_dir, account),
  };
  return {
    value: valueOver({ log: fleet.log, http: false }, valueOver(value, ofAccount)),
    problemAt: (finding) => {
      const found = defaults.problemAt(finding);
      return found && { ...found, message: msg`${found.message} (account ${account})` };
    },
  };
}

const usual = new Set([".yaml", ".yml"]);

/** Whether a file in the folder of accounts, by its name, is an account. */
export const isAccountFile = (name: string): boolean =>
  usual.has(extname(name)) && !/^(?:\.|secrets\.)/.test(name);

interface AccountFile {
  readonly account: string;
  readonly path: string;
}

/** The configuration files in a folder of accounts, also those with mistakes. */
export const configurationsIn = async (folder: string): Promise<readonly string[]> =>
  (await accountFiles(folder)).files.map(({ path }) => path);

async function accountFiles(folder: string): Promise<{
  readonly files: readonly AccountFile[];
  readonly problems: readonly Problem[];
  readonly isUnread?: true;
}> {
  let names: readonly string[];
  try {
    names = await readdir(resolve(folder));
  } catch {
    return {
      isUnread: true,
      files: [],
      problems: [
        fileProblem(
          folder,
          msg`there is no such folder, or this user may not read it; it holds one configuration an account`,
        ),
      ],
    };
  }
  const files = names
    .filter(isAccountFile)
    .sort()
    .map((name) => ({ account: basename(name, extname(name)), path: join(folder, name) }));
  if (files.length === 0)
    return {
      files,
      problems: [fileProblem(folder, msg`holds no configuration; each account is a file such as north.yaml`)],
    };
  return namedFiles(files);
}

/** Why this can be no account's name; null if it can. */
export const wrongName = (account: string): Text | null =>
  topicIdPattern.test(account)
    ? null
    : msg`"${account}" cannot be an account, as it becomes a level of topics: name the file with a-z, 0-9, "_" and "-" (at most 64)`;

function namedFiles(files: readonly AccountFile[]) {
  const wrong = files.flatMap((file) => {
    const why = wrongName(file.account);
    return why === null ? [] : [{ ...file, why }];
  });
  const twice = files.filter(({ account }, at) => files[at - 1]?.account === account);
  const again = (account: string) => msg`another file is the account "${account}" already; keep one of them`;
  return {
    files: files.filter((one) => wrongName(one.account) === null && !twice.includes(one)),
    problems: [
      ...wrong.map(({ path, why }) => fileProblem(path, why)),
      ...twice.map(({ account, path }) => fileProblem(path, again(account))),
    ],
  };
}

const withoutBroker = (loaded: readonly LoadedAccount[]): Problem[] =>
  loaded
    .filter(({ configuration }) => configuration.mqtt.url === undefined)
    .map(({ problemAt }) =>
      problemAt(
        atKey(
          ["mqtt"],
          msg`missing url: the accounts of a fleet use a broker that runs by itself; name it under defaults`,
        ),
      ),
    );

const withClusters = (loaded: readonly LoadedAccount[]): Problem[] =>
  loaded
    .filter(({ configuration }) => configuration.cluster !== undefined)
    .map(({ problemAt }) =>
      problemAt(
        atKey(["cluster"], msg`belongs into the file of the fleet, as its members share all accounts`),
      ),
    );

const withPortOf = ({ http }: FleetSettings, loaded: readonly LoadedAccount[]): Problem[] =>
  loaded.flatMap(({ configuration, problemAt }) => portOfFleet(http, configuration.http).map(problemAt));

/**
 * Reports logins that accounts share: a platform may keep one session of a login, so each sign-in would end the other
 * account's.
 */
function sharedLogins(loaded: readonly LoadedAccount[]): Problem[] {
  const users = new Map<string, LoadedAccount[]>();
  for (const one of loaded) {
    const { token, token_file: tokenFile, sign_in: signIn, business_url: url } = one.configuration.platform;
    const key = JSON.stringify([url, token, tokenFile, signIn?.body]);
    const before = users.get(key);
    if (before === undefined) users.set(key, [one]);
    else before.push(one);
  }
  return [...users.values()].flatMap(([first, second, ...more]) =>
    first === undefined || second === undefined
      ? []
      : [second.problemAt(atKey(["platform"], oneLogin(first.account, more.length)))],
  );
}

/** `more`: how many further accounts use the login, besides the first and the one that is warned. */
const oneLogin = (first: string, more: number): Text =>
  more === 0
    ? msg`the same platform login as account ${first}: each sign-in of one may end the session of the other, and both ask for the same controllers; give each its own login`
    : msg`the same platform login as account ${first}, which ${counted(more, "more account has", "more accounts have")} too: a sign-in may end the other sessions, and all ask for the same controllers; give each its own login`;

/** Warnings about what two accounts share and what works all the same. */
const findShared = (loaded: readonly LoadedAccount[]): Problem[] => [
  ...sharedLogins(loaded),
  ...sharedControllers(loaded).map(inTwoAccounts),
  ...sharedAnnouncements(loaded),
];

/** A warning only, as each account has a login that may command. */
const inTwoAccounts = (problem: Problem): Problem => ({
  ...problem,
  message: msg`two accounts command one actuator without knowing of each other, unless one has ignore: true: ${problem.message}`,
});

/** Works in batches, as a thousand files must not be opened at once. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += 16)
    results.push(...(await Promise.all(items.slice(at, at + 16).map(run))));
  return results;
}
