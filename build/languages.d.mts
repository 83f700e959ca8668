/** The modules by their place in the project. */
export function languageModules(root: string): ReadonlyMap<string, string>;
export function writeLanguages(root: string): void;
