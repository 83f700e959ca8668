import { link, mkdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../runtime/logger.js";
import { errorCode } from "./file-system.js";
import { holderText, parseHolder, type LockHolder } from "./lock-holder.js";
import { identityOf, isRunning, type ProcessIdentity } from "./process-identity.js";
import { showLife, showsLife, type SignOfLife } from "./sign-of-life.js";

/** Another bridge that is alive works in this directory. */
export class DirectoryInUse extends Error {
  override name = "DirectoryInUse" as const;
  readonly pid: number;

  constructor(directory: string, { pid, since }: LockHolder) {
    super(
      `The data directory ${directory} is in use by another bridge (process ${pid}, since ${since}). ` +
        "Stop that one first, or give this one a data_dir of its own.",
    );
    this.pid = pid;
  }
}

export interface LockOptions {
  /** The random id of this run. */
  readonly boot: string;
  /** ISO time, told to whoever is refused. */
  readonly at: string;
  readonly pid: number;
  readonly log: Logger;
}

const lockName = "bridge.lock";
/** Each try removes one stale lock or loses a race to another start; nobody loses this often. */
const mostTries = 10;
/** File systems without hard links (FAT, some network mounts) answer with one of these. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/** One bridge per data directory; held until released or until the process ends, however it ends. */
export class DirectoryLock {
  readonly #path: string;
  readonly #text: string;
  readonly #life: SignOfLife | null;

  private constructor(path: string, text: string, life: SignOfLife | null) {
    this.#path = path;
    this.#text = text;
    this.#life = life;
  }

  /**
   * Rejects with DirectoryInUse while another bridge is alive; locks of dead ones are taken over. Any other rejection is
   * the file system's error: the directory cannot be written, so the caller has no journal either.
   */
  static async acquire(directory: string, { boot, at, pid, log }: LockOptions): Promise<DirectoryLock> {
    await mkdir(directory, { recursive: true, mode: 0o750 });
    const path = join(directory, lockName);
    const identity = await identityOf(pid);
    const socket = `bridge-${boot.slice(0, 16)}.sock`;
    const life = await showLife(join(directory, socket));
    const text = holderText({ ...identity, boot, since: at, socket: life === null ? null : socket });
    try {
      for (let tries = 0; tries < mostTries; tries += 1) {
        if (await createWhole(path, text, boot)) return new DirectoryLock(path, text, life);
        await clearStale(directory, path, { identity, boot, log });
      }
      throw new Error(`the lock ${path} keeps changing hands; try again`);
    } catch (error) {
      await life?.close();
      throw error;
    }
  }

  /** Gives the directory free; does nothing to a lock that has become another's. */
  async release(): Promise<void> {
    if ((await readLock(this.#path)) === this.#text) await unlink(this.#path).catch(() => undefined);
    await this.#life?.close();
  }
}

async function readLock(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
}

/** Makes the lock appear with all its content at once, so that nobody takes a half-written one for stale. */
async function createWhole(path: string, text: string, boot: string): Promise<boolean> {
  const temporary = `${path}.${boot}`;
  try {
    await writeFile(temporary, text, { mode: 0o640 });
    await link(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (noLinks.has(errorCode(error))) return await createInPlace(path, text);
    throw error;
  } finally {
    await unlink(temporary).catch(() => undefined);
  }
}

async function createInPlace(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o640 });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

interface Starter {
  readonly identity: ProcessIdentity;
  readonly boot: string;
  readonly log: Logger;
}

/** Throws DirectoryInUse when the holder lives. */
async function clearStale(directory: string, path: string, { identity, boot, log }: Starter): Promise<void> {
  const text = await readLock(path);
  if (text === null) return;
  const holder = parseHolder(text);
  if (holder !== null) {
    const running = await isRunning(holder, identity);
    const socket = holder.socket === null ? null : join(directory, holder.socket);
    if (running === "yes" || (running === "unknown" && socket !== null && (await showsLife(socket))))
      throw new DirectoryInUse(directory, holder);
    if (socket !== null) await unlink(socket).catch(() => undefined);
  }
  log.warn(
    { pid: holder?.pid ?? null },
    "taking over the data directory from a bridge that did not end well",
  );
  await takeAway(path, text, boot);
}

/** Two starts may both find the lock stale; whoever comes second must not throw away the first one's new lock. */
async function takeAway(path: string, stale: string, boot: string): Promise<void> {
  const away = `${path}.stale-${boot}`;
  try {
    await rename(path, away);
    if ((await readLock(away)) !== stale) await link(away, path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" && errorCode(error) !== "EEXIST") throw error;
  } finally {
    await unlink(away).catch(() => undefined);
  }
}
