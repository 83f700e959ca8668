import { once } from "node:events";
import { chmod, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, untilAborted } from "../runtime/clock.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { errorCode } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import { joinSignals } from "../runtime/signals.js";
import { ownerSocket, socketPath } from "../runtime/socket-file.js";
import { closePort, notOpenYet, type OpenPort, type Port } from "./port.js";
import type { Faults } from "./faults.js";
import type { PageService } from "./service.js";

/*
 * The bridge's socket in its data directory: the API for the user that runs the bridge, since nobody else may open it.
 * The command line needs no password there, and sends none to anybody else.
 */

interface OwnerParts {
  readonly dataDir: string;
  /** Rejects if another folder has taken the data directory's place. */
  readonly inPlace: () => Promise<void>;
  /** The port of the embedded broker; null without one. */
  readonly brokerPort: number | null;
  readonly clock: Clock;
  readonly log: Logger;
  readonly faults: Faults;
  /** Called with the first request. */
  readonly service: () => Promise<PageService>;
}

const ownMode = 0o600;

/** Pause between checks of the socket: a data directory that was away comes back without it. */
const lookEveryMs = 15_000;

/** Serves until the signal aborts. Where no socket can be made, the command line uses another way. */
export async function serveOwner(parts: OwnerParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  for (let isTold = false; !signal.aborted;) {
    const why = await serveAtPlace(parts, signal);
    if (why !== null && !isTold)
      log.debug({ reason: why }, "there is no socket in the data directory for the command line");
    isTold = why !== null;
    if (isTold) await clock.wait(lookEveryMs, signal).catch(ignored);
  }
}

/**
 * Serves until the signal aborts or the socket is gone from its place, then returns null. Returns at once why no socket
 * can be made.
 */
async function serveAtPlace(parts: OwnerParts, signal: AbortSignal): Promise<string | null> {
  const place = await socketPath(parts.dataDir, ownerSocket).catch(String);
  if (typeof place === "string") return place;
  const opened = await parts
    .inPlace()
    .then(() => listenAt(place.path))
    .catch(String);
  if (typeof opened !== "string") {
    const { signal: here, release } = joinSignals(signal, goneFrom(parts, signal));
    await serveOpened(parts, opened, here);
    release();
  }
  await place.release();
  return typeof opened === "string" ? opened : null;
}

/** Aborts once the data directory has another socket, or none. */
function goneFrom({ dataDir, clock }: OwnerParts, signal: AbortSignal): AbortSignal {
  const gone = new AbortController();
  const path = join(dataDir, ownerSocket);
  const look = async () => {
    const ours = await identityAt(path);
    while (!signal.aborted && (await identityAt(path)) === ours)
      await clock.wait(lookEveryMs, signal).catch(ignored);
    gone.abort();
  };
  void look();
  return gone.signal;
}

const identityAt = (path: string): Promise<string | null> =>
  stat(path).then(({ dev, ino }) => `${dev}:${ino}`, nullIfFailed);

/** Removes the socket of a killed run first: the data directory belongs to this process alone. */
async function listenAt(path: string): Promise<OpenPort> {
  await unlink(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  const opened = notOpenYet();
  await once(opened.handle.listen(path), "listening");
  await chmod(path, ownMode);
  return opened;
}

async function serveOpened(parts: OwnerParts, opened: OpenPort, signal: AbortSignal): Promise<void> {
  const { faults, clock, log, brokerPort, service } = parts;
  const { handle, waiting } = opened;
  handle.on("error", (error) => faults.note(error));
  // Waits for a connection, since loading the code takes long and most runs are never asked anything.
  const isAsked = new Promise<void>((resolve) => handle.once("connection", () => resolve()));
  await Promise.race([isAsked, untilAborted(signal)]);
  if (waiting.length === 0) {
    closePort(opened);
    return;
  }
  const { servePort, oneBridge } = await import("./server.js");
  const { json } = await import("./answer.js");
  const { nothing, routeTo } = await import("./route.js");
  const made = await service();
  const port: Port = {
    clock,
    log,
    faults,
    listener: () => ownListener,
    everybody: { user: null, role: "admin", via: "command line", who: "command line", isOwner: true },
    status: { loggedIn: () => undefined, refusedLogin: () => undefined },
    sessions: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
    firstOperator: nobodyIsMade,
  };
  const own = { "/api/broker": routeTo("GET", "operator", nothing, () => json({ port: brokerPort })) };
  const served = oneBridge(made, "api", own);
  await servePort(port, () => served, signal, Promise.resolve(opened));
}

/** A listener without users: the owner needs no login. */
const ownListener = {
  host: "127.0.0.1",
  port: 0,
  allowed_hosts: [],
  users: [],
  overview: [],
  mdns: false,
  settings: true,
  past_readings: false,
  ingress: { enabled: false, role: "viewer", address: "" },
} as const;

const nobodyIsMade: Port["firstOperator"] = {
  code: null,
  isOffered: () => false,
  load: () => Promise.resolve(),
  make: () => Promise.resolve({ status: 404 }),
};
