import type { Role } from "../page/protocol.js";

/* Who may what: the one place where roles are ranked. */

const ranks: Readonly<Record<Role, number>> = { viewer: 1, operator: 2, admin: 3 };

/** Whether somebody of this role may do what takes the other; without a role nobody may do anything. */
export const may = (role: Role | null, needed: Role): boolean =>
  role !== null && ranks[role] >= ranks[needed];
