import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { type Duplex, PassThrough } from "node:stream";
import type {
  Aedes,
  AuthenticateError,
  Client,
  ConnectPacket,
  PublishPacket,
  SubscribePacket,
  UnsubscribePacket,
} from "aedes";
import {
  AnswersDue,
  framesOfAnswer,
  mqttPackets,
  PacedReading,
  ReadingTurns,
} from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import { SilentSockets } from "../runtime/sockets.js";
import type { BrokerParts } from "./filters.js";
import { Acl, type GrantedFilters } from "./acl.js";
import { Authenticator, type Credential, type RefusedLogin, RefusedLogins } from "./authenticator.js";
import { type BrokerLimits, BrokerStartError, type BrokerUser } from "./settings.js";
import { type Drainable, limitDrainWait, type WebSocketFacts } from "./listeners.js";
import { boundStore, type Sessions, type Store } from "./store.js";

/*
 * Packets that MQTT forbids but the packet library lets through. aedes would end the process on them, or make correct
 * subscribers disconnect.
 */

/** Why a CONNECT is refused; null where it may go on. */
function connectFault({ properties, will }: Pick<ConnectPacket, "properties" | "will">): string | null {
  // Delivering such a will would break every subscriber's connection.
  if (will && Number(will.qos) > 2) return "a will of QoS 3";
  if (repeatsProperty(properties) || repeatsProperty(will?.properties)) return "a property given twice";
  return null;
}

/** Whether a property comes twice, of which the library makes a list; only user properties may. */
function repeatsProperty(properties: object | undefined): boolean {
  return Object.entries(properties ?? {}).some(
    ([name, value]) => name !== "userProperties" && Array.isArray(value),
  );
}

/** Seconds; 0 for anything but a number, such as a list. */
const secondsOr0 = (interval: unknown): number =>
  typeof interval === "number" && Number.isFinite(interval) ? interval : 0;

/* Internals of aedes that are used here. They may change with any version, so package.json pins one. */

const knownVersion = "2.0.0-beta.1";

type FilterPacket = SubscribePacket | UnsubscribePacket | PublishPacket;

interface Parser {
  prependListener(event: "packet", listener: (packet: FilterPacket) => void): unknown;
}

interface BrokerInsides {
  readonly clients: Readonly<Record<string, Client>>;
  readonly persistence: Store;
  clampSessionExpiry: (interval: unknown) => number;
}

interface ClientInsides extends Drainable {
  readonly _parser: Parser;
  readonly subscriptions: GrantedFilters;
  deliverQoS: (packet: DeliveredPacket, done: () => void) => void;
}

type DeliveredPacket = Pick<PublishPacket, "qos">;

const insidesOf = (aedes: Aedes): BrokerInsides => aedes as unknown as BrokerInsides;
const clientInsidesOf = (client: Client): ClientInsides => client as unknown as ClientInsides;

const storeMethods =
  "storeRetained createRetainedStreamCombi outgoingEnqueue outgoingEnqueueCombi outgoingUpdate outgoingClearMessageId outgoingStream incomingStorePacket incomingDelPacket addSubscriptions removeSubscriptions cleanSubscriptions";

/** Throws a BrokerStartError where an internal is missing on which limits and rights depend. */
export function demandInsides(aedes: Aedes): void {
  const broker: Partial<BrokerInsides> = insidesOf(aedes);
  const persistence: object = broker.persistence ?? {};
  const stream = new PassThrough();
  const client: Partial<ClientInsides> = clientInsidesOf(aedes.handle(stream));
  stream.destroy();
  const parser: Partial<Parser> = client._parser ?? {};
  const functions: readonly (readonly [name: string, part: unknown])[] = [
    ["clampSessionExpiry", broker.clampSessionExpiry],
    ...storeMethods
      .split(" ")
      .map((name) => [`persistence.${name}`, Reflect.get(persistence, name)] as const),
    ["client.waitForDrain", client.waitForDrain],
    ["client.deliverQoS", client.deliverQoS],
    ["client._parser", parser.prependListener],
  ];
  const missing = functions.flatMap(([name, part]) => (typeof part === "function" ? [] : [name]));
  if (typeof broker.clients !== "object") missing.push("clients");
  if (typeof client.subscriptions !== "object") missing.push("client.subscriptions");
  if (missing.length === 0) return;
  throw new BrokerStartError(
    "broker",
    `the package aedes that is installed lacks ${missing.join(", ")}, on which limits and rights stand: this program knows aedes ${knownVersion}; install the versions of package-lock.json (npm ci), or name another broker in mqtt.url`,
  );
}

/* Everything that is plugged into aedes. */

// Room for topic and properties beside the largest payload.
const headerReserve = 4096;
const sessionExpiryS = 86_400;

