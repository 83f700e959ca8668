import { counted, msg, type Text, TextError } from "../language/text.js";
import {
  type CST,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Path } from "../settings/problem.js";
import { keyText } from "../settings/key.js";
import {
  blockLines,
  flowText,
  isList,
  isSection,
  type IsText,
  type Quotes,
  Reference,
  textOfKey,
  textOfScalar,
  under,
  type Written,
} from "./value-text.js";
import { references } from "./yaml-text.js";

/*
 * Changes values in a YAML text. The parser only says where things stand; each change is cut out of the text and put
 * into it, so everything else stays byte by byte. The new text is parsed again and compared before it counts.
 */

/** `undefined` removes the key. */
export interface Change {
  readonly path: Path;
  readonly value: Written | undefined;
}

export type Edited =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly path: Path; readonly message: Text };

/** Whether the value at a path is a text that needs no quotes. */
type IsTextAt = (path: Path) => boolean;

export class NotEditable extends TextError {
  readonly path: Path;

  constructor(path: Path, message: Text) {
    super(message);
    this.path = path;
  }
}

/** The text with all changes, or why one of them is impossible. Positions in lists are those of the original text. */
export const editedText = (text: string, changes: readonly Change[], isText: IsTextAt): Edited =>
  attemptEdit(() => inOrderOfWork(changes).reduce((now, change) => applyChange(now, change, isText), text));

export function attemptEdit(make: () => string): Edited {
  try {
    return { ok: true, text: make() };
  } catch (error) {
    if (error instanceof NotEditable) return { ok: false, path: error.path, message: error.text };
    throw error;
  }
}

/** Removals from lists come last, each list from its end, so that no position moves before it is used. */
function inOrderOfWork(changes: readonly Change[]): readonly Change[] {
  const isOut = ({ path, value }: Change) => value === undefined && typeof path.at(-1) === "number";
  const out = changes
    .filter(isOut)
    .toSorted((one, other) => Number(other.path.at(-1)) - Number(one.path.at(-1)));
  return [...changes.filter((change) => !isOut(change)), ...out];
}

function applyChange(text: string, { path, value }: Change, isText: IsTextAt): string {
  if (value === undefined) return without(text, path);
  const { node } = placeOf(parseDoc(text), path);
  // Existing keys keep their order and comments.
  if (isMap(node) && isSection(value)) return mergeSection(text, { path, value }, node, isText);
  if (isSeq(node) && isList(value) && node.items.length > 0)
    return mergeList(text, { path, value }, node, isText);
  return withValue(text, { path, value }, isText);
}

function mergeSection(
  text: string,
  { path, value }: { readonly path: Path; readonly value: Readonly<Record<string, Written>> },
  node: YAMLMap,
  isText: IsTextAt,
): string {
  const gone = node.items
    .map((pair) => nameOf(pair))
    .filter((name): name is string => name !== null && !Object.hasOwn(value, name));
  const kept = Object.entries(value).reduce(
    (now, [key, item]) => applyChange(now, { path: [...path, key], value: item }, isText),
    text,
  );
  return gone.reduce((now, key) => without(now, [...path, key]), kept);
}

function mergeList(
  text: string,
  { path, value }: { readonly path: Path; readonly value: readonly Written[] },
  node: YAMLSeq,
  isText: IsTextAt,
): string {
  const kept = value.reduce<string>(
    (now, item, at) => applyChange(now, { path: [...path, at], value: item }, isText),
    text,
  );
  const surplus = node.items.map((_, at) => at).slice(value.length);
  return surplus.toReversed().reduce((now, at) => without(now, [...path, at]), kept);
}

/* Reading. */

export interface Doc {
  readonly text: string;
  readonly root: Node | null;
  readonly eol: string;
  readonly step: string;
}

