export function overBars(figures: Readonly<Record<string, number | null>>): readonly string[];
