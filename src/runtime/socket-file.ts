import { open } from "node:fs/promises";
import { join } from "node:path";

/** The running bridge's socket in its data directory, for the user that runs it. */
export const ownerSocket = "api.sock";

/** Path of a socket in a folder, short enough for the kernel. */
export interface SocketPath {
  readonly path: string;
  /** Call it once nobody listens there any more, or the connection is established. */
  release(): Promise<void>;
}

/** Linux accepts 107 bytes, other systems 103. A longer path is cut silently and would name another socket. */
const longestBytes = 103;

/** A folder with a long path is reached by its file descriptor, if the system supports that. Rejects otherwise. */
export async function socketPath(folder: string, name: string): Promise<SocketPath> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= longestBytes) return { path, release: () => Promise.resolve() };
  const opened = await open(folder, "r");
  const short = `/proc/self/fd/${opened.fd}`;
  const isThere = await open(short, "r").then(
    (again) => again.close().then(() => true),
    () => false,
  );
  if (isThere) return { path: `${short}/${name}`, release: () => opened.close() };
  await opened.close();
  throw new Error(`the path ${path} is too long for a socket`);
}