export function parseDoc(text: string): Doc {
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    keepSourceTokens: true,
    prettyErrors: false,
    customTags: references,
  });
  if (document.errors.length > 0)
    throw new NotEditable([], msg`the file is not valid YAML, so nothing in it is changed`);
  const root = isNode(document.contents) ? document.contents : null;
  const step = /^[^\s#-][^\n]*:[^\S\n]*(?:#[^\n]*)?\r?\n( +)[^\s#-]/m.exec(text)?.[1] ?? "  ";
  return { text, root, eol: text.includes("\r\n") ? "\r\n" : "\n", step };
}

export const nameOf = ({ key }: Pair): string | null =>
  isScalar(key) ? (typeof key.value === "string" ? key.value : (key.source ?? null)) : null;

interface Place {
  /** The deepest node of the path that exists, and its depth in the path. */
  readonly above: Node | null;
  readonly depth: number;
  /** The value at the path; null for none, and for a key without a value. */
  readonly node: Node | null;
  /** The pair or item that holds the value; null for none. */
  readonly pair: Pair | null;
  readonly item: CST.CollectionItem | null;
}

const shared = msg`anchors and aliases (&name, *name) share one value between places; write it out there first, as a change here could not be kept to this place`;

/** Follows the path as far as it exists in the file. */
export function placeOf({ root }: Doc, path: Path): Place {
  let at: Place = { above: null, depth: 0, node: root, pair: null, item: null };
  for (const [depth, part] of path.entries()) {
    const { node } = at;
    refuseShared(node, at, path);
    if (node !== null && isScalar(node) && node.tag?.startsWith("!") === true && !node.tag.startsWith("!!"))
      throw new NotEditable(
        path,
        msg`${node.tag} ${String(node.value)} stands for all of it; change it there`,
      );
    const pair = isMap(node) && typeof part === "string" ? pairIn(node, part, path) : null;
    const isItem = isSeq(node) && typeof part === "number" && part < node.items.length;
    if (pair === null && !isItem) return { above: node, depth, node: null, pair: null, item: null };
    const inner: unknown = pair !== null ? pair.value : isSeq(node) ? node.items[Number(part)] : null;
    const token = isSeq(node) ? seqToken(node)?.items[Number(part)] : undefined;
    at = {
      above: node,
      depth,
      node: isNode(inner) && !isEmptyScalar(inner) ? inner : null,
      pair,
      item: pair?.srcToken ?? token ?? null,
    };
  }
  refuseShared(at.node, at, path);
  return { ...at, depth: path.length };
}

/** The value of a pair or list item. */
const valueIn = (item: unknown): unknown => (isPair(item) ? item.value : item);

export const isEmptyScalar = (node: Node): boolean =>
  isScalar(node) && node.value === null && (node.source ?? "") === "";

function refuseShared(node: Node | null, { item }: Place, path: Path): void {
  const isAnchored = node !== null && "anchor" in node && node.anchor !== undefined;
  const isMarked = [...(item?.start ?? []), ...(item?.sep ?? [])].some(({ type }) => type === "anchor");
  if (isAlias(node) || isAnchored || isMarked) throw new NotEditable(path, shared);
  if (node !== null && holdsAnchor(node)) throw new NotEditable(path, shared);
}

/** Whether the value itself uses a merge key; anchors deeper in other sections do not matter here. */
const holdsAnchor = (node: Node): boolean =>
  isMap(node) && node.items.some((pair) => isScalar(pair.key) && pair.key.value === "<<");

function pairIn(map: YAMLMap, name: string, path: Path): Pair | null {
  const found = map.items.filter((pair) => nameOf(pair) === name);
  if (found.length > 1) throw new NotEditable(path, msg`"${name}" stands there twice; keep one of them`);
  return found[0] ?? null;
}

const seqToken = (node: YAMLSeq): CST.BlockSequence | CST.FlowCollection | undefined =>
  node.srcToken as CST.BlockSequence | CST.FlowCollection | undefined;

export const isBlock = (node: Node): node is YAMLMap | YAMLSeq => isCollection(node) && node.flow !== true;

/* Positions in the text. */

