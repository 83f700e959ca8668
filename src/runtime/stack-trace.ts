import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/*
 * The program is built into a few files, each with a source map. Node's own support would read the maps at every start
 * and for every stack; here a map is read only when a stack is shown to a person. Node itself reads the stack of each
 * error that ends a socket, which happens often without any fault.
 */

export interface SourceMap {
  readonly sources: readonly string[];
  /** Lines end with `;`, segments in them with `,`. */
  readonly mappings: string;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const valueOf = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, digits.indexOf(String.fromCharCode(code))),
);
const comma = 44;
const semicolon = 59;

/**
 * Calls `take` with the numbers of each segment: column in the built line, source, line and column there. A map holds
 * each as the difference from the one before, five bits a digit, the lowest first; a sixth bit means that more follow,
 * and the lowest bit of all is the sign. `take` gets the same list each time, and returns whether to go on.
 */
function eachSegment(
  mappings: string,
  take: (builtLine: number, fields: readonly number[]) => boolean,
): void {
  const fields = [0, 0, 0, 0, 0];
  let builtLine = 1;
  let field = 0;
  let bits = 0;
  let shift = 0;
  for (let at = 0; at <= mappings.length; at += 1) {
    const code = at === mappings.length ? semicolon : mappings.charCodeAt(at);
    if (code === comma || code === semicolon) {
      if (field > 0 && !take(builtLine, fields)) return;
      field = 0;
      if (code !== semicolon) continue;
      builtLine += 1;
      fields[0] = 0;
      continue;
    }
    const digit = valueOf[code] ?? 0;
    bits |= (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    fields[field] = (fields[field] ?? 0) + ((bits & 1) === 0 ? bits >> 1 : -(bits >> 1));
    field += 1;
    bits = 0;
    shift = 0;
  }
}

/**
 * `source:line:column` of a place in a built file, counted from 1. For a package's file only its name, as the map has
 * no more; null if unknown.
 */
export function sourceOf({ sources, mappings }: SourceMap, line: number, column: number): string | null {
  let found: string | null = null;
  eachSegment(mappings, (builtLine, [builtColumn = 0, source = 0, sourceLine = 0, sourceColumn = 0]) => {
    if (builtLine === line && builtColumn < column) {
      const name = (sources[source] ?? "").replace(/^(?:\.\.\/)+/, "");
      const ofPackage = name.lastIndexOf("node_modules/");
      found = ofPackage < 0 ? `${name}:${sourceLine + 1}:${sourceColumn + 1}` : name.slice(ofPackage);
    }
    return builtLine <= line;
  });
  return found;
}

/** Reads a map; null if there is none, and the stack stays as it is. */
function readMap(url: string): SourceMap | null {
  try {
    return JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")) as SourceMap;
  } catch {
    return null;
  }
}

/** The stack with source positions. */
export function readableStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(/(file:[^()\s]+\.js):(\d+):(\d+)/g, (place, url: string, line, column) => {
    const map = maps.has(url) ? maps.get(url) : readMap(url);
    maps.set(url, map ?? null);
    return (map && sourceOf(map, Number(line), Number(column))) ?? place;
  });
}

/** The text of an error for a person: its stack, else its message. */
export const stackText = (error: unknown): string =>
  error instanceof Error ? readableStack(error.stack ?? error.message) : String(error);
