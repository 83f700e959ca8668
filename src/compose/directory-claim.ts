import { DirectoryLock, type LockOptions } from "../journal/lock.js";

/** The lock of the data directory, asked for again as often as it is wanted: a full disk holds no lock, and a deleted one neither. */
export class DirectoryClaim {
  readonly #directory: string;
  readonly #options: LockOptions;
  #lock: DirectoryLock | null = null;

  constructor(directory: string, options: LockOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Resolves once the directory is ours; rejects as `DirectoryLock.acquire` does. One call at a time. */
  async take(): Promise<void> {
    if (await this.#lock?.isHeld()) return;
    const lost = this.#lock;
    this.#lock = null;
    await lost?.release();
    this.#lock = await DirectoryLock.acquire(this.#directory, this.#options);
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = null;
  }
}
