import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BackupEnd, RestoreAccount } from "../page/settings-source.js";
import { exitOf } from "../runtime/ending.js";
import { ignored } from "../runtime/failures.js";
import { type Clock, TooLate, within } from "../runtime/clock.js";
import type { FleetSettings } from "../config/fleet.js";

/* Takes a backup that comes to a running fleet in pieces, and makes it one of its accounts. */

/** A sender that is silent for this long has given up. */
const idleMs = 60_000;
/**
 * Time for the disk to take a piece, and for the process that restores. One that hangs must hold up nobody else's
 * backup.
 */
const longestDiskMs = 15_000;
const longestRestoreMs = 900_000;

interface Coming {
  readonly id: string;
  readonly file: string;
  readonly size: number;
  readonly at: number;
  readonly isRestoring: boolean;
}

type Answer = Awaited<ReturnType<RestoreAccount>>;

/** Takes one backup at a time. */
export class Restoring {
  readonly #fleet: Pick<FleetSettings, "file" | "data_dir">;
  readonly #reload: () => Promise<unknown>;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  #coming: Coming | null = null;

  /** `reload` makes the fleet take up its files. */
  constructor(
    fleet: Pick<FleetSettings, "file" | "data_dir">,
    reload: () => Promise<unknown>,
    clock: Pick<Clock, "monotonic" | "after">,
  ) {
    this.#fleet = fleet;
    this.#reload = reload;
    this.#clock = clock;
  }

  readonly take: RestoreAccount = async ({ id, at, bytes, end }) => {
    const before = this.#coming;
    const coming = this.#comingOf(id, at);
    if (coming === "busy") return { isBusy: true };
    if (at !== coming?.size) return { size: coming?.size ?? 0, isMissing: true };
    const taking = (this.#coming = { ...coming, isRestoring: true });
    try {
      if (before !== null && before.file !== coming.file) await this.#remove(before.file);
      await within(this.#clock, longestDiskMs, () => append(coming.file, bytes));
      const size = at + bytes.length;
      if (end !== null) return await this.#restore(coming.file, end);
      this.#coming = { ...coming, size, at: this.#clock.monotonic() };
      return { size, isMissing: false };
    } catch (error) {
      return { wrong: error instanceof TooLate ? tooLate : String(error) };
    } finally {
      if (this.#coming === taking) {
        this.#coming = null;
        await this.#remove(coming.file);
      }
    }
  };

  #remove(file: string): Promise<void> {
    return within(this.#clock, longestDiskMs, () => remove(file)).catch(ignored);
  }

  /**
   * Removes the files of uploads that ended with an earlier process. The fleet's page waits for it, but not for a disk
   * that hangs. Never rejects.
   */
  async clear(): Promise<void> {
    await within(this.#clock, longestDiskMs, () => this.#clear()).catch(ignored);
  }

  async #clear(): Promise<void> {
    const { data_dir: dataDir } = this.#fleet;
    const names = await readdir(dataDir).catch(() => []);
    for (const file of names.filter((name) => nameOfComing.test(name)).map((name) => join(dataDir, name)))
      if (file !== this.#coming?.file) await remove(file);
  }

  /** The upload under way, or a new one; null for a piece that belongs to neither. */
  #comingOf(id: string, at: number): Coming | "busy" | null {
    const coming = this.#coming;
    const now = this.#clock.monotonic();
    const isOwn = coming?.id === id;
    if (coming !== null && (coming.isRestoring || (!isOwn && now - coming.at < idleMs))) return "busy";
    if (at > 0) return isOwn ? coming : null;
    const file = join(this.#fleet.data_dir, `restore-${randomBytes(6).toString("hex")}.tmp`);
    return { id, file, size: 0, at: now, isRestoring: false };
  }

  async #restore(file: string, end: BackupEnd): Promise<Answer> {
    const { file: config, data_dir: dataDir } = this.#fleet;
    const options = ["--config", config, "--fleet-data-dir", dataDir];
    const done = await within(this.#clock, longestRestoreMs, (signal) =>
      restoredBy(file, end, options, signal),
    );
    if ("lines" in done) await this.#reload();
    return done;
  }
}

const tooLate = "this takes too long, so it was given up; look at the disk of the fleet, and begin again";

const nameOfComing = /^restore-[0-9a-f]{12}\.tmp$/;

const remove = (file: string): Promise<void> => rm(file, { force: true }).catch(ignored);

async function append(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, "a", 0o600);
  try {
    await handle.appendFile(bytes);
  } finally {
    await handle.close();
  }
}

/** Restores in a process of its own: that takes as much memory as the whole backup, and a second for its password. */
async function restoredBy(
  file: string,
  { password, account, language }: BackupEnd,
  options: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  const given = [
    ...["restore", file, ...options],
    ...(account === null ? [] : ["--account", account]),
    ...(password === null ? [] : ["--password"]),
  ];
  const env = { ...process.env, LC_ALL: language };
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...given], {
    ...{ env, signal },
    killSignal: "SIGKILL",
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (text: Buffer) => (said.out += text.toString("utf8")));
  child.stderr.on("data", (text: Buffer) => (said.err = `${said.err}${text.toString("utf8")}`.slice(-2_000)));
  child.stdin.on("error", ignored);
  child.stdin.end(`${password ?? ""}\n`);
  const code = await exitOf(child);
  const lines = said.out.trim().split("\n");
  return code === 0 ? { lines } : { wrong: said.err.trim() || `the restore ended with ${String(code)}` };
}
