import { resolve } from "node:path";
import { mutants } from "./mutants.js";

interface Plugin {
  readonly name: string;
  readonly enforce: "pre";
  resolveId(source: string, importer: string | undefined): string | null;
  transform(code: string, id: string): string | null;
  buildEnd?(): void;
}

const root = resolve(import.meta.dirname, "../..");

const doubles: readonly (readonly [RegExp, string])[] = [
  [/\/http\/host-connections\.js$/, "host-connections.ts"],
  [/\/session-store\.js$/, "session-store.ts"],
];

/**
 * Puts the simulated connections where the product opens real ones and, with MUTANT=name, plants one bug into one source
 * file. A mutant whose text is not found stops the run: it would prove nothing.
 */
export function simulatedWorld(mutant: string | undefined): Plugin {
  const planted = mutant === undefined || mutant === "" ? null : mutants[mutant];
  if (planted === undefined)
    throw new Error(`there is no mutant ${mutant ?? ""}: ${Object.keys(mutants).join(", ")}`);
  return {
    name: "simulated-world",
    enforce: "pre",
    resolveId(source, importer) {
      if (importer === undefined || !importer.startsWith(`${root}/src/`)) return null;
      const double = doubles.find(([pattern]) => pattern.test(source));
      return double === undefined ? null : `${root}/test/simulation/doubles/${double[1]}`;
    },
    transform(code, id) {
      if (planted === null) return null;
      if (id.split("?")[0] !== `${root}/${planted.file}`) return null;
      if (code.split(planted.from).length !== 2)
        throw new Error(`mutant ${mutant ?? ""}: its text is not found exactly once in ${planted.file}`);
      return code.replace(planted.from, () => planted.to);
    },
  };
}
