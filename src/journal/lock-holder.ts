import type { ProcessIdentity } from "./process-identity.js";

export interface LockHolder extends ProcessIdentity {
  readonly boot: string;
  readonly since: string;
  /** File name of its sign of life. */
  readonly socket: string | null;
}

export const holderText = (holder: LockHolder): string => `${JSON.stringify(holder)}\n`;

/** null when the text is not a lock, as after a power cut. */
export function parseHolder(text: string): LockHolder | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const fields = new Map<string, unknown>(Object.entries(parsed));
  const textOf = (name: string): string | null => {
    const value = fields.get(name);
    return typeof value === "string" ? value : null;
  };
  const pid = fields.get("pid");
  const [boot, since, host, socket] = [textOf("boot"), textOf("since"), textOf("host"), textOf("socket")];
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
  if (boot === null || since === null || host === null) return null;
  return {
    pid,
    boot,
    since,
    host,
    started: textOf("started"),
    namespace: textOf("namespace"),
    kernel: textOf("kernel"),
    // It becomes part of a path.
    socket: socket !== null && /^bridge-[0-9a-z-]+\.sock$/.test(socket) ? socket : null,
  };
}