const startOfToken = (token: CST.Token | CST.SourceToken | null | undefined): number | null =>
  token && "offset" in token ? token.offset : null;

/** Where an item begins: at its key, or at its value with the marks before it. */
export function itemStart(item: CST.CollectionItem): number {
  const first = item.start.find(({ type }) => !["space", "comment", "newline", "comma"].includes(type));
  return startOfToken(first) ?? startOfToken(item.key) ?? startOfToken(item.value) ?? 0;
}

const colonOf = (item: CST.CollectionItem): CST.SourceToken | undefined =>
  item.sep?.find(({ type }) => type === "map-value-ind");

function valueStart(node: Node, item: CST.CollectionItem): number {
  const marks = [...(item.sep ?? []), ...(item.sep ? [] : item.start)].filter(
    ({ type }) => type === "tag" || type === "anchor",
  );
  return Math.min(node.range?.[0] ?? 0, ...marks.map(({ offset }) => offset));
}

/** The end of the content, without comments and line ends after it. */
function contentEnd(node: Node, text: string): number {
  if (isBlock(node)) {
    const last: unknown = node.items.at(-1);
    const value: unknown = valueIn(last);
    if (isNode(value) && !isEmptyScalar(value)) return contentEnd(value, text);
    const token = (node.srcToken as CST.BlockMap | CST.BlockSequence | undefined)?.items.findLast(
      ({ key, value: inner, sep, start }) =>
        key || inner || sep || start.some(({ type }) => type === "seq-item-ind"),
    );
    return token === undefined ? (node.range?.[1] ?? 0) : itemEnd(token);
  }
  const end = node.range?.[1] ?? 0;
  return end - (/\s*$/.exec(text.slice(node.range?.[0] ?? 0, end))?.[0].length ?? 0);
}

/** The end of an item without a value. */
function itemEnd(item: CST.CollectionItem): number {
  const marks = [...item.start, ...(item.sep ?? [])].filter(({ type }) =>
    ["map-value-ind", "seq-item-ind", "tag", "anchor"].includes(type),
  );
  const key = item.key && "source" in item.key ? item.key.offset + item.key.source.length : 0;
  return Math.max(key, ...marks.map(({ offset, source }) => offset + source.length));
}

export const endOfItem = (node: Node | null, item: CST.CollectionItem, text: string): number =>
  node === null ? itemEnd(item) : contentEnd(node, text);

export const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1;

/** The end of a line, before its line break. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  const stop = end === -1 ? text.length : end;
  return stop > at && text[stop - 1] === "\r" ? stop - 1 : stop;
}

const columnOf = (text: string, at: number): string => " ".repeat(at - lineStart(text, at));

const cut = (text: string, from: number, to: number, put = ""): string =>
  text.slice(0, from) + put + text.slice(to);

/* Changing. */

/** Sets a value at a path, whether or not one exists there. */
function withValue(
  text: string,
  { path, value }: { readonly path: Path; readonly value: Written },
  isText: IsTextAt,
): string {
  const doc = parseDoc(text);
  const place = placeOf(doc, path);
  const below: IsText = (inner) => isText([...path, ...inner]);
  const next =
    place.item !== null
      ? replaceValue(doc, place, value, below, path)
      : insertValue(doc, place, path, { value, isText });
  return verifyEdit(doc, next, path, parsedValue(textInPlaceOf(place.node, value, below)));
}

/** A value in one line; a quoted text stays quoted. */
const textInPlaceOf = (node: Node | null, value: Written, isText: IsText): string =>
  isSection(value) || isList(value) || value instanceof Reference
    ? flowText(value, isText)
    : textOfScalar(value, isText([]), quotesOf(node));

