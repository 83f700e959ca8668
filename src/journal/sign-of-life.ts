import { unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";

/*
 * A socket file in the data directory shows across containers whether its owner lives, where process numbers say nothing:
 * the kernel refuses connections to a socket whose process is gone.
 */

export interface SignOfLife {
  close(): Promise<void>;
}

/** Listens on `path` without keeping the process alive; null where the file system or the length of the path forbids it. */
export function showLife(path: string): Promise<SignOfLife | null> {
  const server = createServer((connection) => connection.destroy());
  server.unref();
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        void unlink(path)
          .catch(() => undefined)
          .then(resolve);
      });
    });
  return new Promise((resolve) => {
    server.once("error", () => {
      resolve(null);
    });
    server.listen(path, () => {
      // A later error of a socket nobody speaks to must not end the process.
      server.on("error", () => undefined);
      resolve({ close });
    });
  });
}

/** Whether a live process listens on `path`. */
export function showsLife(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(path);
    const answer = (alive: boolean) => {
      connection.destroy();
      resolve(alive);
    };
    connection.once("connect", () => {
      answer(true);
    });
    connection.on("error", () => {
      answer(false);
    });
  });
}
