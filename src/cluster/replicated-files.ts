import { type FileSystem, type OpenFile } from "../runtime/file-system.js";
import { readWhole } from "./stream-content.js";

/** What the files are copies of. Everything but `drop` is in the order of the calls. */
interface Original {
  /** Whether the file is kept there too. */
  readonly isOurs: (path: string) => boolean;
  /** Changes when the files are made anew: those opened before are nobody's copies then. */
  readonly generation: () => number;
  /** Changes a file here; rejects while the files are made anew, which waits for what is under way. */
  readonly change: <T>(work: () => Promise<T>) => Promise<T>;
  /** Does anything to a file but append to it. Of one where that did not succeed it is not known what it is like here. */
  readonly rewrite: <T>(work: () => Promise<T>) => Promise<T>;
  readonly append: (path: string, bytes: Uint8Array) => Promise<unknown>;
  readonly truncate: (path: string, bytes: number) => Promise<unknown>;
  readonly replace: (path: string, bytes: Uint8Array) => Promise<unknown>;
  readonly drop: (path: string) => Promise<unknown>;
}

/**
 * Files whose changes are also made elsewhere. What was written here is not brought to the disk: it is durable once it is
 * acknowledged there.
 */
export function replicate(files: FileSystem, original: Original): FileSystem {
  return {
    ...files,
    open: (path, flags, mode) =>
      flags === "a" && original.isOurs(path)
        ? original.change(async () => {
            const generation = original.generation();
            return replicatedFile(await files.open(path, flags, mode), path, generation, original);
          })
        : files.open(path, flags, mode),
    rename: (from, to) =>
      original.rewrite(async () => {
        if (original.isOurs(to))
          await original.replace(to, (await readWhole(files, from)) ?? Buffer.alloc(0));
        await original.change(() => files.rename(from, to));
        // Set aside: nobody reads it again.
        if (original.isOurs(from)) await original.drop(from);
      }),
    remove: (path) =>
      original.rewrite(async () => {
        await original.change(() => files.remove(path));
        if (original.isOurs(path)) await original.drop(path);
      }),
  };
}

function replicatedFile(file: OpenFile, path: string, generation: number, original: Original): OpenFile {
  const underWay = new Set<Promise<unknown>>();
  let failure: Error | null = null;
  const check = () => {
    if (failure !== null) throw failure;
    if (generation !== original.generation()) throw new Error("the files were made anew");
  };
  const begin = (change: Promise<unknown>) => {
    underWay.add(change);
    change
      .catch((error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => underWay.delete(change));
  };
  const acknowledge = async () => {
    check();
    await Promise.all(underWay);
    check();
  };
  return {
    ...file,
    write: async (bytes) => {
      check();
      await original.change(() => file.write(bytes));
      check();
      begin(original.append(path, bytes));
    },
    truncate: async (bytes) => {
      check();
      await original.change(() => file.truncate(bytes));
      check();
      begin(original.rewrite(() => original.truncate(path, bytes)));
    },
    datasync: acknowledge,
    sync: acknowledge,
  };
}
