import { msg, type Text } from "../../language/text.js";
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { z } from "zod";
import { isPasswordHash } from "../../runtime/passwords.js";
import type { Path } from "../../settings/problem.js";
import { nearest } from "../../runtime/similar-words.js";
import { rename, type Rename, type Renamed, renames } from "../renames.js";
import { fieldFacts, typeFacts } from "../../settings/values.js";
import { type ReferenceSources, resolveReference } from "./references.js";
import { type Odd, oddIn, strayIn } from "./odd-characters.js";
import { pathKey, type Places, type Source } from "./source.js";

type Schema = z.core.$ZodType;

/** What a schema expects at one place, without the wrappers for defaults and checks. */
export type Shape =
  | { readonly type: "section"; readonly keys: ReadonlyMap<string, Schema> }
  /** `words`: the only keys allowed; null where the user chooses them. */
  | { readonly type: "map"; readonly words: readonly string[] | null; readonly value: Schema }
  | { readonly type: "list"; readonly item: Schema }
  | { readonly type: "either"; readonly options: readonly Shape[] }
  | { readonly type: "text" | "scalar" | "anything" };

/** The schema below defaults, `optional` and transforms. */
export function bare(schema: Schema): Schema {
  let inner = schema;
  for (;;) {
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) inner = inner.def.innerType;
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return inner;
  }
}

const known = new WeakMap<Schema, Shape>();

export function shapeOf(schema: Schema): Shape {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const shape = newShape(bare(schema));
  known.set(schema, shape);
  return shape;
}

function newShape(schema: Schema): Shape {
  if (typeFacts.get(schema)?.name === "anything") return { type: "anything" };
  if (schema instanceof z.ZodObject)
    return { type: "section", keys: new Map(Object.entries<Schema>(schema.def.shape)) };
  if (schema instanceof z.ZodRecord) {
    const key = schema.def.keyType;
    const words = key instanceof z.ZodEnum ? key.options.map(String) : null;
    return { type: "map", words, value: schema.def.valueType };
  }
  if (schema instanceof z.ZodArray) return { type: "list", item: schema.def.element };
  if (schema instanceof z.ZodUnion) return { type: "either", options: schema.def.options.map(shapeOf) };
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return { type: "text" };
  return { type: "scalar" };
}

const secretName = /pass|pwd|secret|token|pin|key/i;

/** Whether a key below a secret one holds a secret. In a section that is sent as it is, such as a sign-in body, its name decides. */
export const holdsSecret = (path: Path, shape: Shape): boolean =>
  shape.type !== "anything" || secretName.test(String(path.at(-1)));

/** Whether a value in the file is a secret; a hash protects itself. */
const literalSecret = (path: Path, shape: Shape, value: string): boolean =>
  !isPasswordHash(value) && holdsSecret(path, shape);

/** A key as written (`0012`, `on`), or why it cannot be one. */
function keyOf(node: unknown): { readonly key: string } | { readonly fault: Text } {
  if (!isScalar(node)) return { fault: msg`expected a plain key, not a list, section or alias` };
  const key = textOf(node);
  if (node.tag !== undefined || node.anchor !== undefined)
    return { fault: msg`tags and anchors are not allowed before a key` };
  if (key === "") return { fault: msg`expected a key before the colon` };
  // As a key of an object it would change the object instead of adding to it.
  if (key === "__proto__") return { fault: msg`this name cannot be used as a key` };
  const stray = node.type === "PLAIN" && isSuspect(key) ? strayIn(key) : null;
  if (stray !== null) return { fault: msg`${stray.message}, or put the key in "quotes" where it is meant` };
  return key.isWellFormed() ? { key } : { fault: halfCharacter };
}

/** A scalar as written, without its quotes. */
const textOf = ({ value, source }: Scalar): string => (typeof value === "string" ? value : (source ?? ""));

const halfCharacter = msg`holds half a character (a \\u escape without its other half), which nothing can send; write the whole character`;

/** Stands for a value that could not be read and is reported already, so that nothing else complains about it. */
const unreadable = Symbol("unreadable");

interface ReadFault {
  readonly offset: number;
  readonly path: Path;
  readonly message: Text;
}

