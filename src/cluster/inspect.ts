import { msg, type Text } from "../language/text.js";
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamInfo,
} from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { errors, type NatsConnection } from "@nats-io/transport-node";
import { systemClock } from "../runtime/clock.js";
import { ClusterRefusal, type OwnedAccount } from "./cluster.js";
import {
  answerMs,
  connectNats,
  entryOf,
  notJournal,
  optionsOf,
  refusalOf,
  streamOf,
  tooOld,
} from "./nats.js";
import type { ClusterSettings } from "./section.js";
import { ownerKey, ownerOf } from "./membership-view.js";

/* The state of the NATS servers, for somebody who is no member. Nothing is written there. */

export interface ServerFacts {
  readonly server: string;
  /** Null if the server does not answer, or refuses the link. */
  readonly version: string | null;
  /** Why the server cannot be used; null if it can. */
  readonly problem: Text | null;
}

/** The journal of an account, as its servers report it. */
export interface JournalFacts {
  readonly stream: string;
  /** Why it is not this account's journal; null if it is. */
  readonly problem: Text | null;
  readonly records: number;
  readonly bytes: number;
  /** The number of servers that should have it. */
  readonly replicas: number;
  /** The number of servers that have all of it. */
  readonly current: number;
  readonly hasLeader: boolean;
  /** Whether a limit makes NATS drop the oldest entries. */
  readonly dropsOldest: boolean;
  /** The limit of the stream, or of all streams together; null without one. */
  readonly mostBytes: number | null;
  /** Bytes that count towards that limit. */
  readonly takenBytes: number;
}

export interface OwnerFacts {
  /** Null where nobody runs the account. */
  readonly owner: string | null;
  /** Since the last renewal, by the clock of NATS. */
  readonly leaseAgeMs: number | null;
  readonly members: readonly string[];
}

export interface Inspection {
  readonly servers: readonly ServerFacts[];
  /** Null where no server answers, or no member has run the account yet. */
  readonly journal: JournalFacts | null;
  readonly owner: OwnerFacts | null;
}

const asker = "doctor";

/** Asks each server about itself, and one that answers about the account. */
export async function inspectCluster(
  settings: ClusterSettings,
  owned: Pick<OwnedAccount, "account" | "identity">,
): Promise<Inspection> {
  const servers = await Promise.all(settings.nats.map((server) => serverFacts(settings, server)));
  const usable = servers.filter(({ problem }) => problem === null).map(({ server }) => server);
  return { servers, ...(await factsFrom(usable, settings, owned)) };
}

/** Asks servers until one knows: a server that lost its peers answers only pings. Rejects with the last one's error. */
async function factsFrom(
  [server, ...others]: readonly string[],
  settings: ClusterSettings,
  owned: Pick<OwnedAccount, "account" | "identity">,
): Promise<Pick<Inspection, "journal" | "owner">> {
  if (server === undefined) return { journal: null, owner: null };
  try {
    const link = await linkTo(server, settings);
    try {
      const journal = await journalFacts(link, settings, owned);
      return { journal, owner: await ownerFacts(link, settings, owned.account) };
    } finally {
      await link.close();
    }
  } catch (error) {
    if (others.length === 0) throw error;
    return await factsFrom(others, settings, owned);
  }
}

const linkTo = (server: string, settings: ClusterSettings): Promise<NatsConnection> =>
  connectNats({
    ...optionsOf({ ...settings, nats: [server] }, asker),
    reconnect: false,
    ignoreClusterUpdates: true,
  });

async function serverFacts(settings: ClusterSettings, server: string): Promise<ServerFacts> {
  try {
    const link = await linkTo(server, settings);
    try {
      const { version = "0.0", jetstream = false } = link.info ?? {};
      const problem = tooOld(version) ?? (jetstream ? null : msg`jetstream is not enabled there`);
      return { server, version, problem: problem ?? (await isolation(link)) };
    } finally {
      await link.close();
    }
  } catch (error) {
    const reason = refusalOf(error, settings);
    return { server, version: null, problem: reason instanceof ClusterRefusal ? reason.text : reason };
  }
}

