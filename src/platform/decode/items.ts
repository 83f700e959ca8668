import { msg, type Text } from "../../language/text.js";
import {
  at,
  envelopeOf,
  type Fields,
  holdsData,
  isContainer,
  isDevice,
  isFields,
  isMetadata,
  mayHold,
  own,
  readFlag,
  type ReadRoles,
  type Roles,
  textOf,
} from "./decoding.js";

/** An object of an answer, with its roles and its place. */
export interface Item<R extends string> {
  readonly fields: Fields;
  readonly found: Roles<R>;
  /** Its key in a keyed object. */
  readonly key: string | null;
  /** The object or keyed list around it. */
  readonly group: Item<R> | null;
  /** Whether it is the answer's frame (`data`, `data.page`), whose fields are about the whole answer. */
  readonly isFrame: boolean;
  /** Whether it is a frame under the requested device's code, so that its fields are about that device. */
  readonly isOwn: boolean;
}

/** What a decoder does with the objects found. */
interface ItemVisitor<R extends string> {
  readonly roles: ReadRoles<R>;
  /** Takes an object as an item; false where it is none, so that its content is visited. */
  readonly item: (item: Item<R>) => boolean;
  /** Takes an object whose own scalars are items by key; false where they are not. */
  readonly row?: (item: Item<R>) => boolean;
  /** Takes a named object beside such scalars without anything readable, which may only describe them. */
  readonly beside?: (name: string, node: object) => void;
  readonly unreadable: (problem: Text, sample: unknown) => void;
  /**
   * Some platforms answer for several devices. Items of another device are skipped; where devices are keys, only this
   * one's part is visited.
   */
  readonly device?: string;
}

/** Names that say nothing about their content. */
const structure = new Set(
  (
    "data list records rows items content result results value values val datas dataList sensors sensorList " +
    "devices deviceList children factors factorList body payload page elements points params paramList info"
  ).split(" "),
);
export const isStructure = (name: string): boolean => structure.has(name);

/** Fields that may contain the data, in this order. */
const doors = "data rows list records items result results content payload body".split(" ");
const maxDepth = 6;

/**
 * Visits the items of an answer: a list or a keyed object under `data`, `data.list`, `rows`, …, perhaps grouped; or at
 * the configured path. Returns false where nothing could hold items. An absent, null or empty `data` means no items;
 * other fields without `code` and `data` are no answer.
 */
export function visitItems<R extends string>(
  answer: unknown,
  path: string | undefined,
  visitor: ItemVisitor<R>,
): boolean {
  const root = path === undefined ? behindDoor(answer) : at(answer, path);
  if (root === null) return true;
  if (root === undefined && path === undefined) return !isForeign(answer);
  if (!isContainer(root)) return false;
  if (!walk(root, { key: null, group: null, isFrame: true, isOwn: false }, counting(visitor), 0))
    visitor.unreadable(strange, root);
  return true;
}

/** A visitor that counts what it has taken. */
interface CountingVisitor<R extends string> extends ItemVisitor<R> {
  readonly taken: () => number;
}

function counting<R extends string>({ item, row, ...visitor }: ItemVisitor<R>): CountingVisitor<R> {
  let taken = 0;
  const counted = (isTaken: boolean): boolean => {
    if (isTaken) taken += 1;
    return isTaken;
  };
  return {
    ...visitor,
    item: (one) => counted(item(one)),
    ...(row !== undefined && { row: (one: Item<R>) => counted(row(one)) }),
    taken: () => taken,
  };
}

/** Whether an answer has no envelope, but fields that are more than a description of an answer. */
const isForeign = (answer: unknown): boolean =>
  isFields(answer) &&
  envelopeOf(answer).code === null &&
  readFlag(own(answer, "success")) !== true &&
  Object.keys(answer).some((name) => !isMetadata(name) && holdsData(answer[name]));

/** The content of the first field that is not empty; null if all of them are, undefined if there is none. */
function behindDoor(answer: unknown): unknown {
  if (!isFields(answer)) return answer;
  let found: unknown = undefined;
  for (const door of doors) {
    const value = own(answer, door);
    if (isContainer(value)) return value;
    if (found === undefined || found === null || found === "") found = value ?? found;
  }
  return found === "" ? null : found;
}

