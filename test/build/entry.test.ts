import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { runInNewContext } from "node:vm";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const text = readFileSync(resolve(import.meta.dirname, "../../build/entry.js"), "utf8");

/** What it says and ends with under a version of Node.js, where the program needs 20.18.1; it loads the program where it says nothing. */
function under(version: string, env: Readonly<Record<string, string>> = {}) {
  const said: string[] = [];
  const loaded: string[] = [];
  const process = {
    versions: { node: version },
    env,
    execPath: "/usr/bin/node",
    stderr: { write: (line: string) => said.push(line) },
    exitCode: 0,
  };
  const script = text
    .replace(/^#!.*\n/, "")
    .replaceAll("0.0.0", "20.18.1")
    .replace("import(", "load(");
  runInNewContext(script, { process, load: (file: string) => loaded.push(file) });
  return { said, loaded, exitCode: process.exitCode };
}

describe("what is run", () => {
  it.each(["20.18.1", "20.19.0", "22.0.0", "24.11.1", "100.0.0", "20.18.1-nightly"])(
    "loads the program under Node.js %s",
    (version) => expect(under(version)).toEqual({ said: [], loaded: ["./program/start.js"], exitCode: 0 }),
  );

  it.each(["20.18.0", "20.9.0", "18.20.8", "14.21.3", "12.22.12", "8.17.0"])(
    "says in one sentence that Node.js %s is too old",
    (version) => {
      const { said, loaded, exitCode } = under(version);
      expect([loaded, exitCode]).toEqual([[], 2]);
      expect(said).toEqual([
        `greenhouse2mqtt needs Node.js 20.18.1 or newer, and /usr/bin/node is ${version}; install a newer one (https://nodejs.org)\n`,
      ]);
    },
  );

  it("says it in Chinese to whom the program speaks Chinese", () => {
    expect(under("14.0.0", { LANG: "zh_CN.UTF-8" }).said[0]).toContain("需要 Node.js 20.18.1");
    expect(under("14.0.0", { LANG: "zh_CN.UTF-8", LC_ALL: "C" }).said[0]).toContain("needs Node.js");
  });

  it("is written in what a Node.js of years ago reads", () => {
    const tree = ts.createSourceFile("entry.js", text, ts.ScriptTarget.ESNext, true);
    const newer: string[] = [];
    const visit = (node: ts.Node): void => {
      const isNewer =
        ts.isArrowFunction(node) ||
        ts.isTemplateLiteral(node) ||
        ts.isImportDeclaration(node) ||
        ts.isAwaitExpression(node) ||
        ts.isSpreadElement(node) ||
        ts.isOptionalChain(node) ||
        (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) ||
        (ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.BlockScoped) !== 0);
      if (isNewer) newer.push(node.getText());
      ts.forEachChild(node, visit);
    };
    visit(tree);
    expect(newer).toEqual([]);
  });
});
