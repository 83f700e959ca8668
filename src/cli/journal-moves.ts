import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namedAccount } from "../cluster/cluster.js";
import { contentOf, readWhole } from "../cluster/stream-content.js";
import { notes } from "../cluster/notes.js";
import type { Configuration } from "../config/schema.js";
import { isSegmentName } from "../journal/segments.js";
import { holderOf } from "../journal/lock.js";
import { markOrigin } from "../journal/origin.js";
import { claimFormat, isOfThisFormat, journalDirectory } from "../journal/open.js";
import { nodeFileSystem, writeFully } from "../runtime/file-system.js";
import { joinCluster, linkTo, type Membership, withDirectory } from "./clustered.js";
import { loggerFor, readConfiguration } from "./common.js";
import { CommandFailure, type CommonOptions, endOfUse, exitCodes, type ProcessContext } from "./context.js";

/* A journal moves between the files of one machine and the stream of a cluster. */

const clusterOf = ({
  cluster,
}: {
  readonly cluster?: Parameters<typeof linkTo>[0]["settings"] | undefined;
}) => {
  if (cluster !== undefined) return cluster;
  throw new CommandFailure("the configuration has no cluster, whose journal could be moved", exitCodes.usage);
};

/** `journal export DIR`: a new data directory with the journal of the cluster in it; changes nothing there. */
export async function exportJournal(
  context: ProcessContext,
  options: CommonOptions,
  folder: string,
): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const settings = clusterOf(configuration);
  const log = loggerFor(configuration, context);
  const stop = endOfUse(context);
  const link = await linkTo({ settings, dataDir: configuration.data_dir, log }, stop);
  if (link === null) return;
  try {
    const stream = await link.openStream(namedAccount(configuration, options.account));
    const { files, notes: small } = await contentOf(stream.read(1, await stream.last()));
    // Where something stands already nothing is written.
    await mkdir(folder, { mode: 0o700 });
    await claimFormat(folder);
    await mkdir(journalDirectory(folder), { mode: 0o700 });
    for (const [name, bytes] of files)
      if (isSegmentName(name)) await writeFile(join(journalDirectory(folder), name), bytes, { mode: 0o640 });
    for (const [name, bytes] of small)
      if (notes.includes(name)) await writeFile(join(folder, name), bytes, { mode: 0o600 });
    context.out(
      `${files.size} files of the journal are in ${folder}, which can be the data_dir of a bridge without a cluster\n`,
    );
  } finally {
    await link.close();
  }
}

/** `journal import`: the journal in the data directory becomes that of the cluster, which must have none yet. */
export async function importJournal(context: ProcessContext, options: CommonOptions): Promise<void> {
  const configuration = await readConfiguration(options, context);
  clusterOf(configuration);
  const { data_dir: dataDir } = configuration;
  if ((await holderOf(dataDir)) !== null)
    throw new CommandFailure(`a bridge works in ${dataDir}; stop it first`);
  if (!(await isOfThisFormat(dataDir)))
    throw new CommandFailure(
      `there is no journal of this version in ${dataDir}; run this version there once without the key cluster, then import`,
    );
  // A bridge that is started meanwhile would go on with what is the cluster's by then.
  await withDirectory(dataDir, loggerFor(configuration, context), () =>
    importFrom(context, options, configuration),
  );
}

async function importFrom(
  context: ProcessContext,
  options: CommonOptions,
  configuration: Configuration,
): Promise<void> {
  const { data_dir: dataDir } = configuration;
  const settings = clusterOf(configuration);
  const log = loggerFor(configuration, context);
  const end = new AbortController();
  const stop = AbortSignal.any([end.signal, endOfUse(context)]);
  const membership = await joinCluster(
    { settings, dataDir: `${dataDir} ${randomBytes(4).toString("hex")}`, log },
    stop,
  );
  if (membership === null) return;
  // What the cluster has is laid out beside, and not over what is to be moved.
  const beside = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-import-"));
  const account = namedAccount(configuration, options.account);
  try {
    const owned = { ...account, dataDir: beside, log };
    await membership.holds(owned, stop, async (kept) => {
      const count = await moveInto(kept, dataDir, beside);
      await markOrigin(dataDir, `${settings.name}/${account.account}`);
      context.out(
        `${count} files of the journal are with the cluster now; what is in ${dataDir} is a copy from here on\n`,
      );
      end.abort();
    });
  } finally {
    await membership.leave();
    await rm(beside, { recursive: true, force: true });
  }
}

/** Resolves with how many files of the journal it were. */
async function moveInto(
  { files, keepNote }: Parameters<Parameters<Membership["holds"]>[2]>[0],
  dataDir: string,
  beside: string,
): Promise<number> {
  const segmentsIn = async (folder: string) =>
    (await readdir(journalDirectory(folder)).catch(() => [])).filter(isSegmentName).sort();
  if ((await segmentsIn(beside)).length > 0)
    throw new CommandFailure("the cluster has a journal of this account already; nothing was moved");
  const names = await segmentsIn(dataDir);
  for (const name of names) {
    const bytes = await readWhole(nodeFileSystem, join(journalDirectory(dataDir), name));
    const file = await files.open(join(journalDirectory(beside), name), "a", 0o640);
    await writeFully(file, bytes ?? Buffer.alloc(0));
    await file.sync();
    await file.close();
  }
  for (const name of notes) {
    const bytes = await readWhole(nodeFileSystem, join(dataDir, name));
    if (bytes !== null) await keepNote(name, bytes);
  }
  return names.length;
}
