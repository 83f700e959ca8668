import { msg, type Text, TextError } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { createHash } from "node:crypto";
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
} from "@nats-io/jetstream";
import { type KV, Kvm, type KvWatchEntry } from "@nats-io/kv";
import { NodeTransport } from "@nats-io/transport-node/lib/node_transport.js";
import {
  credsAuthenticator,
  errors,
  headers,
  type MsgHdrs,
  nanos,
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  setTransportFactory,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { type Clock, systemClock } from "../runtime/clock.js";
import { Names } from "../runtime/host-names.js";
import type { Logger } from "../runtime/log.js";
import { natsMessages, PacedReading, ReadingTurns } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import { ServerWatchdog } from "./server-watchdog.js";
import { ClusterRefusal, leaseMs, type OwnedAccount } from "./cluster.js";
import { bucketLimits } from "./lease.js";
import type { AccountStream, Bucket, StreamEntry } from "./ports.js";
import type { ClusterSettings } from "./section.js";

/** NATS JetStream behind the ports of this folder. */

export interface NatsLink {
  readonly bucket: Bucket;
  /** For how long there has been no link, ms; 0 while there is one. */
  readonly lostMs: () => number;
  /** Opens the journal of an account, or makes it. */
  openStream(account: NamedStream): Promise<AccountStream>;
  /** Rejects with ClusterRefusal if there is none. */
  findStream(account: NamedStream): Promise<AccountStream>;
  close(): Promise<void>;
}

type NamedStream = Pick<OwnedAccount, "account" | "identity">;

const connectAgainMs = 2_000;
/** Time-out of requests that are answered at once, or never. */
export const answerMs = 3_000;
const appendMs = 5_000;
const wrongSequence: ReadonlySet<number> = new Set([10_071, 10_164]);
/** A live server creates a consumer within this time; a dead one never answers. */
const placeMs = 1_000;
const mostPlacings = 5;
/** JetStream's code for more replicas than the cluster has servers. */
const tooFewServers = 10_074;

/** The format number in streams and buckets; raised where an earlier version would misread them. */
const format = 1;
const releasedMark = JSON.stringify({ released: true });
const bucketMark = `greenhouse2mqtt members and owners, format ${format}`;
const markOf = (identity: string): string =>
  `greenhouse2mqtt journal, format ${format}, of ${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;

/**
 * Connects to one of the servers, however long that takes; null if the signal aborts first. Rejects with
 * ClusterRefusal.
 */
export async function joinNats(
  settings: ClusterSettings,
  memberId: string,
  log: Logger,
  signal: AbortSignal,
): Promise<NatsLink | null> {
  let told = "";
  while (!signal.aborted) {
    let link: NatsConnection | null = null;
    try {
      link = await connectNats(optionsOf(settings, memberId));
      checkVersion(link);
      const lostMs = tellOf(link, log);
      return { ...(await linkOver(link, settings, log)), lostMs };
    } catch (error) {
      await link?.close();
      const refusal = refusalOf(error, settings);
      if (refusal instanceof ClusterRefusal) throw refusal;
      const reason = String(refusal);
      if (told !== reason)
        log.warn({ servers: settings.nats, reason }, "no link to the NATS servers; trying again");
      told = reason;
      await systemClock.wait(connectAgainMs, signal).catch(ignored);
    }
  }
  return null;
}

/** Reads a server in turn with everything else, and ends a connection that begins a message larger than any of ours. */
class PacedTransport extends NodeTransport {
  readonly #turns: ReadingTurns;

  constructor(turns: ReadingTurns) {
    super();
    this.#turns = turns;
  }

  override async dial(at: Parameters<NodeTransport["dial"]>[0]) {
    return this.#paced(await super.dial(at));
  }

  override async tlsFirst(at: Parameters<NodeTransport["tlsFirst"]>[0]) {
    return this.#paced(await super.tlsFirst(at));
  }

  override async startTLS() {
    return this.#paced(await super.startTLS());
  }

  #paced<Socket extends NodeTransport["socket"]>(socket: Socket): Socket {
    const tooLarge = new TextError(msg`the server began a message larger than any of the program`);
    // The library removes its listeners at times, and an error without one would end the process.
    const end = () => socket.destroy(socket.listenerCount("error") > 0 ? tooLarge : undefined);
    new PacedReading(socket, this.#turns, natsMessages(receiving.nats, end));
    return socket;
  }
}

const names = new Names();
const turns = new ReadingTurns(receiving.nats, systemClock);
/**
 * The library asks for a transport and for addresses at each reconnect, whichever link it is, so all links share these.
 */
const transports: Parameters<typeof setTransportFactory>[0] = {
  factory: () => new PacedTransport(turns),
  dnsResolveFn: async (host) => [...(await names.addresses(host))],
};

/**
 * The library's own `connect` would give all links of the process its transport, and DNS look-ups that block threads.
 */
export function connectNats(options: NodeConnectionOptions): Promise<NatsConnection> {
  setTransportFactory(transports);
  return NatsConnectionImpl.connect(options);
}

/** The server features that the program needs came with 2.9. */
const oldest = [2, 9] as const;

/** Why a server of this version cannot be used; null if it can. */
export function tooOld(version: string): Text | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
  return isOld
    ? msg`it is nats-server ${version}, and ${oldest.join(".")} is the oldest that can be used`
    : null;
}

function checkVersion({ info }: NatsConnection): void {
  const problem = info === undefined ? null : tooOld(info.version);
  if (problem !== null)
    throw new ClusterRefusal(msg`A NATS server of the cluster cannot be used: ${problem}. Update it.`);
}

export function optionsOf(
  { nats, credentials, name }: ClusterSettings,
  memberId: string,
): NodeConnectionOptions {
  return {
    servers: [...nats],
    name: `greenhouse2mqtt ${name} ${memberId}`,
    timeout: answerMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    pingInterval: 2_000,
    maxPingOut: 2,
    // After the credentials are corrected at the servers, the members need no restart.
    ignoreAuthErrorAbort: true,
    ...(credentials === undefined ? {} : { authenticator: authenticatorOf(credentials) }),
  };
}

/** `credentials`: the content of a credentials file, a name and password, or a token. */
function authenticatorOf(credentials: string) {
  if (credentials.includes("-----BEGIN NATS USER JWT-----"))
    return credsAuthenticator(new TextEncoder().encode(credentials));
  const colon = credentials.indexOf(":");
  return colon < 0
    ? tokenAuthenticator(credentials)
    : usernamePasswordAuthenticator(credentials.slice(0, colon), credentials.slice(colon + 1));
}

export function refusalOf(error: unknown, { nats, replicas }: ClusterSettings): ClusterRefusal | Text {
  if (error instanceof ClusterRefusal) return error;
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError)
    return new ClusterRefusal(
      msg`The NATS servers (${nats.join(", ")}) refuse the credentials: correct cluster.credentials.`,
    );
  if (error instanceof JetStreamApiError && error.code === tooFewServers)
    return new ClusterRefusal(
      msg`cluster.replicas is ${replicas}, and the NATS servers are not a cluster of so many. Start them as one, or set replicas: 1, which survives the loss of no server.`,
    );
  if (!(error instanceof Error)) return String(error);
  return error.name === "JetStreamNotEnabled"
    ? msg`JetStream is not ready there; the servers have to be started with jetstream enabled`
    : error.message;
}

function tellOf(link: NatsConnection, log: Logger): NatsLink["lostMs"] {
  let lostAt: number | null = null;
  const tell = async () => {
    for await (const { type } of link.status())
      if (type === "disconnect") {
        lostAt ??= systemClock.monotonic();
        log.warn("the link to the NATS servers is lost; trying again");
      } else if (type === "reconnect") {
        lostAt = null;
        log.info("the link to the NATS servers stands again");
      }
  };
  void tell().catch(ignored);
  return () => (lostAt === null ? 0 : systemClock.monotonic() - lostAt);
}

async function linkOver(
  link: NatsConnection,
  settings: ClusterSettings,
  log: Logger,
): Promise<Omit<NatsLink, "lostMs">> {
  const client = jetstream(link, { timeout: answerMs });
  const manager = await jetstreamManager(link, { timeout: answerMs });
  const places = await jetstreamManager(link, { timeout: placeMs, checkAPI: false });
  const streams: JetStream = { client, manager, places };
  const kv = await openBucket(client, settings);
  const watchdog = new ServerWatchdog(systemClock, () => {
    log.warn({ server: link.getServer() }, "the NATS server answers nothing; going to another one");
    void link.reconnect().catch(ignored);
  });
  const streamFor = async (account: NamedStream, isMade: boolean) =>
    watchdog.stream(await watchdog.of(openStream(streams, settings, account, isMade)));
  return {
    bucket: watchdog.bucket(bucketOver(kv)),
    openStream: (account) => streamFor(account, true),
    findStream: (account) => streamFor(account, false),
    close: () => {
      watchdog.close();
      return link.close();
    },
  };
}

async function openBucket(client: JetStreamClient, { name, replicas }: ClusterSettings): Promise<KV> {
  const limits = bucketLimits(leaseMs);
  const kv = await new Kvm(client).create(name, {
    ...limits,
    replicas,
    timeout: answerMs,
    description: bucketMark,
    storage: StorageType.File,
    // Direct reads could come from a server that is behind.
    allow_direct: false,
  });
  const { streamInfo } = await kv.status();
  const { description = "", max_age: maxAge } = streamInfo.config;
  if (description !== bucketMark)
    throw new ClusterRefusal(
      msg`The NATS bucket "${name}" is none of the program's (it says: "${description.slice(0, 80)}"): give cluster.name another name.`,
    );
  if (maxAge !== nanos(limits.ttl))
    throw new ClusterRefusal(
      msg`The NATS bucket "${name}" is that of another version of the program. Run the same version on all members, or stop them all and delete it; it holds leases and no journal.`,
    );
  return kv;
}

