import type { Role } from "../page/protocol.js";

/* Who may what: the one place where roles are ranked. */

const ranks: Readonly<Record<Role, number>> = { viewer: 1, operator: 2, admin: 3 };

/** Whether a role has the rights of `needed`; null has none. */
export const may = (role: Role | null, needed: Role): boolean =>
  role !== null && ranks[role] >= ranks[needed];
