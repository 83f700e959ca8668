import type { Credential } from "../session/credential.js";
import type { PushSettings } from "./settings.js";

export interface Handshake {
  /** May hold the token: never to be logged. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Where and how to open a channel: the real-time host's own origin and path prefix with scheme ws or wss. User name,
 * password, query and fragment of the configured address are not used.
 */
export function handshakeOf(
  realtimeUrl: string,
  path: string,
  credential: Pick<Credential, "token"> | null,
  settings: PushSettings,
): Handshake {
  const base = new URL(realtimeUrl);
  const scheme = base.protocol === "https:" || base.protocol === "wss:" ? "wss:" : "ws:";
  const plain = `${scheme}//${base.host}${base.pathname.replace(/\/+$/, "")}${path}`;
  const headers = { "user-agent": "greenhouse2mqtt" };
  if (credential === null || settings.credential === "none") return { url: plain, headers };
  if (settings.credential === "header")
    return { url: plain, headers: { ...headers, authorization: `Bearer ${credential.token}` } };
  const query = `${encodeURIComponent(settings.queryName)}=${encodeURIComponent(credential.token)}`;
  return { url: `${plain}?${query}`, headers };
}
