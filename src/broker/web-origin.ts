import { isLoopback } from "../runtime/loopback.js";

/**
 * Whether a WebSocket upgrade may go on. Without users the broker trusts everything on this machine, and a page of a
 * foreign web site in a local browser is not part of that: neither with its own name as origin, nor with a name of its
 * own that it made resolve to the loopback address. With users, the password decides.
 */
export function mayUpgrade(headers: { origin?: string; host?: string }, needsLogin: boolean): boolean {
  if (needsLogin) return true;
  if (headers.host === undefined || !isLoopback(hostOf(`http://${headers.host}`))) return false;
  return headers.origin === undefined || isLoopback(hostOf(headers.origin));
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, "");
  } catch {
    return "";
  }
}