/** An aedes broker with its own limits; the functions below add the missing ones. */
export async function createAedes(limits: BrokerLimits): Promise<Aedes> {
  const { Aedes } = await import("aedes");
  const aedes = await Aedes.createBroker({
    connectTimeout: limits.connectTimeoutMs,
    drainTimeout: limits.drainTimeoutMs,
    maximumPacketSize: limits.packetBytes + headerReserve,
    sessionExpiryIntervalLimit: sessionExpiryS,
    pendingSessionsLimit: limits.clients,
    // The default is too short for ids that brokers commonly accept.
    maxClientsIdLength: 64,
  });
  try {
    demandInsides(aedes);
  } catch (error) {
    await closeAedes(aedes);
    throw error;
  }
  withoutInherited(insidesOf(aedes).clients);
  checkExpiries(aedes);
  return aedes;
}

/**
 * Removes the prototype of aedes' tables: a client or filter called `constructor` would be found in them and end the
 * process.
 */
function withoutInherited(table: object): void {
  Object.setPrototypeOf(table, null);
}

/** How fast clients are read; the bridge's own link is not limited. */
interface Readings {
  readonly turns: ReadingTurns;
  readonly readings: WeakMap<Client, PacedReading>;
}

const tooManyFilters = "too many filters in one packet";

/** Counts how many acknowledgements each message delivered to the client will bring. */
function noteAnswers(client: ClientInsides, due: AnswersDue, frames: AnswersDue | undefined): void {
  const deliver = client.deliverQoS.bind(client);
  client.deliverQoS = (packet, done) => {
    due.add(packet.qos);
    frames?.add(framesOfAnswer * packet.qos);
    deliver(packet, done);
  };
}

/** Speaks MQTT on a byte stream; a packet that aedes must not see ends the connection. */
function speakMqtt(
  aedes: Aedes,
  stream: Duplex,
  over: WebSocketFacts | undefined,
  { limits, filters, arrivals }: Pick<BrokerParts, "limits" | "filters" | "arrivals">,
  acl: Pick<Acl, "isBridge">,
  { turns, readings }: Readings,
): Client {
  const due = new AnswersDue();
  const reading = new PacedReading(stream, turns, mqttPackets(due));
  const client = aedes.handle(stream, over?.request);
  noteAnswers(clientInsidesOf(client), due, over?.due);
  readings.set(client, reading);
  stream.once("close", () => filters.onClose(client));
  const arrived = arrivals.follow(stream, over === undefined ? [reading] : [reading, over.frames]);
  clientInsidesOf(client)._parser.prependListener("packet", (packet) => {
    arrived(packet);
    const fault = acl.isBridge(client) ? null : filterFault(packet, limits);
    if (fault === null) return;
    if (packet.cmd === "subscribe") packet.subscriptions = packet.subscriptions.slice(0, 1);
    else if (packet.cmd === "unsubscribe") packet.unsubscriptions = packet.unsubscriptions.slice(0, 1);
    aedes.emit("clientError", client, new Error(fault));
    stream.destroy();
  });
  return client;
}

function filterFault(packet: FilterPacket, { filtersPerPacket }: BrokerLimits): string | null {
  if (packet.cmd === "unsubscribe")
    return packet.unsubscriptions.length > filtersPerPacket ? tooManyFilters : null;
  if (packet.cmd !== "subscribe" || packet.subscriptions.length < 2) return null;
  if (packet.subscriptions.length > filtersPerPacket) return tooManyFilters;
  // aedes sorts filters into a plain object, where this name would end the process.
  return packet.subscriptions.some(({ topic }) => topic === "__proto__") ? "a filter called __proto__" : null;
}

/** A DISCONNECT may hold an expiry too, and an interval that is no number would end the process. */
function checkExpiries(aedes: Aedes): void {
  const sessions = insidesOf(aedes);
  const clamp = sessions.clampSessionExpiry.bind(aedes);
  sessions.clampSessionExpiry = (interval) => clamp(secondsOr0(interval));
}