function replaceValue(
  { text, eol, step }: Doc,
  place: Place,
  value: Written,
  isText: IsText,
  path: Path,
): string {
  const { node, item, above } = place;
  if (item === null) return text;
  const isInBlock = above !== null && isBlock(above);
  if (node === null) {
    const at = itemEnd(item);
    const lines =
      isInBlock && isMap(above)
        ? blockLines(value, isText, { step, isTop: path.length === 1 })
        : [flowText(value, isText)];
    const indent = columnOf(text, itemStart(item));
    const [first = "", ...rest] = lines;
    if (first !== "") return cut(text, at, at, ` ${first}`);
    const end = lineEnd(text, at);
    return cut(text, end, end, rest.map((line) => `${eol}${indent}${step}${line}`).join(""));
  }
  const put = textInPlaceOf(node, value, isText);
  if (!isBlock(node)) return cut(text, valueStart(node, item), contentEnd(node, text), put);
  const colon = colonOf(item);
  const from = colon === undefined ? valueStart(node, item) : colon.offset + colon.source.length;
  return cut(text, from, contentEnd(node, text), colon === undefined ? put : ` ${put}`);
}

function quotesOf(node: Node | null): Quotes {
  if (node === null || !isScalar(node)) return null;
  return node.type === "QUOTE_SINGLE" ? "'" : node.type === "QUOTE_DOUBLE" ? '"' : null;
}

interface Put {
  readonly value: Written;
  readonly isText: IsTextAt;
}

/** Inserts a value below the deepest existing section; missing sections are made. */
function insertValue(doc: Doc, { above, depth }: Place, path: Path, { value, isText }: Put): string {
  const at = path.slice(0, depth);
  const [key = "", ...rest] = path.slice(depth);
  const whole = rest.toReversed().reduce<Written>((inner, part) => wrapIn(inner, part, path), value);
  const below: IsText = (inner) => isText([...at, key, ...inner]);
  if (above === null && depth > 0) return withEmptySection(doc, at, wrapIn(whole, key, path), isText);
  if (above !== null && !isCollection(above))
    throw new NotEditable(path, msg`${keyText(at)} is no section in the file; change that first`);
  if (isSeq(above)) {
    if (key !== above.items.length) throw new NotEditable(path, listEnd(above));
    return withItem(doc, above, flowText(whole, below));
  }
  if (typeof key === "number") throw new NotEditable(path, msg`${keyText(at)} is no list in the file`);
  return withPair(doc, above, { key, value: whole, isText: below, isTop: depth === 0 });
}

function wrapIn(value: Written, part: string | number, path: Path): Written {
  if (typeof part === "string") return { [part]: value };
  if (part !== 0)
    throw new NotEditable(path, msg`there is no list with a place [${part}]; its next one is [0]`);
  return [value];
}

/** Gives an empty `key:` its first entries. */
function withEmptySection(doc: Doc, path: Path, value: Written, isText: IsTextAt): string {
  const place = placeOf(doc, path);
  const below: IsText = (inner) => isText([...path, ...inner]);
  if (place.item === null) throw new NotEditable(path, msg`there is nothing to add to`);
  return replaceValue(doc, place, value, below, path);
}

interface NewPair {
  readonly key: string;
  readonly value: Written;
  readonly isText: IsText;
  readonly isTop: boolean;
}

function withPair(doc: Doc, map: YAMLMap | null, { key, value, isText, isTop }: NewPair): string {
  const { text, eol, step } = doc;
  const name = `${textOfKey(key)}:`;
  if (map !== null && map.flow === true) return withFlowItem(text, map, `${name} ${flowText(value, isText)}`);
  const lines = under(name, blockLines(value, isText, { step, isTop }), step);
  if (map === null || map.items.length === 0) return `${withLineEnd(text, eol)}${lines.join(eol)}${eol}`;
  const [first] = map.items;
  const indent = columnOf(text, first?.key && isNode(first.key) ? (first.key.range?.[0] ?? 0) : 0);
  const at = lineEnd(text, contentEnd(map, text));
  const end = at === text.length ? eol : "";
  return cut(text, at, at, lines.map((line) => `${eol}${indent}${line}`).join("") + end);
}

const withLineEnd = (text: string, eol: string): string =>
  text === "" || text.endsWith("\n") ? text : `${text}${eol}`;

