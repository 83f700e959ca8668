import type { Role } from "../page/protocol.js";
import type { Visitor } from "./access.js";
import { type Answer, failure, loginRequired } from "./answer.js";

/* Who may what: the one place where roles are ranked, and compared with what a route needs. */

const ranks: Readonly<Record<Role, number>> = { viewer: 1, operator: 2, admin: 3 };

/** Whether a role has the rights of `needed`; null has none. */
export const may = (role: Role | null, needed: Role): boolean =>
  role !== null && ranks[role] >= ranks[needed];

/** The answer for a visitor whose role is not enough for a route; null where it is. */
export function roleRefusal({ role }: Visitor, needed: Role | null): Answer | null {
  if (needed === null || may(role, needed)) return null;
  if (role === null) return loginRequired;
  if (needed === "admin")
    return failure(403, "role", "Settings are for an admin alone; http.users gives that role.");
  return failure(403, "role", "A viewer may look; log in as an operator to act.");
}
