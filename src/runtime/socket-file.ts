import { open } from "node:fs/promises";
import { join } from "node:path";

/** Of the running bridge in its data directory, for the user that runs it. */
export const ownerSocket = "api.sock";

/** A socket in a folder as the kernel takes it. */
export interface SocketPath {
  readonly path: string;
  /** To be called once nobody listens there any more, or the connection stands. */
  release(): Promise<void>;
}

/** The kernel takes 107 bytes, others 103, and a longer path is cut without a word: a socket of another name. */
const longestBytes = 103;

/** Of a folder with a long name by the number of the open folder, where the system has such a way. Rejects where there is none. */
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
