import { createHash } from "node:crypto";
import { mkdir, readFile, readlink, rename, unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "../runtime/log.js";
import { createFile } from "../runtime/durable-file.js";
import { errorCode } from "../runtime/file-system.js";

export interface LockHolder extends ProcessIdentity {
  readonly boot: string;
  readonly since: string;
  /** File name of its sign of life. */
  readonly socket: string | null;
}

export const holderText = (holder: LockHolder): string => `${JSON.stringify(holder)}\n`;

/** null when the text is not a lock, as after a power cut. */
export function parseHolder(text: string): LockHolder | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const fields = new Map<string, unknown>(Object.entries(parsed));
  const textOf = (name: string): string | null => {
    const value = fields.get(name);
    return typeof value === "string" ? value : null;
  };
  const pid = fields.get("pid");
  const [boot, since, host, socket] = [textOf("boot"), textOf("since"), textOf("host"), textOf("socket")];
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
  if (boot === null || since === null || host === null) return null;
  return {
    pid,
    boot,
    since,
    host,
    started: textOf("started"),
    namespace: textOf("namespace"),
    kernel: textOf("kernel"),
    // It becomes part of a path.
    socket: socket !== null && /^bridge-[0-9a-z-]+\.sock$/.test(socket) ? socket : null,
  };
}

/** Enough to tell a process from another one that was given the same number later. Texts are null where unknown. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The kernel's start time of the process, in ticks since it booted. */
  readonly started: string | null;
  /** A process number means something only within its namespace: each container has its own. */
  readonly namespace: string | null;
  /** The kernel's id of this boot of the machine. */
  readonly kernel: string | null;
  readonly host: string;
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
export async function isRunning(
  other: ProcessIdentity,
  self: ProcessIdentity,
): Promise<"yes" | "no" | "unknown"> {
  if (other.kernel !== self.kernel) return other.host === self.host ? "no" : "unknown";
  if (other.namespace !== self.namespace) return "unknown";
  if (self.started === null || other.started === null) return answersSignals(other.pid) ? "yes" : "no";
  return (await startTime(other.pid)) === other.started ? "yes" : "no";
}

/** Field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. Null without such a process or /proc. */
async function startTime(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
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

export interface SignOfLife {
  close(): Promise<void>;
}

/** Listens on `path` without keeping the process alive; null where the file system or the length of the path forbids it. */
export function showLife(path: string): Promise<SignOfLife | null> {
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
    server.once("error", () => {
      resolve(null);
    });
    server.listen(path, () => {
      // A later error of a socket nobody speaks to must not end the process.
      server.on("error", () => undefined);
      resolve({ close });
    });
  });
}

/** Whether a live process listens on `path`. */
export function showsLife(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(path);
    const answer = (alive: boolean) => {
      connection.destroy();
      resolve(alive);
    };
    connection.once("connect", () => {
      answer(true);
    });
    connection.on("error", () => {
      answer(false);
    });
  });
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
  /** ISO time, told to whoever is refused. */
  readonly at: string;
  readonly pid: number;
  readonly log: Logger;
}

const lockName = "bridge.lock";
const lockMode = 0o640;
/** Each try removes one stale lock or loses a race to another start; nobody loses this often. */
const mostTries = 10;
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
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, lockName);
    const identity = await identityOf(pid);
    const socket = `bridge-${boot.slice(0, 16)}.sock`;
    const life = await showLife(join(directory, socket));
    const text = holderText({ ...identity, boot, since: at, socket: life === null ? null : socket });
    const start = { directory, path, text, identity, log };
    try {
      for (let tries = 0; tries < mostTries; tries += 1)
        if (await takeFree(start)) return new DirectoryLock(path, text, life);
      throw new Error(`the lock ${path} keeps changing hands; try again`);
    } catch (error) {
      await life?.close();
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
    await this.#life?.close();
  }
}

async function readLock(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
}

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
  const holder = parseHolder(text);
  if (holder !== null) {
    const running = await isRunning(holder, identity);
    const socket = holder.socket === null ? null : join(directory, holder.socket);
    if (running === "yes" || (running === "unknown" && socket !== null && (await showsLife(socket))))
      throw new DirectoryInUse(directory, holder);
    if (socket !== null) await unlink(socket).catch(() => undefined);
  }
  return `${path}.after-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}
