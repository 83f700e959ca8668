import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../runtime/clock.js";
import type { textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Listener, Visitor } from "./access.js";
import type { Faults } from "./faults.js";
import type { FirstOperator } from "./first-operator.js";

/** A port that is listened at, and who is let in there, whatever is served. */
export interface Port {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for every request, so that a new token or name counts at once. */
  readonly listener: () => Listener;
  readonly status: {
    loggedIn(user: string, address: string | null): void;
    /** A wrong token or password came from this address. */
    refusedLogin(shown: "http.token" | "password", address: string | null): void;
  };
  /** The file of the page's logins, which only the user that runs the program can read. */
  readonly sessions: ReturnType<typeof textFile>;
  /** Users of the page that the configuration does not name. */
  readonly firstOperator: Pick<FirstOperator, "load" | "code" | "isOffered" | "make">;
  /** Users made at the page, for the bridge's file once it names any; absent for a page of several accounts. */
  readonly madeUsers?: () => Listener["users"];
  /**
   * Called once, when the page can be opened at this port. `code` makes the first operator; null where none is offered.
   */
  readonly onListening?: ((port: number, listener: Listener, code: string | null) => void) | undefined;
  readonly faults: Faults;
  /** The visitor that every caller counts as. Without it, each request shows who sent it. */
  readonly everybody?: Visitor;
}

// Our own limit: with Node's, one client that holds sockets open would turn away all newcomers.
export const maxSockets = 50;

/** A port that accepts connections already; they are read once a server takes it over. */
export interface OpenPort {
  /** A server takes over by listening with this handle. */
  readonly handle: Server;
  /** Connections that came meanwhile, not read yet. */
  readonly waiting: readonly Socket[];
}

/**
 * Listens at once, since loading what is served takes longer than the bridge takes to be online. A busy port is a
 * warning, not a reason to stop: null.
 */
export async function openPort({
  listener,
  log,
  faults,
}: Pick<Port, "listener" | "log" | "faults">): Promise<OpenPort | null> {
  const { host, port } = listener();
  const { handle, waiting } = notOpenYet();
  try {
    await once(handle.listen(port, host), "listening");
  } catch (error) {
    const said = "no page, no health checks and no metrics: set http.port to a free port, or http: false";
    log.warn({ host, port, reason: String(error) }, said);
    return null;
  }
  // Node reports here if no file descriptor is left to accept with.
  handle.on("error", (error) => faults.note(error));
  return { handle, waiting };
}

/** A port that collects connections as soon as it listens. */
export function notOpenYet(): OpenPort {
  const waiting: Socket[] = [];
  const handle = createServer({ pauseOnConnect: true }, (socket) => {
    // Handles errors while no server owns the socket.
    socket.on("error", () => socket.destroy());
    if (waiting.push(socket) > maxSockets) waiting.shift()?.destroy();
  });
  return { handle, waiting };
}

/** Closes a port where nobody will serve. */
export function closePort({ handle, waiting }: OpenPort): void {
  handle.close();
  for (const socket of waiting) socket.destroy();
}
