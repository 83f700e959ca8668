import { msg, TextError } from "../language/text.js";
import { falseIfFailed, ignored, nullIfFailed } from "../runtime/failures.js";
import { createHash } from "node:crypto";
import { readlink, rename, unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Logger } from "../runtime/log.js";
import { createFile, errorCode, readText, restoringName } from "../runtime/file-system.js";
import { socketPath } from "../runtime/socket-file.js";
import { DataPlace } from "./place.js";

const textOrNull = z.string().nullable().catch(null);

/** Identifies a process, also from a later one with the same number. Texts are null where unknown. */
const lockHolder = z.object({
  pid: z.int().positive(),
  /** The kernel's start time of the process, in ticks since boot. */
  started: textOrNull,
  /** Namespace of the process number; each container has its own. */
  namespace: textOrNull,
  /** The kernel's id of this boot of the machine. */
  kernel: textOrNull,
  host: z.string(),
  boot: z.string(),
  since: z.string(),
  /** File name of its socket; it becomes part of a path. */
  socket: z
    .string()
    .regex(/^bridge-[0-9a-z-]+\.sock$/)
    .nullable()
    .catch(null),
});

export type LockHolder = Readonly<z.infer<typeof lockHolder>>;
export type ProcessIdentity = Pick<LockHolder, "pid" | "started" | "namespace" | "kernel" | "host">;

export const holderText = (holder: LockHolder): string => `${JSON.stringify(holder)}\n`;

/** Null where the text is no lock, as after a power cut. */
export function parseHolder(text: string): LockHolder | null {
  try {
    return lockHolder.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const [started, namespace, kernel] = await Promise.all([
    startTime(pid),
    readlink("/proc/self/ns/pid").catch(nullIfFailed),
    readText("/proc/sys/kernel/random/boot_id").then(
      (text) => text.trim(),
      () => null,
    ),
  ]);
  return { pid, started, namespace, kernel, host: hostname() };
}

/** Whether `other` still runs, as far as `self` can see; `unknown` across containers and machines. */
async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<"yes" | "no" | "unknown"> {
  if (other.kernel !== self.kernel) return other.host === self.host ? "no" : "unknown";
  if (other.namespace !== self.namespace) return "unknown";
  if (self.started === null || other.started === null) return answersSignals(other.pid) ? "yes" : "no";
  return (await startTime(other.pid)) === other.started ? "yes" : "no";
}

/** Whether another process certainly still runs; false where that is unknown, as across containers. */
export const isOtherRunning = async (other: ProcessIdentity): Promise<boolean> =>
  other.pid !== process.pid && (await isRunning(other, await identityOf(process.pid))) === "yes";

/**
 * Field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. Null without such a process or /proc,
 * and for a zombie (`Z`, `X`), which does no work any more.
 */
async function startTime(pid: number): Promise<string | null> {
  try {
    const stat = await readText(`/proc/${pid}/stat`);
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
 * A socket in the data directory shows across containers whether its owner lives: the kernel refuses connections to the
 * socket of a dead process.
 */

/**
 * Listens on a socket of this name without keeping the process alive; the returned function ends that. Null where the
 * file system or the length of the path forbids it.
 */
export async function showLife(directory: string, name: string): Promise<(() => Promise<void>) | null> {
  const place = await socketPath(directory, name).catch(nullIfFailed);
  if (place === null) return null;
  const server = createServer((connection) => connection.destroy());
  server.unref();
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        void unlink(place.path)
          .catch(ignored)
          .then(() => place.release())
          .then(resolve);
      });
    });
  return new Promise((resolve) => {
    server.once("error", () => void place.release().then(() => resolve(null)));
    server.listen(place.path, () => {
      // A later error of this socket must not end the process.
      server.on("error", () => undefined);
      resolve(close);
    });
  });
}

/** Whether a live process listens at the socket. */
async function showsLife(directory: string, name: string): Promise<boolean> {
  const place = await socketPath(directory, name).catch(nullIfFailed);
  if (place === null) return false;
  return new Promise((resolve) => {
    const done = (isAlive: boolean) => void place.release().then(() => resolve(isAlive));
    const connection = connect(place.path);
    connection.once("connect", () => {
      connection.destroy();
      done(true);
    });
    connection.on("error", () => done(false));
  });
}

/** The living bridge that owns a lock with this text, as far as this process can see. */
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
  const shows = running === "unknown" && socket !== null && (await showsLife(directory, socket));
  return shows ? holder : null;
}

/** The bridge that works in this data directory now. It only looks, so a stale lock stays for the next start. */
export async function holderOf(directory: string): Promise<LockHolder | null> {
  const text = await readLock(join(directory, lockName)).catch(nullIfFailed);
  return text === null ? null : livingHolder(directory, text, await identityOf(process.pid));
}