/** Null if the server refuses because something else is there. */
async function unlessOther<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof JetStreamApiError && wrongSequence.has(error.code)) return null;
    throw error;
  }
}

/** A request that reaches no leader is never answered, even if one is found a moment later. */
const askAgainMs = 1_000;
const mostAsked = 3;

/**
 * The first answer to a question that may be asked again. Null counts only if no other question is open, as an earlier
 * one may have caused it. Rejects when the first question times out.
 */
export function firstAnswer<T>({ after }: Pick<Clock, "after">, ask: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let asked = 0;
    let open = 0;
    let none: { readonly answer: T } | null = null;
    let takeBack: () => void = () => undefined;
    const question = () => {
      asked += 1;
      open += 1;
      if (asked < mostAsked) takeBack = after(askAgainMs, question);
      ask().then(
        (answer) => {
          open -= 1;
          none = { answer };
          takeBack();
          if (answer !== null || open === 0) resolve(answer);
        },
        (error: unknown) => {
          open -= 1;
          if (open === 0 && none !== null) resolve(none.answer);
          else if (asked === mostAsked && (open === 0 || error instanceof errors.TimeoutError))
            reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    };
    question();
  });
}

const bucketOver = (kv: KV): Bucket => ({
  claim: (key, value, over) =>
    unlessOther(over === 0 ? kv.create(key, value) : kv.update(key, value, over, answerMs)),
  renew: (key, value, revision) =>
    firstAnswer(systemClock, () => unlessOther(kv.update(key, value, revision, answerMs))),
  release: async (key, revision) => {
    await unlessOther(kv.update(key, releasedMark, revision, answerMs));
  },
  get: async (key) => {
    const entry = await firstAnswer(systemClock, () => kv.get(key));
    return entry === null ? null : entryOf(entry);
  },
  put: (key, value) => kv.put(key, value),
  watch: async (listener, signal) => {
    const entries = await kv.watch();
    if (signal.aborted) entries.stop();
    signal.addEventListener("abort", () => entries.stop());
    await new Promise<void>((resolve) => {
      // An empty bucket sends nothing.
      systemClock.after(answerMs / 3, resolve);
      void (async () => {
        for await (const entry of entries) {
          listener(entry.key, entryOf(entry));
          if (entry.delta === 0) resolve();
        }
      })();
    });
  },
});