/** JetStream's code for a server that knows of no leader. */
const withoutLeader = 10_008;

/**
 * Says that a server has lost the others; null if it has not. It still greets its clients, but no answer of the leader
 * comes through it.
 */
async function isolation(link: NatsConnection): Promise<Text | null> {
  try {
    await managerOf(link);
    return null;
  } catch (error) {
    const isAlone =
      error instanceof errors.TimeoutError ||
      (error instanceof JetStreamApiError && error.code === withoutLeader);
    if (isAlone) return msg`it answers, but has lost the other servers`;
    throw error;
  }
}

/** First asks about the JetStream account, which only the leader of all servers answers. */
const managerOf = (link: NatsConnection): Promise<JetStreamManager> =>
  jetstreamManager(link, { timeout: answerMs });

/** Servers from 2.10 on add their own time. */
type DatedInfo = StreamInfo & { readonly ts?: string };

/** Null where there is no such stream. */
const streamInfo = ({ streams }: JetStreamManager, stream: string): Promise<DatedInfo | null> =>
  streams.info(stream).catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return null;
    throw error;
  });

async function journalFacts(
  link: NatsConnection,
  settings: ClusterSettings,
  { account, identity }: Pick<OwnedAccount, "account" | "identity">,
): Promise<JournalFacts | null> {
  const manager = await managerOf(link);
  const stream = streamOf(settings, account);
  const info = await streamInfo(manager, stream);
  if (info === null) return null;
  const { config, state } = info;
  const { storage, limits } = await manager.getAccountInfo();
  const bounds = [
    ...(config.max_bytes > 0 ? [{ most: config.max_bytes, taken: state.bytes }] : []),
    ...(limits.max_storage > 0 ? [{ most: limits.max_storage, taken: storage }] : []),
  ].sort((one, other) => other.taken / other.most - one.taken / one.most);
  const isBounded = config.max_bytes > 0 || config.max_msgs > 0 || config.max_msgs_per_subject > 0;
  return {
    stream,
    problem: notJournal(stream, config.description ?? "", identity),
    records: state.messages,
    bytes: state.bytes,
    replicas: config.num_replicas,
    ...copiesOf(info),
    dropsOldest: config.max_age > 0 || (isBounded && config.discard !== "new"),
    mostBytes: bounds[0]?.most ?? null,
    takenBytes: bounds[0]?.taken ?? state.bytes,
  };
}

/** Without NATS clustering, the one server has it. */
function copiesOf({ cluster, config }: StreamInfo): Pick<JournalFacts, "current" | "hasLeader"> {
  if (config.num_replicas === 1 && cluster?.replicas === undefined) return { current: 1, hasLeader: true };
  const hasLeader = (cluster?.leader ?? "") !== "";
  const followers = (cluster?.replicas ?? []).filter(({ current, offline }) => current && !offline);
  return { current: followers.length + Number(hasLeader), hasLeader };
}

async function ownerFacts(
  link: NatsConnection,
  { name }: ClusterSettings,
  account: string,
): Promise<OwnerFacts | null> {
  const info = await streamInfo(await managerOf(link), `KV_${name}`);
  if (info === null) return null;
  const kv = await new Kvm(link).open(name, { timeout: answerMs });
  const entry = await kv.get(ownerKey(account));
  const holder = entry === null ? null : entryOf(entry).value;
  const isHeld = entry !== null && holder !== null && holder !== "";
  const now = info.ts === undefined ? systemClock.now() : Date.parse(info.ts);
  const members: string[] = [];
  for await (const key of await kv.keys("member.*")) {
    const member = await kv.get(key);
    if (member !== null && entryOf(member).value !== null) members.push(key.slice("member.".length));
  }
  return {
    owner: isHeld ? ownerOf(holder) : null,
    leaseAgeMs: isHeld ? Math.max(0, now - entry.created.getTime()) : null,
    members: members.sort(),
  };
}
