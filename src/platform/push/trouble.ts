import { troubleCode, troubleOf } from "../connection-trouble.js";
import { isUnauthorized, type End } from "./reconnect.js";

const brokenFrames: ReadonlyMap<string, string> = new Map([
  ["WS_ERR_UNSUPPORTED_MESSAGE_LENGTH", "a frame larger than 1 MiB"],
  ["WS_ERR_INVALID_UTF8", "a text frame that is not UTF-8"],
  ["WS_ERR_TOO_MANY_BUFFERED_PARTS", "a frame in too many pieces"],
]);

/** What was wrong with a frame that ended the connection; null when it was something else. */
export function brokenFrame(error: Error): string | null {
  const code = troubleCode(error);
  const known = brokenFrames.get(code);
  if (known !== undefined) return known;
  return code.startsWith("WS_ERR_") ? "a frame that breaks the WebSocket protocol" : null;
}

export function whyFailed(error: Error): string {
  const code = troubleCode(error);
  if (code === "") return "what answers there does not speak WebSocket";
  const { what, remedy } = troubleOf(code, false);
  return `${what}; ${remedy.replace("{key}", "platform.realtime_url")}`;
}

/** Why a channel is not open, and what to do about it. Holds no part of the answer. */
export function whyNotOpen(end: End, credentialKey: string): string {
  if (end.type !== "refused") return end.why;
  const { status } = end;
  if (isUnauthorized(status))
    return `HTTP ${status}: the credential is refused; check ${credentialKey}, and platform.push.credential for how it is carried`;
  if (status >= 300 && status < 400)
    return `HTTP ${status}: a redirect, which is not followed; check platform.realtime_url`;
  if (status === 404)
    return "HTTP 404: the platform has no such channel; platform.push.enabled: false stops asking for it";
  return `HTTP ${status} instead of a WebSocket`;
}
