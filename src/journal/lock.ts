import { createHash } from "node:crypto";
import { mkdir, readFile, readlink, rename, unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "../runtime/log.js";
import { createFile, errorCode } from "../runtime/file-system.js";

/** Enough to tell a process from another one that was given the same number later. Texts are null where unknown. */
interface ProcessIdentity {
  readonly pid: number;
  /** The kernel's start time of the process, in ticks since it booted. */
  readonly started: string | null;
  /** A process number means something only within its namespace: each container has its own. */
  readonly namespace: string | null;
  /** The kernel's id of this boot of the machine. */
  readonly kernel: string | null;
  readonly host: string;
}

export interface LockHolder extends ProcessIdentity {
  readonly boot: string;
  readonly since: string;
  /** File name of its sign of life. */
  readonly socket: string | null;
}

export const holderText = (holder: LockHolder): string => `${JSON.stringify(holder)}\n`;

/** null when the text is not a lock, as after a power cut. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const { pid, boot, since, host, ...others } = (parsed ?? {}) as Partial<Record<string, unknown>>;
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
    if (typeof boot !== "string" || typeof since !== "string" || typeof host !== "string") return null;
    const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);
    const [started, namespace] = [textOrNull(others["started"]), textOrNull(others["namespace"])];
    const kernel = textOrNull(others["kernel"]);
    // It becomes part of a path.
    const socket = /^bridge-[0-9a-z-]+\.sock$/.exec(textOrNull(others["socket"]) ?? "")?.[0] ?? null;
    return { pid, boot, since, host, started, namespace, kernel, socket };
  } catch {
    return null;
  }
}

export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const [started, namespace, kernel] = await Promise.all([
    startTime(pid),
    readlink("/proc/self/ns/pid").catch(() => null),
    readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
      (text) => text.trim(),
      () => null,
    ),
  ]);
  return { pid, started, namespace, kernel, host: hostname() };
}

/** Whether `other` still runs, as far as process `self` can see; `unknown` across containers and machines. */
async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<"yes" | "no" | "unknown"> {
  if (other.kernel !== self.kernel) return other.host === self.host ? "no" : "unknown";
  if (other.namespace !== self.namespace) return "unknown";
  if (self.started === null || other.started === null) return answersSignals(other.pid) ? "yes" : "no";
  return (await startTime(other.pid)) === other.started ? "yes" : "no";
}

/**
 * Field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. Null without such a process or /proc, and for
 * one that has ended and only waits for its parent to ask for that (`Z`, `X`): nothing of it works any more.
 */
async function startTime(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return "ZX".includes(state) ? null : (fields[18] ?? null);
  } catch {
    return null;
  }
}

function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/*
 * A socket file in the data directory shows across containers whether its owner lives, where process numbers say nothing:
 * the kernel refuses connections to a socket whose process is gone.
 */

/**
 * Listens on `path` without keeping the process alive, and gives the way to end that; null where the file system or the
 * length of the path forbids it.
 */
export function showLife(path: string): Promise<(() => Promise<void>) | null> {
  const server = createServer((connection) => connection.destroy());
  server.unref();
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        void unlink(path)
          .catch(() => undefined)
          .then(resolve);
      });
    });
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(path, () => {
      // A later error of a socket that is not spoken to must not end the process.
      server.on("error", () => undefined);
      resolve(close);
    });
  });
}

/** Whether a live process listens on `path`. */
function showsLife(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(path);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.on("error", () => resolve(false));
  });
}

/** The living bridge that a lock in `directory` with this text belongs to, as far as this process can see. */
async function livingHolder(
  directory: string,
  text: string,
  self: ProcessIdentity,
): Promise<LockHolder | null> {
  const holder = parseHolder(text);
  if (holder === null) return null;
  const running = await isRunning(holder, self);
  if (running === "yes") return holder;
  const { socket } = holder;
  const shows = running === "unknown" && socket !== null && (await showsLife(join(directory, socket)));
  return shows ? holder : null;
}

