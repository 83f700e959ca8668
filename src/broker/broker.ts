import type { Core } from "../feature/core.js";
import { cameWithin } from "../runtime/clock.js";
import { noGaps } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import { isPasswordHash } from "../runtime/passwords.js";
import { bridgeCredential, type Credential, type RefusedLogin } from "./authenticator.js";
import { Arrivals } from "../runtime/arrivals.js";
import { HeldFilters } from "./filters.js";
import { openListeners } from "./listeners.js";
import {
  type BrokerSettings,
  type BrokerTally,
  type BrokerUser,
  defaultBrokerLimits,
  emptyTally,
  reachable,
} from "./settings.js";
import { closeAedes, createAedes, wire } from "./wiring.js";

export interface EmbeddedBroker {
  /** The address for the bridge itself. */
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number | null;
  readonly webSocketPort: number | null;
  /** The bridge's own login, new at every start. Never log it. */
  readonly credential: Credential;
  counters(): Readonly<BrokerTally> & { readonly clients: number };
  /**
   * Reads the files of the TLS listener again; if they are unusable, that is logged and the certificate in use stays.
   */
  renewCertificate(): Promise<void>;
  /** Replaces the users, and disconnects clients whose user is gone or has changed. */
  takeUsers(users: readonly BrokerUser[]): Promise<void>;
  /** Disconnects the clients, and closes every socket and port. */
  close(): Promise<void>;
}

const closeTimeoutMs = 2_000;

/**
 * Starts the broker. Rejects with a BrokerStartError that names the configuration key and the remedy. `onRefusedLogin`:
 * called at a bounded rate, so that each call can go to the journal.
 */
export async function startBroker(
  settings: BrokerSettings,
  { clock, log, gaps = noGaps }: Pick<Core, "clock" | "log"> & Partial<Pick<Core, "gaps">>,
  onRefusedLogin: (refused: RefusedLogin) => void = () => undefined,
): Promise<EmbeddedBroker> {
  warnAboutPlainPasswords(settings, log);
  const limits = { ...defaultBrokerLimits, ...settings.limits };
  const filters = new HeldFilters(limits);
  const arrivals = new Arrivals(clock, gaps);
  const parts = { settings, limits, filters, tally: emptyTally(), clock, log, arrivals };
  const aedes = await createAedes(limits);
  const credential = bridgeCredential();
  const { silent, stream, takeUsers, clientCount } = wire(aedes, parts, credential, onRefusedLogin);
  const listeners = await openListeners(settings, limits, {
    connection: (socket) => silent.add(socket),
    stream,
    clock,
  }).catch(async (error: unknown) => {
    await closeAedes(aedes);
    throw error;
  });
  const { port, tlsPort, webSocketPort } = listeners;
  log.info({ host: settings.host, port }, "the embedded broker listens");
  return {
    url: `mqtt://${reachable(settings.host)}:${port}`,
    ...{ port, tlsPort, webSocketPort, credential },
    counters: () => ({ ...parts.tally, clients: clientCount() }),
    renewCertificate: () => listeners.renewCertificate(log),
    takeUsers: (users) => {
      warnAboutPlainPasswords({ users }, log);
      return takeUsers(users);
    },
    close: async () => {
      // A frozen client must not delay the shutdown; its socket is closed with the listeners.
      await cameWithin(clock, closeTimeoutMs, closeAedes(aedes));
      await listeners.close();
    },
  };
}

function warnAboutPlainPasswords({ users }: Pick<BrokerSettings, "users">, log: Logger): void {
  const plain = users.filter((user) => !isPasswordHash(user.password)).map((user) => user.username);
  if (plain.length > 0)
    log.warn(
      { users: plain },
      "plain passwords in broker.users: make hashes of them with greenhouse2mqtt passwd",
    );
}
