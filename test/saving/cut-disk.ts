import { type FileSystem, nodeFileSystem } from "../../src/runtime/file-system.js";

/** A disk that stops at its nth call, as at a power cut: what was called before is done, and nothing after it. */
export function cutAt(count: number): { readonly files: FileSystem; readonly calls: () => number } {
  let calls = 0;
  const step = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    calls += 1;
    if (calls > count) return Promise.reject(new Error("the power is cut"));
    return work();
  };
  const files: FileSystem = {
    open: (...of) =>
      step(async () => {
        const file = await nodeFileSystem.open(...of);
        return {
          ...file,
          write: (bytes) =>
            step(() => file.write(bytes)).catch(async (error: unknown) => {
              // What a disk has of a write that was under way.
              if (calls === count + 1) await file.write(bytes.subarray(0, bytes.length / 2));
              throw error;
            }),
          sync: () => step(() => file.sync()),
          chmod: (mode) => step(() => file.chmod(mode)),
        };
      }),
    list: (...of) => step(() => nodeFileSystem.list(...of)),
    facts: (...of) => step(() => nodeFileSystem.facts(...of)),
    makeDirectory: (...of) => step(() => nodeFileSystem.makeDirectory(...of)),
    rename: (...of) => step(() => nodeFileSystem.rename(...of)),
    remove: (...of) => step(() => nodeFileSystem.remove(...of)),
    syncDirectory: (...of) => step(() => nodeFileSystem.syncDirectory(...of)),
  };
  return { files, calls: () => calls };
}
