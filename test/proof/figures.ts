import { writeFile } from "node:fs/promises";

/* What a proof measured, for people on stdout and for the report of `npm run proof` in the file that PROOF_REPORT names. */

export type Figures = Readonly<Record<string, string | number | boolean | null>>;

/** `part` is the name `npm run proof` knows; figures read well as `name: value`. */
export async function tellFigures(part: string, reduced: boolean, figures: Figures): Promise<void> {
  const lines = Object.entries(figures).map(([name, value]) => `  ${name}: ${String(value)}`);
  process.stdout.write(`${part}${reduced ? " (reduced)" : ""}\n${lines.join("\n")}\n`);
  const file = process.env["PROOF_REPORT"];
  if (file !== undefined) await writeFile(file, `${JSON.stringify({ part, reduced, figures }, null, 1)}\n`);
}

export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** A whole number from the environment. */
export function countFrom(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === "") return otherwise;
  if (!/^\d+$/.test(text)) throw new Error(`${name} must be a whole number, not "${text}"`);
  return Number(text);
}