const listEnd = ({ items: { length } }: YAMLSeq): Text =>
  msg`the list has ${counted(length, "item", "items")}, so its next one is [${length}]`;

function withItem({ text, eol }: Doc, list: YAMLSeq, flow: string): string {
  if (list.flow === true) return withFlowItem(text, list, flow);
  const mark = seqToken(list)?.items[0]?.start.find(({ type }) => type === "seq-item-ind");
  const at = lineEnd(text, contentEnd(list, text));
  const end = at === text.length ? eol : "";
  return cut(text, at, at, `${eol}${columnOf(text, mark?.offset ?? 0)}- ${flow}${end}`);
}

function withFlowItem(text: string, collection: YAMLMap | YAMLSeq, put: string): string {
  const token = collection.srcToken as CST.FlowCollection | undefined;
  const open = (token?.start.offset ?? 0) + 1;
  const close =
    startOfToken(token?.end.find(({ type }) => type.startsWith("flow-") && type.endsWith("-end"))) ?? open;
  const items = flowItems(collection);
  const last = items.at(-1);
  const pad = isMap(collection) ? " " : "";
  if (last === undefined) return cut(text, open, close, `${pad}${put}${pad}`);
  const node = valueIn(collection.items.at(-1));
  const end = endOfItem(isNode(node) && !isEmptyScalar(node) ? node : null, last, text);
  return cut(text, end, end, `, ${put}`);
}

const flowItems = (collection: YAMLMap | YAMLSeq): readonly CST.CollectionItem[] =>
  ((collection.srcToken as CST.FlowCollection | undefined)?.items ?? []).filter(
    ({ key, value, sep }) => key || value || sep,
  );

/** Removes a key or list item; nothing changes where it does not exist. */
function without(text: string, path: Path): string {
  const doc = parseDoc(text);
  const { item, above, node, pair } = placeOf(doc, path);
  if (item === null || above === null || !isCollection(above)) return text;
  const end = endOfItem(node, item, text);
  const next = isBlock(above)
    ? withoutLines(doc, above, { item, end, pair, path })
    : withoutFlowItem(text, above as YAMLMap | YAMLSeq, item);
  return verifyEdit(doc, next, path, undefined);
}

interface Gone {
  readonly item: CST.CollectionItem;
  readonly end: number;
  readonly pair: Pair | null;
  readonly path: Path;
}

function withoutLines({ text }: Doc, above: YAMLMap | YAMLSeq, { item, end, pair, path }: Gone): string {
  const start = itemStart(item);
  const from = lineStart(text, start);
  const stop = lineEnd(text, end);
  if (text.slice(from, start).trim() === "") {
    const isLast = stop >= text.length;
    if (isLast && from > 0) return text.slice(0, from);
    return cut(text, from, Math.min(text.length, stop + (text.startsWith("\r\n", stop) ? 2 : 1)));
  }
  // The first key after the mark of a list item.
  if (above.items.length === 1) return cut(text, start, end, "{}");
  const next = isMap(above) ? above.items[above.items.findIndex((one) => one === pair) + 1] : undefined;
  const to = next?.key && isNode(next.key) ? (next.key.range?.[0] ?? null) : null;
  if (to === null || text.slice(end, to).trim() !== "")
    throw new NotEditable(
      path,
      msg`it stands on the first line of a list item, with a comment behind it; remove it in an editor`,
    );
  return cut(text, start, to);
}

function withoutFlowItem(text: string, collection: YAMLMap | YAMLSeq, item: CST.CollectionItem): string {
  const items = flowItems(collection);
  const at = items.indexOf(item);
  const token = collection.srcToken as CST.FlowCollection | undefined;
  const open = (token?.start.offset ?? 0) + 1;
  const close = startOfToken(token?.end[0]) ?? open;
  if (items.length === 1) return cut(text, open, close);
  const next = items[at + 1];
  if (next !== undefined) return cut(text, itemStart(item), itemStart(next));
  const before = items[at - 1];
  const nodes: readonly unknown[] = collection.items;
  const ends = [at - 1, at].map((place) => {
    const value = valueIn(nodes[place]);
    const held = items[place] ?? item;
    return endOfItem(isNode(value) && !isEmptyScalar(value) ? value : null, held, text);
  });
  return before === undefined ? text : cut(text, ends[0] ?? 0, ends[1] ?? 0);
}

