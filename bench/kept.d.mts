import type { Figure } from "./figures.mjs";

export const mostGrowth: number;
export function growthOf(
  rows: readonly { readonly controllers: number; readonly cost: number }[],
): readonly { readonly from: number; readonly to: number; readonly times: number }[];
export function topicsHeld(controllers: number): number;
export function outOfLine(figures: readonly Figure[]): readonly string[];
export function worseThan(
  kept: Readonly<Record<string, number>>,
  figures: readonly Figure[],
): readonly string[];
