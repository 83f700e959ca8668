/**
 * An English sentence of the program, and the Chinese one. `{}` stands for what the program puts in and `{-}` for what Chinese
 * does not need, such as an ending of the plural; the Chinese has them by number.
 */
export type Pair = readonly [english: string, chinese: string];

export const placeholders = /\{-?\}/g;
