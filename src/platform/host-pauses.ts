/*
 * A host that refuses for asking too much may mean the whole process, so that all its accounts leave it alone, or only accounts whose
 * own quota is used up. This decides which. Pure but for the value, which is changed in place; instants are monotonic ms.
 */

/** What an account heard of the host: it is to wait, or an answer. */
export type HostWord = "refused" | "answered";

export interface HostPauses<Account> {
  /** When each was refused last that was not answered since; the oldest first. */
  readonly refused: Map<Account, number>;
  /** All were left alone until then. */
  pausedUntil: number;
  /** Accounts that were refused themselves during the pause. The first answer to any other account decides; null once it did. */
  refusedItself: Set<Account> | null;
  /** Until then only a refusal of all accounts counts: one account was answered behind the last pause. */
  doubtedUntil: number;
}

export const noPauses = <Account>(): HostPauses<Account> => ({
  refused: new Map(),
  pausedUntil: -Infinity,
  refusedItself: null,
  doubtedUntil: -Infinity,
});

/** A refusal counts for so long. */
const countedMs = 60_000;
/** Of the accounts at a host; and two at least, for one is always its own matter. */
const share = 0.75;
const doubtedMs = 600_000;

/** Takes what an account heard; returns whether all `accounts` of the host are to leave it alone now. */
export function isHostRefusing<Account>(
  kept: HostPauses<Account>,
  account: Account,
  word: HostWord,
  { accounts, now }: { readonly accounts: number; readonly now: number },
): boolean {
  kept.refused.delete(account);
  if (now < kept.pausedUntil) {
    // What was under way when the pause began.
    if (word === "refused") kept.refusedItself?.add(account);
    return false;
  }
  const decides = kept.refusedItself !== null && !kept.refusedItself.has(account);
  if (decides) kept.refusedItself = null;
  if (word === "answered") {
    if (decides) kept.doubtedUntil = now + doubtedMs;
    return false;
  }
  kept.refused.set(account, now);
  for (const [one, at] of kept.refused) {
    if (now - at <= countedMs) break;
    kept.refused.delete(one);
  }
  const needed = now < kept.doubtedUntil ? accounts : Math.ceil(accounts * share);
  return decides || kept.refused.size >= Math.max(2, needed);
}

/** All leave it alone until then. */
export function pauseHost<Account>(kept: HostPauses<Account>, until: number): void {
  kept.pausedUntil = until;
  kept.refusedItself = new Set(kept.refused.keys());
  kept.refused.clear();
}