/** A document as plain values, with what was noticed on the way. */
export interface Reading {
  readonly value: unknown;
  readonly faults: readonly ReadFault[];
  /** Texts without quotes that hold a character which is hardly intended; they are read as they stand. */
  readonly strays: readonly ReadFault[];
  readonly places: Places;
  readonly unreadable: readonly Path[];
  /** Places of secrets that are in the file itself. */
  readonly literalSecrets: readonly Path[];
  /** Keys found under an old name; their values are under the new one. */
  readonly renamed: readonly Renamed[];
}

interface Notes {
  readonly source: Source;
  /** What is expected of the whole document. */
  readonly root: Shape;
  readonly references: ReferenceSources;
  readonly places: Readonly<Record<"keys" | "values", Map<string, number>>> & {
    readonly odd: Map<string, Odd>;
  };
  readonly faults: ReadFault[];
  readonly strays: ReadFault[];
  readonly unreadable: Path[];
  readonly literalSecrets: Path[];
  readonly renames: readonly Rename[];
  readonly moved: (Renamed & { readonly value: unknown; readonly offset: number })[];
}

/** A place while reading: what is expected there, and the offset to report if the node comes from elsewhere. */
interface Spot {
  readonly path: Path;
  readonly shape: Shape;
  readonly secret: boolean;
  readonly referencedAt: number | null;
}

const anything: Shape = { type: "anything" };

/**
 * Turns YAML nodes into plain values, led by the schema: where it wants text, scalars are taken as written (`0012`).
 * Empty keys count as absent. Unknown and repeated keys, tags and anchors are reported here.
 */
export function readDocument(
  source: Source,
  schema: z.core.$ZodType,
  references: ReferenceSources,
  knownRenames: readonly Rename[] = renames,
): Reading {
  const root = shapeOf(schema);
  const notes: Notes = {
    source,
    root,
    references,
    places: { keys: new Map(), values: new Map(), odd: new Map() },
    faults: [],
    strays: [],
    unreadable: [],
    literalSecrets: [],
    renames: knownRenames,
    moved: [],
  };
  const spot: Spot = { path: [], shape: root, secret: false, referencedAt: null };
  const value = readNode(notes, source.root, spot);
  for (const { to, value: moved, from, offset } of notes.moved)
    if (!putAt(value, to, moved))
      notes.faults.push({
        offset,
        path: from,
        message: msg`stands beside its new name ${to.join(".")}; keep that one`,
      });
  return { ...notes, value, renamed: notes.moved };
}

/** Puts a value under its new name, with the sections that are missing; false if there is a value already. */
function putAt(root: unknown, path: Path, value: unknown): boolean {
  let section = root as Record<string, unknown>;
  for (const part of path.slice(0, -1)) {
    section[part] ??= {};
    const inner = section[part];
    // Anything but a section there is reported by itself.
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return true;
    section = inner as Record<string, unknown>;
  }
  const name = String(path.at(-1));
  if (Object.hasOwn(section, name)) return false;
  section[name] = value;
  return true;
}

function readNode(notes: Notes, node: Node | null, spot: Spot): unknown {
  if (node === null) return null;
  const offset = spot.referencedAt ?? startOf(notes.source, node);
  if (!isScalar(node) || node.value !== null) notes.places.values.set(pathKey(spot.path), offset);
  const refuse = (message: Text | null) => {
    const own = spot.referencedAt === null;
    if (message !== null)
      notes.faults.push({
        ...{ offset, path: spot.path },
        message: own ? message : msg`${message} (in the file of secrets)`,
      });
    notes.unreadable.push(spot.path);
    return unreadable;
  };
  if (isAlias(node)) return refuse(msg`aliases (*name) are not allowed; write the value out`);
  if ("anchor" in node && node.anchor !== undefined)
    return refuse(msg`anchors (&name) are not allowed; write the value where it is needed`);
  if (node.tag === "!env" || node.tag === "!secret") {
    if (!isScalar(node)) return refuse(msg`expected a name after ${node.tag}`);
    if (spot.referencedAt !== null) return refuse(msg`!env and !secret are not allowed here`);
    const resolved = resolveReference(node.tag, String(node.value), notes.references);
    return resolved.ok
      ? readNode(notes, resolved.node, { ...spot, referencedAt: offset })
      : refuse(resolved.message);
  }
  if (node.tag !== undefined && !standardTag.test(node.tag))
    return refuse(msg`unknown tag; !env NAME and !secret name are known`);
  if (isScalar(node) && !textOf(node).isWellFormed()) return refuse(halfCharacter);
  if (isMap(node)) return readMap(notes, node, { ...spot, shape: shapeFor(spot.shape, "section", "map") });
  if (isSeq(node)) return readList(notes, node, { ...spot, shape: shapeFor(spot.shape, "list") });
  return isScalar(node) ? readScalar(notes, node, spot) : refuse(msg`expected a value`);
}

