export interface Figure {
  readonly part: string;
  readonly name: string;
  readonly value: number;
  readonly ratio: number | null;
  readonly met: boolean | null;
  readonly isKept: boolean;
}
export function figure(
  part: string,
  name: string,
  unit: string,
  value: number,
  options?: {
    readonly bare?: number;
    readonly isKept?: boolean;
    readonly target?: { readonly of: string; readonly atMost: number };
  },
): Figure;