/** Another living bridge works in this directory. */
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

interface LockOptions {
  /** Random id of this run. */
  readonly boot: string;
  /** ISO time, shown to the process that is refused. */
  readonly at: string;
  readonly pid: number;
  readonly log: Logger;
  /** The place of the directory, if others share it; by default one of its own. */
  readonly place?: DataPlace;
}

const lockName = "bridge.lock";
const lockMode = 0o640;
/** Each try removes a stale lock or loses a race to another start; no start loses this often. */
const mostTries = 10;

/** Ensures one bridge for each data directory, until released or until the process ends in whatever way. */
export class DirectoryLock {
  readonly #directory: string;
  readonly #path: string;
  readonly #options: LockOptions;
  readonly #place: DataPlace;
  #held: LockHolder | null = null;
  #endLife: (() => Promise<void>) | null = null;

  constructor(directory: string, options: LockOptions) {
    this.#directory = directory;
    this.#path = join(directory, lockName);
    this.#options = options;
    this.#place = options.place ?? new DataPlace(directory);
  }

  /**
   * Takes the lock, or takes it again where it was deleted; to be called whenever the lock is needed. Rejects with
   * DirectoryInUse while another bridge lives; locks of dead ones are replaced. Any other rejection means that the
   * directory cannot be written, so the journal cannot either.
   */
  async take(): Promise<void> {
    await this.#place.claim();
    if (await this.#isHeld()) return;
    await this.release();
    const { boot, at: since, pid } = this.#options;
    const identity = await identityOf(pid);
    const socket = `bridge-${boot.slice(0, 16)}.sock`;
    this.#endLife = await showLife(this.#directory, socket);
    const self = { ...identity, boot, since, socket: this.#endLife === null ? null : socket };
    try {
      for (let tries = 0; tries < mostTries; tries += 1)
        if (await this.#takeFree(self)) {
          await this.#place.settle();
          // From now on the data belong to a bridge, and no restore may overwrite them.
          await unlink(join(this.#directory, restoringName)).catch(ignored);
          return;
        }
      throw new TextError(msg`the lock ${this.#path} keeps changing hands; try again`);
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  /** Releases the lock, unless it belongs to another process by now. */
  async release(): Promise<void> {
    if (await this.#isHeld().catch(falseIfFailed)) await unlink(this.#path).catch(ignored);
    this.#held = null;
    await this.#endLife?.();
    this.#endLife = null;
  }

  async #isHeld(): Promise<boolean> {
    return this.#held !== null && (await readLock(this.#path)) === holderText(this.#held);
  }

  /**
   * Tries to take the lock; false where another start changed it meanwhile. Throws DirectoryInUse while its holder
   * lives.
   */
  async #takeFree(self: LockHolder): Promise<boolean> {
    const root = await readLock(this.#path);
    const isTaken =
      root === null
        ? await createFile(this.#path, holderText(self), lockMode)
        : await this.#takeOver(root, self);
    if (isTaken) this.#held = self;
    return isTaken;
  }

  /**
   * Takes over a stale lock. Each lock has one successor file, named after its content, which only one start can
   * create; a start that died in between is succeeded in the same way. The successor holds the lock if the old one is
   * still there, and renames itself into its place, so the directory is never without a lock.
   */
  async #takeOver(root: string, self: LockHolder): Promise<boolean> {
    const dead: string[] = [];
    let successor = await this.#successorOf(root, self);
    while (!(await createFile(successor, holderText(self), lockMode))) {
      const other = await readLock(successor);
      if (other === null) return false;
      dead.push(successor);
      successor = await this.#successorOf(other, self);
    }
    if ((await readLock(this.#path)) !== root) {
      await unlink(successor);
      return false;
    }
    await rename(successor, this.#path);
    for (const path of dead) await unlink(path).catch(ignored);
    const pid = parseHolder(root)?.pid ?? null;
    this.#options.log.warn({ pid }, "taking over the data directory from a bridge that did not end well");
    return true;
  }

  /** Path of the successor of a dead holder; throws DirectoryInUse where the holder lives. */
  async #successorOf(text: string, self: LockHolder): Promise<string> {
    const living = await livingHolder(this.#directory, text, self);
    if (living !== null) throw new DirectoryInUse(this.#directory, living);
    const socket = parseHolder(text)?.socket ?? null;
    if (socket !== null) await unlink(join(this.#directory, socket)).catch(ignored);
    return `${this.#path}.after-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  }
}

const readLock = (path: string): Promise<string | null> =>
  readText(path).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
