import { msg } from "../language/text.js";
import { isMap, isNode, type Node, type Pair, type YAMLMap } from "yaml";
import type { Path } from "../settings/problem.js";
import { keyText } from "../settings/key.js";
import {
  comparedAs,
  type Doc,
  type Edited,
  attemptEdit,
  endOfItem,
  isBlock,
  isEmptyScalar,
  itemStart,
  lineEnd,
  lineStart,
  nameOf,
  NotEditable,
  parseDoc,
  placeOf,
  type Shown,
} from "./edit.js";

/*
 * Reorders the keys of a section. Each key takes along its lines, the comments directly above it and the comments below
 * it that are indented deeper. Blank lines, and comments between two blank lines, stay where they are.
 */

/** The names that come first, in this order; the others follow as they are. */
export interface Order {
  readonly path: Path;
  readonly names: readonly string[];
}

type Named = Pair & { readonly srcToken: NonNullable<Pair["srcToken"]> };

export const reorderedText = (text: string, orders: readonly Order[]): Edited =>
  attemptEdit(() => orders.reduce(reorder, text));

function reorder(text: string, { path, names }: Order): string {
  const ending = text === "" || text.endsWith("\n") ? "" : text.includes("\r\n") ? "\r\n" : "\n";
  const doc = parseDoc(text + ending);
  const { node } = placeOf(doc, path);
  if (!isMap(node)) throw new NotEditable(path, msg`${keyText(path)} is no section in the file`);
  const places = placesOf(node, names, path);
  const next = places.every((place, at) => place === at)
    ? doc.text
    : isBlock(node)
      ? withBlocks(doc, node, places, path)
      : withItems(doc, node, places);
  const whole = ending === "" ? next : next.slice(0, -ending.length);
  return comparedAs(doc, whole, path, (before) => inOrder(before, places));
}

/** The old positions of the keys, in their new order. */
function placesOf({ items }: YAMLMap, names: readonly string[], path: Path): readonly number[] {
  const known = items.map(nameOf);
  const first = names.map((name) => {
    const place = known.indexOf(name);
    if (place === -1) throw new NotEditable([...path, name], msg`"${name}" does not stand in the file`);
    return place;
  });
  if (new Set(first).size < first.length)
    throw new NotEditable(path, msg`each can only have one place in an order`);
  const others = known.map((_, at) => at).filter((at) => !first.includes(at));
  return [...first, ...others];
}

function inOrder(before: Shown, places: readonly number[]): Shown {
  if (before[0] !== "section") return before;
  const entries = before[1];
  return ["section", places.flatMap((place) => entries.slice(place, place + 1))];
}

const valueOf = ({ value }: Pair): Node | null => (isNode(value) && !isEmptyScalar(value) ? value : null);

const tokensOf = ({ items }: YAMLMap, path: Path): readonly Named[] =>
  items.map((pair) => {
    if (pair.srcToken === undefined) throw new NotEditable(path, notAnyhow);
    return pair as Named;
  });

const notAnyhow = msg`this place of the file is written in a way that cannot be changed safely; change it in an editor`;

/** Reorders a section in braces: the keys change places. */
function withItems({ text }: Doc, map: YAMLMap, places: readonly number[]): string {
  const spans = tokensOf(map, []).map(
    (pair) => [itemStart(pair.srcToken), endOfItem(valueOf(pair), pair.srcToken, text)] as const,
  );
  return spans.reduceRight((now, [from, to], at) => {
    const [start, end] = spans[places[at] ?? at] ?? [from, to];
    return now.slice(0, from) + text.slice(start, end) + now.slice(to);
  }, text);
}

/** A key with its whole lines. */
interface Block {
  /** The text before it, which stays in place. */
  readonly gap: string;
  readonly lines: string;
}

function withBlocks({ text }: Doc, map: YAMLMap, places: readonly number[], path: Path): string {
  const spans = tokensOf(map, path).map((pair) => {
    const start = itemStart(pair.srcToken);
    const from = lineStart(text, start);
    if (text.slice(from, start).trim() !== "") throw new NotEditable(path, notAnyhow);
    const to = text.indexOf("\n", lineEnd(text, endOfItem(valueOf(pair), pair.srcToken, text))) + 1;
    return { from, to: tailEnd(text, to, start - from) };
  });
  const [{ from: firstFrom } = { from: 0 }] = spans;
  let end = runAbove(text, firstFrom, 0);
  const begin = end;
  const blocks = spans.map(({ from, to }): Block => {
    const own = runAbove(text, from, end);
    const block = { gap: text.slice(end, own), lines: text.slice(own, to) };
    end = to;
    return block;
  });
  const put = blocks.map(({ gap }, at) => gap + (blocks[places[at] ?? at]?.lines ?? ""));
  return text.slice(0, begin) + put.join("") + text.slice(end);
}

/** Where the comments directly above a line begin, at the earliest at `least`. */
function runAbove(text: string, line: number, least: number): number {
  let from = line;
  while (from > least) {
    const above = lineStart(text, from - 1);
    if (above < least || !/^[ \t]*#/.test(text.slice(above, from))) return from;
    from = above;
  }
  return from;
}

/** The end of the deeper-indented comments that follow, which belong to the key above them. */
function tailEnd(text: string, from: number, column: number): number {
  let end = from;
  for (let at = from; at < text.length;) {
    const stop = text.indexOf("\n", at) + 1 || text.length;
    const line = text.slice(at, stop);
    const [indent = ""] = /^ */.exec(line) ?? [];
    const isRemark = line[indent.length] === "#" && indent.length > column;
    if (!isRemark && line.trim() !== "") return end;
    if (isRemark) end = stop;
    at = stop;
  }
  return end;
}
