import { createHash, randomBytes } from "node:crypto";
import { hostname, uptime } from "node:os";
import { resolve } from "node:path";
import { DirectoryLock } from "../journal/lock.js";
import { DataPlace } from "../journal/place.js";
import { checkOrigin, markOrigin } from "../journal/origin.js";
import { systemClock } from "../runtime/clock.js";
import { nodeFileSystem } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import { hashOf } from "../runtime/hash.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { Cluster, namedAccount, type OwnedAccount, type OwnedRun } from "./cluster.js";
import { joinNats, type NatsLink } from "./nats.js";
import { knownReaches, reachesHost } from "./probe.js";

/* This process as a member of a cluster. Loaded only with the key `cluster`, and NATS with it. */

/** An account to run: its configuration, and its name in a fleet. */
interface Candidate {
  readonly configuration: Pick<CoreConfiguration, "platform" | "mqtt" | "data_dir">;
  readonly account: string | undefined;
  readonly log: Logger;
  /** Called with the owner, if known, whenever this member would run the account but does not. */
  readonly onStandby: (owner: string | null) => void;
}

export interface Membership {
  /** Runs an account whenever this member owns it. */
  runs(candidate: Candidate, run: (owned: OwnedRun) => Promise<void>, stop: AbortSignal): Promise<void>;
  /** Owns an account without running it, until `work` is done or the signal aborts. */
  holds(
    owned: Omit<OwnedAccount, "onStandby">,
    stop: AbortSignal,
    work: (owned: Pick<OwnedRun, "store">) => Promise<void>,
  ): Promise<void>;
  /** Whether the NATS servers answer, so that this member could take over. */
  isReady(): boolean;
  metrics(account: string): Registry;
  leave(): Promise<void>;
}

interface Joining {
  readonly settings: Parameters<typeof joinNats>[0] & { readonly name: string };
  /** Tells members on one computer apart. */
  readonly dataDir: string;
  readonly log: Logger;
}

/** The name of an account outside of a fleet. */
export const accountOf = (configuration: Candidate["configuration"]): string =>
  namedAccount(configuration).account;

/** Null if `stop` aborts before a server answers. */
export const linkTo = ({ settings, dataDir, log }: Joining, stop: AbortSignal): Promise<NatsLink | null> =>
  joinNats(settings, memberOf(dataDir), log, stop);

/** Null if `stop` aborts before a server answers. */
export async function joinCluster(joining: Joining, stop: AbortSignal): Promise<Membership | null> {
  const { settings, dataDir, log } = joining;
  const member = memberOf(dataDir);
  const link = await linkTo(joining, stop);
  if (link === null) return null;
  const cluster = new Cluster({
    ...{ id: member, bucket: link.bucket, clock: systemClock, upMs: () => uptime() * 1_000 },
    hash: hashOf,
    files: nodeFileSystem,
    placeOf: (directory) => new DataPlace(directory),
    reaches: knownReaches(reachesHost, systemClock),
    lostMs: link.lostMs,
    openStream: (account) => link.openStream(account),
  });
  const left = new AbortController();
  const running = cluster.run(left.signal);
  log.info({ member, cluster: settings.name }, "this process is a member of the cluster");
  const leave = async () => {
    left.abort();
    await running;
    await link.close();
  };
  return {
    leave,
    isReady: () => cluster.isReachable,
    metrics: (account) => cluster.metrics(account),
    holds: (owned, stopped, work) => cluster.own({ ...owned, onStandby: () => undefined }, work, stopped),
    runs: (candidate, run, stopped) => {
      const { configuration, account, log, onStandby } = candidate;
      const named = namedAccount(configuration, account);
      const owned = { ...named, log, onStandby: () => onStandby(cluster.holder(named.account)) };
      return runOwned(cluster, `${settings.name}/${owned.account}`, { owned, run }, stopped);
    },
  };
}

/** The member's id: the same after a restart, in letters that keys allow. */
export function memberOf(dataDir: string): string {
  const place = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 6);
  const host = hostname()
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .slice(0, 60);
  return `${host}-${place}`;
}

/** Locks the data directory for this process while `work` runs. Rejects with DirectoryInUse if another one has it. */
export async function withDirectory(dataDir: string, log: Logger, work: () => Promise<void>): Promise<void> {
  const at = new Date(systemClock.now()).toISOString();
  const boot = randomBytes(8).toString("hex");
  const lock = new DirectoryLock(dataDir, { boot, at, pid: process.pid, log });
  await lock.take();
  try {
    await work();
  } finally {
    await lock.release();
  }
}

async function runOwned(
  cluster: Cluster,
  origin: string,
  { owned, run }: { readonly owned: OwnedAccount; readonly run: (owned: OwnedRun) => Promise<void> },
  stop: AbortSignal,
): Promise<void> {
  const { dataDir, log } = owned;
  await withDirectory(dataDir, log, async () => {
    await checkOrigin(dataDir, origin);
    await markOrigin(dataDir, origin);
    await cluster.own(owned, run, stop);
  });
}
