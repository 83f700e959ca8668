/** A planted bug: one exact text of one source file, replaced. */
export interface Mutant {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const mutants: Readonly<Record<string, Mutant>> = {};
