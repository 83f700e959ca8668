import type { Decoding } from "../decode/decoding.js";
import { isContainer, isFields } from "../decode/wire.js";
import { scopeRoles, type Scope } from "./scopes.js";

const maxLooked = 2_000;

/**
 * When a scope's values were so, epoch ms of the platform's clock: the oldest time anywhere in it, else the time nearest
 * around it; null where none can be read. The oldest, because a value must never pass for newer than it is.
 */
export function scopeTime(
  path: string | undefined,
): (scope: Scope, decoding: Pick<Decoding, "readTime" | "receivedAt">) => number | null {
  const roles = scopeRoles(path);
  return ({ node, time }, { readTime, receivedAt }) => {
    let oldest: number | null = null;
    const open: object[] = [node];
    for (let looked = 0; looked < maxLooked; looked += 1) {
      const next = open.pop();
      if (next === undefined) break;
      const own = isFields(next) ? readTime(roles(next).time, receivedAt) : null;
      if (own !== null && (oldest === null || own < oldest)) oldest = own;
      for (const child of Object.values(next)) if (isContainer(child)) open.push(child);
    }
    return oldest ?? readTime(time, receivedAt);
  };
}