/* Comparing. */

/** What a text means, with its order. */
export type Shown =
  | readonly ["scalar", string | null, string, string]
  | readonly ["list", readonly Shown[]]
  | readonly ["section", readonly (readonly [name: string, value: Shown])[]];

function shown(node: unknown): Shown {
  if (isMap(node)) return ["section", node.items.map((pair) => [nameOf(pair) ?? "?", shown(pair.value)])];
  if (isSeq(node)) return ["list", node.items.map(shown)];
  if (!isScalar(node)) return ["scalar", isAlias(node) ? `*${node.source}` : null, "", "nothing"];
  const scalar: Scalar = node;
  const tag = scalar.tag?.startsWith("!") === true ? scalar.tag : null;
  const text = typeof scalar.value === "string" ? scalar.value : (scalar.source ?? "");
  return ["scalar", tag, text, scalar.value === null ? "nothing" : typeof scalar.value];
}

function parsedValue(flow: string): Shown {
  const list = shown(parseDoc(`[${flow}]`).root);
  return (list[0] === "list" ? list[1][0] : null) ?? nothing;
}

/** Returns the new text if it parses to the old meaning with this one change. */
function verifyEdit({ root }: Doc, next: string, path: Path, wanted: Shown | undefined): string {
  return comparedWith(next, path, expected(shown(root), path, wanted));
}

/** The same, where `change` turns the value at the path into another one. */
export function comparedAs(
  { root }: Doc,
  next: string,
  path: Path,
  change: (before: Shown) => Shown,
): string {
  const before = shown(root);
  return comparedWith(next, path, expected(before, path, change(shownAt(before, path))));
}

const shownAt = (whole: Shown, path: Path): Shown =>
  path.reduce<Shown>((at, part) => {
    if (at[0] === "list") return at[1][Number(part)] ?? nothing;
    return (at[0] === "section" ? at[1].find(([name]) => name === part)?.[1] : undefined) ?? nothing;
  }, whole);

function comparedWith(next: string, path: Path, wanted: Shown): string {
  const is = JSON.stringify(shown(parseDoc(next).root));
  const wants = JSON.stringify(wanted);
  // A section whose only key was removed counts like an empty one.
  if (withBareEmpties(is) !== withBareEmpties(wants))
    throw new NotEditable(
      path,
      msg`this place of the file is written in a way that cannot be changed safely; change it in an editor`,
    );
  return next;
}

const empties = /\["section",\[\]\]|\["list",\[\]\]|\["scalar",null,"",?"nothing"\]/g;
const withBareEmpties = (text: string): string => text.replace(empties, "[]");

function expected(before: Shown, path: Path, wanted: Shown | undefined): Shown {
  const [part, ...rest] = path;
  if (part === undefined) return wanted ?? before;
  const isOut = rest.length === 0 && wanted === undefined;
  if (typeof part === "number") {
    const items = before[0] === "list" ? before[1] : [];
    const inner = isOut ? [] : [expected(items[part] ?? nothing, rest, wanted)];
    return ["list", [...items.slice(0, part), ...inner, ...items.slice(part + 1)]];
  }
  const entries = before[0] === "section" ? before[1] : [];
  if (isOut) return ["section", entries.filter(([name]) => name !== part)];
  const old = entries.find(([name]) => name === part);
  const entry = [part, expected(old?.[1] ?? nothing, rest, wanted)] as const;
  const others = entries.map((one) => (one === old ? entry : one));
  return ["section", old === undefined ? [...others, entry] : others];
}

const nothing: Shown = ["scalar", null, "", "nothing"];
