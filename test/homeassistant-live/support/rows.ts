import { type Figures, tellFigures } from "../../proof/figures.js";

/** The figures of one or more versions of Home Assistant, printed as a table at the end. */
export interface Rows {
  tell(row: string, figure: string): void;
}

const table = new Map<string, Map<string, string>>();

export function rowsOf(version: string): Rows {
  return {
    tell: (row, figure) => {
      // The long rows take many minutes, and somebody watches.
      process.stdout.write(`${version}: ${row}: ${figure}\n`);
      const cells = table.get(row) ?? new Map<string, string>();
      table.set(row, cells.set(version, figure));
    },
  };
}

export async function printRows(reduced: boolean): Promise<void> {
  const figures: Figures = Object.fromEntries(
    [...table].flatMap(([row, cells]) =>
      [...cells].map(([version, figure]) => [`${version}: ${row}`, figure]),
    ),
  );
  await tellFigures("homeassistant", reduced, figures);
}
