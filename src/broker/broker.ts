import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Aedes } from "aedes";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { isPasswordHash } from "../runtime/passwords.js";
import { SilentSockets } from "../runtime/sockets.js";
import { Acl } from "./acl.js";
import { HeldFilters } from "./filters.js";
import { type Listeners, openListeners } from "./listeners.js";
import {
  Authenticator,
  bridgeCredential,
  type Credential,
  type RefusedLogin,
  RefusedLogins,
} from "./authenticator.js";
import {
  type BrokerCounters,
  type BrokerLimits,
  type BrokerSettings,
  type BrokerTally,
  defaultBrokerLimits,
  emptyTally,
  reachable,
} from "./settings.js";
import {
  closeAedes,
  connectedClient,
  createAedes,
  speakMqtt,
  wireErrors,
  wireLimits,
  wireLogins,
  wireRights,
} from "./wiring.js";

export interface EmbeddedBroker {
  /** Where the bridge connects to. */
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number | null;
  readonly webSocketPort: number | null;
  /** The bridge's own login, made anew at every start. Never log it. */
  readonly credential: Credential;
  counters(): BrokerCounters;
  /** Reads the files of the TLS listener again; what cannot be used is logged, and the certificate in use stays. */
  renewCertificate(): Promise<void>;
  /** Tells the clients, closes every socket and port. */
  close(): Promise<void>;
}

interface BrokerPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Somebody came with a wrong user name or password; told seldom enough to be kept. */
  readonly onRefusedLogin?: (refused: RefusedLogin) => void;
}

interface Parts {
  readonly settings: BrokerSettings;
  readonly limits: BrokerLimits;
  readonly credential: Credential;
  readonly tally: BrokerTally;
  readonly ports: BrokerPorts;
}

const closeTimeoutMs = 2_000;

/** Rejects with a BrokerStartError that names the configuration key and the remedy. */
export async function startBroker(settings: BrokerSettings, ports: BrokerPorts): Promise<EmbeddedBroker> {
  warnAboutPlainPasswords(settings, ports.log);
  const limits = { ...defaultBrokerLimits, ...settings.limits };
  const parts = { settings, limits, ports, tally: emptyTally(), credential: bridgeCredential() };
  const aedes = await createAedes(limits);
  const filters = new HeldFilters(limits);
  const { silent, clientCount } = wire(aedes, filters, parts);
  const stream = (bytes: Duplex, request?: IncomingMessage) =>
    speakMqtt(aedes, bytes, request, { limits, filters });
  const hooks = { connection: silent.add.bind(silent), stream };
  const listeners = await openListeners(settings, limits, hooks).catch(async (error: unknown) => {
    await closeAedes(aedes);
    throw error;
  });
  ports.log.info({ host: settings.host, port: listeners.port }, "the embedded broker listens");
  return running(aedes, listeners, parts, clientCount);
}

function wire(aedes: Aedes, filters: HeldFilters, { settings, limits, ports, tally, credential }: Parts) {
  const { clock, log, onRefusedLogin = () => undefined } = ports;
  const acl = new Acl({ settings, limits, filters, tally, log });
  const silent = new SilentSockets(limits.silentSockets, () => {
    tally.silentClosed += 1;
  });
  const connected = new Set<object>();
  aedes.on("client", (client) => {
    if (!acl.identityOf(client)?.bridge) connected.add(client);
  });
  aedes.on("clientDisconnect", (client) => connected.delete(client));
  const clientCount = () => connected.size;
  const authenticator = new Authenticator(settings.users, credential, limits, clock);
  aedes.once("closed", () => authenticator.close());
  wireLogins(aedes, {
    authenticator,
    acl,
    tally,
    maxClients: limits.clients,
    log,
    refused: new RefusedLogins(clock, onRefusedLogin),
    clientWithId: (id) => connectedClient(aedes, id),
    clientCount,
  });
  wireRights(aedes, acl);
  wireLimits(aedes, { limits, tally, silent, filters, clock, log });
  wireErrors(aedes, tally, log);
  return { silent, clientCount };
}

function running(
  aedes: Aedes,
  listeners: Listeners,
  { settings, ports, tally, credential }: Parts,
  clientCount: () => number,
): EmbeddedBroker {
  const { port, tlsPort, webSocketPort } = listeners;
  return {
    url: `mqtt://${reachable(settings.host)}:${port}`,
    port,
    tlsPort,
    webSocketPort,
    credential,
    counters: () => ({ ...tally, clients: clientCount() }),
    renewCertificate: () => listeners.renewCertificate(ports.log),
    close: async () => {
      const waited = new AbortController();
      // A frozen client must not hold up a shutdown; its socket is closed with the listeners.
      const late = ports.clock.wait(closeTimeoutMs, waited.signal).catch(() => undefined);
      await Promise.race([closeAedes(aedes), late]);
      waited.abort();
      await listeners.close();
    },
  };
}

function warnAboutPlainPasswords({ users }: BrokerSettings, log: Logger): void {
  const plain = users.filter((user) => !isPasswordHash(user.password)).map((user) => user.username);
  if (plain.length > 0)
    log.warn(
      { users: plain },
      "plain passwords in broker.users: make hashes of them with greenhouse2mqtt passwd",
    );
}
