/*
 * Decides whether a host's "too many requests" concerns all accounts of the process, or only accounts with an exhausted
 * quota. Pure, except that the value is changed in place; instants are monotonic ms.
 */

/** What an account got from the host: a request to wait, or an answer. */
export type HostWord = "refused" | "answered";

export interface HostPauses<Account> {
  /** When each account was last refused without an answer since; the oldest first. */
  readonly refused: Map<Account, number>;
  /** The end of the last pause of all accounts. */
  pausedUntil: number;
  /**
   * Accounts refused shortly before or during the pause. The first response after it to any other account decides; null
   * once it has.
   */
  refusedItself: Set<Account> | null;
  /** Until then only a refusal of all accounts counts, as one account was answered after the last pause. */
  doubtedUntil: number;
}

export const noPauses = <Account>(): HostPauses<Account> => ({
  refused: new Map(),
  pausedUntil: -Infinity,
  refusedItself: null,
  doubtedUntil: -Infinity,
});

/** How long a refusal counts. */
const countedMs = 60_000;
/** The share of refused accounts that means the whole host; always two at least, as one is its own matter. */
const share = 0.75;
const doubtedMs = 600_000;

/** Notes a response; returns whether all `accounts` of the host have to pause now. */
export function isHostRefusing<Account>(
  kept: HostPauses<Account>,
  account: Account,
  word: HostWord,
  { accounts, now }: { readonly accounts: number; readonly now: number },
): boolean {
  kept.refused.delete(account);
  if (now < kept.pausedUntil) {
    // The request was under way when the pause began.
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

export function pauseHost<Account>(kept: HostPauses<Account>, until: number): void {
  kept.pausedUntil = until;
  kept.refusedItself = new Set(kept.refused.keys());
  kept.refused.clear();
}
