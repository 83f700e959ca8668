import { nodeFileSystem, type FileSystem } from "../../../src/runtime/file-system.js";

const nothing = () => Promise.resolve();

/** Real files without fsync, for tests that start a journal a thousand times and pull no plug. */
export const quickDisk: FileSystem = {
  ...nodeFileSystem,
  open: async (path, flags, mode) => {
    const file = await nodeFileSystem.open(path, flags, mode);
    return { ...file, sync: nothing, datasync: nothing };
  },
  syncDirectory: nothing,
};
