import { anyOf } from "../runtime/signals.js";
import { msg, type Text, textOf } from "../language/text.js";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namedAccount } from "./cluster.js";
import type { AccountStream } from "./ports.js";
import { type Content, contentOf, readWhole } from "./stream-content.js";
import { StreamTrouble } from "./stream-store.js";
import { stateFiles } from "./state-files.js";
import { isSegmentName } from "../journal/segments.js";
import { holderOf } from "../journal/lock.js";
import { markOrigin } from "../journal/origin.js";
import { claimFormat, isOfThisFormat, journalDirectory } from "../journal/open.js";
import { systemClock } from "../runtime/clock.js";
import { nodeFileSystem } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { Configured } from "../feature/feature.js";
import { joinCluster, linkTo, type Membership, withDirectory } from "./member.js";
import type { keys } from "./section.js";

/* Moves a journal between the files of one machine and the stream of a cluster. */

/** What a move needs: whose journal it is, and how to tell the user. */
interface Moving {
  readonly configuration: Configured<typeof keys>;
  /** The account's name in a fleet. */
  readonly account: string | undefined;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly say: (text: Text) => void;
}

function clusterOf({ cluster }: Moving["configuration"]) {
  if (cluster !== undefined) return cluster;
  throw usageFailure(msg`the configuration has no cluster, so there is no journal to move`);
}

/** `journal export DIR`: writes the cluster's journal into a new data directory; changes nothing in the cluster. */
export async function exportJournal(
  { configuration, account, log, stop, say }: Moving,
  folder: string,
): Promise<void> {
  const settings = clusterOf(configuration);
  const link = await linkTo({ settings, dataDir: configuration.data_dir, log }, stop);
  if (link === null) return;
  try {
    const stream = await link.findStream(namedAccount(configuration, account));
    const { files, notes: small, imported } = await wholeContent(stream);
    if (imported === "begun")
      throw new CommandFailure(
        msg`the cluster has only a part of the journal, because a \`journal import\` has not finished; nothing was written`,
      );
    // Fails if the folder exists, so that nothing is overwritten.
    await mkdir(folder, { mode: 0o700 });
    await claimFormat(folder);
    await mkdir(journalDirectory(folder), { mode: 0o700 });
    for (const [name, bytes] of files)
      if (isSegmentName(name)) await writeFile(join(journalDirectory(folder), name), bytes, { mode: 0o640 });
    for (const [name, bytes] of small)
      if (stateFiles.includes(name)) await writeFile(join(folder, name), bytes, { mode: 0o600 });
    say(
      msg`${files.size} files of the journal are in ${folder}, which can be the data_dir of a bridge without a cluster`,
    );
  } finally {
    await link.close();
  }
}

const triesToRead = 20;
const readAgainMs = 250;

/** Null if entries came or went meanwhile. */
async function unchangedContent({ state, read }: Pick<AccountStream, "state" | "read">) {
  const before = await state();
  let count = 0;
  const countEntries = async function* () {
    for await (const entry of read(1, before.last)) {
      count += 1;
      yield entry;
    }
  };
  const content = await contentOf(countEntries());
  const after = await state();
  return after.last === before.last && after.count === count ? content : null;
}

/** The content of a stream that others may write to: read again until nothing came or went meanwhile. */
export async function wholeContent(
  { state, read }: Pick<AccountStream, "state" | "read">,
  wait: (ms: number) => Promise<void> = (ms) => systemClock.wait(ms),
): Promise<Content> {
  for (let tries = 0; tries < triesToRead; tries += 1) {
    const content = await unchangedContent({ state, read }).catch((error: unknown) => {
      // A read fails when its server is left for another one.
      if (tries === triesToRead - 1) throw error;
      return null;
    });
    if (content !== null) return content;
    await wait(readAgainMs);
  }
  throw new CommandFailure(
    msg`the journal changed each time while it was read, or its NATS server is behind; stop the member that runs the account, or try again later`,
  );
}

/** `journal import`: makes the journal in the data directory that of the cluster, which must have none yet. */
export async function importJournal(moving: Moving): Promise<void> {
  const { configuration, log } = moving;
  clusterOf(configuration);
  const { data_dir: dataDir } = configuration;
  if ((await holderOf(dataDir)) !== null)
    throw new CommandFailure(msg`a bridge works in ${dataDir}; stop it first`);
  if (!(await isOfThisFormat(dataDir)))
    throw new CommandFailure(
      msg`there is no journal of this version in ${dataDir}; run this version there once without the key cluster, then import`,
    );
  // A bridge started meanwhile would go on with a journal that has become the cluster's.
  await withDirectory(dataDir, log, () => importFrom(moving));
}

async function importFrom({ configuration, account: name, log, stop: stopped, say }: Moving): Promise<void> {
  const { data_dir: dataDir } = configuration;
  const settings = clusterOf(configuration);
  const end = new AbortController();
  const stop = anyOf(end.signal, stopped);
  const membership = await joinCluster(
    { settings, dataDir: `${dataDir} ${randomBytes(4).toString("hex")}`, log },
    stop,
  );
  if (membership === null) return;
  // The cluster's content goes into a folder beside, not over the journal that is moved.
  const beside = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-import-"));
  const account = namedAccount(configuration, name);
  try {
    const owned = { ...account, dataDir: beside, isToImport: true, log };
    await membership.holds(owned, stop, async ({ store }) => {
      const count = await moveInto(store, dataDir, beside).catch((error: unknown) => {
        if (!(error instanceof StreamTrouble)) throw error;
        throw new CommandFailure(
          msg`the import was broken off (${textOf(error)}); run it again, until then no member runs the account`,
        );
      });
      await markOrigin(dataDir, `${settings.name}/${account.account}`);
      say(
        msg`the cluster has the journal now (files: ${count}); what is in ${dataDir} is a copy from here on`,
      );
      end.abort();
    });
  } finally {
    await membership.leave();
    await rm(beside, { recursive: true, force: true });
  }
}

/** Resolves with the number of journal files moved. */
async function moveInto(
  store: Parameters<Parameters<Membership["holds"]>[2]>[0]["store"],
  dataDir: string,
  beside: string,
): Promise<number> {
  const segmentsIn = async (folder: string) =>
    (await readdir(journalDirectory(folder)).catch(() => [])).filter(isSegmentName).sort();
  const { files } = store;
  const found = await segmentsIn(beside);
  if (found.length > 0 && store.imported !== "begun")
    throw new CommandFailure(msg`the cluster has a journal of this account already; nothing was moved`);
  await store.keepImport("begun");
  // Left by an import that was broken off.
  for (const name of found) await files.remove(join(journalDirectory(beside), name));
  const names = await segmentsIn(dataDir);
  for (const name of names) {
    const bytes = await readWhole(nodeFileSystem, join(journalDirectory(dataDir), name));
    const file = await files.open(join(journalDirectory(beside), name), "a", 0o640);
    await file.write(bytes ?? Buffer.alloc(0));
    await file.sync();
    await file.close();
  }
  for (const name of stateFiles) {
    const bytes = await readWhole(nodeFileSystem, join(dataDir, name));
    await store.keepNote(name, bytes);
  }
  await store.keepImport("whole");
  return names.length;
}