/** A key deleted by hand is no mark of a release: its owner may still act. */
export const entryOf = (entry: Pick<KvWatchEntry, "revision" | "operation"> & { string(): string }) => ({
  revision: entry.revision,
  value: entry.operation !== "PUT" ? "" : entry.string() === releasedMark ? null : entry.string(),
});

interface JetStream {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  /** Like `manager`, with a shorter time-out. */
  readonly places: JetStreamManager;
}

export const streamOf = ({ name }: ClusterSettings, account: string): string => `${name}_${account}`;

/** Why a stream with this description is not the account's journal; null if it is. */
export const notJournal = (stream: string, description: string, identity: string): Text | null =>
  description === markOf(identity) ? null : notOurs(stream, description);

async function openStream(
  streams: JetStream,
  settings: ClusterSettings,
  { account, identity }: NamedStream,
  isMade: boolean,
): Promise<AccountStream> {
  const { name, replicas } = settings;
  const { manager } = streams;
  const stream = streamOf(settings, account);
  const root = `greenhouse2mqtt.${name}.${account}`;
  try {
    const { config } = await manager.streams.info(stream).catch((error: unknown) => {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound)
        throw error;
      if (!isMade)
        throw new ClusterRefusal(
          msg`The cluster "${name}" has no journal of the account ${account}; nothing was made.`,
        );
      return manager.streams.add({
        name: stream,
        subjects: [`${root}.>`],
        storage: StorageType.File,
        num_replicas: replicas,
        description: markOf(identity),
        // If somebody limits the stream, the newest entries are refused: the oldest have the locks.
        discard: DiscardPolicy.New,
        allow_direct: false,
      });
    });
    const problem = notJournal(stream, config.description ?? "", identity);
    if (problem !== null) throw new ClusterRefusal(problem);
  } catch (error) {
    const reason = refusalOf(error, settings);
    throw reason instanceof ClusterRefusal ? reason : error;
  }
  return streamOver(streams, stream, root);
}

