import { Composer, LineCounter, Parser, type CST, type Document, type ParsedNode } from "yaml";
import { syntaxSentence } from "./syntax-sentences.js";

export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

export interface SourceFault extends SourcePosition {
  readonly message: string;
}

export interface Source {
  readonly text: string;
  readonly root: ParsedNode | null;
  readonly positionAt: (offset: number) => SourcePosition;
}

export type ParsedSource =
  | { readonly ok: true; readonly source: Source }
  | { readonly ok: false; readonly faults: readonly SourceFault[] };

/** Far above what a configuration needs; the composer's recursion would end the process on a deep enough file. */
const deepest = 64;

/** Text → YAML nodes, without building values: no alias is followed and no tag of the file is acted upon. */
export function parseSource(text: string): ParsedSource {
  const lines = new LineCounter();
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const fault = (offset: number, message: string): ParsedSource => ({
    ok: false,
    faults: [{ ...positionAt(offset), message }],
  });
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const tooDeep = deepToken(tokens);
  if (tooDeep !== null) return fault(tooDeep, `nested more than ${deepest} levels deep`);
  const [document, second] = compose(tokens, text.length);
  if (document === undefined) return fault(0, "not readable as YAML");
  if (document.errors.length > 0)
    return {
      ok: false,
      faults: document.errors
        .slice(0, 20)
        .map((error) => ({ ...positionAt(error.pos[0]), message: syntaxSentence(error.code) })),
    };
  if (second !== undefined)
    return fault(second.range[0], "a second document starts here; keep everything in one, without ---");
  return { ok: true, source: { text, root: document.contents, positionAt } };
}

function compose(tokens: CST.Token[], end: number): Document.Parsed[] {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    customTags: ["!env", "!secret"].map((tag) => ({ tag, resolve: (written: string) => written })),
  });
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(tokens, true, end)) {
    documents.push(document);
    if (documents.length === 2) break;
  }
  return documents;
}

/** Offset of the first collection below the allowed depth; walked without recursion. */
function deepToken(tokens: readonly CST.Token[]): number | null {
  const todo: { readonly token: CST.Token; readonly depth: number }[] = tokens.map((token) => ({
    token,
    depth: 0,
  }));
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { token, depth } = next;
    if (depth > deepest) return "offset" in token ? token.offset : 0;
    for (const inner of within(token)) todo.push({ token: inner, depth: depth + 1 });
  }
  return null;
}

function within(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value === undefined ? [] : [token.value];
  if (!("items" in token)) return [];
  return token.items.flatMap((item) => [item.key ?? [], "value" in item ? (item.value ?? []) : []].flat());
}
