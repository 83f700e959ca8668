import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve as resolvePath } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { planted, seamFile } from "../planted/plant.mjs";

// Node runs the simulation without bundler and test runner, which makes it almost twice as fast.

const root = resolvePath(import.meta.dirname, "../..");
const own = [pathToFileURL(join(root, "src/")).href, pathToFileURL(join(root, "test/")).href];
const cache = join(root, "node_modules/.cache/simulation");

/** The planted bug of this process. */
const bug = JSON.parse(process.env.SIMULATION_PLANTED || "null");

export async function resolve(specifier, context, next) {
  const parent = context.parentURL ?? "";
  if (!specifier.startsWith(".") || !own.some((folder) => parent.startsWith(folder)))
    return next(specifier, context);
  const wanted = new URL(specifier.replace(/\.js$/, ".ts"), parent);
  if (!existsSync(fileURLToPath(wanted))) return next(specifier, context);
  return { url: wanted.href, format: "module", shortCircuit: true };
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts") || !own.some((folder) => url.startsWith(folder))) return next(url, context);
  const path = fileURLToPath(url);
  const text = readFileSync(path, "utf8");
  const isPlanted = bug !== null && path === join(root, "src", `${seamFile(bug)}.ts`);
  const script = javaScript(path, text);
  return { format: "module", source: isPlanted ? planted(script, bug) : script, shortCircuit: true };
}

function javaScript(path, text) {
  const key = createHash("sha256").update(`${ts.version}\n${path}\n${text}`).digest("hex");
  const kept = join(cache, `${key}.mjs`);
  if (existsSync(kept)) return readFileSync(kept, "utf8");
  const { outputText } = ts.transpileModule(text, {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  keep(kept, outputText);
  return outputText;
}

function keep(path, text) {
  const half = `${path}.${process.pid}`;
  try {
    mkdirSync(cache, { recursive: true });
    writeFileSync(half, text);
    renameSync(half, path);
  } catch {
    // The next process translates it again.
  }
}
