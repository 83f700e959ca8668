import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { plantedBugs } from "./bugs.js";
import { type Planted, planted, seamFile } from "./plant.mjs";

/* That each planted bug still applies: its seam is there, and what it names, the module knows. */

const parsed = (text: string, kind: ts.ScriptKind) =>
  ts.createSourceFile("seam", text, ts.ScriptTarget.ES2023, true, kind);

const sourceOf = (bug: Planted) =>
  readFileSync(resolve(import.meta.dirname, "../../src", `${seamFile(bug)}.ts`), "utf8");

/** Names of values that a module declares or imports at its top. */
function topNames(file: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  for (const one of file.statements) {
    if ((ts.isFunctionDeclaration(one) || ts.isClassDeclaration(one)) && one.name) names.add(one.name.text);
    if (ts.isVariableStatement(one))
      for (const { name } of one.declarationList.declarations)
        if (ts.isIdentifier(name)) names.add(name.text);
    const bindings = ts.isImportDeclaration(one) ? one.importClause?.namedBindings : undefined;
    if (bindings && ts.isNamedImports(bindings))
      for (const { name, isTypeOnly } of bindings.elements) if (!isTypeOnly) names.add(name.text);
  }
  return names;
}

function methodsOf(file: ts.SourceFile, name: string): readonly string[] {
  const owner = file.statements.find((one) => ts.isClassDeclaration(one) && one.name?.text === name);
  if (owner === undefined || !ts.isClassDeclaration(owner)) return [];
  return owner.members.flatMap((one) => (ts.isMethodDeclaration(one) ? [one.name.getText()] : []));
}

/** Identifiers that a script uses as values, and those that it declares. */
function identifiersOf(file: ts.SourceFile) {
  const [used, declared] = [new Set<string>(), new Set<string>()];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isName =
        (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
        (ts.isPropertyAssignment(parent) && parent.name === node) ||
        (ts.isBindingElement(parent) && parent.propertyName === node);
      if (
        (ts.isBindingElement(parent) || ts.isParameter(parent) || ts.isVariableDeclaration(parent)) &&
        parent.name === node
      )
        declared.add(node.text);
      else if (!isName) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { used, declared };
}

const problemsIn = (text: string): readonly string[] =>
  (ts.transpileModule(text, { reportDiagnostics: true }).diagnostics ?? []).map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, " "),
  );

describe("a planted bug still applies", () => {
  it.each(Object.entries(plantedBugs))("%s", (_, bug) => {
    const module = parsed(sourceOf(bug), ts.ScriptKind.TS);
    const [owner = "", method] = bug.seam.slice(bug.seam.indexOf("#") + 1).split(".");
    expect([...topNames(module)]).toContain(owner);
    if (method !== undefined) expect(methodsOf(module, owner)).toContain(method);
    const { used, declared } = identifiersOf(parsed(`(${bug.plant})`, ts.ScriptKind.JS));
    const unknown = [...used].filter(
      (name) => !declared.has(name) && !topNames(module).has(name) && !(name in globalThis),
    );
    expect(unknown, "names that the module does not know").toEqual([]);
    expect(problemsIn(`(${bug.plant})`)).toEqual([]);
  });

  it("and somebody has to notice it", () => {
    const unnoticed = Object.values(plantedBugs).filter(
      ({ breaks, campaign, tests }) => !breaks && !campaign && !tests,
    );
    expect(unnoticed).toEqual([]);
  });
});

describe("what is planted", () => {
  const bug = (seam: string, plant: string): Planted => ({ seam, plant });

  it("takes the place of a function, a constant or a method, private or not", () => {
    expect(planted("export const most = 5;", bug("a#most", "() => 0"))).toBe(
      "export let most = 5;\nmost = (() => 0)(most);\n",
    );
    expect(planted("class A {\n  #b() {}\n}", bug("a#A.#b", "() => null"))).toBe(
      "class A {\n  _private_b() {}\n}\nA.prototype._private_b = (() => null)(A.prototype._private_b);\n",
    );
  });
});
