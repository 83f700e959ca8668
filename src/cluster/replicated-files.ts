import { type FileSystem, type OpenFile } from "../runtime/file-system.js";
import { readWhole } from "./stream-content.js";

/** The original that the files are copies of. All calls but `drop` take effect in their order. */
interface Original {
  /** Whether the file is also in the original. */
  readonly isOurs: (path: string) => boolean;
  /** Changes when the files are made anew; files opened before are no copies then. */
  readonly generation: () => number;
  /** Changes a file here. Rejects while the files are made anew, which first waits for changes under way. */
  readonly change: <T>(work: () => Promise<T>) => Promise<T>;
  /** Does anything to a file but append to it. If that fails, the state of the file here is unknown. */
  readonly rewrite: <T>(work: () => Promise<T>) => Promise<T>;
  readonly append: (path: string, bytes: Uint8Array) => Promise<unknown>;
  readonly truncate: (path: string, bytes: number) => Promise<unknown>;
  readonly replace: (path: string, bytes: Uint8Array) => Promise<unknown>;
  readonly drop: (path: string) => Promise<unknown>;
}

/**
 * Files whose changes also go to the original. They are not synced to this disk: they are durable once the original
 * acknowledges them.
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
        // Nobody reads a file again that was set aside.
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
