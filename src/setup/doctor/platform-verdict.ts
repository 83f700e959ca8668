import { PlatformError } from "../../greenhouse/platform-error.js";
import type { Verdict } from "./finding.js";

/** A PlatformError as a verdict: its message says what happened and, behind the first semicolon, what to do. */
export function platformVerdict(error: unknown): Verdict | null {
  if (!(error instanceof PlatformError)) return null;
  const { platformMessage, requestId, code } = error.facts;
  const quoted = platformMessage === undefined ? "" : JSON.stringify(platformMessage);
  // The platform's own sentence may hold semicolons.
  const from = quoted === "" ? 0 : error.message.indexOf(quoted) + quoted.length;
  const at = error.message.indexOf("; ", Math.max(0, from));
  const foreign = [quoted.slice(1, -1), requestId, code !== undefined && code.length > 6 ? code : undefined];
  return {
    status: "failed",
    summary: at < 0 ? error.message : error.message.slice(0, at),
    ...(at < 0 ? {} : { remedy: error.message.slice(at + 2) }),
    foreign: foreign.filter((text): text is string => text !== undefined && text !== ""),
  };
}