const standardTag = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

/** Where a reader sees a value begin: at its tag or anchor, although the parser's range starts behind it. */
function startOf(source: Source, node: Node): number {
  const offset = node.range?.[0] ?? 0;
  const tag = node.tag?.startsWith("!") === true ? node.tag : null;
  const anchor = "anchor" in node && node.anchor !== undefined ? `&${node.anchor}` : null;
  const starts = [tag, anchor].map((written) =>
    written === null ? -1 : source.text.lastIndexOf(written, offset),
  );
  return Math.min(offset, ...starts.filter((start) => start !== -1));
}

function shapeFor(shape: Shape, ...types: readonly Shape["type"][]): Shape {
  const options = shape.type === "either" ? shape.options : [shape];
  return options.find((option) => types.includes(option.type)) ?? anything;
}

/** With this many problems already, unknown keys get no hints. */
const mostHints = 200;

/** The message for an unknown key, and the section's key that may be meant. */
function unknownKey({ faults, root }: Notes, key: string, shape: Shape) {
  if (faults.length >= mostHints) return { known: null, message: msg`unknown key` };
  const known = nearest(key, keysOf(shape));
  const meant = known === null ? highestPlaceOf(key, root) : `"${known}"`;
  const odd = oddIn(key);
  const hint = meant === null ? "" : msg`, did you mean ${meant}?`;
  return { known, message: msg`unknown key${hint}${odd === null ? "" : msg`; ${odd.message}`}` };
}

function readMap(notes: Notes, node: YAMLMap, spot: Spot): unknown {
  const entries = new Map<string, unknown>();
  const meant = new Set<string>();
  for (const pair of node.items) {
    const found = keyOf(pair.key);
    const at = isNode(pair.key) ? pair.key.range?.[0] : undefined;
    const offset = spot.referencedAt ?? at ?? node.range?.[0] ?? 0;
    const report = (path: Path, message: Text) => notes.faults.push({ offset, path, message });
    if ("fault" in found) {
      report(spot.path, found.fault);
      continue;
    }
    const path = [...spot.path, found.key];
    const child = childOf(spot.shape, found.key);
    if (child === null && readMoved(notes, pair, { ...spot, path }, offset)) continue;
    if (child === null) {
      const { known, message } = unknownKey(notes, found.key, spot.shape);
      report(path, message);
      if (known !== null) meant.add(known);
    } else if (entries.has(found.key)) report(path, msg`this key stands here twice; keep one of them`);
    else {
      notes.places.keys.set(pathKey(path), offset);
      noteOddKey(notes, found.key, spot, offset);
      const value = readNode(notes, isNode(pair.value) ? pair.value : null, {
        ...spot,
        path,
        shape: child.shape,
        secret: spot.secret || child.secret,
      });
      entries.set(found.key, value ?? emptyValue(spot.shape, child.shape));
    }
  }
  // A mistyped key is one mistake, not also a missing key.
  for (const key of meant)
    if (!entries.has(key)) {
      entries.set(key, unreadable);
      notes.unreadable.push([...spot.path, key]);
    }
  return Object.fromEntries([...entries].filter(([, value]) => value !== absent));
}

/**
 * Reads a value under an old name as its new name demands; a mistake in it is reported where it stands. False if the
 * key never was a name.
 */
function readMoved(notes: Notes, pair: Pair, spot: Spot, offset: number): boolean {
  const move = rename(spot.path, notes.renames);
  if (move === null) return false;
  let at: Pick<Spot, "shape" | "secret"> | null = { shape: notes.root, secret: spot.secret };
  for (const part of move.to) at &&= childOf(at.shape, String(part));
  notes.places.keys.set(pathKey(spot.path), offset);
  notes.places.keys.set(pathKey(move.to), offset);
  const node = isNode(pair.value) ? pair.value : null;
  const target = at ?? { shape: anything, secret: false };
  const value = readNode(notes, node, { ...spot, ...target, path: move.to });
  if (value !== null) notes.moved.push({ ...move, value, offset });
  return true;
}

const absent = Symbol("absent");