function notOurs(stream: string, description: string): Text {
  const [, version] = /^greenhouse2mqtt journal, format (\d+), /.exec(description) ?? [];
  if (version !== undefined && Number(version) > format)
    return msg`The NATS stream "${stream}" was written by a newer version of the program (format ${version}; this one knows up to ${format}): run that version on all members.`;
  return version === undefined
    ? msg`The NATS stream "${stream}" is none of the program's (it says: "${description.slice(0, 80)}"): give cluster.name another name.`
    : msg`The NATS stream "${stream}" is the journal of another account (of another platform or base topic): give cluster.name, or the account, another name.`;
}

function streamOver(streams: JetStream, stream: string, root: string): AccountStream {
  const { client, manager } = streams;
  return {
    append: async ({ subject, operation, run, data }, after) => {
      const about = headers();
      about.set("Nats-Expected-Stream", stream);
      about.set("Nats-Expected-Last-Sequence", String(after));
      about.set("Run", run);
      if (operation !== "") about.set("Operation", operation);
      const kept = await unlessOther(
        client.publish(`${root}.${subject}`, data, { headers: about, timeout: appendMs }),
      );
      return kept?.seq ?? null;
    },
    state: async () => {
      const { created, state } = await firstAnswer(systemClock, () => manager.streams.info(stream));
      return { created, last: state.last_seq, count: state.messages };
    },
    newest: async (subject) => {
      const query = { last_by_subj: `${root}.${subject}` };
      const message = await firstAnswer(systemClock, () => manager.streams.getMessage(stream, query));
      return message === null ? null : { operation: message.header.get("Operation") };
    },
    read: (first, through) =>
      through - first < fewEntries
        ? oneByOne(manager, stream, root, { from: first, through })
        : withoutGaps((from) => deliveriesOf(streams, stream, root, { from, through }), first),
    purge: async (subject, before) => {
      const filter = `${root}.${subject}`;
      await manager.streams.purge(stream, Number.isFinite(before) ? { filter, seq: before } : { filter });
    },
  };
}