/** Plugs everything into aedes; resolves to what the listeners and the counters need. */
export function wire(
  aedes: Aedes,
  parts: BrokerParts,
  bridge: Credential,
  onRefusedLogin: (refused: RefusedLogin) => void,
) {
  const { settings, limits, tally, clock } = parts;
  const { persistence } = insidesOf(aedes);
  const acl = new Acl(parts, (topic) => void persistence.storeRetained({ topic, payload: Buffer.alloc(0) }));
  const silent = new SilentSockets(limits.silentSockets, () => void (tally.silentClosed += 1));
  const connected = new Set<Client>();
  aedes.on("client", (client) => {
    // A client that took over an id and hung up meanwhile is entered only now, after its end.
    if (client.conn.destroyed) Reflect.deleteProperty(insidesOf(aedes).clients, client.id);
    else if (!acl.isBridge(client)) connected.add(client);
    // The users may have changed while it was let in.
    dismissChanged([client], acl, authenticator);
  });
  const authenticator = new Authenticator(settings.users, bridge, limits, clock);
  aedes.once("closed", () => authenticator.close());
  const refused = new RefusedLogins(clock, onRefusedLogin);
  const sessions = wireLimits(aedes, parts, silent, acl);
  const paced = {
    turns: new ReadingTurns(receiving.broker, clock),
    readings: new WeakMap<Client, PacedReading>(),
  };
  const logins = { parts, acl, authenticator, refused, connected, sessions, readings: paced.readings };
  wireLogins(aedes, logins);
  wireRights(aedes, acl);
  wireErrors(aedes, parts);
  const stream = (bytes: Duplex, over?: WebSocketFacts) => {
    const client = speakMqtt(aedes, bytes, over, parts, acl, paced);
    bytes.once("close", () => connected.delete(client));
  };
  const takeUsers = (users: readonly BrokerUser[]) => replaceUsers(logins, users);
  return { silent, stream, takeUsers, clientCount: () => connected.size };
}

async function replaceUsers(
  { acl, authenticator, connected, sessions }: LoginParts,
  users: readonly BrokerUser[],
): Promise<void> {
  const gone = authenticator.replace(users);
  if (gone.size === 0) return;
  dismissChanged([...connected], acl, authenticator);
  await sessions.endOf((user) => gone.has(user));
}

/** Ends the connection of whoever would not be let in again with the same rights. */
function dismissChanged(clients: readonly Client[], acl: Acl, authenticator: Authenticator): void {
  const changed = clients.filter((client) => {
    const identity = acl.identityOf(client);
    return identity !== null && !identity.bridge && !authenticator.isStill(identity.login);
  });
  for (const client of changed) {
    acl.dismiss(client, authenticator.userOf(acl.userOf(client)));
    client.close();
  }
}

interface LoginParts {
  readonly parts: BrokerParts;
  readonly acl: Acl;
  readonly authenticator: Authenticator;
  readonly refused: RefusedLogins;
  /** Connected clients without the bridge. */
  readonly connected: ReadonlySet<Client>;
  readonly sessions: Sessions;
  readonly readings: Readings["readings"];
}

/** CONNACK codes of MQTT 3.1.1; aedes translates them for MQTT 5. */
type RefusalCode = 2 | 3 | 4 | 5;

function wireLogins(aedes: Aedes, parts: LoginParts): void {
  aedes.authenticate = (client, username, password, done) => {
    const login = { address: addressOf(client), client: client.id, username, password };
    admit(aedes, parts, client, login).then(
      (code) => {
        if (code === null) done(null, true);
        else done(refusal(code), false);
      },
      (error: unknown) => {
        parts.parts.log.error({ err: error }, "a login could not be checked");
        done(refusal(3), false);
      },
    );
  };
}

/** Lets a client in and notes its identity, or resolves to the code with which to refuse it. */
async function admit(
  aedes: Aedes,
  logins: LoginParts,
  client: Client,
  login: Parameters<Authenticator["verdict"]>[0],
): Promise<RefusalCode | null> {
  const { acl, authenticator, parts } = logins;
  const about = { address: login.address, client: client.id.slice(0, 64) };
  const verdict = await authenticator.verdict(login);
  if (verdict.kind === "refused") return refuseLogin(logins, verdict, about);
  const user = verdict.kind === "user" ? verdict.user : null;
  const who = { ...about, user: user?.username ?? null };
  const problem = verdict.kind === "bridge" ? null : placeProblem(aedes, logins, client.id, who.user);
  if (problem !== null) {
    parts.tally.refusedClients += 1;
    parts.log.warn(who, problem.text);
    return problem.code;
  }
  await logins.sessions.claim(client.id, who.user);
  parts.tally.accepted += 1;
  if (verdict.kind !== "bridge") acl.admit(client, user);
  else {
    acl.admitBridge(client);
    logins.readings.get(client)?.release();
  }
  parts.log.debug(who, "client connected");
  return null;
}

function refuseLogin(
  { parts: { tally, log }, refused }: LoginParts,
  { why, newlySlowed }: { readonly why: "wrong" | "blocked" | "busy"; readonly newlySlowed: boolean },
  about: RefusedLogin,
): RefusalCode {
  if (why === "busy") return 3;
  if (why === "blocked") {
    tally.blockedLogins += 1;
    return 5;
  }
  tally.refusedLogins += 1;
  refused.note(about);
  // The name is left out, as people type passwords into the wrong field.
  const { address } = about;
  log.warn({ address }, "refused a login with a wrong user name or password");
  if (newlySlowed)
    log.warn({ address }, "too many wrong logins; further ones wait for their turn for a while");
  return 4;
}

