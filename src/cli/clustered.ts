import { createHash, randomBytes } from "node:crypto";
import { hostname, uptime } from "node:os";
import { resolve } from "node:path";
import { type BridgeOptions, runBridge } from "../bridge.js";
import { Cluster, leaseMs, namedAccount, type OwnedAccount, type OwnedRun } from "../cluster/cluster.js";
import { joinNats, type NatsLink } from "../cluster/nats.js";
import { knownReaches, reachesHost } from "../cluster/probe.js";
import { hashOf } from "../config/fleet.js";
import type { Configuration } from "../config/schema.js";
import { DirectoryLock } from "../journal/lock.js";
import { checkOrigin, markOrigin } from "../journal/origin.js";
import type { StandbySources } from "../http/standby-site.js";
import { every, systemClock } from "../runtime/clock.js";
import { nodeFileSystem } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import type { ServiceManager } from "../runtime/systemd.js";

/* This process as a member of a cluster. Loaded only with the key `cluster`, as NATS is. */

export interface Membership {
  /** Runs bridges of this account as `runBridge` does one: whenever this member owns it. */
  runs(
    account: string | undefined,
    onStandby: (owner: string | null) => void,
    run?: typeof runBridge,
  ): typeof runBridge;
  /** Owns an account with nothing running, until `work` is done or the signal aborts. */
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
  readonly settings: NonNullable<Configuration["cluster"]>;
  /** Tells members on one computer apart. */
  readonly dataDir: string;
  readonly log: Logger;
}

/** Null where `stop` aborts before a server answers. */
export const linkTo = ({ settings, dataDir, log }: Joining, stop: AbortSignal): Promise<NatsLink | null> =>
  joinNats(settings, { clock: systemClock, log, memberId: memberOf(dataDir), leaseMs }, stop);

/** Null where `stop` aborts before a server answers. */
export async function joinCluster(joining: Joining, stop: AbortSignal): Promise<Membership | null> {
  const { settings, dataDir, log } = joining;
  const member = memberOf(dataDir);
  const link = await linkTo(joining, stop);
  if (link === null) return null;
  const cluster = new Cluster({
    ...{ id: member, bucket: link.bucket, clock: systemClock, upMs: () => uptime() * 1_000 },
    hash: hashOf,
    leaseMs,
    files: nodeFileSystem,
    reaches: knownReaches(reachesHost, systemClock),
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
    runs:
      (account, onStandby, runs = runBridge) =>
      (bridge, stopped) => {
        const named = namedAccount(bridge.configuration, account);
        const reportStandby = () => onStandby(cluster.holder(named.account));
        const owned = { ...named, log: bridge.log, onStandby: reportStandby };
        const run = ({ ownership, openJournal, keepFile, stop: ended }: OwnedRun) =>
          runs({ ...bridge, ownership, openJournal, keepFile }, ended);
        return runOwned(cluster, `${settings.name}/${owned.account}`, { owned, run }, stopped);
      },
  };
}

/** The same after a restart, and of a key's letters. */
function memberOf(dataDir: string): string {
  const place = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 6);
  const host = hostname()
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .slice(0, 60);
  return `${host}-${place}`;
}

/** The data directory is this process's own while `work` runs. Rejects with DirectoryInUse where another one has it. */
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

/** A bridge with a configuration of its own, whenever this process owns its account; it stands by meanwhile. */
export async function runByItself(
  settings: Joining["settings"],
  bridge: BridgeOptions,
  stop: AbortSignal,
): Promise<void> {
  const { configuration, log, manager = null } = bridge;
  const over = new AbortController();
  const standing = standBy(manager, over.signal);
  const { account } = namedAccount(configuration);
  const seen: { membership: Membership | null; owner: string | null } = { membership: null, owner: null };
  const probes = new StandbyProbes(configuration.http, {
    clock: systemClock,
    log,
    isReady: () => seen.membership?.isReady() ?? false,
    facts: () => ({ member: memberOf(configuration.data_dir), owner: seen.owner }),
    metrics: () => seen.membership?.metrics(account) ?? null,
  });
  const onStandby = (owner: string | null) => {
    seen.owner = owner;
    probes.open();
    log.info({ owner }, "standing by: another member may run the account");
  };
  const run: typeof runBridge = async (options, stopped) => {
    await probes.close();
    await runBridge(options, stopped);
  };
  try {
    probes.open();
    seen.membership = await joinCluster({ settings, dataDir: configuration.data_dir, log }, stop);
    await seen.membership?.runs(undefined, onStandby, run)(bridge, stop);
  } finally {
    await seen.membership?.leave();
    await probes.close();
    over.abort();
    await standing;
  }
}

type Http = StandbySources["listener"];

/** Answers whoever watches this process while no bridge of it does, at the same port. */
export class StandbyProbes {
  readonly #http: Http | false;
  readonly #sources: Omit<StandbySources, "listener">;
  #end: AbortController | null = null;
  #serving: Promise<void> = Promise.resolve();

  constructor(http: Http | false, sources: Omit<StandbySources, "listener">) {
    this.#http = http;
    this.#sources = sources;
  }

  open(): void {
    const listener = this.#http;
    if (listener === false || this.#end !== null) return;
    const { signal } = (this.#end = new AbortController());
    this.#serving = import("../http/standby-site.js").then(({ serveStandby }) =>
      serveStandby({ ...this.#sources, listener }, signal),
    );
  }

  /** The port is free afterwards. */
  async close(): Promise<void> {
    this.#end?.abort();
    this.#end = null;
    await this.#serving;
  }
}

/** A service manager learns that it stands by, and that it lives. */
async function standBy(manager: ServiceManager | null, signal: AbortSignal): Promise<void> {
  manager?.tell("READY=1");
  const watchdogMs = manager?.watchdogMs ?? null;
  if (watchdogMs !== null)
    await every(watchdogMs / 3, systemClock, signal, () => manager?.tell("WATCHDOG=1"));
}
