import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorCode, makeDirectories } from "../runtime/file-system.js";

/*
 * Guards the place of a data directory. Once a run has worked in it, its content is promised. If it vanishes, no new
 * one is made, and the folder under an unmounted disk is not used. Otherwise the next start, with the disk back, would
 * know nothing of promises made meanwhile, and whoever puts the directory back would find another one there.
 */

/**
 * Device numbers of the disks that a run has worked on, and of those beneath, which appear when the former are not
 * mounted.
 */
export interface Home {
  readonly disks: ReadonlySet<number>;
  readonly beneath: ReadonlySet<number>;
}

export type Standing = "there" | "gone" | "beneath";

/** `disk`: device of the folder that is there now; null for none. */
export function standingOf({ disks, beneath }: Home, disk: number | null): Standing {
  if (disk === null) return "gone";
  return beneath.has(disk) && !disks.has(disk) ? "beneath" : "there";
}

const diskOf = (path: string): Promise<number | null> =>
  stat(path).then(
    (stats) => (stats.isDirectory() ? stats.dev : null),
    (error: unknown) => {
      if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return null;
      throw error;
    },
  );

/** Device on which the directory's disk is mounted; null for the root disk. */
async function diskBeneath(directory: string, disk: number): Promise<number | null> {
  for (let path = directory; dirname(path) !== path; path = dirname(path)) {
    const above = await diskOf(dirname(path));
    if (above !== disk) return above;
  }
  return null;
}

const directoryMode = 0o700;

const trouble = (code: string, message: string): Error => Object.assign(new Error(message), { code });

export class DataPlace {
  readonly #directory: string;
  readonly #disks = new Set<number>();
  readonly #beneath = new Set<number>();

  constructor(directory: string) {
    this.#directory = resolve(directory);
  }

  /**
   * Makes the directory unless this run has worked in it before. Rejects with the file system's error, ENOENT or
   * BENEATH where it cannot be used.
   */
  async claim(): Promise<void> {
    if (this.#disks.size === 0) {
      await makeDirectories(this.#directory, directoryMode);
      return;
    }
    const home = { disks: this.#disks, beneath: this.#beneath };
    const standing = standingOf(home, await diskOf(this.#directory));
    if (standing === "gone") throw trouble("ENOENT", `${this.#directory} has gone`);
    if (standing === "beneath") throw trouble("BENEATH", `the disk of ${this.#directory} is not mounted`);
  }

  /** From now on the content of the directory is promised. */
  async settle(): Promise<void> {
    const disk = await diskOf(this.#directory);
    if (disk === null) return;
    this.#disks.add(disk);
    const beneath = await diskBeneath(this.#directory, disk);
    if (beneath !== null) this.#beneath.add(beneath);
  }
}
