import { type BridgeOptions, loadAhead, runBridge } from "../bridge.js";
import { features } from "../config/features.js";
import type { Configuration } from "../config/schema.js";
import { every, systemClock } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import type { ServiceManager } from "../runtime/systemd.js";

/* Bridges of a member of a cluster. Loaded only with the key `cluster`. */

type Code = Awaited<ReturnType<typeof features.cluster.membership>>;
export type Membership = NonNullable<Awaited<ReturnType<Code["joinCluster"]>>>;

interface Owning {
  readonly membership: Membership;
  /** The account's name in a fleet. */
  readonly account?: string;
  readonly onStandby: (owner: string | null) => void;
  readonly run?: typeof runBridge;
}

/** Like `runBridge`, but runs whenever this member owns the account. */
export const ownBridge =
  ({ membership, account, onStandby, run = runBridge }: Owning): typeof runBridge =>
  (bridge, stop) => {
    // The run that needs the code reports if it cannot be loaded.
    void loadAhead(bridge).catch(ignored);
    const { configuration, log } = bridge;
    return membership.runs(
      { configuration, account, log, onStandby },
      ({ ownership, openJournal, keepFile, stop: ended }) =>
        run({ ...bridge, ownership, openJournal, keepFile }, ended),
      stop,
    );
  };

/** Runs one bridge whenever this process owns its account, and stands by meanwhile. `named`: the account of a fleet. */
export async function runByItself(
  settings: NonNullable<Configuration["cluster"]>,
  bridge: BridgeOptions,
  stop: AbortSignal,
  named?: string,
): Promise<void> {
  const { configuration, log, manager = null } = bridge;
  const over = new AbortController();
  const standing = standBy(manager, over.signal);
  const { accountOf, joinCluster, memberOf } = await features.cluster.membership();
  const account = named ?? accountOf(configuration);
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
    const { membership } = seen;
    if (membership !== null) await ownBridge({ membership, account, onStandby, run })(bridge, stop);
  } finally {
    await seen.membership?.leave();
    await probes.close();
    over.abort();
    await standing;
  }
}

type ServeStandby = Awaited<ReturnType<typeof features.http.standby>>["serveStandby"];
type StandbySources = Parameters<ServeStandby>[0];
type Http = StandbySources["listener"];

/** Answers health probes at the bridge's port while no bridge of this process does. */
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
    this.#serving = features.http
      .standby()
      .then(({ serveStandby }) => serveStandby({ ...this.#sources, listener }, signal));
  }

  /** Resolves once the port is free. */
  async close(): Promise<void> {
    this.#end?.abort();
    this.#end = null;
    await this.#serving;
  }
}

/** Tells a service manager that the process stands by, and that it lives. */
async function standBy(manager: ServiceManager | null, signal: AbortSignal): Promise<void> {
  manager?.tell("READY=1");
  const watchdogMs = manager?.watchdogMs ?? null;
  if (watchdogMs !== null)
    await every(watchdogMs / 3, systemClock, signal, () => manager?.tell("WATCHDOG=1"));
}