/** Limits of one fetch. Entries are mostly small, and each request costs a round trip to the servers. */
const perFetch = { bytes: 2 * 1024 * 1024, least: 8, most: 4_096 } as const;

/** How many entries of a stream to fetch at once. */
export const batchOf = ({ bytes, messages }: { readonly bytes: number; readonly messages: number }): number =>
  Math.min(
    Math.max(Math.floor((perFetch.bytes * messages) / Math.max(bytes, 1)), perFetch.least),
    perFetch.most,
  );

type Read = StreamEntry & { readonly number: number };

/** An entry as a consumer delivers it. The consumer's own count has no gaps, whatever was purged. */
interface Delivery {
  readonly count: number;
  readonly entry: Read;
}

interface Span {
  readonly from: number;
  readonly through: number;
}

/** Up to this many are fetched one by one, which needs only the stream's leader. */
const fewEntries = 32;

async function* oneByOne(
  { streams }: JetStreamManager,
  stream: string,
  root: string,
  { from, through }: Span,
): AsyncGenerator<Read> {
  let next = from;
  while (next <= through) {
    // Skips what was purged.
    const query = { seq: next, next_by_subj: `${root}.>` };
    const message = await streams.getMessage(stream, query);
    if (message === null || message.seq > through) return;
    next = message.seq + 1;
    yield entryOver(root, message.seq, message.subject, message.header, message.data);
  }
}

const entryOver = (
  root: string,
  number: number,
  subject: string,
  about: MsgHdrs | undefined,
  data: Uint8Array,
): Read => ({
  number,
  subject: subject.slice(root.length + 1),
  operation: about?.get("Operation") ?? "",
  run: about?.get("Run") ?? "",
  data,
});

class NotWhole extends Error {
  override name = "NotWhole" as const;
}

/**
 * Entries on their way when a link is lost are not delivered again, and the consumer goes on behind them. Such a gap
 * starts a new consumer behind the last entry that came in order.
 */
export async function* withoutGaps(
  deliveries: (from: number) => AsyncIterable<Delivery>,
  from: number,
): AsyncGenerator<Read> {
  let next = from;
  for (;;) {
    const began = next;
    let count = 0;
    try {
      for await (const delivery of deliveries(next)) {
        count += 1;
        if (delivery.count !== count) throw new NotWhole("the stream of the journal is not given whole");
        next = delivery.entry.number + 1;
        yield delivery.entry;
      }
      return;
    } catch (error) {
      if (!(error instanceof NotWhole) || next === began) throw error;
    }
  }
}

/**
 * Makes a consumer that begins at this entry. NATS gives it to one server, which may be dead without the others knowing
 * it for a while, with 2.9 for ever. Another try comes to another server.
 */
async function consumerAt({ manager, places }: JetStream, stream: string, from: number) {
  const wanted = {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
    ack_policy: AckPolicy.None,
    inactive_threshold: nanos(30_000),
    mem_storage: true,
    num_replicas: 1,
  };
  for (let tries = 0; tries < mostPlacings; tries += 1)
    try {
      return await places.consumers.add(stream, wanted);
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error;
    }
  return manager.consumers.add(stream, wanted);
}

async function* deliveriesOf(
  streams: JetStream,
  stream: string,
  root: string,
  { from, through }: Span,
): AsyncGenerator<Delivery> {
  const { client, manager } = streams;
  const batch = batchOf((await manager.streams.info(stream)).state);
  const { name, num_pending: pending } = await consumerAt(streams, stream, from);
  try {
    const consumer = await client.consumers.get(stream, name);
    let left = pending;
    while (left > 0) {
      const before = left;
      const messages = await consumer.fetch({ max_messages: Math.min(batch, left), expires: appendMs });
      for await (const { seq, subject, headers: about, data, info } of messages) {
        left = info.pending;
        if (seq > through) return;
        yield { count: info.deliverySequence, entry: entryOver(root, seq, subject, about, data) };
        if (seq === through) return;
      }
      if (left === before) throw new NotWhole("the stream of the journal is not given whole");
    }
  } finally {
    await manager.consumers.delete(stream, name).catch(ignored);
  }
}
