import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const sources = fileURLToPath(new URL("../../../src/", import.meta.url));

/** Turns the journal's sources into plain JavaScript under `directory`, for a process of its own. */
export async function compileJournal(directory: string): Promise<string> {
  for (const folder of ["journal", "runtime"])
    for (const name of await readdir(join(sources, folder))) {
      const target = join(directory, folder, name.replace(/\.ts$/, ".js"));
      await mkdir(dirname(target), { recursive: true });
      const { outputText } = ts.transpileModule(await readFile(join(sources, folder, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2023,
          verbatimModuleSyntax: true,
        },
      });
      await writeFile(target, outputText);
    }
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  return directory;
}
