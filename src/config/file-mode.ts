/** Whether anybody but the owner may read or write a file of this mode. */
export const openToOthers = (mode: number | null): boolean => mode !== null && (mode & 0o077) !== 0;