/** `GH-0001:` alone is an entry without settings; `ca:` alone in a section is a key that is not given. */
function emptyValue(parent: Shape, child: Shape): unknown {
  if (parent.type === "anything") return null;
  if (parent.type === "section") return absent;
  return child.type === "section" ? {} : undefined;
}

function childOf(shape: Shape, key: string): Pick<Spot, "shape" | "secret"> | null {
  if (shape.type === "map")
    return shape.words?.includes(key) === false ? null : { shape: shapeOf(shape.value), secret: false };
  if (shape.type !== "section") return { shape: anything, secret: false };
  const schema = shape.keys.get(key);
  if (schema === undefined) return null;
  return { shape: shapeOf(schema), secret: fieldFacts.get(schema)?.secret === true };
}

/** Where a key is known, such as `commands.read_only`: the highest place; null if two are equally high. */
function highestPlaceOf(key: string, root: Shape): string | null {
  const depth = (place: string) => place.split(".").length;
  const places = placesOf(key, root, "").toSorted((one, other) => depth(one) - depth(other));
  const [first, second] = places;
  if (first === undefined) return null;
  return second !== undefined && depth(second) === depth(first) ? null : first;
}

function placesOf(key: string, shape: Shape, above: string): readonly string[] {
  if (shape.type === "list") return placesOf(key, shapeOf(shape.item), `${above}[]`);
  if (shape.type === "either") return shape.options.flatMap((option) => placesOf(key, option, above));
  if (shape.type !== "section") return [];
  return [...shape.keys].flatMap(([name, schema]) => {
    const here = above === "" ? name : `${above}.${name}`;
    const inner = shapeOf(schema);
    const each = `${here}.${fieldFacts.get(schema)?.each ?? "<id>"}`;
    const below =
      inner.type === "map" ? placesOf(key, shapeOf(inner.value), each) : placesOf(key, inner, here);
    return name === key ? [here, ...below] : below;
  });
}

function keysOf(shape: Shape): readonly string[] {
  if (shape.type === "section") return [...shape.keys.keys()];
  return shape.type === "map" ? (shape.words ?? []) : [];
}

function readList(notes: Notes, node: YAMLSeq, spot: Spot): unknown {
  const item = spot.shape.type === "list" ? shapeOf(spot.shape.item) : anything;
  return node.items.map((value, at) => {
    const path = [...spot.path, at];
    const read = readNode(notes, isNode(value) ? value : null, { ...spot, path, shape: item });
    return read ?? (item.type === "anything" ? null : undefined);
  });
}

/** Notes odd characters in a scalar; a name may hold what its owner likes. */
function noteOdd({ source, places, strays }: Notes, node: Scalar, { path, referencedAt }: Spot): void {
  const [from = 0, end = 0] = node.range ?? [];
  if (!isSuspect(textOf(node)) || path.at(-1) === "name") return;
  const isHere = referencedAt === null;
  const written = isHere ? source.text.slice(from, end) : textOf(node);
  const place = (odd: Odd): Odd =>
    isHere ? { ...odd, offset: from + odd.offset } : { ...odd, offset: referencedAt };
  const odd = oddIn(written);
  if (odd !== null) places.odd.set(pathKey(path), place(odd));
  const stray = node.type === "PLAIN" ? strayIn(written) : null;
  if (stray === null) return;
  const message = msg`${stray.message}, or put the value in "quotes" where it is meant`;
  strays.push({ offset: place(stray).offset, path, message });
}

/** Where no section was expected, what was read as one may be a list with odd characters. */
function noteOddKey({ places }: Notes, key: string, { shape, path }: Spot, offset: number): void {
  const odd = shape.type === "anything" && isSuspect(key) ? oddIn(key) : null;
  if (odd !== null) places.odd.set(pathKey(path), { ...odd, offset: offset + odd.offset });
}

/** Almost every text is ASCII alone. */
const isSuspect = (text: string): boolean => /[^\t\n\r -~]/.test(text);

function readScalar(notes: Notes, node: Scalar, spot: Spot): unknown {
  const { value } = node;
  if (value === null) return null;
  const written = textOf(node);
  noteOdd(notes, node, spot);
  if (spot.secret && spot.referencedAt === null && literalSecret(spot.path, spot.shape, written))
    notes.literalSecrets.push(spot.path);
  if (spot.shape.type === "text") return written;
  const changed = spot.shape.type === "anything" && typeof value === "number" && String(value) !== written;
  return changed ? written : value;
}
