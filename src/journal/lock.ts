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

/** Tells a process from another one that was given the same number later. Texts are null where unknown. */
const lockHolder = z.object({
  pid: z.int().positive(),
  /** The kernel's start time of the process, in ticks since it booted. */
  started: textOrNull,
  /** A process number means something only within its namespace: each container has its own. */
  namespace: textOrNull,
  /** The kernel's id of this boot of the machine. */
  kernel: textOrNull,
  host: z.string(),
  boot: z.string(),
  since: z.string(),
  /** File name of its sign of life; it becomes part of a path. */
  socket: z
    .string()
    .regex(/^bridge-[0-9a-z-]+\.sock$/)
    .nullable()
    .catch(null),
});

export type LockHolder = Readonly<z.infer<typeof lockHolder>>;
export type ProcessIdentity = Pick<LockHolder, "pid" | "started" | "namespace" | "kernel" | "host">;

export const holderText = (holder: LockHolder): string => `${JSON.stringify(holder)}\n`;

/** null when the text is not a lock, as after a power cut. */
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

/** Whether `other` still runs, as far as process `self` can see; `unknown` across containers and machines. */
async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<"yes" | "no" | "unknown"> {
  if (other.kernel !== self.kernel) return other.host === self.host ? "no" : "unknown";
  if (other.namespace !== self.namespace) return "unknown";
  if (self.started === null || other.started === null) return answersSignals(other.pid) ? "yes" : "no";
  return (await startTime(other.pid)) === other.started ? "yes" : "no";
}

/** Whether another process of this kind certainly still runs; across containers that cannot be told. */
export const isOtherRunning = async (other: ProcessIdentity): Promise<boolean> =>
  other.pid !== process.pid && (await isRunning(other, await identityOf(process.pid))) === "yes";

/**
 * Field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. Null without such a process or /proc, and for
 * one that has ended and only waits for its parent to ask for that (`Z`, `X`): nothing of it works any more.
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
 * A socket file in the data directory shows across containers whether its owner lives, where process numbers say nothing:
 * the kernel refuses connections to a socket whose process is gone.
 */

/**
 * Listens on a socket of this name without keeping the process alive, and gives the way to end that; null where the file system or
 * the length of the path forbids it.
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
      // A later error of a socket that is not spoken to must not end the process.
      server.on("error", () => undefined);
      resolve(close);
    });
  });
}

/** Whether a live process listens there. */
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
  const shows = running === "unknown" && socket !== null && (await showsLife(directory, socket));
  return shows ? holder : null;
}

/** The bridge that works in this data directory now. Only looks, so that a stale lock stays for the next start. */
export async function holderOf(directory: string): Promise<LockHolder | null> {
  const text = await readLock(join(directory, lockName)).catch(nullIfFailed);
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

interface LockOptions {
  /** The random id of this run. */
  readonly boot: string;
  /** ISO time, told to the process that is refused. */
  readonly at: string;
  readonly pid: number;
  readonly log: Logger;
  /** Where the directory lies, for whoever else asks; its own where absent. */
  readonly place?: DataPlace;
}

const lockName = "bridge.lock";
const lockMode = 0o640;
/** Each try removes one stale lock or loses a race to another start; no start loses this often. */
const mostTries = 10;

/** One bridge per data directory; held until released or until the process ends, however it ends. */
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
   * To be asked for again as often as the lock is wanted: it may have been deleted, with its directory perhaps. Rejects with
   * DirectoryInUse while another bridge is alive; locks of dead ones are taken over. Any other rejection is the file system's
   * error, or one of the place (see place.ts): the directory cannot be written, so the caller has no journal either.
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
          // From now on the data are a bridge's own, and no restore's to write once more.
          await unlink(join(this.#directory, restoringName)).catch(ignored);
          return;
        }
      throw new TextError(msg`the lock ${this.#path} keeps changing hands; try again`);
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  /** Gives the directory free; does nothing to a lock that has become another's. */
  async release(): Promise<void> {
    if (await this.#isHeld().catch(falseIfFailed)) await unlink(this.#path).catch(ignored);
    this.#held = null;
    await this.#endLife?.();
    this.#endLife = null;
  }

  async #isHeld(): Promise<boolean> {
    return this.#held !== null && (await readLock(this.#path)) === holderText(this.#held);
  }

  /** False when another start changed the lock meanwhile. Throws DirectoryInUse when its holder lives. */
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
   * Any number of starts may find the same lock stale. Each lock has one successor file, named after its content, that only
   * one start can create; a start that died in between is succeeded the same way. The successor is the holder if the lock
   * it succeeds is still there, and then takes its place in one rename, so that the directory is never without a lock.
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

  /** Where the successor of a dead holder is to be; throws DirectoryInUse when it lives. */
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
