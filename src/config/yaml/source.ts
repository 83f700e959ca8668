import { statements } from "../../language/lists.js";
import { msg, type Text } from "../../language/text.js";
import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  LineCounter,
  type ParsedNode,
  Parser,
} from "yaml";
import type { Finding, Path } from "../../settings/problem.js";
import { culprit, type Odd } from "./odd-characters.js";

/* Our own words for every syntax error: the parser's may quote the file, and with it a password. */
const sentences: Partial<Record<ErrorCode, Text>> = {
  BAD_DQ_ESCAPE: msg`a backslash in "..." must be doubled, or use single quotes`,
  BAD_INDENT: msg`wrong indentation; keys of one section start in the same column, and every [ and { is closed`,
  BAD_SCALAR_START: msg`this character cannot start a value here; put the value in "quotes"`,
  BLOCK_AS_IMPLICIT_KEY: msg`a section cannot start on the line of its key; if this is one value, put it in "quotes"`,
  BLOCK_IN_FLOW: msg`inside [ ] and { } keep every value on one line, or in [ ] and { } too`,
  MISSING_CHAR: msg`something is missing here: a closing quote, bracket or comma, or the blank after a colon`,
  MULTILINE_IMPLICIT_KEY: msg`a key must end with a colon on its own line; check the lines around this one`,
  MULTIPLE_TAGS: msg`only one tag may stand before a value`,
  TAB_AS_INDENT: msg`tabs are not allowed as indentation; use blanks`,
  TAG_RESOLVE_FAILED: msg`unknown tag; !env NAME and !secret name are known`,
  UNEXPECTED_TOKEN: msg`this is not expected here; check quotes, brackets and the line above`,
  BAD_ALIAS: msg`aliases (*name) are not allowed; write the value out`,
  BAD_DIRECTIVE: msg`directives (%) are not allowed`,
  KEY_OVER_1024_CHARS: msg`a key is longer than 1024 characters; a quote may be missing`,
};

const syntaxSentence = (code: ErrorCode): Text =>
  sentences[code] ?? msg`this is not valid YAML; check quotes, brackets and indentation around here`;

interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

export interface SourceFault extends SourcePosition {
  readonly message: Text;
}

export interface Source {
  readonly text: string;
  readonly root: ParsedNode | null;
  readonly positionAt: (offset: number) => SourcePosition;
}

type ParsedSource =
  | { readonly ok: true; readonly source: Source }
  | { readonly ok: false; readonly faults: readonly SourceFault[] };

/** Far deeper than any configuration; with deep enough files the composer's recursion would end the process. */
const deepest = 64;

/** Parses text into YAML nodes without building values: follows no alias and acts on no tag of the file. */
export function parseSource(text: string): ParsedSource {
  const lines = new LineCounter();
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const fault = (offset: number, message: Text): ParsedSource => ({
    ok: false,
    faults: [{ ...positionAt(offset), message }],
  });
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const tooDeep = deepToken(tokens);
  if (tooDeep !== null) return fault(tooDeep, msg`nested more than ${deepest} levels deep`);
  const [document, second] = compose(tokens, text.length);
  if (document === undefined) return fault(0, msg`not readable as YAML`);
  if (document.errors.length > 0)
    return {
      ok: false,
      faults: document.errors.slice(0, 20).map((error) => {
        const odd = culprit(text, error.pos[0]);
        const message = statements([syntaxSentence(error.code), ...(odd === null ? [] : [odd.message])]);
        return { ...positionAt(odd?.offset ?? error.pos[0]), message };
      }),
    };
  if (second !== undefined)
    return fault(second.range[0], msg`a second document starts here; keep everything in one, without ---`);
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

/** Offset of the first collection that is nested too deeply; found without recursion. */
function deepToken(tokens: readonly CST.Token[]): number | null {
  const left = tokens.map((token) => ({ token, depth: 0 }));
  let first: number | null = null;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { token, depth } = next;
    if (depth > deepest) {
      const offset = "offset" in token ? token.offset : 0;
      first = Math.min(first ?? offset, offset);
    } else within(token, (inner) => left.push({ token: inner, depth: depth + 1 }));
  }
  return first;
}

/** The collections and documents in a token; scalars hold none. */
function within(token: CST.Token, found: (inner: CST.Token) => void): void {
  const take = (inner: CST.Token | null | undefined) => {
    if (inner && ("items" in inner || inner.type === "document")) found(inner);
  };
  if (token.type === "document") take(token.value);
  if ("items" in token)
    for (const item of token.items) {
      take(item.key);
      take(item.value);
    }
}

/** Offsets of the keys and values of a document, by path. */
export interface Places {
  readonly keys: ReadonlyMap<string, number>;
  readonly values: ReadonlyMap<string, number>;
  /** Characters that look like another one, by the path of the value that holds them. */
  readonly odd: ReadonlyMap<string, Odd>;
}

/** A finding's place and message, with the odd character that may be to blame. */
export function withCulprit(
  places: Places,
  finding: Finding,
): { readonly offset: number; readonly message: Text } {
  const odd = finding.on === "value" ? places.odd.get(pathKey(finding.path)) : undefined;
  if (odd !== undefined) return { offset: odd.offset, message: statements([finding.message, odd.message]) };
  return { offset: offsetOf(places, finding.path, finding.on), message: finding.message };
}

export const pathKey = (path: Path): string => JSON.stringify(path);

/** The offset to show for a path; if the path is not in the file, that of the nearest section around it. */
export function offsetOf(places: Places, path: Path, on: "key" | "value"): number {
  const key = places.keys.get(pathKey(path));
  const value = places.values.get(pathKey(path));
  const own = on === "key" ? (key ?? value) : (value ?? key);
  if (own !== undefined) return own;
  return path.length === 0 ? 0 : offsetOf(places, path.slice(0, -1), "key");
}
