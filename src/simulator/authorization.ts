import type { Call } from "./call.js";
import { failure, type Answer } from "./envelope.js";
import type { PlatformState } from "./platform-state.js";

const forbidden: Answer = { status: 403, body: { error: "Forbidden", message: "Access Denied" } };

/** The refusal of a call whose credential is missing or wrong; null where it may pass. */
export function refusal(state: PlatformState, call: Call): Answer | null {
  if (call.operation === "sign-in") return null;
  const { auth } = state.settings;
  const { host, headers } = call.request;
  if (host === "realtime" && !auth.checkRealtime) return null;
  const header = headers.authorization;
  if (header === undefined || header === "") return host === "business" ? forbidden : badToken(state, call);
  const token = /^Bearer (\S+)$/.exec(header)?.[1];
  return token !== undefined && state.tokens.accepts(token, state.now) ? null : badToken(state, call);
}

export function badToken(state: PlatformState, call: Call): Answer {
  const { refusal: form } = state.settings.auth;
  const { body } = failure(
    state.settings.dialect,
    form === "body" ? 401 : form,
    "token无效或已过期",
    call.requestId,
  );
  return { status: form === "body" ? 200 : form, body };
}