/** The bridge that works in this data directory now. Only looks, so that a stale lock stays for the next start. */
export async function holderOf(directory: string): Promise<LockHolder | null> {
  const text = await readLock(join(directory, lockName)).catch(() => null);
  return text === null ? null : livingHolder(directory, text, await identityOf(process.pid));
}

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
  /** ISO time, told to the process that is refused. */
  readonly at: string;
  readonly pid: number;
  readonly log: Logger;
}

const lockName = "bridge.lock";
const lockMode = 0o640;
/** Each try removes one stale lock or loses a race to another start; no start loses this often. */
const mostTries = 10;
/** One bridge per data directory; held until released or until the process ends, however it ends. */
export class DirectoryLock {
  readonly #path: string;
  readonly #text: string;
  readonly #endLife: (() => Promise<void>) | null;

  private constructor(path: string, text: string, endLife: (() => Promise<void>) | null) {
    this.#path = path;
    this.#text = text;
    this.#endLife = endLife;
  }

  /**
   * Rejects with DirectoryInUse while another bridge is alive; locks of dead ones are taken over. Any other rejection is
   * the file system's error: the directory cannot be written, so the caller has no journal either.
   */
  static async acquire(directory: string, { boot, at, pid, log }: LockOptions): Promise<DirectoryLock> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, lockName);
    const identity = await identityOf(pid);
    const socket = `bridge-${boot.slice(0, 16)}.sock`;
    const endLife = await showLife(join(directory, socket));
    const text = holderText({ ...identity, boot, since: at, socket: endLife === null ? null : socket });
    const start = { directory, path, text, identity, log };
    try {
      for (let tries = 0; tries < mostTries; tries += 1)
        if (await takeFree(start)) return new DirectoryLock(path, text, endLife);
      throw new Error(`the lock ${path} keeps changing hands; try again`);
    } catch (error) {
      await endLife?.();
      throw error;
    }
  }

  /** False once the lock was deleted, with its directory perhaps, or has become another's. */
  async isHeld(): Promise<boolean> {
    return (await readLock(this.#path)) === this.#text;
  }

  /** Gives the directory free; does nothing to a lock that has become another's. */
  async release(): Promise<void> {
    if (await this.isHeld()) await unlink(this.#path).catch(() => undefined);
    await this.#endLife?.();
  }
}

const readLock = (path: string): Promise<string | null> =>
  readFile(path, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });

interface Start {
  readonly directory: string;
  readonly path: string;
  readonly text: string;
  readonly identity: ProcessIdentity;
  readonly log: Logger;
}

/** False when another start changed the lock meanwhile. Throws DirectoryInUse when its holder lives. */
async function takeFree(start: Start): Promise<boolean> {
  const root = await readLock(start.path);
  return root === null ? createFile(start.path, start.text, lockMode) : takeOver(root, start);
}

/**
 * Any number of starts may find the same lock stale. Each lock has one successor file, named after its content, that only
 * one start can create; a start that died in between is succeeded the same way. The successor is the holder if the lock
 * it succeeds is still there, and then takes its place in one rename, so that the directory is never without a lock.
 */
async function takeOver(root: string, start: Start): Promise<boolean> {
  const dead: string[] = [];
  let successor = await successorOf(root, start);
  while (!(await createFile(successor, start.text, lockMode))) {
    const other = await readLock(successor);
    if (other === null) return false;
    dead.push(successor);
    successor = await successorOf(other, start);
  }
  if ((await readLock(start.path)) !== root) {
    await unlink(successor);
    return false;
  }
  await rename(successor, start.path);
  for (const path of dead) await unlink(path).catch(() => undefined);
  const pid = parseHolder(root)?.pid ?? null;
  start.log.warn({ pid }, "taking over the data directory from a bridge that did not end well");
  return true;
}

/** Where the successor of a dead holder is to be; throws DirectoryInUse when it lives. */
async function successorOf(text: string, { directory, path, identity }: Start): Promise<string> {
  const living = await livingHolder(directory, text, identity);
  if (living !== null) throw new DirectoryInUse(directory, living);
  const socket = parseHolder(text)?.socket ?? null;
  if (socket !== null) await unlink(join(directory, socket)).catch(() => undefined);
  return `${path}.after-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}
