import type { OutputChunk, Plugin } from "rolldown";

export const root: string;
export function bundle(options: {
  readonly folder: string;
  readonly plugins?: readonly Plugin[];
}): Promise<OutputChunk[]>;
export function writeModules(options: { readonly folder: string }): Promise<OutputChunk[]>;
/** Leaves out of a locale file what only the page says. */
export const programWords: { load(id: string): { readonly code: string } | null };
