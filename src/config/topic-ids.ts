/**
 * The topic id a device code is made into when the configuration gives none. Two codes with the same result are an
 * error here, because only the user can say which of them should keep the plain id.
 */
export const topicIdOf = (code: string): string => code.toLowerCase().replaceAll(".", "_");