type Place<R extends string> = Pick<Item<R>, "key" | "group" | "isFrame" | "isOwn">;

/** Visits a node; false where nothing in it was understood and nothing was reported. */
function walk<R extends string>(
  node: object,
  place: Place<R>,
  visitor: CountingVisitor<R>,
  depth: number,
): boolean {
  if (depth > maxDepth) visitor.unreadable(msg`nested too deeply`, node);
  else if (Array.isArray(node)) walkList(node, place, visitor, depth);
  else if (isFields(node)) return walkFields(node, place, visitor, depth);
  return true;
}

export const strange = msg`an item without the fields it needs`;

function walkList<R extends string>(
  list: readonly unknown[],
  place: Place<R>,
  visitor: CountingVisitor<R>,
  depth: number,
): void {
  const group = place.key === null ? place.group : { ...place, fields: {}, found: visitor.roles({}) };
  const inside = { key: null, group, isFrame: false, isOwn: false };
  for (const element of list) {
    if (!isContainer(element)) visitor.unreadable(msg`a list element that is no object`, element);
    else if (!walk(element, inside, visitor, depth + 1)) visitor.unreadable(strange, element);
  }
}

function walkFields<R extends string>(
  fields: Fields,
  place: Place<R>,
  visitor: CountingVisitor<R>,
  depth: number,
): boolean {
  const { key, group, isFrame, isOwn } = place;
  const { device } = visitor;
  const item = { fields, found: visitor.roles(fields), key, group, isFrame, isOwn };
  if (isAnothers(item.found, device) || visitor.item(item)) return true;
  const asked = device === undefined ? undefined : own(fields, device);
  if (isContainer(asked)) return walk(asked, { key, group, isFrame: true, isOwn: true }, visitor, depth + 1);
  const names = Object.keys(fields);
  const doors = names.filter((name) => isStructure(name) && isContainer(fields[name]));
  const inside = names.filter((name) => doors.includes(name) || mayHold(fields[name]));
  const before = visitor.taken();
  const odd = walkInside(item, inside, visitor, depth);
  // Objects beside numbers by name may only describe them.
  const isRow = doors.length === 0 && visitor.taken() === before;
  if (isRow && visitor.row?.(item) === true) {
    for (const [name, child] of odd) visitor.beside?.(name, child);
    return true;
  }
  for (const [, child] of odd) visitor.unreadable(strange, child);
  const isEmpty = (value: unknown) => isContainer(value) && Object.keys(value).length === 0;
  if (inside.length > 0 || names.some((name) => isEmpty(fields[name]))) return true;
  return isFrame && names.every((name) => fields[name] === null || isMetadata(name));
}

function isAnothers({ device: named }: Readonly<{ device?: unknown }>, device: string | undefined): boolean {
  const text = textOf(named);
  return device !== undefined && text !== null && !isDevice(text, device);
}

/**
 * Visits the parts inside; returns those that were not understood. Beside a list of items other objects only describe
 * it; without one each should have been an item.
 */
function walkInside<R extends string>(
  group: Item<R>,
  names: readonly string[],
  visitor: CountingVisitor<R>,
  depth: number,
): readonly (readonly [name: string, node: object])[] {
  const odd: (readonly [string, object])[] = [];
  let hasList = false;
  for (const name of names) {
    const child = group.fields[name];
    if (!isContainer(child)) continue;
    const isDoor = isStructure(name);
    const isFrame = isDoor && group.isFrame;
    const place = { key: isDoor ? null : name, group, isFrame, isOwn: isFrame && group.isOwn };
    if (!walk(child, place, visitor, depth + 1)) odd.push([name, child]);
    else if (isDoor) hasList = true;
  }
  return hasList ? [] : odd;
}

/** The result of `find` for the nearest group that has one. */
export function inGroups<R extends string, T>(item: Item<R>, find: (group: Item<R>) => T | null): T | null {
  for (let group = item.group; group !== null; group = group.group) {
    const found = find(group);
    if (found !== null) return found;
  }
  return null;
}
