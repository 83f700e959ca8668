/*
 * Whether an open channel still stands. A network that vanished tells nobody, so the other side is asked; every sound of
 * it counts as an answer. Pure; instants are monotonic ms.
 */

export const pingEveryMs = 20_000;
/** Two pings go unanswered within it, and a connection found dead is gone within 45 s. */
export const deadAfterMs = 44_000;

export interface Heard {
  /** Any frame, ping or pong. */
  readonly heardAt: number;
  readonly pingedAt: number | null;
}

export type Liveness =
  | { readonly type: "dead" }
  | { readonly type: "ping" }
  /** Look again after so long. */
  | { readonly type: "wait"; readonly ms: number };

export function liveness({ heardAt, pingedAt }: Heard, now: number): Liveness {
  const deadAt = heardAt + deadAfterMs;
  if (now >= deadAt) return { type: "dead" };
  const pingAt = Math.max(heardAt, pingedAt ?? heardAt) + pingEveryMs;
  if (now >= pingAt) return { type: "ping" };
  return { type: "wait", ms: Math.min(pingAt, deadAt) - now };
}