function placeProblem(
  aedes: Aedes,
  { acl, connected, parts: { limits } }: LoginParts,
  id: string,
  user: string | null,
): { readonly code: RefusalCode; readonly text: string } | null {
  const present = connectedClient(aedes, id);
  const owner = present && acl.identityOf(present);
  // Taking over a client id closes the other connection, so it must not be possible with the bridge's id or across
  // users.
  if (owner && (owner.bridge || owner.user !== user))
    return { code: 2, text: "refused a client: its client id is in use by another user" };
  if (present || connected.size < limits.clients) return null;
  const text = `refused a client: ${limits.clients} are connected already; raise broker.limits.clients`;
  return { code: 3, text };
}

function wireRights(aedes: Aedes, acl: Acl): void {
  aedes.authorizePublish = (client, packet, done) => {
    acl.publish(client, packet);
    done(null);
  };
  aedes.authorizeSubscribe = (client, subscription, done) =>
    done(null, acl.maySubscribe(client, subscription) ? subscription : null);
  aedes.authorizeForward = (client, packet) =>
    acl.forward(client, packet, clientInsidesOf(client).subscriptions);
}

function wireLimits(aedes: Aedes, parts: BrokerParts, silent: SilentSockets, acl: Acl): Sessions {
  const { limits, tally, filters, clock, log } = parts;
  aedes.on("unsubscribe", (dropped, client) => filters.drop(client, dropped));
  aedes.preConnect = (client, packet, done) => {
    const socket = socketOf(client);
    if (socket) silent.spoke(socket);
    const insides = clientInsidesOf(client);
    withoutInherited(insides.subscriptions);
    const stuck = () => {
      tally.slowClosed += 1;
      log.warn(
        { client: client.id.slice(0, 64) },
        "disconnected a subscriber that does not read its messages",
      );
    };
    limitDrainWait(insides, limits, clock, stuck);
    const fault = connectFault(packet);
    if (fault === null) done(null, true);
    else done(new Error(fault), false);
  };
  const sessions = boundStore(
    insidesOf(aedes).persistence,
    parts,
    (id) => connectedClient(aedes, id) !== null,
    ({ id }) => acl.userOf(connectedClient(aedes, id)),
  );
  aedes.on("clientDisconnect", (client) => {
    if (client.clean) sessions.onDisconnected(client.id);
  });
  return sessions;
}

// Errors that aedes reports for a socket that is gone, which are no faults.
const ordinaryEnds = new Set(["connection closed", "keep alive timeout", "Premature close", "drain timeout"]);

/** Counts each client's fault once; a fault does not affect other clients. */
function wireErrors(aedes: Aedes, { tally, log }: BrokerParts): void {
  const seen = new WeakSet<Client>();
  const onFailure = (client: Client, error: Error) => {
    // Refused logins (`errorCode`) are counted elsewhere; a textual `code` comes from the network.
    const ordinary = "errorCode" in error || ("code" in error && typeof error.code === "string");
    if (ordinary || ordinaryEnds.has(error.message) || seen.has(client)) return;
    seen.add(client);
    const facts = { address: addressOf(client), reason: error.message };
    if (error.message === "connect did not arrive in time") tally.silentClosed += 1;
    else if (error.message === tooManyFilters) {
      tally.oversized += 1;
      log.warn(facts, "disconnected a client; broker.limits.filters_per_packet sets the number");
    } else if (error.message === "packet too large") {
      tally.oversized += 1;
      log.warn(facts, "disconnected a client that sent too large a packet; broker.limits sets the size");
    } else {
      tally.protocolErrors += 1;
      log.debug(facts, "disconnected a client for a protocol error");
    }
  };
  aedes.on("clientError", onFailure);
  aedes.on("connectionError", onFailure);
  const emitter: EventEmitter = aedes;
  emitter.on("error", (error: unknown) =>
    log.error({ err: error }, "the embedded broker had an internal error"),
  );
}

const connectedClient = (aedes: Aedes, id: string): Client | null => insidesOf(aedes).clients[id] ?? null;

export function closeAedes(aedes: Aedes): Promise<void> {
  return new Promise((resolve) => aedes.close(resolve));
}

function refusal(code: RefusalCode): AuthenticateError {
  const error: unknown = Object.assign(new Error("refused"), { returnCode: code });
  return error as AuthenticateError;
}

const addressOf = (client: Client): string => socketOf(client)?.remoteAddress ?? "unknown";

/** The TCP or TLS socket below a client's stream. */
function socketOf({ conn, req }: Client): Socket | null {
  if (req) return req.socket;
  return "remoteAddress" in conn ? conn : null;
}
