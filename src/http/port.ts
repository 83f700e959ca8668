import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../runtime/clock.js";
import type { textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Listener, Visitor } from "./access.js";
import type { Faults } from "./faults.js";
import type { FirstOperator } from "./first-operator.js";

/** Where it is listened, and who is let in, whatever is served there. */
export interface Port {
  readonly clock: Clock;
  readonly log: Logger;
  /** Asked for every request, so that a new token or name counts at once. */
  readonly listener: () => Listener;
  readonly status: {
    loggedIn(user: string, address: string | null): void;
    /** A wrong token or password was shown; from which address. */
    refusedLogin(shown: "http.token" | "password", address: string | null): void;
  };
  /** The file of the page's logins, which only the user that runs the program reads. */
  readonly sessions: ReturnType<typeof textFile>;
  /** Users of the page that the configuration does not name. */
  readonly firstOperator: Pick<FirstOperator, "load" | "code" | "isOffered" | "make">;
  /** Those of them whom the file of the bridge is to name once it names any; not where the page is of several accounts. */
  readonly madeUsers?: () => Listener["users"];
  /** Called once, when the page can be opened at this port; `code` makes the first operator, where there is none. */
  readonly onListening?: ((port: number, listener: Listener, code: string | null) => void) | undefined;
  readonly faults: Faults;
  /** Who everybody is that comes there; without one requests show who they are of. */
  readonly everybody?: Visitor;
}

// A limit of Node's own would turn away newcomers instead, for as long as one client holds sockets open.
export const maxSockets = 50;

/** A port that takes connections already; they are read once a server takes it over. */
export interface OpenPort {
  /** With its handle a server listens here in its place. */
  readonly handle: Server;
  /** Those that came meanwhile, not read yet. */
  readonly waiting: readonly Socket[];
}

/**
 * Listens at once, as what is to be served there takes longer to load than the bridge takes to be online. A busy port is a warning, not
 * a reason to stop: null.
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
  // A system without file descriptors to accept with says so here.
  handle.on("error", (error) => faults.note(error));
  return { handle, waiting };
}

/** Takes connections in once it listens. */
export function notOpenYet(): OpenPort {
  const waiting: Socket[] = [];
  const handle = createServer({ pauseOnConnect: true }, (socket) => {
    // Also while nobody owns it.
    socket.on("error", () => socket.destroy());
    if (waiting.push(socket) > maxSockets) waiting.shift()?.destroy();
  });
  return { handle, waiting };
}

/** Nobody will serve there. */
export function closePort({ handle, waiting }: OpenPort): void {
  handle.close();
  for (const socket of waiting) socket.destroy();
}
