import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/* systemd's end of the notification socket. Node.js has no datagram sockets of this kind, hence Python. */

const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(s.recv(65536).decode().replace("\\n", "\\t"), flush=True)
`;

export interface NotifySocket {
  readonly path: string;
  /** Assignments of every message so far, in order. */
  readonly told: readonly string[];
}

export async function notifySocket(): Promise<NotifySocket> {
  const folder = await mkdtemp(join(tmpdir(), "notify-"));
  const path = join(folder, "notify");
  const child = spawn("python3", ["-c", receiver, path], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    await rm(folder, { recursive: true, force: true });
  });
  const told: string[] = [];
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  // A barrier is how systemd-notify waits until it was read; it says nothing to us.
  lines.on("line", (line) => {
    told.push(...line.split("\t").filter((one) => one !== "" && one !== "BARRIER=1"));
  });
  return { path, told };
}
